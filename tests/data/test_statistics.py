import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.data.statistics import Nesting, describe, nesting, smallest_epsilon
from nestling.types import Document, Entity, Span
from tests.strategies import entities


def test_nesting_by_hand():
    outer, middle, inner = Entity.at(0, 6, "A"), Entity.at(0, 3, "B"), Entity.at(1, 2, "A")
    crossing, alone = Entity.at(5, 8, "A"), Entity.at(9, 10, "A")
    assert nesting([outer, middle, inner, crossing, alone]) == Nesting(nested=3, inner=2, crossing=1, depth=3)


def test_same_span_pairs_neither_nest_nor_cross():
    assert nesting([Entity.at(0, 2, "A"), Entity.at(0, 2, "B")]) == Nesting(0, 0, 0, 1)
    assert nesting([Entity.at(0, 2, "A"), Entity.at(0, 2, "B"), Entity.at(0, 1, "A")]) == Nesting(3, 1, 0, 2)


def test_discontinuous_entities_nest_by_hull():
    assert nesting([Entity((Span(0, 1), Span(3, 4)), "A"), Entity.at(1, 3, "A")]) == Nesting(2, 1, 0, 2)


@given(st.lists(entities(), max_size=10, unique_by=lambda e: e.key))
def test_nesting_equals_all_pairs(made):
    inside = [any(b.nests(a) for b in made) for a in made]
    around = [any(a.nests(b) for b in made) for a in made]
    crossing = sum(a.crosses(b) for n, a in enumerate(made) for b in made[:n])
    found = nesting(made)
    assert (found.inner, found.crossing) == (sum(inside), crossing)
    assert found.nested == sum(map(bool.__or__, inside, around))


def test_epsilon_is_the_smallest_that_covers_the_share():
    assert smallest_epsilon({1: 90, 2: 9, 30: 1}) == 2
    assert smallest_epsilon({1: 90, 2: 8, 5: 1, 30: 1}) == 5
    assert smallest_epsilon({}) == 0
    assert smallest_epsilon({1: 1, 7: 1}, share=0.5) == 1


def test_describe_by_hand():
    twice = [Entity.at(0, 2, "A")] * 2
    train = [
        Document.of_words("a", [(["x", "y"], [*twice, Entity.at(0, 2, "B"), Entity.at(0, 1, "A")]), (["x"], [])]),
        Document.of_words("b", [(["x"], []), (["p", "q", "r"], [Entity((Span(0, 1), Span(2, 3)), "A")])]),
    ]
    figures = describe("train", train)
    assert (figures.documents, figures.units, figures.mean_length, figures.max_length) == (2, 4, 1.75, 3)
    assert (figures.entities, figures.exact_duplicate_entities, figures.types) == (4, 1, 2)
    assert (figures.nested, figures.inner, figures.units_with_nesting, figures.max_depth) == (3, 1, 1, 2)
    assert (figures.spans_with_several_labels, figures.discontinuous, figures.repeated_units) == (1, 1, 1)
    assert (figures.type_counts, figures.entity_lengths) == ({"A": 3, "B": 1}, {1: 1, 2: 2, 3: 1})
    assert figures.nested_percent == 75
    test = describe("test", [Document.of_words("c", [(["x"], []), (["x"], []), (["z"], [])])], train=train)
    assert (test.distinct_units_also_in_train, test.repeated_units) == (1, 1)


def test_raw_documents_are_counted_whole():
    figures = describe("all", [Document.of_words("a", [(["ab", "cd"], []), (["ef"], [])])], unit="document")
    assert (figures.documents, figures.units, figures.mean_length) == (1, 1, 8.0)


def test_an_empty_part_has_zeros():
    figures = describe("all", [])
    assert (figures.units, figures.mean_length, figures.epsilon, figures.nested_percent) == (0, 0.0, 0, 0.0)


def test_sentences_alone_are_no_documents():
    assert describe("all", [Document.of_words("a", [(["x"], [])])]).documents is None


@pytest.mark.parametrize("unit", ["sentence", "document"])
def test_json_has_every_figure(unit):
    assert {"split", "units", "epsilon", "nested_percent", "mean_words"} <= describe("x", [], unit).as_json().keys()
