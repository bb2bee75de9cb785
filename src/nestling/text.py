"""Raw text → Document: sentences and words with exact character offsets.

Words are those of spaCy's rules for the language; besides, `(PPA)-induced` is five. A sentence ends at its punctuation,
at a blank line, and at a line break, unless the text is wrapped (many of its lines start in lower case). With mentions,
words are cut at the borders of mentions and a sentence never ends inside one, so every annotation can be held exactly.
"""

import os
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING

from nestling.errors import InvalidValueError, UnknownNameError
from nestling.types import Document, Entity, Mention, Sentence, Span, Token, joined, require_characters

if TYPE_CHECKING:
    from spacy.language import Language

LANGUAGES = ("ar", "de", "en", "es", "fr", "pt", "ru", "zh", "xx")

Word = tuple[int, int]  # first character and the one behind the last

_LONG_RUN = re.compile(r"[^\w\s]{40}|\S{400}")  # the rules take quadratic time in the length of a run without blanks
_RUN = re.compile(r"\S+")
_LONGEST = 1000  # words of a sentence, more or less: memory grows with the longest
_REMEMBERED = 40  # characters of a run that is likely to come again
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*|[\f\u2029]+")
_LINE_BREAK = re.compile(r"[\n\f\u2028\u2029]+")
_LINE_START = re.compile(r"\n[^\S\n]*(\w)")
_BEHIND_BRACKETS = (r"[)\]](?=[-–]\w)", r"(?<=[)\]])[-–](?=\w)")  # a hyphen, and the bracket before it
_YEAR = re.compile(r"\d{4}\.")
_WRAPPED_SHARE = 0.2
_TITLES = frozenset(("dr", "dra", "prof", "sr", "sra", "st", "sta"))  # behind whose point a name follows
_REFERENCES = frozenset(  # behind whose point a number follows
    ("al", "ca", "cf", "ch", "eq", "eqs", "fig", "figs", "no", "nos", "nr", "p", "pp", "ref", "refs", "sec", "vol")
)
_lock = Lock()


def parse(
    text: str,
    *,
    id: str = "text",
    language: str = "en",
    mentions: Iterable[Mention] = (),
    words: Sequence[Word] | None = None,
) -> Document:
    """The document of a raw text, with its mentions as entities; words that are given are kept."""
    require_characters(text)
    mentions = list(mentions)
    starts, found = split(text, language)
    words = found if words is None else words
    return build(
        id,
        text,
        cut(words, {edge for m in mentions for f in m.fragments for edge in (f.start, f.end)}),
        _keep_whole(starts, mentions),
        mentions,
    )


@dataclass(frozen=True, slots=True)
class Resplit:
    """A document split without its mentions, and what became of them."""

    document: Document
    widened: int  # to the whole words that they touch
    dropped: int  # because they lie in several sentences


def resplit(document: Document, language: str = "en") -> Resplit:
    """The document as its text alone would be split, which is how a model meets it."""
    plain = parse(document.text, id=document.id, language=language)
    ends = [token.end for token in plain.tokens]
    starts = [token.start for token in plain.tokens]
    held: list[Mention] = []
    widened = dropped = 0
    openings = [sentence.tokens[0].start for sentence in plain.sentences]
    for mention in document.mentions:
        spans = [
            Span(starts[bisect_right(ends, f.start)], ends[bisect_left(starts, f.end) - 1]) for f in mention.fragments
        ]
        moved = Mention.of(document.text, spans, mention.label, mention.score, mention.probabilities)
        if bisect_right(openings, moved.start) != bisect_right(openings, moved.end - 1):
            dropped += 1
        else:
            widened += moved.fragments != mention.fragments
            held.append(moved)
    words = zip(starts, ends, strict=True)
    made = build(document.id, document.text, words, openings, held)
    return Resplit(replace(made, annotated=document.annotated), widened, dropped)


def build(
    id: str, text: str, words: Iterable[Word], sentence_starts: Iterable[int], mentions: Iterable[Mention]
) -> Document:
    """The document of words and sentences given in characters; mentions must start and end with words."""
    sentences: list[list[Token]] = []
    openings = set(sentence_starts)
    for start, end in words:
        if not sentences or start in openings:
            sentences.append([])
        sentences[-1].append(Token(text[start:end], start))
    entities = _place(text, sentences, mentions)
    return Document(id, text, tuple(Sentence(tuple(t), tuple(e)) for t, e in zip(sentences, entities, strict=True)))


