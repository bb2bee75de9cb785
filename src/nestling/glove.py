"""GloVe (Pennington et al., 2014).

    sentences ─▶ counted ─▶ Counts ─▶ Glove ─▶ Vectors

Counts are how often words stand within a window of each other, nearer ones weighing more. Vectors are such that their
products tell the logarithms of the counts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nestling.errors import InvalidValueError
from nestling.vectors import Table, Vectors

_HELD_PAIRS = 8_000_000  # counted before they are added up: memory does not grow with the text


@dataclass(frozen=True, slots=True)
class Counts:
    """How often words stand near each other; symmetric."""

    words: list[str]  # the most frequent first
    pairs: csr_array  # (words, words)


def counted(sentences: Iterable[Sequence[str]], *, window: int = 10, least: int = 1) -> Counts:
    """Counts pairs of words up to `window` apart in a sentence, each as one over the distance.

    Sentences are gone through once and not held. Words that occur less than `least` times are left out.
    """
    index: dict[str, int] = {}
    frequency: Counter[int] = Counter()
    pairs = csr_array((0, 0), dtype=np.float64)
    for ids, owner in _stretches(sentences, index, _HELD_PAIRS // max(window, 1)):
        frequency.update(ids.tolist())
        pairs.resize((len(index), len(index)))  # type: ignore[arg-type]
        pairs = pairs + _pairs_of(ids, owner, window, len(index))
    words = list(index)
    kept = [n for n, count in frequency.most_common() if count >= least and not _has_blank(words[n])]
    return Counts([words[n] for n in kept], pairs[kept][:, kept].tocsr())


def _has_blank(word: str) -> bool:
    return not word or any(character.isspace() for character in word)


def _stretches(
    sentences: Iterable[Sequence[str]], index: dict[str, int], size: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The ids of words and the numbers of their sentences, so many at a time; new words are added to the index."""
    ids: list[int] = []
    owner: list[int] = []
    for number, words in enumerate(sentences):
        ids += [index.setdefault(word, len(index)) for word in words]
        owner += [number] * len(words)
        if len(ids) >= size:
            yield np.array(ids), np.array(owner)
            ids, owner = [], []
    if ids:
        yield np.array(ids), np.array(owner)


def _pairs_of(ids: NDArray[np.int64], owner: NDArray[np.int64], window: int, words: int) -> csr_array:
    total = csr_array((words, words), dtype=np.float64)
    for distance in range(1, min(window, len(ids) - 1) + 1):
        is_near = owner[distance:] == owner[:-distance]
        left, right = ids[:-distance][is_near], ids[distance:][is_near]
        weights = np.full(len(left), 1 / distance)
        total = total + csr_array((weights, (left, right)), shape=(words, words))
    return total + total.T


@dataclass(frozen=True, slots=True)
class GloveSettings:
    """What GloVe is trained with; the defaults are the authors'."""

    size: int = 100
    epochs: int = 25
    rate: float = 0.05
    ceiling: float = 100.0  # counts from which a pair weighs no more
    power: float = 0.75
    seed: int = 0
    batches: int = 100  # an epoch

    def __post_init__(self) -> None:
        if min(self.size, self.epochs, self.batches) < 1 or self.rate <= 0 or self.ceiling <= 0:
            raise InvalidValueError("sizes, epochs and rates are above 0")


class Glove:
    """Weighted least squares with AdaGrad, some hundredth of the pairs at a time."""

    def __init__(self, counts: Counts, settings: GloveSettings) -> None:
        pairs = counts.pairs.tocoo()
        self.words, self.settings = counts.words, settings
        self.row, self.column = (axis.astype(np.int32) for axis in pairs.coords)
        self.logarithm = np.log(pairs.data).astype(np.float32)  # (pairs,)
        self.weight = np.minimum((pairs.data / settings.ceiling) ** settings.power, 1).astype(np.float32)
        rng = np.random.default_rng(settings.seed)
        shape = (len(self.words), settings.size + 1)  # the last column is the bias
        self.tables = [((rng.random(shape) - 0.5) / settings.size).astype(np.float32) for _ in range(2)]
        self.squares = [np.ones(shape, dtype=np.float32) for _ in range(2)]  # of gradients so far

    def epochs(self) -> Iterator[float]:
        """Trains; gives the mean loss of each epoch."""
        for epoch in range(self.settings.epochs):
            order = np.random.default_rng([self.settings.seed, epoch]).permutation(len(self.row))
            total = sum(
                self._learn(part) for part in np.array_split(order, min(self.settings.batches, len(order) or 1))
            )
            yield float(total / max(len(order), 1))

    def vectors(self) -> Vectors:
        """The sum of words and contexts, as the authors use them."""
        return Vectors(self.words, (self.tables[0] + self.tables[1])[:, :-1])

    def errors(self, part: NDArray[np.int64]) -> Table:
        """How far products of vectors are from the logarithms of counts: (pairs,)."""
        words, contexts = (table[ids] for table, ids in zip(self.tables, self._ids(part), strict=True))
        products = np.einsum("pd,pd->p", words[:, :-1], contexts[:, :-1])
        return products + words[:, -1] + contexts[:, -1] - self.logarithm[part]  # type: ignore[no-any-return]

    def _ids(self, part: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        return self.row[part], self.column[part]

    def _learn(self, part: NDArray[np.int64]) -> float:
        errors = self.errors(part)
        slopes = self.weight[part] * errors  # (pairs,)
        shape = (len(self.words), len(self.words))
        toward = csr_array((slopes, self._ids(part)), shape=shape)  # sums over pairs as products of matrices
        gradients = [self._gradient(toward, self.tables[1]), self._gradient(toward.T.tocsr(), self.tables[0])]
        for n, gradient in enumerate(gradients):
            self.tables[n] -= self.settings.rate * gradient / np.sqrt(self.squares[n])
            self.squares[n] += gradient**2
        return float((slopes * errors).sum() / 2)

    def _gradient(self, toward: csr_array, other: Table) -> Table:
        gradient = toward @ other
        gradient[:, -1] = toward.sum(axis=1)
        return gradient


def glove(sentences: Iterable[Sequence[str]], *, window: int = 10, least: int = 1, **settings: float) -> Vectors:
    """Vectors for the words of sentences, in one call."""
    trained = Glove(counted(sentences, window=window, least=least), GloveSettings(**settings))  # type: ignore[arg-type]
    for _ in trained.epochs():
        pass
    return trained.vectors()
