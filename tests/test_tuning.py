"""Decoders are compared at their best thresholds, all from one list of candidates."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestling.evaluation.scores import score
from nestling.recognizer import Decoder
from nestling.tuning import EVERYTHING, FOLDS, Trial, by_label, calibrated, expected, trials, tune, unseen, untuned
from nestling.types import Document, Entity

WORDS = [f"w{n}" for n in range(8)]


def documents(*entities):
    return [Document.of_words(str(n), [(WORDS, own)]) for n, own in enumerate(entities)]


GOLD = documents([Entity.at(0, 2, "A"), Entity.at(4, 5, "B")], [Entity.at(1, 6, "A")])
CANDIDATES = documents(
    [Entity.at(0, 2, "A", 0.9), Entity.at(4, 5, "B", 0.6), Entity.at(6, 7, "B", 0.3)],
    [Entity.at(1, 6, "A", 0.8), Entity.at(1, 7, "A", 0.75)],
)


def test_by_hand():
    best = trials(GOLD, CANDIDATES, Decoder(rule="flat"))[0]
    assert (best.decoder.method, best.f1) == ("best", 100.0)
    assert best.decoder.threshold == pytest.approx(0.45)
    any_rule = trials(GOLD, CANDIDATES, Decoder(rule="any"))
    assert any_rule[0].decoder.method == "soft_nms"  # [1, 7) falls below [4, 5) alone: 0.75 × 0.7 < 0.6
    assert any_rule[0].f1 == 100.0
    assert next(t for t in any_rule if t.decoder.method == "best").f1 == pytest.approx(100 * 2 * 3 / 7, abs=1e-3)


def test_a_threshold_for_each_label():
    gold = documents([Entity.at(0, 2, "A"), Entity.at(4, 5, "B")], [Entity.at(1, 3, "A")])
    found = [Entity.at(0, 2, "A", 0.3), Entity.at(4, 5, "B", 0.9), Entity.at(6, 7, "B", 0.5)]
    candidates = documents([*found, Entity.at(5, 6, "C", 0.8)], [Entity.at(1, 3, "A", 0.4), Entity.at(4, 6, "B", 0.6)])
    common = next(t for t in trials(gold, candidates, Decoder()) if t.decoder.method == "best")
    own = by_label(gold, candidates, common)
    assert own.decoder.thresholds == pytest.approx({"A": 0.15, "B": 0.75})
    assert own.f1 == pytest.approx(200 * 3 / 7, abs=1e-3)  # C, which gold has not, keeps the common one
    assert own.f1 > common.f1


def test_the_threshold_by_what_is_expected_is_not_that_of_chance():
    """Of many at 0.6, few are right, but the first by chance: as counted, the best threshold reaches down to it."""
    scores = [0.9] * 10 + [0.61] + [0.6] * 10 + [0.3] * 10
    is_right = [True] * 9 + [False] + [True] + [True, False, False, False, False] * 2 + [False] * 10
    gold = documents(*[[Entity.at(0, 1, "A")] if own else [] for own in is_right])
    candidates = documents(*[[Entity.at(0, 1, "A", own)] for own in scores])
    counted = trials(gold, candidates, Decoder())[0]
    likely = expected(gold, candidates, Decoder())
    assert counted.decoder.threshold == pytest.approx(0.605)
    assert likely.decoder.threshold in (0.9, 0.61)
    found = Fixed(candidates, likely.decoder).pipe(gold)
    assert likely.f1 == pytest.approx(score(gold, found).strict.f1, abs=1e-3)
    assert likely.f1 < counted.f1
    right = documents(*[[Entity.at(0, 1, "A", 0.9)]] * 3)
    assert expected(right, right, Decoder()) == trials(right, right, Decoder())[0]  # nothing to fit


def test_scores_become_the_share_that_is_right():
    """Of those with 0.9 half are right, of those with 0.6 a fifth: Platt's line goes through both."""
    gold = documents(*[[Entity.at(0, 1, "A")] if n < 10 or n in (20, 21) else [] for n in range(30)])
    candidates = documents(*[[Entity.at(0, 1, "A", 0.9 if n < 20 else 0.6)] for n in range(30)])
    trial = Trial(Decoder(threshold=0.5, thresholds={"A": 0.3}), 0.0)
    decoder = calibrated(gold, candidates, trial).decoder
    assert decoder.calibrated(0.9) == pytest.approx(0.5, abs=1e-3)
    assert decoder.calibrated(0.6) == pytest.approx(0.2, abs=1e-3)
    plain = [trial.decoder(s.entities) for d in candidates for s in d.sentences]
    found = [decoder(s.entities) for d in candidates for s in d.sentences]
    assert [[e.key for e in own] for own in found] == [[e.key for e in own] for own in plain]
    assert found[0][0].score == pytest.approx(0.5, abs=1e-3)


def test_scores_that_teach_nothing_stay():
    trial = Trial(Decoder(), 0.0)
    right = documents([Entity.at(0, 2, "A", 0.7)], [])
    assert calibrated(GOLD, right, trial) == trial  # all right
    assert calibrated(GOLD, documents([], []), trial) == trial


