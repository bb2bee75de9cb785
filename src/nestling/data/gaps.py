"""Sentences with gaps, made up from sentences without, where mentions with gaps are too rare to be learnt.

All ways do as train does. What stands in a gap behind some word, as "the" in "cortex of the kidney", is put behind
that word in a mention that has it and no gap, and in place of what another gap behind it has. And a mention is
coordinated with one or two of its label that end or begin with the same word: "cortical bone" and "trabecular bone"
give "trabecular and cortical bone".
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random

from nestling.types import Document, Entity, Sentence, Span, joined

Words = tuple[str, ...]
Made = tuple[list[str], list[Entity]]
_LONGEST = 3  # words of a gap, and of what is coordinated
_LEAST = 0.03  # share of the words that coordinate; rarer ones are chance


@dataclass(frozen=True, slots=True)
class _Rest:
    """A mention without the word that it shares with others, and the mentions in it, counted from its first word."""

    words: Words
    inner: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """What train tells of gaps, and mentions of two words or more to put together."""

    fillers: dict[str, list[Words]] = field(default_factory=lambda: defaultdict(list))  # by the word before
    conjunctions: list[str] = field(default_factory=list)
    ending: dict[tuple[str, str], list[_Rest]] = field(default_factory=lambda: defaultdict(list))  # label, last word
    beginning: dict[tuple[str, str], list[_Rest]] = field(default_factory=lambda: defaultdict(list))  # and first


def made_up(documents: Iterable[Document], ratio: float) -> list[Document]:
    """So many new sentences, each a document, for every sentence that has a mention with a gap; always the same."""
    documents = list(documents)
    pairs = [(document, sentence) for document in documents for sentence in document.sentences]
    known = _known([sentence for _, sentence in pairs])
    rare = sum(any(entity.is_discontinuous for entity in sentence.entities) for _, sentence in pairs)
    random = Random(0)
    gapped = [(*pair, entity) for pair in pairs for entity in pair[1].entities if entity.is_discontinuous]
    places = [(*pair, entity) for pair in pairs for entity in _outer(pair[1]) if len(entity) > 1]
    random.shuffle(places)
    found: list[Document] = []
    for document, sentence, entity in gapped + places:
        if len(found) >= round(ratio * rare):
            break
        ways = (_refilled,) if entity.is_discontinuous else (_filled, _coordinated)
        made = next(filter(None, (way(sentence, entity, known, random) for way in ways)), None)
        if made is not None:
            own = Document.of_words(f"{document.id}, gap {len(found)}", [made])
            found.append(replace(own, annotated=document.annotated))
    return found


def _outer(sentence: Sentence) -> Iterator[Entity]:
    """The mentions without a gap that cross no other and lie in none."""
    for entity in sentence.entities:
        others = [other for other in sentence.entities if other is not entity and _touch(entity, other)]
        if not entity.is_discontinuous and all(_is_inside(other, entity) for other in others):
            yield entity


def _touch(one: Entity, other: Entity) -> bool:
    return one.start < other.end and other.start < one.end


def _is_inside(one: Entity, other: Entity) -> bool:
    return other.start <= one.start and one.end <= other.end


# What train tells


def _known(sentences: Iterable[Sentence]) -> _Known:
    known = _Known()
    for sentence in sentences:
        words = sentence.words
        for entity in sentence.entities:
            if entity.is_discontinuous:
                _learn_gaps(sentence, entity, known)
            elif 1 < len(entity) <= 1 + _LONGEST:
                inner = [o for o in sentence.entities if o is not entity and _is_inside(o, entity)]
                own = words[entity.start : entity.end]
                first = _moved(inner, -entity.start, len(own) - 1)
                known.ending[entity.label, own[-1].lower()].append(_Rest(own[:-1], first))
                last = _moved(inner, -entity.start - 1, len(own) - 1)
                known.beginning[entity.label, own[0].lower()].append(_Rest(own[1:], last))
    counts = Counter(known.conjunctions)
    common = [word for word in known.conjunctions if counts[word] >= _LEAST * len(known.conjunctions)]
    return replace(known, conjunctions=common)


def _learn_gaps(sentence: Sentence, entity: Entity, known: _Known) -> None:
    """A gap begins or ends with a conjunction where the rest of it makes a mention with what is behind or before it."""
    spans = {(o.start, o.end) for o in sentence.entities if not o.is_discontinuous and o.label == entity.label}
    for left, right in pairwise(entity.fragments):
        gap = Span(left.end, right.start)
        words = sentence.words[gap.start : gap.end]
        if (gap.start + 1, right.end) in spans and len(words) > 1:
            known.conjunctions.append(words[0])
        elif (left.start, gap.end - 1) in spans and len(words) > 1:
            known.conjunctions.append(words[-1])
        elif len(words) <= _LONGEST and not any(gap.start <= o.start and o.end <= gap.end for o in sentence.entities):
            known.fillers[sentence.words[gap.start - 1].lower()].append(words)


# What is made of it


def _filled(sentence: Sentence, entity: Entity, known: _Known, random: Random) -> Made | None:
    """The sentence with words put into the mention, behind one that train has gaps behind."""
    places = [n for n in range(entity.start + 1, entity.end) if sentence.words[n - 1].lower() in known.fillers]
    if not places:
        return None
    at = random.choice(places)
    filler = random.choice(known.fillers[sentence.words[at - 1].lower()])
    return None if filler[0] == sentence.words[at] else _inserted(sentence, at, filler)


def _refilled(sentence: Sentence, entity: Entity, known: _Known, random: Random) -> Made | None:
    """The sentence with other words in one of the mention's gaps, where none of them is of a mention."""
    left, right = random.choice(list(pairwise(entity.fragments)))
    gap = Span(left.end, right.start)
    fillers = known.fillers.get(sentence.words[gap.start - 1].lower(), ())
    others = [words for words in fillers if words != sentence.words[gap.start : gap.end]]
    is_used = any(f.start < gap.end and gap.start < f.end for o in sentence.entities for f in o.fragments)
    if not others or is_used:
        return None
    new = random.choice(others)
    by = len(new) - len(gap)
    return [*sentence.words[: gap.start], *new, *sentence.words[gap.end :]], [
        replace(o, fragments=tuple(f if f.end <= gap.start else Span(f.start + by, f.end + by) for f in o.fragments))
        for o in sentence.entities
    ]


