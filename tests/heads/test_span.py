import math

import pytest
import torch

from nestling.heads.head import Targets
from nestling.heads.span import SpanHead, Spans, SpanSettings
from nestling.nn.batch import Words
from nestling.types import Labels

LABELS = Labels(("LOC", "PER"))
MASK = torch.tensor([[True] * 4, [True, True, False, False]])


def head(**settings):
    torch.manual_seed(0)
    return SpanHead(5, LABELS, SpanSettings(**{"widest": 3, **settings})).eval()


def words():
    torch.manual_seed(1)
    return Words(torch.randn(2, 4, 5), torch.randn(2, 5), MASK)


@pytest.mark.parametrize("features", ["boundary", "pooling", "hybrid"])
def test_parts_summed_are_one_linear_layer_over_the_concatenation(features):
    """Equations 13 to 16 as they stand, span by span."""
    made, given = head(features=features), words()
    logits = made(given).logits
    for sentence, width, start in [(0, 0, 0), (0, 2, 1), (0, 1, 2), (1, 1, 0)]:
        inside = given.vectors[sentence, start : start + width + 1]
        parts, layers = [], []
        if features != "pooling":
            parts += [inside[0], inside[-1]]
            layers += [made.of_first.weight, made.of_last.weight]
        if features != "boundary":
            parts += [inside.amax(dim=0), given.sentence[sentence]]
            layers += [made.of_maximum.weight, made.of_sentence.weight]
        parts.append(made.width.weight[width])
        layers.append(made.of_width.weight)
        expected = torch.cat(layers, dim=1) @ torch.cat(parts) + made.of_width.bias
        assert torch.allclose(logits[sentence, width, start], expected, atol=1e-5)


def test_all_spans_up_to_the_widest_are_seen():
    mask = head()(words()).mask
    assert mask.sum(dim=(1, 2)).tolist() == [4 + 3 + 2, 2 + 1]
    assert head(widest=9)(words()).mask.shape[1] == 4


def targets(*spans, seeds=(1, 2)):
    return Targets(torch.tensor(spans, dtype=torch.long).reshape(-1, 4), (), seeds)


def test_gold_and_sampled_spans_are_learnt():
    made = head(negatives=3)
    mask = made(words()).mask
    gold, chosen = made.learnt(mask, targets([0, 1, 3, 1], [0, 0, 4, 0]))  # the second is wider than 3: out of reach
    assert gold.nonzero().tolist() == [[0, 1, 1]]
    assert int(gold[0, 1, 1]) == 2
    assert bool(chosen[0, 1, 1])
    assert chosen.sum(dim=(1, 2)).tolist() == [1 + 3, 3]
    assert not (chosen & ~mask).any()
    again = made.learnt(mask, targets([0, 1, 3, 1]))[1]
    assert torch.equal(again, chosen)
    other = [made.learnt(mask, targets([0, 1, 3, 1], seeds=(s, s)))[1] for s in range(5)]
    assert any(not torch.equal(drawn, chosen) for drawn in other)  # drawn anew each epoch


def test_loss_by_hand():
    """Equations 17 and 18 with equal scores: log 3 for each of the spans that are learnt."""
    made = head(negatives=100)
    mask = made(words()).mask
    loss = made.loss(Spans(torch.zeros(2, 3, 4, 3), mask), targets([0, 0, 1, 0]))["span"]
    assert (float(loss.total), int(loss.terms)) == (pytest.approx(12 * math.log(3), abs=1e-4), 12)


def test_candidates_by_hand():
    made = head()
    logits = torch.zeros(2, 3, 4, 3)
    logits[..., 0] = 1.0
    logits[0, 1, 2, 2] = 4.0  # words [2, 4): PER
    logits[0, 2, 0, 1] = 3.0  # words [0, 3): LOC
    logits[1, 2, 3, 1] = 9.0  # not in the sentence
    first, second = made.candidates(Spans(logits, made(words()).mask))
    assert {(e.start, e.end, e.label) for e in first} == {(2, 4, "PER"), (0, 3, "LOC")}
    score = next(e.score for e in first if e.label == "PER")
    assert score == pytest.approx(math.exp(4) / (math.exp(4) + math.e + 1), abs=1e-5)
    assert second == []


def test_the_widest_must_be_known():
    with pytest.raises(ValueError, match="widest"):
        head(widest=None)


def test_spans_that_are_likely_enough_are_candidates_though_none_is_likelier():
    made = head()
    logits = torch.full((2, 3, 4, 3), -9.0)
    logits[..., 0] = 0.0
    logits[0, 0, 1] = torch.tensor([0.5, 0.3, 0.1]).log()  # none is likelier
    logits[0, 1, 2] = torch.tensor([0.3, 0.3, 0.4]).log()
    output = Spans(logits, made(words()).mask)
    assert [(e.start, e.end, e.label) for e in made.candidates(output)[0]] == [(2, 4, "PER")]
    found = {(e.start, e.end, e.label): e.score for e in head(least=0.2).candidates(output)[0]}
    assert found == {(1, 2, "LOC"): pytest.approx(1 / 3), (2, 4, "PER"): pytest.approx(0.4)}
    assert len(head(least=0.35).candidates(output)[0]) == 1
