"""Gold and predictions → precision, recall and F1; the only scorer.

An entity is right when a gold entity has the same characters and the same label (strict), or the same characters
(boundaries); `comparison.py` says how the two sides are compared. Scores are percentages.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nestling.errors import DataError
from nestling.evaluation.comparison import Comparison, Found, compare
from nestling.types import Document

Group = TypeVar("Group", str, int)
Counts = NDArray[np.int64]  # (units, 3): right, gold, predicted


@dataclass(frozen=True, slots=True)
class Score:
    """Counts, and precision, recall and F1 in per cent; what has no denominator is 0."""

    right: int
    gold: int
    predicted: int

    @property
    def precision(self) -> float:
        """The share of predictions that are right."""
        return 100 * self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of gold entities that are found."""
        return 100 * self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 200 * self.right / (self.gold + self.predicted) if self.gold + self.predicted else 0.0

    def as_json(self) -> dict[str, float]:
        """All figures under their names."""
        figures = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        counts = {"right": self.right, "gold": self.gold, "predicted": self.predicted}
        return {name: round(value, 4) for name, value in figures.items()} | counts


@dataclass(frozen=True, slots=True)
class Macro:
    """Means over labels."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class Interval:
    """Where F1, or a difference of two, lies with 95 % confidence, by resampling sentences."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Scores:
    """Everything that is counted between gold and one prediction."""

    strict: Score
    boundaries: Score
    discontinuous: Score
    beside_discontinuous: Score  # of all entities in sentences where gold has a discontinuous one
    by_label: dict[str, Score]
    by_length: dict[int, Score]
    units: Counts = field(compare=False, repr=False)  # right, gold and predicted of each gold sentence

    @property
    def macro(self) -> Macro:
        """The means over all labels that gold or prediction has."""
        scores = list(self.by_label.values())

        def mean(of: Callable[[Score], float]) -> float:
            return sum(map(of, scores)) / len(scores) if scores else 0.0

        return Macro(mean(lambda s: s.precision), mean(lambda s: s.recall), mean(lambda s: s.f1))

    def of_lengths(self, is_wanted: Callable[[int], bool]) -> Score:
        """The strict score of entities of the lengths that are wanted, in words."""
        chosen = [score for length, score in self.by_length.items() if is_wanted(length)]
        return Score(sum(s.right for s in chosen), sum(s.gold for s in chosen), sum(s.predicted for s in chosen))

    def interval(self, *, rounds: int = 2000, seed: int = 0) -> Interval:
        """The 95 % bootstrap interval of the strict F1."""
        if not len(self.units):
            return Interval(0.0, 0.0)
        return _interval(_f1(_resampled(self.units, rounds, seed)))

    def as_json(self) -> dict[str, Any]:
        """All figures under their names."""
        interval, macro = self.interval(), self.macro
        return {
            "strict": self.strict.as_json() | {"f1_low": round(interval.low, 4), "f1_high": round(interval.high, 4)},
            "macro": {name: round(value, 4) for name, value in asdict(macro).items()},
            "boundaries": self.boundaries.as_json(),
            "discontinuous": self.discontinuous.as_json(),
            "beside_discontinuous": self.beside_discontinuous.as_json(),
            "by_label": {label: score.as_json() for label, score in self.by_label.items()},
            "by_length": {str(length): score.as_json() for length, score in self.by_length.items()},
            "sentences": len(self.units),
        }


def score(gold: Iterable[Document], predicted: Iterable[Document]) -> Scores:
    """Compares predictions with gold; documents are paired by id where ids are unique, else by order."""
    return scores_of(compare(gold, predicted))


def scores_of(comparison: Comparison) -> Scores:
    """Counts what is right."""
    wanted, given = comparison.wanted, comparison.given
    places, guesses = {(f.unit, f.place) for f in wanted}, {(f.unit, f.place) for f in given}
    gapped = {found.unit for found in wanted if found.is_discontinuous}
    return Scores(
        strict=count(wanted, given),
        boundaries=Score(len(places & guesses), len(places), len(guesses)),
        discontinuous=count([f for f in wanted if f.is_discontinuous], [f for f in given if f.is_discontinuous]),
        beside_discontinuous=count([f for f in wanted if f.unit in gapped], [f for f in given if f.unit in gapped]),
        by_label=grouped(wanted, given, lambda found: found.label),
        by_length=grouped(wanted, given, lambda found: found.words),
        units=_unit_counts(len(comparison.units), wanted, given),
    )


