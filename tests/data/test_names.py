"""Names are exchanged for names; everything else, mentions around them too, stays."""

from hypothesis import given
from hypothesis import strategies as st

from nestling.data.names import names_in, renamed
from nestling.types import Document, Entity

COMMON = frozenset({"the", "of", "lord", "house"})


def sentence(words, *entities):
    return Document.of_words("d", [(words.split(), entities)]).sentences[0]


def texts(sentence):
    return [(" ".join(sentence.words[e.start : e.end]), e.label) for e in sentence.entities]


def test_what_is_a_name():
    own = sentence(
        "The Lord of Ayr saw Lord Tom Bo and men of The House in Rome",
        Entity.at(0, 4, "PER"),  # around a name, in small letters too
        Entity.at(3, 4, "GPE"),  # a name
        Entity.at(5, 8, "PER"),  # around another
        Entity.at(6, 8, "PER"),  # in one of its own label: what is before it may be half a name
        Entity.at(9, 10, "PER"),  # in small letters
        Entity.at(11, 13, "FAC"),  # in capitals, but all words are common
        Entity.at(14, 15, "GPE"),
    )
    assert [name for name, _ in names_in(own, COMMON)] == [("GPE", ("Ayr",)), ("GPE", ("Rome",))]


def test_by_hand():
    """One name a label and document: there is one to take, that of the other document or its own."""
    documents = [
        Document.of_words("one", [("the lord of Ayr rode".split(), [Entity.at(0, 4, "PER"), Entity.at(3, 4, "GPE")])]),
        Document.of_words("two", [("nobody".split(), []), ("New York slept".split(), [Entity.at(0, 2, "GPE")])]),
    ]
    made = renamed(documents, 4)
    assert [document.id.split(",")[0] for document in made] == [
        "one",
        "two",
    ] * 4  # sentences without names are not made
    assert {len(document.sentences) for document in made} == {1}
    found = {tuple(texts(document.sentences[0])) for document in made if document.id.startswith("one")}
    assert found == {
        (("the lord of Ayr", "PER"), ("Ayr", "GPE")),
        (("the lord of New York", "PER"), ("New York", "GPE")),
    }
    assert made == renamed(documents, 4)


def test_a_name_is_the_same_all_over_a_document():
    names = ["Ann", "Bob", "Eve", "Tom", "Zoe"]
    sentences = [([name, "ran"], [Entity.at(0, 1, "PER")]) for name in names * 2]
    for document in renamed([Document.of_words("d", sentences)], 3):
        words = [own.words[0] for own in document.sentences]
        assert words[:5] == words[5:]
        assert set(words) <= set(names)


ENTITY = st.tuples(st.integers(0, 5), st.integers(1, 3), st.sampled_from("AB")).map(
    lambda t: Entity.at(t[0], min(t[0] + t[1], 6), t[2])
)
SENTENCE = st.tuples(
    st.lists(st.sampled_from(["Ann", "Bo", "the", "The", "of"]), min_size=6, max_size=6), st.sets(ENTITY, max_size=5)
)


@given(st.lists(SENTENCE, max_size=3))
def test_mentions_keep_their_labels_nesting_and_what_is_around_them(made):
    document = Document.of_words("d", made)
    common = frozenset(token.text for token in document.tokens if token.text.islower())
    named = [s for s in document.sentences if list(names_in(s, common))]
    (again,) = renamed([document], 1) or [Document.of_words("none", [])]
    assert len(again.sentences) == len(named)
    for before, behind in zip(named, again.sentences, strict=True):
        names = {entity for _, entity in names_in(before, common)}
        assert [e.label for e in before.entities] == [e.label for e in behind.entities]
        assert [w for w in before.words if w.islower()] == [w for w in behind.words if w.islower()]
        for one, other in zip(before.entities, behind.entities, strict=True):
            if one not in names and not any(one.start <= n.start < one.end for n in names):
                assert before.words[one.start : one.end] == behind.words[other.start : other.end]
