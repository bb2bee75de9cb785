import torch
from hypothesis import given
from hypothesis import strategies as st

from nestling.nn.spans import Maxima, bordered, distinct, iou, mask_of, running_maxima, shifted, windows

WORDS = torch.tensor([[True, True, True], [True, False, False]])


def test_mask_by_hand():
    assert mask_of(WORDS, 2).tolist() == [
        [[True, True, True], [True, True, False]],
        [[True, False, False], [False] * 3],
    ]


def test_running_maxima_equal_plain_pooling():
    torch.manual_seed(0)
    vectors = torch.randn(2, 6, 4)
    for width, maximum in enumerate(running_maxima(vectors, 4), 1):
        for start in range(6 - width + 1):
            assert torch.equal(maximum[:, start], vectors[:, start : start + width].amax(dim=1))


def test_shifted_by_hand():
    vectors = torch.tensor([[[1.0], [2.0], [3.0]]])
    assert shifted(vectors, 1).squeeze().tolist() == [2, 3, 0]
    assert shifted(vectors, 5).squeeze().tolist() == [0, 0, 0]


def test_maxima_of_every_span_equal_plain_pooling():
    torch.manual_seed(0)
    vectors = torch.randn(2, 37, 3)
    spans = torch.tensor([(b, s, e) for b in range(2) for s in range(37) for e in range(s + 1, 38)])
    expected = torch.stack([vectors[b, s:e].amax(dim=0) for b, s, e in spans.tolist()])
    maxima = Maxima(vectors)
    assert torch.equal(maxima.of_spans(spans), expected)
    for width in range(1, 38):
        assert torch.equal(maxima.of_width(width).flatten(0, 1), expected[spans[:, 2] - spans[:, 1] == width])
    assert maxima.of_spans(spans[:0]).shape == (0, 3)


def test_windows_by_hand():
    assert windows(WORDS, [2, 1, 9]).tolist() == [[0, 0, 1], [0, 1, 2], [0, 2, 3], [0, 0, 2], [0, 1, 3], [1, 0, 1]]
    assert windows(WORDS, [2]).tolist() == [[0, 0, 2], [0, 1, 3], [1, 0, 1]]  # a short sentence is a seed as a whole
    assert windows(WORDS, [5]).tolist() == [[0, 0, 3], [1, 0, 1]]


def test_bordered_by_hand():
    vectors = torch.tensor([[[1.0], [2.0], [3.0]], [[4.0], [0.0], [0.0]]])
    edges = torch.tensor([[-1.0], [9.0]])
    assert bordered(vectors, WORDS, edges).squeeze(-1).tolist() == [[-1, 1, 2, 3, 9], [-1, 4, 9, 0, 0]]


SPAN = st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(1, 9)).map(lambda t: (t[0], t[1], t[1] + t[2]))


@given(SPAN, SPAN)
def test_iou_is_that_of_sets_of_words(one, other):
    first, second = set(range(*one[1:])), set(range(*other[1:]))
    expected = len(first & second) / len(first | second) if one[0] == other[0] else 0
    a, b = torch.tensor([one]), torch.tensor([other])
    assert abs(float(iou(a, b)) - expected) < 1e-6
    assert torch.equal(iou(a, b), iou(b, a))


def test_each_span_once():
    spans = torch.tensor([[1, 0, 2], [0, 3, 4], [1, 0, 2], [0, 2, 9], [0, 2, 4]])
    assert distinct(spans).tolist() == [[0, 2, 4], [0, 2, 9], [0, 3, 4], [1, 0, 2]]
    assert distinct(spans[:0]).shape == (0, 3)
