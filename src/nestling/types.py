"""The values that everything else passes around: frozen, validated, hashable, free of torch.

A `Document` is a text and its sentences; a `Sentence` is words and entities; an `Entity` is one or more `Span`s of
words with a label and a score. Gold and prediction are the same type. Characters are derived: `Document.mentions`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from nestling.errors import InvalidValueError, UnknownNameError


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open [start, end): words of a sentence, or, in a Mention, characters of a text."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not (isinstance(self.start, int) and isinstance(self.end, int) and 0 <= self.start < self.end):
            raise InvalidValueError(f"a span needs 0 <= start < end, not [{self.start}, {self.end})")

    def __len__(self) -> int:
        return self.end - self.start

    def overlaps(self, other: "Span") -> bool:
        """Whether the two share a position."""
        return self.start < other.end and other.start < self.end

    def contains(self, other: "Span") -> bool:
        """Whether every position of `other` is in this span; a span contains itself."""
        return self.start <= other.start and other.end <= self.end

    def nests(self, other: "Span") -> bool:
        """Whether `other` lies inside this span and is smaller."""
        return self.contains(other) and self != other

    def crosses(self, other: "Span") -> bool:
        """Whether the two overlap and neither contains the other."""
        return self.overlaps(other) and not self.contains(other) and not other.contains(self)

    def overlap(self, other: "Span") -> int:
        """How many positions the two share."""
        return max(0, min(self.end, other.end) - max(self.start, other.start))

    def iou(self, other: "Span") -> float:
        """Shared positions over all positions of the two: 1 for equal spans, 0 for disjoint ones."""
        shared = self.overlap(other)
        return shared / (len(self) + len(other) - shared)


def joined(fragments: Iterable[Span]) -> tuple[Span, ...]:
    """The same positions as spans in order that neither overlap nor touch."""
    merged: list[Span] = []
    for span in sorted(fragments):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return tuple(merged)


def overlapped(spans: Iterable[Span]) -> Iterator[tuple[Span, list[Span]]]:
    """Each distinct span, outer before inner, with those before it that it overlaps."""
    active: list[Span] = []
    for span in sorted(set(spans), key=lambda span: (span.start, -span.end)):
        active = [other for other in active if other.end > span.start]
        yield span, active
        active = [*active, span]


def require_characters(text: str) -> None:
    """Refuses a text with halves of surrogate pairs, which JSON can smuggle in and UTF-8 cannot hold."""
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidValueError(f"half a surrogate pair at {error.start}, which is no character") from None


class _Fragmented:
    """What Entity and Mention share: one or more fragments, a label and a score, and perhaps what other labels have."""

    __slots__ = ()

    fragments: tuple[Span, ...]
    label: str
    score: float
    probabilities: Mapping[str, float] | None

    @property
    def start(self) -> int:
        """Where the first fragment starts."""
        return self.fragments[0].start

    @property
    def end(self) -> int:
        """Where the last fragment ends."""
        return self.fragments[-1].end

    @property
    def hull(self) -> Span:
        """The smallest span around all fragments."""
        return self.fragments[0] if len(self.fragments) == 1 else Span(self.start, self.end)

    @property
    def is_discontinuous(self) -> bool:
        """Whether there is more than one fragment."""
        return len(self.fragments) > 1

    def __len__(self) -> int:
        if len(self.fragments) == 1:
            return len(self.fragments[0])
        return sum(len(fragment) for fragment in self.fragments)

    def _validate(self) -> None:
        if not self.fragments:
            raise InvalidValueError("an entity needs at least one fragment")
        if any(left.end >= right.start for left, right in pairwise(self.fragments)):
            shown = ", ".join(f"[{f.start}, {f.end})" for f in self.fragments)
            raise InvalidValueError(f"fragments must be in order and never touch: {shown}")
        _require_label(self.label)
        for score in (self.score, *(self.probabilities or {}).values()):
            if not 0.0 <= score <= 1.0:  # also refuses NaN
                raise InvalidValueError(f"a score lies between 0 and 1, not {score}")


@dataclass(frozen=True, slots=True)
class Entity(_Fragmented):
    """A labelled mention in words of its sentence: one span, or several when it is discontinuous.

    Nesting and crossing of entities are reckoned on hulls, overlap and IoU on the words themselves.
    """

    fragments: tuple[Span, ...]
    label: str
    score: float = 1.0
    probabilities: Mapping[str, float] | None = field(default=None, compare=False, repr=False)  # of all labels

    def __post_init__(self) -> None:
        object.__setattr__(self, "fragments", tuple(self.fragments))
        self._validate()

    @classmethod
    def at(cls, start: int, end: int, label: str, score: float = 1.0) -> "Entity":
        """The entity of words [start, end)."""
        return cls((Span(start, end),), label, score)

    @property
    def key(self) -> tuple[tuple[Span, ...], str]:
        """What makes two entities the same whatever their scores: fragments and label."""
        return self.fragments, self.label

    @property
    def order(self) -> tuple[int, int, tuple[Span, ...], str, float]:
        """Sorts by place, outer before inner, then by label."""
        return self.start, -self.end, self.fragments, self.label, self.score

    def overlaps(self, other: "Entity") -> bool:
        """Whether the two share a word."""
        return any(mine.overlaps(theirs) for mine in self.fragments for theirs in other.fragments)

    def contains(self, other: "Entity") -> bool:
        """Whether this hull contains the other's."""
        return self.hull.contains(other.hull)

    def nests(self, other: "Entity") -> bool:
        """Whether the other's hull lies inside this one and is smaller."""
        return self.hull.nests(other.hull)

    def crosses(self, other: "Entity") -> bool:
        """Whether the hulls overlap and neither contains the other."""
        return self.hull.crosses(other.hull)

    def iou(self, other: "Entity") -> float:
        """Shared words over all words of the two."""
        shared = sum(mine.overlap(theirs) for mine in self.fragments for theirs in other.fragments)
        return shared / (len(self) + len(other) - shared)


