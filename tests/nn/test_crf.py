from itertools import pairwise, product

import pytest
import torch

from nestling.nn.crf import CRF


@pytest.fixture
def crf():
    torch.manual_seed(1)
    made = CRF(3)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter)
    return made.requires_grad_(False)


def plain_score(crf, emissions, path):
    """Equations 8 and 9 as they stand: emissions and transitions, added up."""
    total = crf.starts[path[0]] + crf.ends[path[-1]] + sum(emissions[t, tag] for t, tag in enumerate(path))
    return float(total + sum(crf.transitions[a, b] for a, b in pairwise(path)))


@pytest.fixture
def batch():
    torch.manual_seed(2)
    mask = torch.tensor([[True] * 4, [True, True, False, False], [True, False, False, False]])
    return torch.randn(3, 4, 3), mask


def all_paths(length):
    return list(product(range(3), repeat=length))


def test_partition_best_path_and_marginals_equal_brute_force(crf, batch):
    emissions, mask = batch
    partition, best, marginals = (
        crf.log_partition(emissions, mask),
        crf.best_paths(emissions, mask),
        crf.marginals(emissions, mask),
    )
    for n, length in enumerate(mask.sum(dim=1).tolist()):
        paths = all_paths(length)
        scores = torch.tensor([plain_score(crf, emissions[n], path) for path in paths])
        assert float(partition[n]) == pytest.approx(float(torch.logsumexp(scores, dim=0)), abs=1e-5)
        assert tuple(best[n, :length].tolist()) == paths[int(scores.argmax())]
        assert best[n, length:].tolist() == [0] * (4 - length)
        shares = torch.softmax(scores, dim=0)
        for t in range(length):
            for tag in range(3):
                expected = sum(float(share) for share, path in zip(shares, paths, strict=True) if path[t] == tag)
                assert float(marginals[n, t, tag]) == pytest.approx(expected, abs=1e-5)


def test_loss_is_the_negative_log_likelihood_of_the_path(crf, batch):
    emissions, mask = batch
    tags = torch.tensor([[0, 1, 2, 0], [2, 1, 0, 0], [1, 0, 0, 0]])
    losses = crf.loss(emissions, tags, mask)
    for n, length in enumerate(mask.sum(dim=1).tolist()):
        own = plain_score(crf, emissions[n], tags[n, :length].tolist())
        everything = torch.logsumexp(
            torch.tensor([plain_score(crf, emissions[n], p) for p in all_paths(length)]), dim=0
        )
        assert float(losses[n]) == pytest.approx(float(everything) - own, abs=1e-5)


def test_padding_changes_nothing(crf, batch):
    emissions, mask = batch
    longer = torch.cat([emissions, torch.randn(3, 2, 3) * 9], dim=1)
    wider = torch.cat([mask, torch.zeros(3, 2, dtype=torch.bool)], dim=1)
    assert torch.allclose(crf.log_partition(longer, wider), crf.log_partition(emissions, mask), atol=1e-5)
    assert torch.equal(crf.best_paths(longer, wider)[:, :4], crf.best_paths(emissions, mask))
