import math

import pytest
import torch

from nestling.heads.head import Targets
from nestling.heads.sequence import SequenceHead, SequenceSettings, Tagged
from nestling.nn.batch import Words
from nestling.types import Labels

LABELS = Labels(("LOC", "PER"))
MASK = torch.tensor([[True, True, True], [True, False, False]])


def head(**settings):
    torch.manual_seed(0)
    return SequenceHead(4, LABELS, SequenceSettings(**settings)).eval()


def targets(*spans):
    return Targets(torch.tensor(spans, dtype=torch.long).reshape(-1, 4), (), (1, 2))


def test_tags_and_equation_5():
    made = head()
    assert made.tags == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")  # 2 m + 1
    vectors = torch.randn(2, 3, 4)
    output = made(Words(vectors, vectors[:, 0], MASK))
    assert torch.allclose(output.emissions[0, 1], made.linear.weight @ vectors[0, 1] + made.linear.bias)


def test_gold_tags_are_the_wanted_layer():
    spans = ([0, 0, 3, 1], [0, 0, 1, 0], [1, 0, 1, 0])
    assert head().gold_tags(MASK, targets(*spans)).tolist() == [[3, 4, 4], [1, 0, 0]]
    assert head(layer="innermost").gold_tags(MASK, targets(*spans)).tolist() == [[1, 0, 0], [1, 0, 0]]


def test_loss_is_the_mean_cross_entropy_over_real_words():
    """Equations 6 and 7, with all scores equal but one: -log(e² / (e² + 4)) where it is right, -log(1 / …) elsewhere."""
    emissions = torch.zeros(2, 3, 5)
    emissions[:, :, 0] = 2.0
    loss = head().loss(Tagged(emissions, MASK), targets([0, 1, 2, 0]))["softmax"]
    whole = math.exp(2) + 4
    expected = 3 * -math.log(math.exp(2) / whole) - math.log(1 / whole)
    assert float(loss.total) == pytest.approx(expected, abs=1e-5)
    assert int(loss.terms) == 4


def test_crf_loss_is_a_mean_over_words_too():
    made = head(tagging="crf")
    loss = made.loss(Tagged(torch.zeros(2, 3, 5), MASK), targets())["crf"]
    assert float(loss.total.detach()) == pytest.approx(
        4 * math.log(5), abs=1e-5
    )  # every path of 3 + 1 words is as likely
    assert int(loss.terms) == 4


@pytest.mark.parametrize("tagging", ["softmax", "crf"])
def test_candidates_combine_tags_and_multiply_probabilities(tagging):
    emissions = torch.zeros(2, 3, 5)
    for sentence, word, tag in [(0, 0, 3), (0, 1, 4), (0, 2, 0), (1, 0, 2)]:  # B-PER I-PER O; I-LOC from nothing
        emissions[sentence, word, tag] = 3.0
    first, second = head(tagging=tagging).candidates(Tagged(emissions, MASK))
    sure = math.exp(3) / (math.exp(3) + 4)
    assert [(e.start, e.end, e.label) for e in first] == [(0, 2, "PER")]
    assert [(e.start, e.end, e.label) for e in second] == [(0, 1, "LOC")]
    assert first[0].score == pytest.approx(sure**2, abs=1e-4)
    assert second[0].score == pytest.approx(sure, abs=1e-4)
