import time
import warnings
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nestling.data.tags import encode
from nestling.errors import DataError, InvalidValueError
from nestling.evaluation.scores import Score, lead, score, significance
from nestling.text import build
from nestling.types import Document, Entity, Mention, Span
from tests.strategies import LABELS, corpora, flat_entities

WORDS = [f"w{n}" for n in range(12)]


def document(*entities, id="d"):
    return Document.of_words(id, [(WORDS, entities)])


def test_nested_by_hand():
    gold = [document(Entity.at(0, 4, "ORG"), Entity.at(0, 2, "GPE"), Entity.at(6, 8, "PER"))]
    predicted = [document(Entity.at(0, 4, "ORG", 0.9), Entity.at(0, 2, "ORG", 0.8), Entity.at(7, 8, "PER", 0.7))]
    scores = score(gold, predicted)
    assert scores.strict == Score(right=1, gold=3, predicted=3)
    assert scores.strict.f1 == pytest.approx(100 / 3)
    assert scores.boundaries == Score(right=2, gold=3, predicted=3)
    assert scores.by_label == {"GPE": Score(0, 1, 0), "ORG": Score(1, 1, 2), "PER": Score(0, 1, 1)}
    assert scores.by_length == {1: Score(0, 0, 1), 2: Score(0, 2, 1), 4: Score(1, 1, 1)}
    assert scores.macro.f1 == pytest.approx((0 + 200 / 3 + 0) / 3)


def test_discontinuous_by_hand():
    whole, part = Entity((Span(0, 1), Span(3, 4)), "arm"), Entity.at(0, 1, "arm")
    hull = Entity.at(0, 4, "arm")
    scores = score([document(whole, Entity.at(2, 4, "arm"))], [document(whole, hull)])
    assert scores.strict == Score(1, 2, 2)
    assert scores.discontinuous == Score(1, 1, 1)
    assert scores.beside_discontinuous == Score(1, 2, 2)
    plain = score([document(part)], [document(part)])
    assert (plain.strict, plain.beside_discontinuous) == (Score(1, 1, 1), Score(0, 0, 0))
    assert score([document(whole)], [document(part)]).strict == Score(0, 1, 1)
    assert score([document(whole)], [document(hull)]).boundaries == Score(0, 1, 1)


def test_several_labels_on_a_span_and_repetitions():
    gold = [document(Entity.at(0, 2, "A"), Entity.at(0, 2, "B"))]
    predicted = [document(Entity.at(0, 2, "A", 0.5), Entity.at(0, 2, "A", 0.6), Entity.at(0, 2, "C"))]
    scores = score(gold, predicted)
    assert scores.strict == Score(1, 2, 2)
    assert scores.boundaries == Score(1, 1, 1)


def test_equal_texts_in_two_documents_are_kept_apart():
    gold = [document(Entity.at(0, 1, "A"), id="1"), document(id="2")]
    predicted = [document(id="1"), document(Entity.at(0, 1, "A"), id="2")]
    assert score(gold, predicted).strict == Score(0, 1, 1)
    assert score(gold, predicted[::-1]).strict == Score(0, 1, 1)  # paired by id
    assert score([document(Entity.at(0, 1, "A"))] * 2, [document(), document(Entity.at(0, 1, "A"))]).strict == Score(
        1, 2, 1
    )


def test_words_may_be_cut_differently():
    gold = Document.of_words("d", [(["a-b", "c"], [Entity.at(0, 1, "X")])])
    other = build("d", "a-b c", [(0, 1), (1, 2), (2, 3), (4, 5)], [0], [Mention.of("a-b c", [Span(0, 3)], "X")])
    scores = score([gold], [other])
    assert scores.strict == Score(1, 1, 1)
    assert scores.by_length == {1: Score(1, 1, 1)}  # in gold's words


def test_what_cannot_be_compared():
    with pytest.raises(DataError, match="1 predicted documents for 2 gold ones"):
        score([document(), document()], [document()])
    with pytest.raises(DataError, match="document 'd' and its prediction 'd' have different texts"):
        score([document()], [Document.of_words("d", [(["other"], [])])])


def test_nothing_at_all():
    assert score([], []).as_json()["strict"]["f1"] == 0
    scores = score([document()], [document()])
    assert (scores.strict.precision, scores.strict.recall, scores.strict.f1, scores.macro.f1) == (0, 0, 0, 0)
    assert (scores.interval().low, scores.interval().high) == (0, 0)


@given(corpora())
def test_gold_against_itself_is_perfect(made):
    scores = score(made, made)
    expected = 100.0 if any(d.mentions for d in made) else 0.0
    assert (scores.strict.f1, scores.boundaries.f1) == (expected, expected)
    assert scores.units.sum(axis=0).tolist() == [scores.strict.right, scores.strict.gold, scores.strict.predicted]


pairs = st.lists(st.tuples(flat_entities(), flat_entities()), min_size=1, max_size=6)


