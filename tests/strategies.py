"""Random values that obey every rule of their types."""

from itertools import pairwise

from hypothesis import strategies as st

from nestling.types import Document, Entity, Sentence, Span, Token

LABELS = ("PER", "ORG", "cell_line", "ГОРОД")
WORDS = ("a", "IL-2", "(", "Müller", "Москва", "北京", "don't", "3.5", ".", "naïve", "😀", "x\u00a0y", "القاهرة")


@st.composite
def spans(draw, length=12):
    start = draw(st.integers(0, length - 1))
    return Span(start, draw(st.integers(start + 1, length)))


@st.composite
def fragments(draw, length=12):
    """One to three spans in order that never touch."""
    words = sorted(draw(st.sets(st.integers(0, length - 1), min_size=1, max_size=6)))
    runs, start, previous = [], words[0], words[0]
    for word in words[1:]:
        if word > previous + 1:
            runs.append(Span(start, previous + 1))
            start = word
        previous = word
    return (*runs, Span(start, previous + 1))


def scores():
    return st.floats(0, 1, allow_nan=False).map(lambda score: round(score, 4))


@st.composite
def entities(draw, length=12, *, discontinuous=True, scored=True):
    pieces = draw(fragments(length)) if discontinuous else (draw(spans(length)),)
    return Entity(pieces, draw(st.sampled_from(LABELS)), draw(scores()) if scored else 1.0)


@st.composite
def flat_entities(draw, length=12):
    """Entities of which none overlap."""
    borders = sorted(draw(st.sets(st.integers(0, length), max_size=8)))
    pairs = [pair for pair in pairwise(borders) if draw(st.booleans())]
    return [Entity.at(start, end, draw(st.sampled_from(LABELS))) for start, end in pairs]


def distinct(made):
    """Entities of which no two have the same fragments and label."""
    return list({entity.key: entity for entity in made}.values())


@st.composite
def sentences_of_words(draw, **options):
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))
    made = draw(st.lists(entities(len(words), **options), max_size=5))
    return words, distinct(made)


@st.composite
def documents_of_words(draw, id="d", **options):
    """Documents whose text is their words joined by blanks and line breaks."""
    return Document.of_words(id, draw(st.lists(sentences_of_words(**options), min_size=1, max_size=3)))


@st.composite
def documents(draw, id="d", **options):
    """Documents with any white space between words, also none, and around the text."""
    gaps = st.sampled_from(["", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\n\n ", "\u3000"])
    text, made = draw(gaps), []
    for words, own in draw(st.lists(sentences_of_words(**options), max_size=3)):
        tokens = []
        for word in words:
            tokens.append(Token(word, len(text)))
            text += word + draw(gaps)
        made.append(Sentence(tuple(tokens), tuple(own)))
    return Document(id, text, tuple(made))


def corpora(of=documents, **options):
    """Lists of documents with ids of their own."""
    ids = ["a", "b:1", "../c d", "Ω%2F"]
    return st.integers(1, 4).flatmap(lambda n: st.tuples(*(of(id=id, **options) for id in ids[:n]))).map(list)