@dataclass(frozen=True, slots=True)
class Mention(_Fragmented):
    """An entity in characters of its document's text."""

    fragments: tuple[Span, ...]
    label: str
    text: str
    score: float = 1.0
    probabilities: Mapping[str, float] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        self._validate()

    @classmethod
    def of(
        cls,
        text: str,
        fragments: Iterable[Span],
        label: str,
        score: float = 1.0,
        probabilities: Mapping[str, float] | None = None,
    ) -> "Mention":
        """The mention at these characters of `text`; fragments are put in order, touching ones joined."""
        spans = joined(fragments)
        if spans and spans[-1].end > len(text):
            raise InvalidValueError(
                f"{label} at {spans[-1].start}-{spans[-1].end} ends beyond the text, which has {len(text)} characters"
            )
        return cls(spans, label, " ".join(text[span.start : span.end] for span in spans), score, probabilities)


@dataclass(frozen=True, slots=True)
class Token:
    """A word and where it starts, in characters of its document's text."""

    text: str
    start: int

    def __post_init__(self) -> None:
        if self.start < 0:
            raise InvalidValueError(f"{self.text!r} starts at {self.start}, before its text")
        if not self.text or self.text[0].isspace() or self.text[-1].isspace():
            raise InvalidValueError(f"a token needs a text without blanks at its ends, not {self.text!r}")

    @property
    def end(self) -> int:
        """Where the word ends, in characters of its document's text."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words and the entities among them; entities are kept sorted, outer before inner."""

    tokens: tuple[Token, ...]
    entities: tuple[Entity, ...] = ()

    def __post_init__(self) -> None:
        if not self.tokens:
            raise InvalidValueError("a sentence needs at least one word")
        for entity in self.entities:
            if entity.end > len(self.tokens):
                place = f"words {entity.start}-{entity.end}"
                raise InvalidValueError(
                    f"{entity.label} at {place} ends beyond its sentence of {len(self.tokens)} words"
                )
        object.__setattr__(self, "entities", tuple(sorted(self.entities, key=lambda entity: entity.order)))

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def words(self) -> tuple[str, ...]:
        """The texts of the tokens."""
        return tuple(token.text for token in self.tokens)

    def with_entities(self, entities: Iterable[Entity]) -> "Sentence":
        """The same words with other entities."""
        return Sentence(self.tokens, tuple(entities))

    def characters(self, entity: Entity) -> tuple[Span, ...]:
        """The fragments of an entity in characters of the document's text."""
        tokens = self.tokens
        return tuple(Span(tokens[f.start].start, tokens[f.end - 1].end) for f in entity.fragments)


