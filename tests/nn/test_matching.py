import torch

from nestling.nn.matching import drawn, paired
from nestling.nn.spans import iou, windows

GOLD = torch.tensor([[0, 1, 4], [0, 6, 8], [1, 1, 4]])


def test_pairs_by_hand():
    spans = torch.tensor([[0, 1, 4], [0, 2, 5], [0, 5, 8], [0, 9, 10], [1, 0, 2], [2, 1, 4]])
    row, overlap = paired(spans, GOLD)
    assert row[:3].tolist() == [0, 0, 1]
    assert int(row[4]) == 2
    assert torch.allclose(
        overlap, torch.tensor([1, 2 / 4, 2 / 3, 0, 1 / 4, 0])
    )  # none in sentence 2: other sentences do not count


def test_pairs_without_gold():
    row, overlap = paired(torch.tensor([[0, 1, 4]]), GOLD[:0])
    assert (row.tolist(), overlap.tolist()) == ([0], [0])


def spans_of(sentences, words=12):
    return windows(torch.ones(sentences, words, dtype=torch.bool), range(1, 6))


def test_positives_and_so_many_others_are_drawn():
    spans = spans_of(2)
    is_positive = (spans == torch.tensor([0, 1, 4])).all(dim=1) | (spans == torch.tensor([0, 2, 5])).all(dim=1)
    chosen = drawn(spans, is_positive, [7, 8], ratio=5, least=3)
    assert chosen[is_positive].all()
    assert (chosen & (spans[:, 0] == 0)).sum() == 2 + 10
    assert (chosen & (spans[:, 0] == 1)).sum() == 3
    every = drawn(spans, is_positive, [7, 8], ratio=500, least=500)
    assert every.all()


def test_draws_depend_on_the_sentence_alone_and_differ_between_epochs():
    both, second = spans_of(2), spans_of(1)
    nothing = torch.zeros(len(both), dtype=torch.bool)
    together = drawn(both, nothing, [1, 2], ratio=0, least=6)[both[:, 0] == 1]
    alone = drawn(second, nothing[: len(second)], [2], ratio=0, least=6)
    assert together.sum() == 6
    assert set(map(tuple, both[both[:, 0] == 1][together][:, 1:].tolist())) == set(
        map(tuple, second[alone][:, 1:].tolist())
    )
    others = [drawn(second, nothing[: len(second)], [seed], ratio=0, least=6) for seed in range(3, 9)]
    assert any(not torch.equal(alone, other) for other in others)


def test_every_span_has_the_same_chance():
    spans = spans_of(1)
    counts = torch.zeros(len(spans))
    for seed in range(2000):
        counts += drawn(spans, torch.zeros(len(spans), dtype=torch.bool), [seed * 977], ratio=0, least=10)
    expected = 2000 * 10 / len(spans)
    assert (counts - expected).abs().max() < 5 * expected**0.5


def test_pairs_equal_those_among_all_gold():
    torch.manual_seed(0)
    start = torch.randint(0, 20, (300,))
    spans = torch.stack([torch.randint(0, 7, (300,)), start, start + torch.randint(1, 6, (300,))], dim=1)
    gold = spans[torch.randperm(300)[:30]]
    row, overlap = paired(spans, gold)
    every = iou(spans[:, None], gold[None])  # (S, G)
    assert torch.equal(overlap, every.max(dim=1).values)
    has_one = overlap > 0
    assert torch.equal(row[has_one], every.argmax(dim=1)[has_one])
