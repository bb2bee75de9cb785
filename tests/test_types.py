import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.errors import InvalidValueError, UnknownNameError
from nestling.types import Document, Entity, Labels, Mention, Sentence, Span, Token, joined
from tests.strategies import documents, entities, spans


class TestSpan:
    @pytest.mark.parametrize(("start", "end"), [(1, 1), (2, 1), (-1, 3)])
    def test_empty_and_negative_spans_are_refused(self, start, end):
        with pytest.raises(InvalidValueError, match="0 <= start < end"):
            Span(start, end)

    @pytest.mark.parametrize(
        ("left", "right", "relations"),
        [
            ((0, 3), (0, 3), {"overlaps", "contains"}),
            ((0, 3), (1, 2), {"overlaps", "contains", "nests"}),
            ((0, 3), (0, 2), {"overlaps", "contains", "nests"}),
            ((1, 2), (0, 3), {"overlaps"}),
            ((0, 3), (2, 5), {"overlaps", "crosses"}),
            ((2, 5), (0, 3), {"overlaps", "crosses"}),
            ((0, 2), (2, 4), set()),
            ((0, 1), (5, 6), set()),
        ],
    )
    def test_relations(self, left, right, relations):
        names = ("overlaps", "contains", "nests", "crosses")
        assert {name for name in names if getattr(Span(*left), name)(Span(*right))} == relations

    def test_iou_by_hand(self):
        assert Span(0, 4).iou(Span(2, 6)) == pytest.approx(2 / 6)
        assert Span(0, 4).iou(Span(1, 3)) == pytest.approx(2 / 4)
        assert Span(0, 4).iou(Span(4, 6)) == 0.0

    @given(spans(), spans())
    def test_iou_is_symmetric_and_bounded(self, left, right):
        assert left.iou(right) == right.iou(left)
        assert 0 <= left.iou(right) <= 1
        assert (left.iou(right) == 1) == (left == right)
        assert (left.iou(right) > 0) == left.overlaps(right)

    @given(st.lists(spans(), min_size=1))
    def test_joined_keeps_positions(self, pieces):
        def positions(of):
            return {n for span in of for n in range(span.start, span.end)}

        whole = joined(pieces)
        assert positions(whole) == positions(pieces)
        Entity(whole, "X")  # in order, never touching


class TestEntity:
    @pytest.mark.parametrize(
        ("fragments", "label", "score", "message"),
        [
            ((), "X", 1.0, "at least one fragment"),
            ((Span(0, 1), Span(1, 2)), "X", 1.0, "never touch"),
            ((Span(3, 4), Span(0, 1)), "X", 1.0, "in order"),
            ((Span(0, 1),), "", 1.0, "label"),
            ((Span(0, 1),), " X", 1.0, "label"),
            ((Span(0, 1),), "X", 1.5, "between 0 and 1"),
            ((Span(0, 1),), "X", float("nan"), "between 0 and 1"),
        ],
    )
    def test_rules(self, fragments, label, score, message):
        with pytest.raises(InvalidValueError, match=message):
            Entity(fragments, label, score)

    def test_discontinuous_entity_by_hand(self):
        # left and right arm: "left … arm" around "and right"
        left, right = Entity((Span(0, 1), Span(3, 4)), "arm"), Entity.at(2, 4, "arm")
        assert left.is_discontinuous
        assert not right.is_discontinuous
        assert left.hull == Span(0, 4)
        assert len(left) == 2
        assert left.overlaps(right)
        assert left.nests(right)
        assert not left.crosses(right)
        assert left.iou(right) == pytest.approx(1 / 3)
        assert not left.overlaps(Entity.at(1, 3, "arm"))

    @given(entities(), entities())
    def test_iou_counts_words(self, left, right):
        def words(entity):
            return {n for f in entity.fragments for n in range(f.start, f.end)}

        assert left.iou(right) == pytest.approx(len(words(left) & words(right)) / len(words(left) | words(right)))
        assert left.overlaps(right) == bool(words(left) & words(right))

    def test_values_are_frozen_and_hashable(self):
        assert len({Entity.at(0, 1, "X"), Entity.at(0, 1, "X")}) == 1
        with pytest.raises(AttributeError):
            Entity.at(0, 1, "X").label = "Y"


class TestDocument:
    def test_characters_are_derived(self):
        document = Document.of_words(
            "d", [(["Left", "and", "right", "arm"], [Entity((Span(0, 1), Span(3, 4)), "arm", 0.5)])]
        )
        assert document.mentions == (Mention((Span(0, 4), Span(15, 18)), "arm", "Left arm", 0.5),)

    def test_entities_are_sorted_outer_first(self):
        sentence = Sentence(
            (Token("a", 0), Token("b", 2)), (Entity.at(1, 2, "X"), Entity.at(0, 1, "X"), Entity.at(0, 2, "X"))
        )
        assert [(e.start, e.end) for e in sentence.entities] == [(0, 2), (0, 1), (1, 2)]

    @given(documents())
    def test_tokens_and_mentions_are_where_they_say(self, document):
        for token in document.tokens:
            assert document.text[token.start : token.end] == token.text
        for mention in document.mentions:
            assert mention.text == " ".join(document.text[f.start : f.end] for f in mention.fragments)
        assert hash(document) == hash(Document(document.id, document.text, document.sentences))

    @pytest.mark.parametrize(
        ("text", "tokens", "message"),
        [
            ("ab", [("ab", 1)], "has no 'ab' at 1"),
            ("ab cd", [("cd", 3), ("ab", 0)], "in no word|out of order"),
            ("ab cd", [("ab", 0)], "'cd' at 2 is in no word"),
            ("ab ab", [("ab", 3)], "in no word"),
            ("a\ud800", [("a\ud800", 0)], "surrogate"),
        ],
    )
    def test_words_must_cover_the_text(self, text, tokens, message):
        with pytest.raises(InvalidValueError, match=message):
            Document("d", text, (Sentence(tuple(Token(*token) for token in tokens)),))

    def test_entity_beyond_its_sentence(self):
        with pytest.raises(InvalidValueError, match="PER at words 0-3 ends beyond its sentence of 2 words"):
            Document.of_words("d", [(["a", "b"], [Entity.at(0, 3, "PER")])])

    @pytest.mark.parametrize("text", ["", " a", "a ", "\n"])
    def test_blank_tokens_are_refused(self, text):
        with pytest.raises(InvalidValueError, match="without blanks"):
            Token(text, 0)

    def test_mention_beyond_its_text(self):
        with pytest.raises(InvalidValueError, match="PER at 1-9 ends beyond the text, which has 3 characters"):
            Mention.of("abc", [Span(1, 9)], "PER")


class TestLabels:
    def test_order_and_lookup(self):
        labels = Labels.of([Document.of_words("d", [(["a"], [Entity.at(0, 1, "b"), Entity.at(0, 1, "a")])])])
        assert list(labels) == ["a", "b"]
        assert (labels.index("b"), labels[1], len(labels), "a" in labels) == (1, "b", 2, True)

    def test_unknown_name_suggests_the_nearest(self):
        with pytest.raises(UnknownNameError, match="did you mean 'PERSON'"):
            Labels(("PERSON", "ORG")).index("PERSONS")

    def test_twice_the_same_name(self):
        with pytest.raises(InvalidValueError, match="must differ"):
            Labels(("A", "A"))
