import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from nestling.decoding import soft_nms
from nestling.heads.head import Targets
from nestling.heads.two_stage import TwoStageHead, TwoStageSettings, shifted_borders
from nestling.nn.batch import Words
from nestling.nn.spans import windows
from nestling.types import Labels

LABELS = Labels(("LOC", "PER"))
MASK = torch.tensor([[True] * 6, [True] * 3 + [False] * 3])


def head(**options):
    torch.manual_seed(1)
    return TwoStageHead(5, LABELS, TwoStageSettings(size=7, dropout=0.0, **options))


def words():
    torch.manual_seed(0)
    return Words(torch.randn(2, 6, 5), torch.randn(2, 5), MASK)


def targets(*spans, seeds=(1, 2)):
    return Targets(torch.tensor(spans, dtype=torch.long).reshape(-1, 4), (), seeds)


def layers(made, maximum, left, right):
    """Two linear layers and a GELU over the concatenation, as the paper writes them."""
    first = torch.cat([made.of_maximum.weight, made.of_left.weight, made.of_right.weight], dim=1)
    hidden = first @ torch.cat([maximum, left, right]) + made.of_maximum.bias
    return made.out.weight @ torch.nn.functional.gelu(hidden) + made.out.bias


SPANS = [(0, 0, 1), (0, 1, 4), (0, 0, 6), (1, 1, 3), (1, 2, 3)]


def test_the_three_parts_span_by_span():
    """Equations 1 to 5 and 8 to 10, on the concatenation of pooled words and border words."""
    made, given = head(), words()
    with torch.no_grad():
        made.edges.normal_()
        made.regressor.out.weight.normal_()
    reading = made(given)
    seen = reading.at(torch.tensor(SPANS))
    proposal, offsets, labels = (f(reading, seen) for f in (made.is_proposal, made.offsets, made.label_logits))
    for n, (sentence, start, end) in enumerate(SPANS):
        inside = given.vectors[sentence, start:end]
        length = int(MASK[sentence].sum())
        before = given.vectors[sentence, start - 1] if start else made.edges[0]
        behind = given.vectors[sentence, end] if end < length else made.edges[1]
        pooled = inside.amax(dim=0)
        assert torch.allclose(proposal[n], layers(made.filter, pooled, inside[0], inside[-1]), atol=1e-5)
        assert torch.allclose(offsets[n], layers(made.regressor, pooled, before, behind), atol=1e-5)
        assert torch.allclose(labels[n], layers(made.classifier, pooled, inside[0], inside[-1]), atol=1e-5)


@pytest.mark.parametrize("filters_labels", [False, True])
def test_all_seeds_at_once_equal_one_by_one(filters_labels):
    made = head(windows=(2, 3, 5), filters_labels=filters_labels)
    reading = made(words())
    spans = windows(MASK, (2, 3, 5))
    wanted = made.is_proposal(reading, reading.at(spans)).amax(dim=1)
    assert torch.allclose(made._window_logits(reading, spans), wanted, atol=1e-5)
    middle = float(wanted.detach().sigmoid().median()) - 1e-6
    sieve = head(windows=(2, 3, 5), keep=middle, filters_labels=filters_labels)
    assert sieve.kept(reading).spans.tolist() == spans[wanted.sigmoid() >= middle].tolist()


def test_borders_by_hand():
    """Equations 6 and 7: to the nearest word, halves up; inside the sentence; never empty."""
    spans = torch.tensor([[0, 2, 4]] * 6 + [[1, 0, 2]] * 2)
    offsets = torch.tensor(
        [[0.4, -0.4], [0.5, 0.5], [-0.5, -0.6], [-9.0, 9.0], [3.0, -3.0], [-1.6, 1.4], [0.0, 5.0], [7.0, 7.0]]
    )
    assert shifted_borders(spans, offsets, MASK)[:, 1:].tolist() == [
        [2, 4],
        [3, 5],
        [2, 3],
        [0, 6],
        [5, 6],
        [0, 5],
        [0, 3],
        [2, 3],
    ]


def test_identity_is_the_start():
    made = head()
    spans, reading = torch.tensor(SPANS), made(words())
    assert torch.equal(shifted_borders(spans, made.offsets(reading, reading.at(spans)), MASK), spans)


@given(st.integers(0, 9), st.integers(1, 10), st.integers(0, 9), st.integers(1, 10), st.floats(-0.49, 0.49))
def test_a_span_regressed_onto_gold_is_a_positive_of_stage_two(start, width, gold_start, gold_width, noise):
    mask = torch.ones(1, 20, dtype=torch.bool)
    span, gold = torch.tensor([[0, start, start + width]]), torch.tensor([[0, gold_start, gold_start + gold_width, 1]])
    offsets = (gold[:, 1:3] - span[:, 1:]).float() + noise
    moved = shifted_borders(span, offsets, mask)
    assert torch.equal(moved, gold[:, :3])
    made = head()
    reading = made(Words(torch.randn(1, 20, 5), torch.randn(1, 5), mask))
    expected = torch.nn.functional.cross_entropy(made.label_logits(reading, reading.at(moved)), torch.tensor([2]))
    assert torch.allclose(made._label_loss(reading, moved, Targets(gold, (), ())), expected, atol=1e-5)