@settings(max_examples=60)
@given(pairs)
def test_agrees_with_seqeval_on_flat_tags(sides):
    from seqeval.metrics import f1_score, precision_score, recall_score

    gold = [document(*truth, id=str(n)) for n, (truth, _) in enumerate(sides)]
    predicted = [document(*guess, id=str(n)) for n, (_, guess) in enumerate(sides)]
    truth, guess = ([encode(side[n], 12) for side in sides] for n in (0, 1))
    assume(any(t or g for t, g in sides))  # of nothing at all seqeval's mean over labels is NaN
    scores = score(gold, predicted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for average, ours in (("micro", scores.strict), ("macro", scores.macro)):
            assert ours.precision == pytest.approx(
                100 * precision_score(truth, guess, average=average, zero_division=0)
            )
            assert ours.recall == pytest.approx(100 * recall_score(truth, guess, average=average, zero_division=0))
            assert ours.f1 == pytest.approx(100 * f1_score(truth, guess, average=average, zero_division=0))


@settings(max_examples=60)
@given(pairs)
def test_agrees_with_nervaluate_on_flat_entities(sides):
    from nervaluate import Evaluator

    def listed(made):
        return [{"label": e.label, "start": e.start, "end": e.end - 1} for e in sorted(made, key=lambda e: e.order)]

    theirs = Evaluator([listed(t) for t, _ in sides], [listed(g) for _, g in sides], tags=list(LABELS), loader="dict")
    strict = theirs.evaluate()["overall"]["strict"]
    ours = score(*([document(*side[n], id=str(i)) for i, side in enumerate(sides)] for n in (0, 1))).strict
    assert (ours.right, ours.gold, ours.predicted) == (strict.correct, strict.possible, strict.actual)
    assert ours.f1 == pytest.approx(100 * strict.f1)


def corpus_with(right, count=400):
    """Sentences with one gold entity each; a prediction that finds the first `right` of them."""
    gold = [document(Entity.at(0, 1, "A"), id=str(n)) for n in range(count)]
    return gold, [g if n < right else document(id=g.id) for n, g in enumerate(gold)]


def test_interval_holds_the_score_and_narrows_with_size():
    wide, narrow = (score(*corpus_with(right, count)) for right, count in ((30, 40), (1500, 2000)))
    for scores in (wide, narrow):
        interval = scores.interval()
        assert interval.low < scores.strict.f1 < interval.high
    assert wide.interval().high - wide.interval().low > 3 * (narrow.interval().high - narrow.interval().low)


def test_interval_equals_a_plain_bootstrap():
    import numpy as np

    scores = score(*corpus_with(300))
    rng = np.random.default_rng(1)
    drawn = [scores.units[rng.integers(0, 400, 400)].sum(axis=0) for _ in range(4000)]
    plain = np.percentile([200 * right / (gold + predicted) for right, gold, predicted in drawn], [2.5, 97.5])
    assert [scores.interval().low, scores.interval().high] == pytest.approx(plain, abs=0.5)


def test_significance():
    gold, good = corpus_with(300)
    _, slightly = corpus_with(297)
    _, bad = corpus_with(200)
    first = score(gold, good)
    assert significance(first, first) == 1.0
    assert significance(first, score(gold, slightly)) > 0.1
    assert significance(first, score(gold, bad)) < 0.001
    with pytest.raises(DataError, match="different gold"):
        significance(first, score(*corpus_with(10, 20)))


def test_significance_equals_all_swaps():
    """Four sentences in which only the first prediction is right: 2 of the 16 arrangements differ as much as observed."""
    gold, good = corpus_with(4, 4)
    _, none = corpus_with(0, 4)
    assert significance(score(gold, good), score(gold, none)) == pytest.approx(2 / 16, abs=0.01)


def test_a_lead_and_its_interval():
    gold, good = corpus_with(300)
    _, slightly = corpus_with(297)
    _, bad = corpus_with(200)
    first = score(gold, good)
    assert (lead(first, first).low, lead(first, first).high) == (0, 0)
    near, far = lead(first, score(gold, slightly)), lead(first, score(gold, bad))
    assert near.low < first.strict.f1 - score(gold, slightly).strict.f1 < near.high
    assert far.low > near.high
    assert lead(score(gold, bad), first).high == pytest.approx(-far.low, abs=1e-9)
    with pytest.raises(DataError, match="different gold"):
        lead(first, score(*corpus_with(10, 20)))


def test_predictions_that_nobody_looked_for_are_unknown():
    gold = replace(document(Entity.at(0, 2, "A")), annotated=frozenset("A"))
    guess = document(Entity.at(0, 2, "A"), Entity.at(4, 5, "B"), Entity.at(4, 6, "A"))
    assert (score([gold], [guess]).strict.predicted, score([gold], [guess]).strict.right) == (2, 1)
    with pytest.raises(InvalidValueError, match="B is none of the labels annotated"):
        gold.with_entities([[Entity.at(0, 1, "B")]])


def test_twenty_thousand_sentences_in_two_seconds():
    gold = [
        document(Entity.at(0, 2, "A"), Entity.at(1, 2, "B"), Entity.at(4, 7, "C"), id=str(n)) for n in range(20_000)
    ]
    start = time.process_time()
    scores = score(gold, gold[::-1])
    scores.as_json()
    assert time.process_time() - start < 2
    assert scores.strict.gold == 60_000