def _place(text: str, sentences: list[list[Token]], mentions: Iterable[Mention]) -> list[list[Entity]]:
    """The mentions as entities, sentence by sentence."""
    first = {token.start: (n, i) for n, tokens in enumerate(sentences) for i, token in enumerate(tokens)}
    last = {token.end: (n, i + 1) for n, tokens in enumerate(sentences) for i, token in enumerate(tokens)}
    entities: list[list[Entity]] = [[] for _ in sentences]
    for mention in mentions:
        borders = [(first.get(f.start), last.get(f.end)) for f in _trimmed(text, mention)]
        numbers = {number for border in borders for number, _ in filter(None, border)}
        if any(None in border for border in borders):
            raise InvalidValueError(f"{_shown(mention)} does not start and end with words")
        if len(numbers) > 1:
            raise InvalidValueError(f"{_shown(mention)} is not in one sentence")
        spans = joined(Span(start[1], end[1]) for start, end in borders if start and end)
        entities[numbers.pop()].append(Entity(spans, mention.label, mention.score, mention.probabilities))
    return entities


def _shown(mention: Mention) -> str:
    places = ", ".join(f"{f.start}-{f.end}" for f in mention.fragments)
    return f"{mention.label} {mention.text[:60]!r} at characters {places}"


def _trimmed(text: str, mention: Mention) -> list[Span]:
    """The fragments without blanks at their ends."""
    spans = []
    for fragment in mention.fragments:
        inside = text[fragment.start : fragment.end]
        start = fragment.start + len(inside) - len(inside.lstrip())
        end = fragment.end - len(inside) + len(inside.rstrip())
        if start >= end:
            raise InvalidValueError(f"{_shown(mention)} is blank")
        spans.append(Span(start, end))
    return spans


def cut(words: Iterable[Word], borders: Iterable[int]) -> Iterator[Word]:
    """The words, cut where a border lies inside one."""
    ordered = sorted(borders)
    at = 0
    for start, end in words:
        at = bisect_right(ordered, start, at)
        inner = ordered[at : bisect_left(ordered, end, at)]
        yield from pairwise([start, *inner, end])


def _keep_whole(starts: Sequence[int], mentions: Iterable[Mention]) -> list[int]:
    """The sentence starts that do not lie inside a mention."""
    inside: set[int] = set()
    for mention in mentions:
        inside.update(starts[bisect_right(starts, mention.start) : bisect_left(starts, mention.end)])
    return [start for start in starts if start not in inside]


def split(text: str, language: str = "en") -> tuple[list[int], list[Word]]:
    """The characters at which sentences start, and the words."""
    starts: list[int] = []
    words: list[Word] = []
    words_of = _by_runs if _has_runs(language) else _by_rules
    for block in _blocks(text):
        own = [word for start, end in _short_runs(text, *block) for word in words_of(language, text[start:end], start)]
        if own and _has_point(text[slice(*own[-1])]):
            start, end = own.pop()
            own += [(start, end - 1), (end - 1, end)]
        starts += _sentence_starts(text, own)
        words += own
    return starts, words


def _has_point(last: str) -> bool:
    """Whether the last word of a block has its sentence's point, as in `hepatitis C.`, which is no initial there."""
    return last.endswith(".") and last[-2:-1].isupper() and "." not in last[:-1]


def _by_runs(language: str, text: str, offset: int) -> Iterator[Word]:
    """The words of a stretch, counted from `offset`; what stands between blanks is split once and remembered."""
    for match in _RUN.finditer(text):
        run, start = match.group(), offset + match.start()
        for length in _lengths(language, run) if len(run) <= _REMEMBERED else _lengths.__wrapped__(language, run):
            yield start, start + length
            start += length


@lru_cache(maxsize=1 << 16)
def _lengths(language: str, run: str) -> tuple[int, ...]:
    """How long the words of a run without blanks are."""
    nlp = pipeline(language)
    with _lock, nlp.memory_zone():  # as below
        return tuple(map(len, nlp.tokenizer(run)))


def _by_rules(language: str, text: str, offset: int) -> list[Word]:
    """The words of a stretch by spaCy's rules, counted from `offset`."""
    nlp = pipeline(language)
    with _lock, nlp.memory_zone():  # the vocabulary is shared by threads, and must not grow with what is read
        columns = nlp.tokenizer(text).to_array(["LENGTH", "SPACY", "IS_SPACE"]).astype("int64")
    lengths, spaces, blank = columns.T  # each (words,)
    ends = (lengths + spaces).cumsum() - spaces + offset
    rows = zip(ends.tolist(), lengths.tolist(), blank.tolist(), strict=True)
    return [(end - length, end) for end, length, is_blank in rows if not is_blank]


