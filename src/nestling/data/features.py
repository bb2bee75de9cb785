"""Words as numbers, for each sort of encoder part.

An indexer turns the sentences of a batch into one entry of `Batch.features`. What it had to learn from the training
text is its `vocabulary`, a list of strings that is saved with the model.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, groupby
from pathlib import Path
from threading import Lock
from typing import Any, Protocol
from zlib import crc32

import torch
from torch import Tensor

from nestling.data.taggers import Tagger
from nestling.errors import InvalidValueError
from nestling.nn.batch import Pieces, Spellings

_MOST_KNOWN = 100_000  # words whose numbers are remembered: some 70 MB where all are new
_MOST_CHARACTERS = 40

Sentence = tuple[str, ...]  # the words
Passage = Sequence[Sentence]  # neighbouring sentences that are encoded together


class Indexer(Protocol):
    """Sentences of a batch, in passages → a feature of the batch."""

    vocabulary: list[str]

    def __call__(self, passages: Sequence[Passage]) -> Any:
        """The feature, for all sentences of all passages in order."""
        ...


class PieceTokenizer(Protocol):
    """Cuts texts into numbered pieces; `first` and `last` stand around every row."""

    first: int
    last: int
    padding: int
    unknown: int
    mask: int | None  # stands for a piece that is hidden

    def __call__(self, texts: list[str]) -> list[list[int]]:
        """The pieces of each text."""
        ...

    def save_pretrained(self, folder: Path) -> None:
        """Writes what it is made from."""
        ...


class PieceIndexer:
    """Words as sub-words in rows of at most `limit` pieces. Words of a long sentence stand in two overlapping rows.

    A single word of more pieces than a row holds is known by those that fit.
    """

    def __init__(self, tokenizer: PieceTokenizer, limit: int) -> None:
        if limit < 3:
            raise InvalidValueError(f"a row of {limit} pieces has no room for words")
        self.tokenizer, self.room, self.vocabulary = tokenizer, limit - 2, list[str]()
        self.before = _before(tokenizer)
        self._known: dict[str, tuple[int, ...]] = {}
        self._lock = Lock()

    def size(self, words: Sentence) -> int:
        """How many pieces the words have."""
        known = self._numbers(words)
        return sum(len(known[word]) for word in words)

    def __call__(self, passages: Sequence[Passage]) -> Pieces:
        """The pieces of a batch."""
        known = self._numbers([word for passage in passages for sentence in passage for word in sentence])
        rows: list[list[int]] = []
        places: list[list[tuple[int, int, int]]] = []  # a sentence's words as row, first piece, pieces
        for passage in passages:
            found = self._placed([known[word] for sentence in passage for word in sentence], rows)
            for sentence in passage:
                places.append(found[: len(sentence)])
                found = found[len(sentence) :]
        return _pieces(rows, places, self.tokenizer.padding)

    def _placed(self, words: list[tuple[int, ...]], rows: list[list[int]]) -> list[tuple[int, int, int]]:
        """Adds the rows of a passage; gives the row, first piece and number of pieces of each word."""
        found: list[tuple[int, int, int]] = []
        for start, stop, keep in windows([len(word) for word in words], self.room):
            row, offsets = [self.tokenizer.first], []
            for word in words[start:stop]:
                offsets.append(len(row))
                row += word
            rows.append([*row, self.tokenizer.last])
            found += [(len(rows) - 1, offsets[n - start], len(words[n])) for n in range(len(found), keep)]
        return found

    def _numbers(self, words: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """The pieces of each of these words; what was asked before is remembered."""
        found = {word: self._known.get(word) for word in words}
        new = [word for word, ids in found.items() if ids is None]
        if new:
            with self._lock:  # tokenizers do not like to be called by two threads
                encoded = self.tokenizer([self.before + word for word in new])
            fresh = {
                word: tuple(ids[: self.room]) or (self.tokenizer.unknown,)
                for word, ids in zip(new, encoded, strict=True)
            }
            if len(self._known) < _MOST_KNOWN:
                self._known.update(fresh)
            found |= fresh
        return {word: ids for word, ids in found.items() if ids}


def windows(sizes: Sequence[int], room: int) -> list[tuple[int, int, int]]:
    """Items of these sizes in overlapping windows that have room for them: (start, stop, keep).

    Items from the last window's `keep` up to its own belong to a window: the borders lie in the middle of overlaps.
    """
    ends = [0, *accumulate(sizes)]
    made, start = [], 0
    while ends[-1] - ends[start] > room:
        stop = max(bisect_right(ends, ends[start] + room) - 1, start + 1)
        following = max(bisect_left(ends, ends[stop] - room // 3), bisect_left(ends, ends[stop + 1] - room))
        keep = max(bisect_left(ends, (ends[following] + ends[stop]) / 2), following)
        made.append((start, stop, min(keep, stop)))
        start = following
    return [*made, (start, len(sizes), len(sizes))]


def _pieces(rows: list[list[int]], places: list[list[tuple[int, int, int]]], padding: int) -> Pieces:
    length = max(len(row) for row in rows)
    ids = torch.full((len(rows), length), padding)  # (R, P)
    mask = torch.zeros((len(rows), length), dtype=torch.bool)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row)
        mask[number, : len(row)] = True
    most = max(count for sentence in places for _, _, count in sentence)
    longest = max(len(sentence) for sentence in places)
    words = [
        [[row * length + first + n if n < count else 0 for n in range(most)] for row, first, count in sentence]
        + [[0] * most] * (longest - len(sentence))
        for sentence in places
    ]
    return Pieces(ids, mask, torch.tensor(words), torch.tensor([sentence[0][0] for sentence in places]))


def _before(tokenizer: PieceTokenizer) -> str:
    """What a word must have in front to be cut as inside a sentence: a blank, for tokenizers that keep blanks."""
    alone, spaced, first, both = tokenizer(["so", " so", "a", "a so"])
    inside = both[len(first) :]
    return " " if inside != alone and inside == spaced else ""


class SpellingIndexer:
    """What a function makes of each distinct word of a batch, as rows of numbers; 0 is padding."""

    def __init__(self, numbers: Callable[[str], Sequence[int]], vocabulary: Sequence[str] = ()) -> None:
        self.vocabulary = list(vocabulary)
        self._numbers = lru_cache(maxsize=_MOST_KNOWN)(lambda word: tuple(numbers(word)))

    def __call__(self, passages: Sequence[Passage]) -> Spellings:
        """The spellings of a batch."""
        sentences = [sentence for passage in passages for sentence in passage]
        distinct = {word: n for n, word in enumerate(dict.fromkeys(word for words in sentences for word in words))}
        words = padded([[distinct[word] for word in sentence] for sentence in sentences])  # (B, T)
        return Spellings(padded([self._numbers(word) for word in distinct]), words)


def character_indexer(alphabet: Sequence[str]) -> SpellingIndexer:
    """Characters of words; 1 is for those that are not in the alphabet. Of a long word both ends are kept."""
    numbers = {character: n for n, character in enumerate(alphabet, 2)}

    def of(word: str) -> list[int]:
        shown = (
            word if len(word) <= _MOST_CHARACTERS else word[: _MOST_CHARACTERS // 2] + word[-_MOST_CHARACTERS // 2 :]
        )
        return [numbers.get(character, 1) for character in shown]

    return SpellingIndexer(of, alphabet)


AFFIXES = ("word", "first 1", "first 3", "last 2", "last 3", "last 4", "shape", "case")


def affix_indexer(rows: int) -> SpellingIndexer:
    """The features of AFFIXES, hashed into `rows` rows."""

    def of(word: str) -> list[int]:
        low = word.lower()
        values = (low, low[:1], low[:3], low[-2:], low[-3:], low[-4:], shape(word), case(word))
        return [1 + crc32(f"{name}={value}".encode()) % (rows - 1) for name, value in zip(AFFIXES, values, strict=True)]

    return SpellingIndexer(of)


def shape(word: str) -> str:
    """The word as x, X, d and its own other characters, runs cut at four: Xxxxx-dd."""
    classes = ("X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in word)
    return "".join("".join(list(run)[:4]) for _, run in groupby(classes))


def case(word: str) -> str:
    """How the word is written: all capitals, a capital first, a capital inside, or none of these."""
    if word.isupper():
        return "capitals" if len(word) > 1 else "capital"
    return "first" if word[:1].isupper() else "inside" if any(c.isupper() for c in word) else "small"


class WordIndexer:
    """Words as rows of a table of vectors, as they stand or else in lower case; 0 is for the unknown."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.vocabulary = list(vocabulary)
        self._rows = {word: n for n, word in enumerate(vocabulary, 1)}

    def __call__(self, passages: Sequence[Passage]) -> Tensor:
        """The rows of a batch: (B, T)."""
        rows = self._rows
        return padded([[rows.get(w) or rows.get(w.lower(), 0) for w in s] for passage in passages for s in passage])


