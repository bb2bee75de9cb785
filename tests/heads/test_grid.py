import pytest
import torch

from nestling.heads.grid import Grid, GridHead, GridSettings, paths
from nestling.heads.head import Targets
from nestling.nn.batch import Words
from nestling.types import Entity, Labels, Span

LABELS = Labels(("LOC", "PER"))
MASK = torch.tensor([[True] * 6, [True] * 3 + [False] * 3])
GAPPED = Entity((Span(0, 1), Span(3, 5)), "PER")


def head(**options):
    torch.manual_seed(1)
    return GridHead(5, LABELS, GridSettings(**({"size": 4, "reach": 5, "dropout": 0.0} | options)))


def words():
    torch.manual_seed(0)
    return Words(torch.randn(2, 6, 5), torch.randn(2, 5), MASK)


def targets(*spans, discontinuous=()):
    return Targets(torch.tensor(spans, dtype=torch.long).reshape(-1, 4), discontinuous, (1, 2))


def test_scores_pair_by_pair():
    made, given = head(), words()
    grid = made(given)
    assert grid.links.shape == (2, 5, 6)
    for row, first, last in [(0, 0, 0), (0, 1, 5), (1, 0, 2)]:
        by = last - first
        between = torch.stack([made.of_between(given.vectors[row, n]) for n in range(first, last + 1)]).amax(dim=0)
        inputs = made.of_first(given.vectors[row, first]) + made.of_last(given.vectors[row, last]) + between
        hidden = torch.nn.functional.gelu(inputs + made.of_distance(made.distance.weight[by]))
        assert torch.allclose(grid.ends[row, by, first], made.end(hidden), atol=1e-5)
        assert torch.allclose(grid.links[row, by, first], made.link(hidden)[0], atol=1e-5)


def test_gold_by_hand():
    made = head(gap_weight=3.0)
    links, ends, weights = made.gold(
        made(words()).mask, targets([0, 1, 3, 0], [1, 2, 3, 1], [0, 0, 6, 0], discontinuous=((0, GAPPED),))
    )
    assert links.nonzero().tolist() == [[0, 1, 1], [0, 1, 3], [0, 3, 0]]  # 1→2, 3→4, 0→3; the widest is out of reach
    assert {tuple(place): int(ends[tuple(place)]) for place in ends.nonzero().tolist()} == {
        (0, 1, 1): 1,
        (0, 4, 0): 2,
        (1, 0, 2): 2,
    }
    assert (weights == 3).nonzero().tolist() == [[0, 1, 3], [0, 3, 0], [0, 4, 0]]  # of the mention with a gap
    assert (weights == 1).sum() == weights.numel() - 3


def gold_grid(made, given):
    """A grid that is sure of gold."""
    mask = made(words()).mask
    links, ends, _ = made.gold(mask, given)
    return Grid(20 * links - 10, 20.0 * torch.nn.functional.one_hot(ends, 3) - 10, mask)


def found(candidates):
    return {(tuple(e.fragments), e.label) for e in candidates}


def test_gold_comes_back():
    """Nested, overlapping and discontinuous mentions from their links and ends."""
    made = head()
    given = targets([0, 0, 3, 0], [0, 1, 2, 1], [1, 0, 1, 0], discontinuous=((0, GAPPED),))
    first, second = made.candidates(gold_grid(made, given))
    assert found(first) == {((Span(0, 3),), "LOC"), ((Span(1, 2),), "PER"), (GAPPED.fragments, "PER")}
    assert found(second) == {((Span(0, 1),), "LOC")}
    assert all(e.score == pytest.approx(1, abs=1e-3) for e in first)


def test_ends_without_links_are_taken_for_a_continuous_mention():
    made = head()
    grid = gold_grid(made, targets([0, 1, 4, 1]))
    grid.links[0, 1, 2] = -1.0
    ((only,), _) = made.candidates(grid)
    assert (only.fragments, only.score) == ((Span(1, 4),), pytest.approx(float(torch.tensor(-1.0).sigmoid()), abs=1e-3))


def test_loss_by_hand():
    made = head()
    mask = made(words()).mask
    losses = made.loss(Grid(torch.zeros(2, 5, 6), torch.zeros(2, 5, 6, 3), mask), targets([0, 1, 3, 0]))
    pairs = (5 + 4 + 3 + 2) + (2 + 1)
    assert float(losses["links"].total) == pytest.approx(pairs * 0.6931, abs=1e-2)
    assert float(losses["ends"].total) == pytest.approx((pairs + 9) * 1.0986, abs=1e-2)
    assert int(losses["ends"].terms) == 9


def test_links_of_labels_that_were_not_looked_for_are_unknown():
    made = head()
    known = torch.tensor([[True, False], [True, True]])
    spans = torch.tensor([[0, 0, 2, 0]])
    loss = made.loss(made(words()), Targets(spans, (), (1, 2), known))["links"].total
    links = made(words()).links
    right = torch.nn.functional.softplus(-links[0, 1, 0])  # the only link of the first sentence that is told
    second = torch.nn.functional.softplus(links[1])[torch.tensor([1, 1, 2]), torch.tensor([0, 1, 0])].sum()
    assert torch.allclose(loss, right + second)


def test_mentions_with_gaps_count_more():
    made, other = head(), head(gap_weight=3.0)
    grid = Grid(torch.zeros(2, 5, 6), torch.zeros(2, 5, 6, 3), made(words()).mask)
    given = targets(discontinuous=((0, GAPPED),))
    more = {
        name: float(other.loss(grid, given)[name].total - made.loss(grid, given)[name].total)
        for name in made.loss(grid, given)
    }
    assert more["links"] == pytest.approx(2 * 3 * 0.6931, abs=1e-2)  # 0→3 and 3→4, and its ends, which are no link
    assert more["ends"] == pytest.approx(2 * 3 * 1.0986, abs=1e-2)


def test_paths_by_hand():
    links = {0: [(1, 0.9), (2, 0.8)], 1: [(2, 0.7), (5, 0.9)], 2: [(3, 0.6)]}
    assert {tuple(way): weakest for way, weakest in paths(links, 0, 3)} == {(0, 1, 2, 3): 0.6, (0, 2, 3): 0.6}
    assert list(paths(links, 3, 3)) == [([3], 1.0)]
    assert list(paths(links, 0, 4)) == []
    everything = {n: [(m, 0.9) for m in range(n + 1, 40)] for n in range(40)}
    assert len(list(paths(everything, 0, 39))) == 16


def test_reach_must_be_known():
    with pytest.raises(ValueError, match="reach"):
        head(reach=None)


def test_ends_that_are_likely_enough_are_candidates_though_none_is_likelier():
    ends = torch.full((1, 1, 2, 3), -20.0)
    ends[0, 0, 0] = torch.tensor([0.6, 0.1, 0.3]).log()
    ends[0, 0, 1] = torch.tensor([0.9, 0.1, 0.0001]).log()
    grid = Grid(torch.zeros(1, 1, 2), ends, torch.ones(1, 1, 2, dtype=torch.bool))
    assert head().candidates(grid) == [[]]
    (found,) = head(least=0.25).candidates(grid)[0]
    assert (found.start, found.end, found.label) == (0, 1, "PER")
    assert found.score == pytest.approx(0.3, abs=1e-3)
