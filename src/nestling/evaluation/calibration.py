"""Whether scores mean what they say: of predictions with score 0.8, eight in ten should be right."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nestling.evaluation.comparison import Comparison, Found
from nestling.evaluation.scores import Score

BINS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions with scores above `low` (or equal, in the first bin) and not above `high`."""

    low: float
    high: float
    count: int
    mean_score: float
    share_right: float


@dataclass(frozen=True, slots=True)
class Threshold:
    """The score from which predictions of a label are kept at best, and the F1 of the label without and with it."""

    threshold: float
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Predictions by their scores."""

    bins: tuple[Bin, ...]
    thresholds: dict[str, Threshold]

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of score and share of right predictions, in per cent."""
        total = sum(own.count for own in self.bins)
        apart = sum(own.count * abs(own.mean_score - own.share_right) for own in self.bins)
        return 100 * apart / total if total else 0.0

    def as_json(self) -> dict[str, Any]:
        """All figures under their names."""
        bins = [{name: round(value, 4) for name, value in asdict(own).items()} for own in self.bins]
        thresholds = {
            label: {name: round(value, 4) for name, value in asdict(own).items()}
            for label, own in self.thresholds.items()
        }
        return {"expected_calibration_error": round(self.error, 4), "bins": bins, "thresholds": thresholds}


def calibration_of(comparison: Comparison) -> Calibration | None:
    """None where predictions have no scores: all are 1."""
    scores = np.array([found.score for found in comparison.given])
    if not len(scores) or (scores == 1.0).all():
        return None
    right = np.array([found.is_right for found in comparison.given])
    place = np.clip(np.ceil(scores * BINS).astype(int) - 1, 0, BINS - 1)  # (N,)
    bins = [
        Bin(n / BINS, (n + 1) / BINS, int(own.sum()), float(scores[own].mean()), float(right[own].mean()))
        if (own := place == n).any()
        else Bin(n / BINS, (n + 1) / BINS, 0, 0.0, 0.0)
        for n in range(BINS)
    ]
    return Calibration(tuple(bins), thresholds_of(comparison))


def thresholds_of(comparison: Comparison) -> dict[str, Threshold]:
    """The best threshold of each label that is predicted, as if labels had nothing to do with each other."""
    gold: dict[str, int] = defaultdict(int)
    predicted: dict[str, list[Found]] = defaultdict(list)
    for found in comparison.wanted:
        gold[found.label] += 1
    for found in comparison.given:
        predicted[found.label].append(found)
    return {label: _best(gold[label], own) for label, own in sorted(predicted.items())}


def _best(gold: int, predicted: Sequence[Found]) -> Threshold:
    """None is needed where none is better than keeping all."""
    right = np.array([found.is_right for found in predicted])
    before = Score(int(right.sum()), gold, len(right)).f1
    threshold, after = best_threshold(np.array([found.score for found in predicted]), right, gold)
    return Threshold(threshold, before, after) if after > before else Threshold(0.0, before, before)


def best_threshold(scores: NDArray[np.float64], is_right: NDArray[np.bool_], wanted: int) -> tuple[float, float]:
    """The threshold with the best F1, in the middle between the last score that is in and the first that is out."""
    if not len(scores):
        return 0.0, 0.0
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    f1 = 200 * np.cumsum(is_right[order]) / (np.arange(1, len(ranked) + 1) + wanted)  # with the n best in
    f1[:-1][ranked[:-1] == ranked[1:]] = -1.0  # equal scores are in together
    last = int(np.argmax(f1))
    below = ranked[last + 1] if last + 1 < len(ranked) else 0.0
    middle = float(ranked[last] + below) / 2
    return middle if middle > below else float(ranked[last]), float(f1[last])