def test_an_entity_of_sixty_words_is_reachable():
    """Windows of 15 words; offsets are signed and not bounded."""
    mask = torch.ones(1, 80, dtype=torch.bool)
    made = head()
    with torch.no_grad():
        made.filter.out.bias.fill_(50.0)
        made.regressor.out.weight.zero_()
        made.regressor.out.bias.copy_(torch.tensor([-20.0, 25.0]))
    reading = made(Words(torch.randn(1, 80, 5), torch.randn(1, 5), mask))
    assert [0, 10, 70] in made.proposals(reading).spans.tolist()


def test_losses_by_hand():
    """Equations 11 to 17 with every logit zero: p = 1/2, no offset, labels equally likely."""
    made = head(windows=(1, 2, 3), negatives=100, least_negatives=100, has_gold=False, loss_weights=(1.0, 0.5, 2.0))
    with torch.no_grad():
        for part in (made.filter, made.regressor, made.classifier):
            part.out.weight.zero_()
            part.out.bias.zero_()
    mask = MASK[1:, :3]
    reading = made(Words(torch.randn(1, 3, 5), torch.randn(1, 5), mask))
    losses = made.loss(reading, targets([0, 0, 3, 1], seeds=(1,)))
    # seeds: three of one word (IoU 1/3), two of two (2/3), one of three (1); α₁ = 0.7
    weights = 3 * (1 - 1 / 3) + 2 * (1 - 2 / 3) + 1
    assert float(losses["filter"].total.detach()) == pytest.approx(weights * 0.25 * math.log(2), abs=1e-5)
    assert float(losses["classifier"].total.detach()) == pytest.approx(2 * weights * math.log(3), abs=1e-5)
    assert float(losses["regressor"].total.detach()) == 0
    assert {int(loss.terms) for loss in losses.values()} == {6}
    sparse = head(windows=(2,), negatives=0, least_negatives=0, proposal_overlap=0.5, loss_weights=(1.0, 0.5, 2.0))
    with torch.no_grad():
        sparse.regressor.out.weight.zero_()
    losses = sparse.loss(
        sparse(Words(torch.randn(1, 3, 5), torch.randn(1, 5), mask)), targets([0, 0, 3, 1], seeds=(1,))
    )
    # two seeds, each one word short: smooth L1 1/2, overlap loss 1/3
    assert float(losses["regressor"].total.detach()) == pytest.approx(0.5 * 2 * (0.5 + 1 / 3), abs=1e-5)


def test_a_filter_of_labels_learns_nothing_of_those_that_were_not_looked_for():
    made = head(filters_labels=True, softness=0.0)
    reading = made(words())
    seen = reading.at(torch.tensor(SPANS))
    sought = torch.zeros(len(SPANS), len(made.labels), dtype=torch.bool)
    sought[1, 1] = True
    signs = torch.where(sought, 1.0, -1.0) * made.is_proposal(reading, seen)
    each = -((-signs).sigmoid() ** 2) * signs.sigmoid().log()
    known = torch.tensor([[True, True], [False, True]])
    everything, partly = Targets(torch.zeros(0, 4), (), ()), Targets(torch.zeros(0, 4), (), (), known)
    assert torch.allclose(made._filter_loss(reading, seen, sought, everything), each.sum(dim=1), atol=1e-6)
    each[3:, 0] = 0  # those of the second sentence
    assert torch.allclose(made._filter_loss(reading, seen, sought, partly), each.sum(dim=1), atol=1e-6)


def test_soft_examples_weigh_single_spans():
    """A weight belongs to its span: making one span's loss large counts by that span's weight alone."""
    made = head(windows=(1, 2, 3), negatives=100, least_negatives=100, has_gold=False)
    reading = made(Words(torch.randn(1, 3, 5), torch.randn(1, 5), MASK[1:, :3]))
    gold = torch.tensor([[0, 0, 3, 1]])
    spans = windows(MASK[1:, :3], (1, 2, 3))
    plain = torch.nn.functional.cross_entropy(
        made.label_logits(reading, reading.at(spans)), torch.tensor([0, 0, 0, 0, 0, 2]), reduction="none"
    )
    assert torch.allclose(
        made._label_loss(reading, spans, Targets(gold, (), ())),
        plain * torch.tensor([2 / 3, 2 / 3, 2 / 3, 1 / 3, 1 / 3, 1]),
        atol=1e-5,
    )


