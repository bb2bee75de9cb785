"""Analyses by hand, and that the order of annotations never changes a number."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nestling.errors import DataError, InvalidValueError, UnknownNameError
from nestling.evaluation.analysis import analyze
from nestling.evaluation.attributes import Consistency, buckets, oov_density, values_of
from nestling.evaluation.calibration import calibration_of
from nestling.evaluation.comparison import compare
from nestling.evaluation.mistakes import confusion, mistakes_of
from nestling.types import Document, Entity, Sentence, Span, Token
from tests import strategies

WORDS = ["the", "old", "mayor", "of", "New", "York", "City", "sleeps"]


def document(*entities, id="d", words=WORDS):
    return Document.of_words(id, [(words, entities)])


def at(start, end, label="A", score=1.0):
    return Entity.at(start, end, label, score)


class TestMistakes:
    def test_every_kind_once(self):
        gold = document(at(0, 3, "PER"), at(4, 6, "LOC"), at(6, 7, "LOC"), at(3, 4, "X"))
        guess = document(at(0, 3, "ORG"), at(4, 7, "LOC"), at(7, 8, "PER"), at(3, 4, "X"))
        found = mistakes_of(compare([gold], [guess]))
        shown = {(m.kind, m.gold and m.gold.text, m.predicted and m.predicted.text) for m in found.all}
        assert shown == {
            ("type", "the old mayor", "the old mayor"),
            ("boundary", "New York", "New York City"),
            ("missed", "City", None),
            ("spurious", None, "sleeps"),
        }
        assert found.wrong == 6  # three wrong predictions, three gold entities not found
        assert found.rate("boundary") == pytest.approx(100 / 6)
        assert confusion(compare([gold], [guess]), found) == {
            ("X", "X"): 1, ("PER", "ORG"): 1, ("LOC", ""): 2, ("", "LOC"): 1, ("", "PER"): 1,
        }  # fmt: skip

    def test_the_largest_overlap_is_taken_first_then_the_same_label(self):
        gold = document(at(0, 4, "A"), at(0, 2, "B"))
        guess = document(at(0, 3, "A"))
        (pair,) = (m for m in mistakes_of(compare([gold], [guess])).all if m.kind == "boundary")
        assert pair.gold.entity.end == 4  # "the old mayor of" shares more with "the old mayor" than "the old" does
        gold = document(at(2, 4, "A"), at(3, 5, "B"), words=["aa"] * 8)
        guess = document(at(3, 4, "B"), words=["aa"] * 8)
        (pair,) = (m for m in mistakes_of(compare([gold], [guess])).all if m.kind == "boundary")
        assert pair.gold.label == "B"

    def test_a_prediction_over_an_entity_that_was_found_is_spurious(self):
        gold, guess = document(at(4, 6)), document(at(4, 6), at(4, 7))
        assert [m.kind for m in mistakes_of(compare([gold], [guess])).all] == ["spurious"]

    def test_discontinuous_entities_share_characters_of_their_fragments_alone(self):
        gold = document(Entity((Span(0, 1), Span(3, 4)), "A"))
        beside, over = document(at(1, 3)), document(at(0, 4))
        assert [m.kind for m in mistakes_of(compare([gold], [beside])).all] == ["missed", "spurious"]
        assert [m.kind for m in mistakes_of(compare([gold], [over])).all] == ["boundary"]

    def test_two_labels_on_one_span(self):
        gold, guess = document(at(0, 1, "A"), at(0, 1, "B")), document(at(0, 1, "B"), at(0, 1, "C"))
        found = mistakes_of(compare([gold], [guess]))
        assert [(m.kind, m.gold.label, m.predicted.label) for m in found.all] == [("type", "A", "C")]

    def test_pairs_stay_in_their_document(self):
        gold = [document(at(0, 2), id="a"), document(id="b")]
        guess = [document(id="a"), document(at(0, 1), id="b")]
        assert [m.kind for m in mistakes_of(compare(gold, guess)).all] == ["missed", "spurious"]

    @given(strategies.documents(), strategies.documents())
    @settings(max_examples=60, deadline=None)
    def test_the_parts_make_up_all_errors(self, gold, guess):
        guess = gold.with_entities(
            [e for e in other.entities if e.end <= len(own)]
            for own, other in zip(gold.sentences, [*guess.sentences, *gold.sentences], strict=False)
        )
        comparison = compare([gold], [guess])
        found = mistakes_of(comparison)
        wrong = sum(not f.is_right for f in (*comparison.wanted, *comparison.given))
        kinds = {kind: found.count(kind) for kind in ("type", "boundary", "missed", "spurious")}
        assert 2 * kinds["type"] + 2 * kinds["boundary"] + kinds["missed"] + kinds["spurious"] == wrong == found.wrong


class TestAttributes:
    train = (
        document(at(4, 6, "LOC"), id="a"),
        document(at(4, 6, "LOC"), id="b"),
        document(at(4, 6, "ORG"), id="c"),
        document(id="d", words=["new", "york", "wins"]),
    )

    def test_consistency_by_entities_and_by_occurrences(self):
        by_entities = Consistency(self.train)
        assert by_entities("NEW York", "LOC") == pytest.approx(2 / 3)
        assert by_entities("New York", "PER") == by_entities("Oslo", "LOC") == 0.0
        assert Consistency(self.train, ["New York"], basis="occurrences")("New York", "LOC") == pytest.approx(2 / 4)
        gapped = [document(Entity((Span(0, 1), Span(2, 3)), "X"))]
        for basis in ("entities", "occurrences"):
            assert Consistency(gapped, ["the mayor"], basis=basis)("the mayor", "X") == 1.0
        twice = [Document.of_words("d", [(WORDS, [at(0, 1, "A"), at(0, 1, "A"), at(0, 1, "A"), at(0, 1, "B")])])]
        assert Consistency(twice)("the", "A") == 0.5  # annotated twice counts once

    def test_values(self):
        gold = document(at(4, 6, "LOC"), at(0, 3, "PER"))
        comparison = compare([gold], [document(at(4, 7, "LOC"))])
        values = values_of(comparison, Consistency(self.train))
        city, mayor = comparison.wanted[1], comparison.wanted[0]
        assert {name: value(city) for name, value in values.items()} == {
            "eLen": 2, "tLen": 8, "eCon": pytest.approx(2 / 3), "eDen": 0.25,
        }  # fmt: skip
        assert values["eCon"](mayor) == 0.0
        (guess,) = comparison.given
        assert (values["eLen"](guess), values["eDen"](guess)) == (3, 0.25)  # the density is gold's
        assert "eCon" not in values_of(comparison, None)

    def test_borders_of_the_buckets(self):
        lengths = (1, 2, 3, 4, 5)
        words = ["w"] * 40
        gold = [document(at(0, n), id=str(n), words=words) for n in lengths]
        guess = [document(*([at(0, n)] if n != 4 else []), id=str(n), words=words) for n in lengths]
        comparison = compare(gold, guess)
        found = buckets(comparison, values_of(comparison, None)["eLen"], "eLen")
        assert [(b.name, b.score.gold, b.score.right) for b in found] == [
            ("XS", 1, 1), ("S", 1, 1), ("L", 2, 1), ("XL", 1, 1),
        ]  # fmt: skip
        assert buckets(comparison, lambda f: 0.1, "eCon")[0].score.gold == 5  # upper borders are in
        assert buckets(comparison, lambda f: 0.1001, "eCon")[1].score.gold == 5
        empty = buckets(comparison, lambda f: 0.0, "eDen")[3]
        assert (empty.score.gold, empty.score.f1, empty.high) == (0, 0.0, math.inf)

    def test_quarters(self):
        words = ["w"] * 9
        gold = [document(at(0, n), id=str(n), words=words) for n in range(1, 9)]
        comparison = compare(gold, gold)
        found = buckets(comparison, lambda f: f.words, "eLen", by_quantiles=True)
        assert [(b.high, b.score.gold) for b in found[:3]] == [(2, 2), (4, 2), (6, 2)]
        assert [b.score.gold for b in buckets(compare([], []), lambda f: 0, "eLen", by_quantiles=True)] == [0] * 4

    def test_density_of_unknown_words(self):
        test = [document(id="x", words=["the", "new", "The", "dog"])]
        assert oov_density(test, self.train) == 0.5  # The and dog
        assert oov_density([], self.train) == 0.0


class TestCalibration:
    def test_bins_and_error(self):
        gold = [document(at(0, 1), id=str(n)) for n in range(4)]
        scores = (0.95, 0.95, 0.55, 0.45)
        guess = [document(at(0, 1 if n < 3 else 2, score=s), id=str(n)) for n, s in enumerate(scores)]
        found = calibration_of(compare(gold, guess))
        assert [(round(b.low, 1), b.count, b.share_right) for b in found.bins if b.count] == [
            (0.4, 1, 0.0), (0.5, 1, 1.0), (0.9, 2, 1.0),
        ]  # fmt: skip
        assert found.error == pytest.approx(100 * (0.45 + 0.45 + 2 * 0.05) / 4)

    def test_a_score_on_a_border_belongs_below(self):
        found = calibration_of(compare([document(at(0, 1))], [document(at(0, 1, score=0.3), at(1, 2, score=0.0))]))
        assert [(round(b.high, 1), b.count) for b in found.bins if b.count] == [(0.1, 1), (0.3, 1)]

    def test_no_scores_no_calibration(self):
        assert calibration_of(compare([document(at(0, 1))], [document(at(0, 1))])) is None
        assert calibration_of(compare([document(at(0, 1))], [document()])) is None

    def test_thresholds(self):
        gold = document(at(0, 1), at(1, 2), at(5, 6, "B"))
        guess = document(at(0, 1, score=0.9), at(1, 2, score=0.8), at(2, 3, score=0.4), at(5, 6, "B", 0.2))
        found = calibration_of(compare([gold], [guess])).thresholds
        assert (found["A"].threshold, found["A"].before, found["A"].after) == (pytest.approx(0.6), 80.0, 100.0)
        assert (found["B"].threshold, found["B"].after) == (0.0, 100.0)


class TestAnalysis:
    gold = (document(at(0, 7, "PER"), at(4, 7, "LOC"), at(4, 6, "LOC")), document(at(0, 1), id="e"))
    full = gold
    poor = (document(at(4, 7, "LOC")), document(id="e"))

    def test_depths_and_roles(self):
        model = analyze(self.gold, {"poor": self.poor}).models["poor"]
        assert {depth: (s.gold, s.predicted, s.right) for depth, s in model.by_depth.items()} == {
            1: (2, 0, 0), 2: (1, 1, 1), 3: (1, 0, 0),
        }  # fmt: skip
        assert {role: (s.gold, s.predicted) for role, s in model.by_role.items()} == {
            "alone": (1, 0), "inner": (2, 1), "outer": (1, 0),
        }  # fmt: skip
        wrong = analyze([document(at(0, 7))], {"x": [document(at(0, 6), at(1, 2))]}).models["x"]
        assert {depth: s.predicted for depth, s in wrong.by_depth.items()} == {1: 1, 2: 1}  # among predictions

    def test_several_models(self):
        found = analyze(self.gold, {"full": self.full, "poor": self.poor}, train=self.gold, reference="poor")
        assert found.p_values.keys() == {"full"}
        assert found.oov_density == 0.0
        assert found.gains("eLen")["poor"] == [0.0, 0.0, 0.0, 0.0]
        assert found.gains("eLen")["full"] == [100.0, 100.0, 0.0, 100.0]  # New York City is found by both
        assert found.gains("tLen")["full"][0] is None  # no text is that short
        rows = found.as_json()
        assert rows["models"]["full"]["scores"]["strict"]["f1"] == 100.0
        assert rows["models"]["poor"]["attributes"]["eLen"][3]["up_to"] is None

    def test_what_cannot_be_compared_is_named(self):
        with pytest.raises(DataError, match="only in gold: e"):
            analyze(self.gold, {"x": self.gold[:1]})
        with pytest.raises(DataError, match="only predicted: f"):
            analyze(self.gold, {"x": [*self.gold, document(id="f")]})
        with pytest.raises(DataError, match="different texts"):
            analyze(self.gold, {"x": [self.gold[0], document(id="e", words=["other"])]})
        with pytest.raises(DataError, match="share some documents only"):
            analyze(self.gold, {"x": [self.gold[0], Document("f", self.gold[1].text, self.gold[1].sentences)]})
        with pytest.raises(DataError, match="from character 0 on 'the old"):
            analyze(self.gold[1:], {"x": [document(id="e", words=["other"])]})
        with pytest.raises(UnknownNameError, match="poor"):
            analyze(self.gold, {"poor": self.poor}, reference="por")
        with pytest.raises(InvalidValueError, match="at least one"):
            analyze(self.gold, {})

    def test_labels_unseen_in_gold_and_nothing_at_all(self):
        found = analyze([document(at(0, 1))], {"x": [document(at(0, 1, "NEW"))], "y": [document()]})
        assert found.models["x"].confusion == {("A", "NEW"): 1}
        assert found.models["y"].scores.strict.f1 == 0.0
        empty = analyze([document()], {"x": [document()]}, train=[])
        assert empty.as_json()["models"]["x"]["mistakes"]["wrong"] == 0

    @given(strategies.documents(), st.randoms(use_true_random=False))
    @settings(max_examples=40, deadline=None)
    def test_order_duplicates_and_cuts_change_nothing(self, gold, random):
        guess = gold.with_entities(
            [Entity(e.fragments, "B" if n % 3 else e.label, e.score) for n, e in enumerate(s.entities) if n % 4 != 3]
            for s in gold.sentences
        )
        other = Document("other", "Ann sleeps", document(at(0, 1), words=["Ann", "sleeps"]).sentences)
        plain = analyze([gold, other], {"x": [guess, other]}, train=[gold]).as_json()
        doubled = guess.with_entities(random.sample(2 * s.entities, 2 * len(s.entities)) for s in guess.sentences)
        swapped = analyze([gold, other], {"x": [other, doubled]}, train=[gold]).as_json()
        assert swapped == plain

    @given(strategies.documents(), strategies.documents())
    @settings(max_examples=60, deadline=None)
    def test_no_group_has_more_right_than_gold_or_predicted(self, gold, guess):
        guess = gold.with_entities(
            [*(e for e in other.entities if e.end <= len(own)), *own.entities[::2]]
            for own, other in zip(gold.sentences, [*guess.sentences, *gold.sentences], strict=False)
        )
        model = analyze([gold], {"x": [guess]}, train=[gold]).models["x"]
        groups = [*model.by_depth.values(), *model.by_role.values(), *model.scores.by_length.values()]
        groups += [bucket.score for own in model.attributes.values() for bucket in own]
        assert all(own.right <= min(own.gold, own.predicted) for own in groups)
        total = sum(own.right for own in model.by_depth.values())
        assert total == model.scores.strict.right

    def test_another_cut_into_words_changes_nothing(self):
        gold = [Document.of_words("d", [(["New-York", "wins"], [at(0, 1, "LOC")])])]
        tokens = [Token("New", 0), Token("-", 3), Token("York", 4), Token("wins", 9)]
        guess = [Document("d", "New-York wins", (Sentence(tuple(tokens), (at(0, 3, "LOC"),)),))]
        found = analyze(gold, {"x": guess, "same": gold}, train=gold)
        assert found.models["x"].as_json() == found.models["same"].as_json()