def _coordinated(sentence: Sentence, entity: Entity, known: _Known, random: Random) -> Made | None:
    """The sentence with one or two mentions beside this one, which share its last word or its first."""
    if not known.conjunctions:
        return None
    own = sentence.words[entity.start : entity.end]
    ending = _others(known.ending[entity.label, own[-1].lower()], own[:-1], random)
    beginning = _others(known.beginning[entity.label, own[0].lower()], own[1:], random)
    is_ending = bool(ending) and (not beginning or random.random() < 0.75)
    rests = ending if is_ending else beginning
    if not rests:
        return None
    at = entity.end - 1 if is_ending else entity.end
    new: list[str] = []
    starts = []
    for rest in rests:
        new.append(random.choice(known.conjunctions) if rest is rests[-1] else ",")
        starts.append(at + len(new))
        new += rest.words
    words, entities = _inserted(sentence, at, tuple(new))
    shared = at + len(new) if is_ending else entity.start
    for start, rest in zip(starts, rests, strict=True):
        spans = [Span(start, start + len(rest.words)), Span(shared, shared + 1)]
        entities.append(Entity(joined(spans), entity.label))
        entities += _moved(rest.inner, start, len(words))
    return words, entities


def _others(rests: Sequence[_Rest], own: Words, random: Random) -> list[_Rest]:
    """One or two of them that are other things than this and each other, and not one and its plural or the like."""
    chosen: list[_Rest] = []
    for rest in random.sample(rests, min(len(rests), 8)):
        if len(chosen) < 2 and all(_differ(rest.words, words) for words in [own, *(o.words for o in chosen)]):
            chosen.append(rest)
    return chosen[: random.choice((1, 1, 2))]


def _differ(one: Words, other: Words) -> bool:
    last, its = one[-1].lower(), other[-1].lower()
    return not (last.startswith(its) or its.startswith(last))


def _inserted(sentence: Sentence, at: int, new: Words) -> Made:
    """The sentence with new words before a place; mentions around the place get a gap there."""
    words = [*sentence.words[:at], *new, *sentence.words[at:]]
    by = len(new)
    return words, [
        replace(entity, fragments=tuple(part for own in entity.fragments for part in _split(own, at, by)))
        for entity in sentence.entities
    ]


def _split(span: Span, at: int, by: int) -> list[Span]:
    if span.end <= at:
        return [span]
    if span.start >= at:
        return [Span(span.start + by, span.end + by)]
    return [Span(span.start, at), Span(at + by, span.end + by)]


def _moved(entities: Sequence[Entity], by: int, most: int) -> tuple[Entity, ...]:
    """The mentions moved by so many words; those that are then not among the first `most` words are left out."""
    kept = [e for e in entities if e.start + by >= 0 and e.end + by <= most]
    return tuple(replace(e, fragments=tuple(Span(f.start + by, f.end + by) for f in e.fragments)) for e in kept)
