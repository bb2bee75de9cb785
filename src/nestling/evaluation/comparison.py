"""Gold and one prediction, entity by entity: what every score and every analysis is counted from.

An entity is right when a gold entity of the same document has the same characters in every fragment and the same
label. Sets are compared: what is annotated or predicted twice counts once. Comparing characters makes all figures
independent of how either side was cut into words, and of the order of annotations.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nestling.errors import DataError
from nestling.types import Document, Entity, Sentence

Place = tuple[tuple[int, int], ...]  # the fragments, in characters
Key = tuple[Place, str]
_Own = tuple[Entity, Sentence]


class Found(NamedTuple):
    """A distinct entity of one side. What both sides have is gold's on both, with the score that was predicted.

    So a right prediction is in the same group as its gold, whatever is grouped by, and no group has more right ones
    than gold ones.
    """

    unit: int  # the gold sentence it starts in, counted over all documents
    place: Place
    label: str
    is_right: bool
    score: float
    probabilities: Mapping[str, float] | None
    entity: Entity
    sentence: Sentence  # that the entity is in

    @property
    def is_discontinuous(self) -> bool:
        """Whether it has several fragments."""
        return len(self.place) > 1

    @property
    def words(self) -> int:
        """How many words it has; those between its fragments are not counted."""
        return len(self.entity)

    @property
    def text(self) -> str:
        """Its words."""
        tokens = self.sentence.tokens
        return " ".join(token.text for part in self.entity.fragments for token in tokens[part.start : part.end])


@dataclass(frozen=True, slots=True)
class Unit:
    """A gold sentence; None in a document without any."""

    document: Document
    sentence: Sentence | None
    first: int  # the number of its document's first sentence


@dataclass(frozen=True, slots=True)
class Comparison:
    """The entities of gold and of one prediction."""

    wanted: tuple[Found, ...]
    given: tuple[Found, ...]
    units: tuple[Unit, ...]


def compare(gold: Iterable[Document], predicted: Iterable[Document]) -> Comparison:
    """Sets predictions beside gold; documents are paired by id where ids are unique, else by order."""
    units: list[Unit] = []
    wanted: list[Found] = []
    given: list[Found] = []
    for truth, guess in paired(list(gold), list(predicted)):
        starts = [sentence.tokens[0].start for sentence in truth.sentences]
        truths, guesses = _keyed(truth), _keyed(guess)
        if truth.annotated is not None:  # of other labels nothing is known
            guesses = {key: own for key, own in guesses.items() if key[1] in truth.annotated}
        wanted += _found(truths, guesses, starts, len(units), truths)
        given += _found(guesses, truths, starts, len(units), truths)
        units += [Unit(truth, sentence, len(units)) for sentence in truth.sentences or (None,)]
    return Comparison(tuple(wanted), tuple(given), tuple(units))


def paired(gold: Sequence[Document], predicted: Sequence[Document]) -> Iterator[tuple[Document, Document]]:
    """Gold documents with their predictions, whose texts must be the same; by ids, or by order if they share none."""
    names, others = [document.id for document in gold], [document.id for document in predicted]
    if len(gold) != len(predicted):
        raise DataError(f"{len(predicted)} predicted documents for {len(gold)} gold ones{_missing(names, others)}")
    by_id = dict(zip(others, predicted, strict=True))
    if len(by_id) == len(predicted) and len(set(names)) == len(names) and by_id.keys() & set(names):
        if by_id.keys() != set(names):
            raise DataError(f"gold and prediction share some documents only{_missing(names, others)}")
        predicted = [by_id[name] for name in names]
    for truth, guess in zip(gold, predicted, strict=True):
        if truth.text != guess.text:
            where = _first_difference(truth.text, guess.text)
            raise DataError(f"document {truth.id!r} and its prediction {guess.id!r} have different texts: {where}")
        yield truth, guess


def _first_difference(text: str, other: str) -> str:
    at = next((n for n, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))
    return f"from character {at} on {text[at : at + 30]!r} and {other[at : at + 30]!r}"


def _missing(gold: Sequence[str], predicted: Sequence[str]) -> str:
    """Which documents one side lacks, where ids tell."""
    lacking = {
        "only in gold": sorted(set(gold) - set(predicted)),
        "only predicted": sorted(set(predicted) - set(gold)),
    }
    told = [f"{side}: {', '.join(ids[:5])}{' …' if len(ids) > 5 else ''}" for side, ids in lacking.items() if ids]
    return f" ({'; '.join(told)})" if told else ""


def _keyed(document: Document) -> dict[Key, _Own]:
    """The distinct entities of a document, each with its sentence; of several, the one with the highest score."""
    found: dict[Key, _Own] = {}
    for sentence in document.sentences:
        tokens = sentence.tokens
        for entity in sentence.entities:
            place = tuple((tokens[f.start].start, tokens[f.end - 1].end) for f in entity.fragments)
            earlier = found.get((place, entity.label))
            if earlier is None or earlier[0].score < entity.score:
                found[place, entity.label] = entity, sentence
    return found


def _found(
    own: dict[Key, _Own], other: dict[Key, _Own], starts: list[int], offset: int, gold: dict[Key, _Own]
) -> Iterator[Found]:
    """The entities of one side."""
    for key, (entity, sentence) in own.items():
        place, label = key
        unit = offset + max(bisect_right(starts, place[0][0]) - 1, 0)
        shown = gold.get(key, (entity, sentence))
        yield Found(unit, place, label, key in other, entity.score, entity.probabilities, *shown)