class Fixed:
    """A recogniser that always finds the same."""

    def __init__(self, found, decoder):
        self.found, self.decoder = found, decoder

    def pipe(self, inputs):
        return [d.with_entities([self.decoder(s.entities) for s in d.sentences]) for d in self.found]


def one_of(scores, is_right):
    """Gold and candidates: an entity a document, with these scores, right or in the wrong place."""
    gold = documents(*[[Entity.at(0, 1, "A")]] * len(scores))
    places = [(0, 1) if own else (4, 5) for own in is_right]
    return gold, documents(*[[Entity.at(*place, "A", s)] for place, s in zip(places, scores, strict=True)])


def test_what_is_good_by_chance_on_dev_is_not_taken():
    """Every threshold here is noise: fitted it looks better than none, on unseen documents it is worse."""
    rng = np.random.default_rng(8)
    gold, candidates = one_of(rng.uniform(0.5, 1, 40), rng.uniform(size=40) < 0.4)
    tuned = tune(Fixed(candidates, Decoder()), gold, candidates, has_thresholds=True)
    ways = {way.name: way for way in tuned.ways}
    assert list(ways) == ["as it is", "one threshold", "expected F1", "soft-NMS", "by label"]
    assert ways["as it is"].unseen == ways["as it is"].trial.f1
    assert ways["one threshold"].trial.f1 > ways["as it is"].trial.f1
    assert ways["one threshold"].unseen < ways["as it is"].unseen
    assert tuned.way.name == "as it is"


def test_a_threshold_that_holds_on_unseen_documents_is_taken():
    scores = [0.9, 0.3, 0.8, 0.2] * 10
    gold, candidates = one_of(scores, [own > 0.5 for own in scores])
    tuned = tune(Fixed(candidates, Decoder()), gold, candidates)
    assert tuned.way.name == "one threshold"
    assert tuned.way.unseen == tuned.way.trial.f1 == pytest.approx(100 * 2 * 20 / (20 + 40), abs=1e-3)
    found = Fixed(candidates, tuned.best.decoder).pipe(gold)
    assert score(gold, found).strict.f1 == pytest.approx(tuned.way.trial.f1, abs=1e-3)


def test_few_documents_leave_none_unseen():
    gold, candidates = one_of([0.9, 0.2, 0.8, 0.7], [True, False, True, True])
    assert unseen(lambda *_: Trial(Decoder(), 0.0), gold, candidates) is None
    assert tune(Fixed(candidates, Decoder()), gold, candidates).way.name == "one threshold"


def test_every_document_is_decoded_by_what_others_chose():
    chosen = []

    def choose(gold, candidates):
        chosen.append([document.id for document in gold])
        return Trial(Decoder(), 0.0)

    gold, candidates = one_of([0.9] * 7, [True] * 7)
    assert unseen(choose, gold, candidates) == 100.0
    assert chosen == [[str(n) for n in range(7) if n % FOLDS != fold] for fold in range(FOLDS)]


def test_a_model_that_was_tuned_is_measured_anew():
    assert untuned(Decoder(threshold=0.3)) == Decoder(threshold=0.3)
    assert untuned(Decoder(rule="flat", threshold=0.3, thresholds={"A": 0.2})) == Decoder(rule="flat", threshold=0.5)
    assert untuned(Decoder(scale=2.0, shift=1.0)) == Decoder(threshold=0.5)


def test_nothing_found():
    assert trials(GOLD, documents([], []), Decoder())[0].f1 == 0.0


ENTITY = st.tuples(st.integers(0, 7), st.integers(1, 3), st.sampled_from("AB"), st.integers(1, 20)).map(
    lambda t: Entity.at(t[0], min(t[0] + t[1], 8), t[2], t[3] / 20)
)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.lists(ENTITY, max_size=8), min_size=2, max_size=2), st.sampled_from(["flat", "nested", "any"]))
def test_every_trial_scores_as_its_decoder_does_and_no_threshold_is_better(made, rule):
    candidates = documents(*made)
    everything = [d.with_entities([EVERYTHING(s.entities) for s in d.sentences]) for d in candidates]
    found = trials(GOLD, everything, Decoder(rule=rule))
    for trial in found:
        decoded = [d.with_entities([trial.decoder(s.entities) for s in d.sentences]) for d in candidates]
        assert score(GOLD, decoded).strict.f1 == pytest.approx(trial.f1, abs=1e-3)
    for trial, threshold in product(found[:1], np.arange(0, 1, 0.1)):
        other = Decoder(
            rule=rule,
            method=trial.decoder.method,
            threshold=float(threshold),
            decay=trial.decoder.decay,
            overlap=trial.decoder.overlap,
        )
        decoded = [d.with_entities([other(s.entities) for s in d.sentences]) for d in candidates]
        assert score(GOLD, decoded).strict.f1 <= trial.f1 + 1e-3