def _sentence_starts(text: str, words: Iterable[Word]) -> Iterator[int]:
    """The words of a block that start a sentence: the first, and those behind final punctuation and its closers."""
    is_over, previous, word, before, count = True, -1, "", "", 0
    for start, end in words:
        is_over = is_over or _is_too_long(count, word)
        is_closing = start == previous and _closes(text, start, end) and count <= 1.1 * _LONGEST
        if is_over and not is_closing:
            is_numbered = count == 2 and before.isdigit()  # `1. Ann Lee`
            goes_on = is_numbered or _goes_on(text[start:end], before, is_near=start == previous)
            if previous < 0 or count > _LONGEST or not goes_on:
                yield start
                count = 0
            is_over = False
        if _is_final(text[start:end]):
            is_over, before = True, word if text[start:end] == "." else ""
        previous, word, count = end, text[start:end], count + 1


def _is_too_long(count: int, last: str) -> bool:
    """Whether so many words are no sentence: lists and tables are cut behind a comma or the like, or anywhere."""
    return count > _LONGEST and (count > 1.1 * _LONGEST or not last.isalnum())


def _is_final(word: str) -> bool:
    """Whether a word is punctuation that ends a sentence, such as `.` or `?!` or `».`; or a year with its point.

    German words may be `3.` and `1990.`, of which the first is an ordinal.
    """
    if any(map(str.isalnum, word)):
        return _YEAR.fullmatch(word) is not None
    return not _final_marks().isdisjoint(word)


def _goes_on(word: str, before: str, *, is_near: bool) -> bool:
    """Whether a sentence goes on with a word behind final punctuation; `before` stands in front of a point.

    It does where the word is small (but for iPad), where a title or a reference was shortened, and inside a number.
    """
    if word[0].islower():
        return not any(map(str.isupper, word))
    if word[0].isdigit():
        return before.lower() in _REFERENCES or (is_near and before[-1:].isdigit())
    return before.lower() in _TITLES


def _closes(text: str, start: int, end: int) -> bool:
    """Whether punctuation that touches the word before it closes something; an opening quote touches the next too."""
    if any(map(str.isalnum, text[start:end])):
        return False
    is_free = end == len(text) or text[end].isspace()
    return is_free or unicodedata.category(text[start]) not in ("Ps", "Pi")


def _blocks(text: str) -> Iterator[Word]:
    """The stretches that no sentence leaves: lines, or paragraphs where lines are wrapped."""
    first_letters = _LINE_START.findall(text)
    lower = sum(letter.islower() for letter in first_letters)
    breaks = _BLANK_LINE if lower > _WRAPPED_SHARE * len(first_letters) else _LINE_BREAK
    return pairwise([0, *(match.end() for match in breaks.finditer(text)), len(text)])


def _short_runs(text: str, start: int, end: int) -> Iterator[Word]:
    """The block, cut inside every run that is too long for the rules."""
    cuts = [match.end() for match in _LONG_RUN.finditer(text, start, end)]
    return pairwise([start, *cuts, end])


@lru_cache(maxsize=1)
def _final_marks() -> frozenset[str]:
    from spacy.pipeline import Sentencizer

    return frozenset(Sentencizer.default_punct_chars)


@lru_cache(maxsize=len(LANGUAGES))
def _has_runs(language: str) -> bool:
    """Whether a language's rules look at what stands between blanks alone."""
    tokenizer = pipeline(language).tokenizer
    rules = getattr(tokenizer, "rules", None)  # Chinese has none
    return rules is not None and not any(len(rule.split()) > 1 for rule in rules)


@lru_cache(maxsize=len(LANGUAGES))
def pipeline(language: str) -> "Language":
    """spaCy's rules for a language, without a model; its vocabulary forgets, and nothing may be kept in it."""
    return blank(language)


def blank(language: str) -> "Language":
    """The same, new."""
    if language not in LANGUAGES:
        raise UnknownNameError("language", language, LANGUAGES)
    import spacy  # takes a second, and most commands never need it

    nlp = spacy.blank(language)
    if hasattr(nlp.tokenizer, "infix_finditer"):  # Chinese has none
        infixes = [*(nlp.Defaults.infixes or ()), *_BEHIND_BRACKETS]
        nlp.tokenizer.infix_finditer = spacy.util.compile_infix_regex(infixes).finditer
    return nlp


def _after_fork() -> None:
    """Another thread of the parent may have been splitting a text: its lock and its vocabulary are left behind."""
    global _lock  # noqa: PLW0603
    _lock = Lock()
    pipeline.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
