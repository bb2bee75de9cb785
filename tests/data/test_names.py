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
    """There are two names of the label to choose from."""
    documents = [
        Document.of_words("one", [("the lord of Ayr rode".split(), [Entity.at(0, 4, "PER"), Entity.at(3, 4, "GPE")])]),
        Document.of_words("two", [("nobody".split(), []), ("New York slept".split(), [Entity.at(0, 2, "GPE")])]),
    ]
    made = [renamed(documents, 1.0, str(seed)) for seed in range(9)]
    assert {tuple(document.id for document in own) for own in made} == {("one", "two")}
    assert {tuple(texts(one.sentences[0])) for one, _ in made} == {
        (("the lord of Ayr", "PER"), ("Ayr", "GPE")),
        (("the lord of New York", "PER"), ("New York", "GPE")),
    }
    assert {two.sentences[0].words for _, two in made} == {("nobody",)}
    assert made[3] == renamed(documents, 1.0, "3")
    assert [d.sentences[0].words for d in renamed(documents, 0.0, "0")] == [d.sentences[0].words for d in documents]


def test_a_share_of_names_is_exchanged_all_over_a_document():
    names = [f"N{n}" for n in range(1000)]
    sentences = [([name, "ran"], [Entity.at(0, 1, "PER")]) for name in names * 2]
    (document,) = renamed([Document.of_words("d", sentences)], 0.3, "0")
    words = [own.words[0] for own in document.sentences]
    assert words[:1000] == words[1000:]
    assert set(words) <= set(names)
    assert 250 < sum(one != other for one, other in zip(words, names, strict=False)) < 350


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
    (again,) = renamed([document], 1.0, "0")
    for before, behind in zip(document.sentences, again.sentences, strict=True):
        names = {entity for _, entity in names_in(before, common)}
        assert [e.label for e in before.entities] == [e.label for e in behind.entities]
        assert [w for w in before.words if w.islower()] == [w for w in behind.words if w.islower()]
        for one, other in zip(before.entities, behind.entities, strict=True):
            if one not in names and not any(one.start <= n.start < one.end for n in names):
                assert before.words[one.start : one.end] == behind.words[other.start : other.end]
