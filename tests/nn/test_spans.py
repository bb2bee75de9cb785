import torch

from nestling.nn.spans import mask_of, running_maxima, shifted


def test_mask_by_hand():
    words = torch.tensor([[True, True, True], [True, False, False]])
    assert mask_of(words, 2).tolist() == [
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
