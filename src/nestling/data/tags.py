"""BIO, BIOES and BILOU tags ⇄ entities.

Reading needs no scheme: B, S and U start an entity; E, L, S and U end one; I and M go on. A tag that goes on from
nothing, or from another label, starts a new entity: the rule of conlleval, so that no tagged word is lost.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from nestling.errors import InvalidValueError
from nestling.types import Entity

Scheme = Literal["BIO", "BIOES", "BILOU"]
Order = Literal["innermost", "outermost"]

OUTSIDE = "O"
_STARTS, _GOES_ON, _ENDS = frozenset("BSU"), frozenset("IMEL"), frozenset("ESLU")
_LETTERS: dict[Scheme, tuple[str, str, str, str]] = {  # begin, inside, end, single
    "BIO": ("B", "I", "I", "B"),
    "BIOES": ("B", "I", "E", "S"),
    "BILOU": ("B", "I", "L", "U"),
}


@lru_cache(maxsize=4096)
def is_tag(tag: str) -> bool:
    """Whether this is O, or a known letter, a hyphen and a label."""
    return tag == OUTSIDE or (tag[:1] in _STARTS | _GOES_ON and tag[1:2] == "-" and bool(tag[2:].strip()))


@lru_cache(maxsize=4096)
def split_tag(tag: str) -> tuple[str, str]:
    """`("B", "PER")` of `B-PER`; `("O", "")` of `O`."""
    if not is_tag(tag):
        raise InvalidValueError(f"{tag!r} is not a tag: O, or one of B I E S L U M, a hyphen and a label")
    return (tag, "") if tag == OUTSIDE else (tag[0], tag[2:])


def decode(tags: Sequence[str]) -> tuple[list[Entity], list[int]]:
    """The entities of one tag a word, and the positions of tags that go on from nothing."""
    entities: list[Entity] = []
    strays: list[int] = []
    start, open_label = 0, ""
    for position, tag in enumerate(tags):
        letter, label = split_tag(tag)
        goes_on = letter in _GOES_ON and label == open_label
        if open_label and not goes_on:
            entities.append(Entity.at(start, position, open_label))
            open_label = ""
        if label and not goes_on:
            start, open_label = position, label
            if letter in _GOES_ON:
                strays.append(position)
        if open_label and letter in _ENDS:
            entities.append(Entity.at(start, position + 1, open_label))
            open_label = ""
    if open_label:
        entities.append(Entity.at(start, len(tags), open_label))
    return entities, strays


def decode_sets(tag_sets: Sequence[Iterable[str]]) -> tuple[list[Entity], list[int]]:
    """The entities of several tags a word without any order of layers: read once for each label."""
    by_label: dict[str, list[str]] = {}
    for position, tags in enumerate(tag_sets):
        for tag in tags:
            label = split_tag(tag)[1]
            if not label:
                continue
            column = by_label.setdefault(label, [OUTSIDE] * len(tag_sets))
            if column[position] not in (OUTSIDE, tag):
                raise InvalidValueError(f"{column[position]} and {tag} on one word cannot be told apart without layers")
            column[position] = tag
    decoded = [decode(column) for column in by_label.values()]
    return [e for entities, _ in decoded for e in entities], sorted(s for _, strays in decoded for s in strays)


def encode(entities: Iterable[Entity], length: int, scheme: Scheme = "BIO") -> list[str]:
    """One tag a word; entities must be continuous and must not overlap."""
    begin, inside, end, single = _LETTERS[scheme]
    tags = [OUTSIDE] * length
    for entity in entities:
        if entity.is_discontinuous:
            raise InvalidValueError(f"tags cannot hold the discontinuous {entity.label} at {_words(entity)}")
        if any(tag != OUTSIDE for tag in tags[entity.start : entity.end]):
            raise InvalidValueError(
                f"one row of tags cannot hold {entity.label} at {_words(entity)}: it overlaps another"
            )
        for position in range(entity.start, entity.end):
            tags[position] = f"{inside}-{entity.label}"
        tags[entity.start] = f"{begin}-{entity.label}"
        tags[entity.end - 1] = f"{end if len(entity) > 1 else single}-{entity.label}"
    return tags


def layers(entities: Iterable[Entity], order: Order = "innermost") -> list[list[Entity]]:
    """The entities as layers in which none overlap; the first holds the innermost, or the outermost."""
    sign = 1 if order == "innermost" else -1
    made: list[list[Entity]] = []
    occupied: list[set[int]] = []
    for entity in sorted(set(entities), key=lambda e: (sign * len(e.hull), e.order)):
        words = set(range(entity.start, entity.end))
        level = next((i for i, taken in enumerate(occupied) if taken.isdisjoint(words)), len(made))
        if level == len(made):
            made.append([])
            occupied.append(set())
        made[level].append(entity)
        occupied[level] |= words
    return made


def _words(entity: Entity) -> str:
    return " and ".join(f"words {f.start}-{f.end}" for f in entity.fragments)