@dataclass(frozen=True)
class Document:
    """A text, cut into sentences of words that leave out nothing but white space.

    `annotated` are the labels that were looked for in it: one that was not is unknown there, not absent.
    """

    id: str
    text: str
    sentences: tuple[Sentence, ...] = ()
    annotated: frozenset[str] | None = field(default=None, compare=False)  # None: all

    def __post_init__(self) -> None:
        if not self.id:
            raise InvalidValueError("a document needs an id")
        require_characters(self.id)
        require_characters(self.text)
        if self.annotated is not None:
            for entity in self.entities:
                if entity.label not in self.annotated:
                    raise InvalidValueError(
                        f"document {self.id!r}: {entity.label} is none of the labels annotated in it"
                    )
        position = 0
        for token in self.tokens:
            if not self.text.startswith(token.text, token.start):
                raise InvalidValueError(f"document {self.id!r}: the text has no {token.text!r} at {token.start}")
            if token.start < position:
                raise InvalidValueError(f"document {self.id!r}: {token.text!r} at {token.start} is out of order")
            self._require_blank(position, token.start)
            position = token.end
        self._require_blank(position, len(self.text))

    def _require_blank(self, start: int, end: int) -> None:
        if start < end and not self.text[start:end].isspace():
            raise InvalidValueError(
                f"document {self.id!r}: {self.text[start:end].strip()[:40]!r} at {start} is in no word"
            )

    @classmethod
    def of_words(
        cls, id: str, sentences: Iterable[tuple[Sequence[str], Iterable[Entity]]], *, joiner: str = " "
    ) -> "Document":
        """The document of sentences given as words: words are joined by `joiner`, sentences by a line break."""
        position, texts, made = 0, [], []
        for words, entities in sentences:
            tokens = []
            for word in words:
                tokens.append(Token(word, position))
                position += len(word) + len(joiner)
            position += 1 - len(joiner)
            texts.append(joiner.join(words))
            made.append(Sentence(tuple(tokens), tuple(entities)))
        return cls(id, "\n".join(texts), tuple(made))

    @property
    def tokens(self) -> Iterator[Token]:
        """The words of all sentences, in order."""
        return (token for sentence in self.sentences for token in sentence.tokens)

    @property
    def entities(self) -> Iterator[Entity]:
        """The entities of all sentences, in order, in words of their sentences."""
        return (entity for sentence in self.sentences for entity in sentence.entities)

    @cached_property
    def mentions(self) -> tuple[Mention, ...]:
        """The entities in characters of the text."""
        return tuple(
            Mention.of(self.text, sentence.characters(entity), entity.label, entity.score, entity.probabilities)
            for sentence in self.sentences
            for entity in sentence.entities
        )

    def excerpt(self, start: int, stop: int) -> "Document":
        """The document of sentences [start, stop), with their part of the text."""
        kept = self.sentences[start:stop]
        if not kept:
            return Document(self.id, "")
        first, last = kept[0].tokens[0].start, kept[-1].tokens[-1].end
        moved = (Sentence(tuple(Token(t.text, t.start - first) for t in s.tokens), s.entities) for s in kept)
        return Document(self.id, self.text[first:last], tuple(moved), self.annotated)

    def with_entities(self, entities: Iterable[Iterable[Entity]]) -> "Document":
        """The same text with other entities, given sentence by sentence."""
        pairs = zip(self.sentences, entities, strict=True)
        sentences = tuple(sentence.with_entities(own) for sentence, own in pairs)
        return Document(self.id, self.text, sentences, self.annotated)


def _require_label(name: str) -> None:
    require_characters(name)
    if not name or name != name.strip():
        raise InvalidValueError(f"a label needs a name without blanks at its ends, not {name!r}")


@dataclass(frozen=True, slots=True)
class Labels:
    """The label names of a corpus or model, in a fixed order."""

    names: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in self.names:
            _require_label(name)
        if len(set(self.names)) != len(self.names):
            raise InvalidValueError(f"label names must differ: {self.names}")

    @classmethod
    def of(cls, documents: Iterable[Document]) -> "Labels":
        """The labels found in documents, in alphabetical order."""
        return cls(tuple(sorted({entity.label for document in documents for entity in document.entities})))

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, index: int) -> str:
        return self.names[index]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def index(self, name: str) -> int:
        """The position of a name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise UnknownNameError("label", name, self.names) from None