def test_gradients_reach_the_regressor_from_clamped_spans():
    made = head(windows=(3,), proposal_overlap=0.5)
    with torch.no_grad():
        made.regressor.out.bias.copy_(torch.tensor([-30.0, 30.0]))  # far outside on both sides
    losses = made.loss(made(words()), targets([0, 0, 3, 0]))
    losses["regressor"].total.backward()
    gradient = made.regressor.out.bias.grad
    assert gradient[0] < 0 < gradient[1]  # a step against it moves both borders inwards


def test_a_sentence_without_entities_is_learnt():
    made = head()
    losses = made.loss(made(words()), targets())
    assert int(losses["filter"].terms) == 4
    assert all(torch.isfinite(loss.total) for loss in losses.values())
    assert made.loss(made(words()), targets([1, 0, 2, 1]))["classifier"].total > 0


@pytest.mark.parametrize("locate", [(), ("filter",), ("regressor",), ("filter", "regressor")])
def test_parts_can_be_left_out(locate):
    made = head(locate=locate)
    reading = made(words())
    assert set(made.loss(reading, targets([0, 0, 3, 0]))) == {*locate, "classifier"}
    proposals = made.proposals(reading).spans
    assert (
        proposals.tolist() == sorted(map(list, {tuple(row) for row in proposals.tolist()})) or "regressor" not in locate
    )
    if not locate:
        assert len(proposals) == len(windows(MASK, made.settings.windows))
    assert len(made.candidates(reading)) == 2


def test_candidates_by_hand():
    made = head(locate=())
    reading = made(words())
    logits = made.label_logits(reading, reading.at(windows(MASK, made.settings.windows)))
    scores, best = logits.softmax(dim=1).max(dim=1)
    found = [(n, e.start, e.end, e.label, e.score) for n, own in enumerate(made.candidates(reading)) for e in own]
    rows = zip(windows(MASK, made.settings.windows).tolist(), best.tolist(), scores.tolist(), strict=True)
    expected = [(*span, LABELS[label - 1], score) for span, label, score in rows if label]
    assert [row[:4] for row in found] == [row[:4] for row in expected]
    assert [row[4] for row in found] == pytest.approx([row[4] for row in expected])


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=False))
def test_decoding_is_blind_to_order(random):
    made = head(locate=("regressor",))
    candidates = made.candidates(made(words()))[0]
    shuffled = list(candidates)
    random.shuffle(shuffled)
    assert soft_nms(shuffled, threshold=0.3) == soft_nms(candidates, threshold=0.3)


def test_inspection_by_hand():
    made = head(windows=(2,), keep=0.0, proposal_overlap=0.6)
    with torch.no_grad():
        made.regressor.out.weight.zero_()
        made.regressor.out.bias.copy_(torch.tensor([0.0, 1.0]))
    with torch.no_grad():
        found = made.inspect(made(words()), targets([0, 0, 3, 0], [0, 5, 6, 1], [1, 1, 3, 0]))
    assert found["gold near a seed"] == (2, 3)  # [5, 6) is half of [4, 6)
    assert found["gold near a kept seed"] == (2, 3)
    assert found["gold located"] == (2, 3)  # [0, 2) grows to [0, 3); [1, 3) cannot grow
    assert found["kept seeds an entity"] == (7, 3)
    assert found["proposals an entity"] == (7, 3)
    assert found["offset error in words"] == (
        3,
        6,
    )  # [0, 2) is right, [1, 3) of sentence 0 wants -1, of sentence 1 none
    assert found["borders moved by 0"] == found["borders moved by 1"] == (7, 14)


def test_windows_must_be_widths():
    with pytest.raises(ValidationError, match="one to a thousand widths"):
        TwoStageSettings(windows=(0, 1))


@pytest.mark.parametrize("lengths", [(40, 40, 40), (60, 3, 4, 5, 3, 4)])  # hardly any padding, and mostly padding
@pytest.mark.parametrize("is_half", [False, True])
def test_many_seeds_are_looked_at_as_few_are(lengths, is_half):
    torch.manual_seed(0)
    labels = Labels(("A", "B"))
    head = TwoStageHead(8, labels, TwoStageSettings(windows=(1, 2, 3, 4, 5), filters_labels=True)).eval()
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    words = Words(torch.randn(*mask.shape, 8) * mask.unsqueeze(-1), torch.zeros(len(lengths), 8), mask)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=is_half):
        output = head(words)
        spans = windows(mask, head.settings.windows)
        assert len(spans) >= 300
        together = head._window_logits(output, spans)
        apart = head.is_proposal(output, output.at(spans)).amax(dim=1).float()
    assert torch.allclose(together, apart, atol=0.02 if is_half else 1e-5)