class ClusterIndexer:
    """Words as the numbers of their clusters, as they stand or else in other case; 0 is for the unknown."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.vocabulary = list(vocabulary)  # a cluster each: its words, with blanks between them
        self._numbers = {word: n for n, words in enumerate(vocabulary, 1) for word in words.split()}

    def __call__(self, passages: Sequence[Passage]) -> Tensor:
        """The clusters of a batch: (B, T)."""
        return padded([[self._number(word) for word in sentence] for passage in passages for sentence in passage])

    def _number(self, word: str) -> int:
        known = self._numbers
        return known.get(word) or known.get(word.lower()) or known.get(word.capitalize(), 0)


class TagIndexer:
    """Words as the numbers of their parts of speech; 0 is for tags that were not in the training text."""

    def __init__(self, tagger: Tagger, vocabulary: Sequence[str]) -> None:
        self.tagger, self.vocabulary = tagger, list(vocabulary)
        self._numbers = {tag: n for n, tag in enumerate(vocabulary, 1)}
        self._lock = Lock()

    def __call__(self, passages: Sequence[Passage]) -> Tensor:
        """The tags of a batch: (B, T)."""
        with self._lock:  # taggers load their lexicons when first asked, and half loaded they answer wrongly
            tagged = [self.tagger(sentence) for passage in passages for sentence in passage]
        return padded([[self._numbers.get(tag, 0) for tag in tags] for tags in tagged])


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Rows of numbers as a tensor, 0 where they are shorter than the longest."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
