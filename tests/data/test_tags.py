import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.data import tags
from nestling.errors import InvalidValueError
from nestling.types import Entity, Span
from tests.strategies import distinct, entities, flat_entities


def decoded(text):
    return [(e.start, e.end, e.label) for e in tags.decode(text.split())[0]]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("B-X I-X O", [(0, 2, "X")]),
        ("B-X B-X", [(0, 1, "X"), (1, 2, "X")]),
        ("B-X I-X E-X S-X", [(0, 3, "X"), (3, 4, "X")]),
        ("B-X L-X U-Y O", [(0, 2, "X"), (2, 3, "Y")]),
        ("B-X M-X E-X B-X E-X", [(0, 3, "X"), (3, 5, "X")]),
        ("O I-X I-X", [(1, 3, "X")]),
        ("B-X I-Y", [(0, 1, "X"), (1, 2, "Y")]),
        ("E-X O L-Y", [(0, 1, "X"), (2, 3, "Y")]),
        ("B-X E-X I-X", [(0, 2, "X"), (2, 3, "X")]),
        ("B-a-b I-a-b", [(0, 2, "a-b")]),
        ("O O", []),
        ("", []),
    ],
)
def test_decode(row, expected):
    assert decoded(row) == expected


def test_decode_says_which_tags_go_on_from_nothing():
    assert tags.decode("I-X O B-X I-Y I-Y".split())[1] == [0, 3]


@pytest.mark.parametrize("bad", ["X", "B", "B-", "X-PER", "b-PER", "", "B_PER", "-PER"])
def test_what_is_not_a_tag(bad):
    with pytest.raises(InvalidValueError, match="is not a tag"):
        tags.decode([bad])


@given(flat_entities(), st.sampled_from(["BIO", "BIOES", "BILOU"]))
def test_decode_of_encode(made, scheme):
    found, strays = tags.decode(tags.encode(made, 12, scheme))
    assert (sorted(found, key=lambda e: e.order), strays) == (sorted(made, key=lambda e: e.order), [])


@given(
    st.lists(entities(discontinuous=False, scored=False), max_size=8).map(distinct),
    st.sampled_from(["innermost", "outermost"]),
)
def test_layers_hold_every_continuous_entity(made, order):
    rows = [tags.encode(layer, 12) for layer in tags.layers(made, order)]
    assert {e for row in rows for e in tags.decode(row)[0]} == set(made)


def test_layers_in_both_orders():
    inner, outer, alone = Entity.at(0, 1, "X"), Entity.at(0, 3, "Y"), Entity.at(5, 6, "Z")
    assert tags.layers([outer, alone, inner], "innermost") == [[inner, alone], [outer]]
    assert tags.layers([inner, alone, outer], "outermost") == [[outer, alone], [inner]]


def test_encode_refuses_what_a_row_cannot_hold():
    with pytest.raises(InvalidValueError, match="discontinuous X at words 0-1 and words 2-3"):
        tags.encode([Entity((Span(0, 1), Span(2, 3)), "X")], 3)
    with pytest.raises(InvalidValueError, match="Y at words 1-3: it overlaps"):
        tags.encode([Entity.at(0, 2, "X"), Entity.at(1, 3, "Y")], 3)


def test_sets_are_read_once_for_each_label():
    rows = [["B-X", "B-Y"], ["I-X", "I-Y"], ["I-X", "O"], ["O"], ["B-Y"]]
    found = {(e.start, e.end, e.label) for e in tags.decode_sets(rows)[0]}
    assert found == {(0, 3, "X"), (0, 2, "Y"), (4, 5, "Y")}


def test_sets_with_one_label_twice_are_refused():
    with pytest.raises(InvalidValueError, match="cannot be told apart"):
        tags.decode_sets([["B-X", "I-X"]])