def significance(first: Scores, second: Scores, *, rounds: int = 10000, seed: int = 0) -> float:
    """The p-value of a difference in strict F1 between two predictions for the same gold, by approximate randomisation.

    Each round swaps the two predictions in every sentence with probability 1/2; p is the share of rounds whose
    difference is at least the observed one (Noreen, 1989), the observed arrangement counted in.
    """
    _require_same_gold(first, second)
    totals, others = first.units.sum(axis=0), second.units.sum(axis=0)  # each (3,)
    # Sentences with equal differences are swapped together: the same distribution, whatever their number.
    kinds, sizes = np.unique(second.units - first.units, axis=0, return_counts=True)  # (kinds, 3), (kinds,)
    swapped = np.random.default_rng(seed).binomial(sizes, 0.5, size=(rounds, len(sizes)))  # (rounds, kinds)
    moved = swapped @ kinds  # (rounds, 3)
    differences = np.abs(_f1(totals + moved) - _f1(others - moved))
    observed = np.abs(_f1(totals[None]) - _f1(others[None]))[0]
    return float((1 + (differences >= observed - 1e-9).sum()) / (rounds + 1))


def lead(first: Scores, second: Scores, *, rounds: int = 2000, seed: int = 0) -> Interval:
    """The 95 % bootstrap interval of the first's strict F1 less the second's, the same sentences drawn for both."""
    _require_same_gold(first, second)
    if not len(first.units):
        return Interval(0.0, 0.0)
    both = _resampled(np.hstack([first.units, second.units]), rounds, seed)  # (rounds, 6)
    return _interval(_f1(both[:, :3]) - _f1(both[:, 3:]))


def _require_same_gold(first: Scores, second: Scores) -> None:
    if len(first.units) != len(second.units) or (first.units[:, 1] != second.units[:, 1]).any():
        raise DataError("the two predictions were scored against different gold")


def _resampled(units: Counts, rounds: int, seed: int) -> Counts:
    """Sums of counts (units, C) over sentences drawn with replacement: (rounds, C)."""
    # Sentences with equal counts are drawn together: the same distribution, whatever their number.
    kinds, sizes = np.unique(units, axis=0, return_counts=True)  # (kinds, C), (kinds,)
    drawn = np.random.default_rng(seed).multinomial(sizes.sum(), sizes / sizes.sum(), size=rounds)  # (rounds, kinds)
    sums: Counts = drawn @ kinds
    return sums


def _interval(values: NDArray[np.float64]) -> Interval:
    """The middle 95 % of values."""
    low, high = np.percentile(values, [2.5, 97.5])
    return Interval(float(low), float(high))


def count(wanted: Sequence[Found], given: Sequence[Found]) -> Score:
    """The score of some entities of gold and of a prediction."""
    return Score(sum(found.is_right for found in given), len(wanted), len(given))


def grouped(wanted: Iterable[Found], given: Iterable[Found], key: Callable[[Found], Group]) -> dict[Group, Score]:
    """The scores of entities with the same key, which both sides have for themselves; in the order of keys."""
    gold = Counter(map(key, wanted))
    predicted: Counter[Group] = Counter()
    right: Counter[Group] = Counter()
    for found in given:
        predicted[key(found)] += 1
        right[key(found)] += found.is_right
    return {
        group: Score(right[group], gold[group], predicted[group]) for group in sorted(gold.keys() | predicted.keys())
    }


def _unit_counts(units: int, wanted: Sequence[Found], given: Sequence[Found]) -> Counts:
    right = np.bincount([found.unit for found in given if found.is_right], minlength=units)
    gold = np.bincount([found.unit for found in wanted], minlength=units)
    predicted = np.bincount([found.unit for found in given], minlength=units)
    return np.stack([right, gold, predicted], axis=1).astype(np.int64)


def _f1(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """F1 in per cent of rows of right, gold and predicted."""
    right, gold, predicted = counts.T
    f1: NDArray[np.float64] = 200 * right / np.maximum(gold + predicted, 1)
    return f1
