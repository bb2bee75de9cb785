"""One gold, one or several predictions: everything that is counted of them, in one object.

    analysis = analyze(gold, {"mine": predicted, "theirs": other}, train=train)
    analysis.models["mine"].mistakes.rate("boundary")

Nothing here needs torch; predictions may come from anywhere.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from nestling.errors import InvalidValueError, UnknownNameError
from nestling.evaluation.attributes import (
    Attribute,
    Basis,
    Bucket,
    Consistency,
    buckets,
    oov_density,
    values_of,
)
from nestling.evaluation.calibration import Calibration, calibration_of
from nestling.evaluation.comparison import Comparison, Found, compare
from nestling.evaluation.mistakes import Mistakes, confusion, mistakes_of
from nestling.evaluation.scores import Score, Scores, grouped, scores_of, significance
from nestling.types import Document, Span, overlapped

Role = Literal["alone", "outer", "inner"]  # outer: with others inside and inside none


@dataclass(frozen=True)
class ModelAnalysis:
    """What is counted of one prediction."""

    comparison: Comparison
    scores: Scores
    by_depth: dict[int, Score]  # 1: inside no other entity of its side
    by_role: dict[str, Score]
    attributes: dict[Attribute, list[Bucket]]
    mistakes: Mistakes
    confusion: Counter[tuple[str, str]]
    calibration: Calibration | None

    def as_json(self) -> dict[str, Any]:
        """All figures under their names."""
        met = [{"gold": g, "predicted": p, "count": n} for (g, p), n in sorted(self.confusion.items())]
        return {
            "scores": self.scores.as_json(),
            "by_depth": {str(depth): own.as_json() for depth, own in self.by_depth.items()},
            "by_role": {role: own.as_json() for role, own in self.by_role.items()},
            "attributes": {name: [own.as_json() for own in found] for name, found in self.attributes.items()},
            "mistakes": self.mistakes.as_json(),
            "confusion": met,
            "calibration": self.calibration.as_json() if self.calibration else None,
        }


@dataclass(frozen=True)
class Analysis:
    """Predictions for the same gold, by name; others are compared with the reference."""

    models: dict[str, ModelAnalysis]
    reference: str
    oov_density: float | None  # from 0 to 1; None without train
    consistency: Consistency | None

    @cached_property
    def p_values(self) -> dict[str, float]:
        """How likely a difference in F1 as large as that to the reference is by chance."""
        scores = self.models[self.reference].scores
        return {name: significance(own.scores, scores) for name, own in self.models.items() if name != self.reference}

    def gains(self, attribute: Attribute) -> dict[str, list[float | None]]:
        """F1 of every bucket less that of the reference, in points; None where gold has none (Table 6)."""
        standard = self.models[self.reference].attributes[attribute]
        return {
            name: [
                own.score.f1 - other.score.f1 if own.score.gold else None
                for own, other in zip(model.attributes[attribute], standard, strict=True)
            ]
            for name, model in self.models.items()
        }

    def as_json(self) -> dict[str, Any]:
        """All figures under their names."""
        return {
            "reference": self.reference,
            "oov_density": None if self.oov_density is None else round(self.oov_density, 6),
            "p_values": {name: round(p, 4) for name, p in self.p_values.items()},
            "models": {name: own.as_json() for name, own in self.models.items()},
        }


def analyze(
    gold: Iterable[Document],
    predictions: Mapping[str, Iterable[Document]],
    *,
    train: Iterable[Document] | None = None,
    reference: str | None = None,
    basis: Basis = "entities",
    by_quantiles: bool = False,
) -> Analysis:
    """Counts everything of every prediction; eCon and the density of unknown words need train."""
    if not predictions:
        raise InvalidValueError("an analysis needs at least one prediction")
    if reference is not None and reference not in predictions:
        raise UnknownNameError("prediction", reference, predictions)
    documents, learnt = list(gold), None if train is None else list(train)
    comparisons = {name: compare(documents, own) for name, own in predictions.items()}
    consistency = None
    if learnt is not None:
        asked = {f.text for own in comparisons.values() for f in (*own.wanted, *own.given)}
        consistency = Consistency(learnt, asked, basis=basis)
    return Analysis(
        {name: _analysed(own, consistency, by_quantiles) for name, own in comparisons.items()},
        reference or next(iter(comparisons)),
        None if learnt is None else oov_density(documents, learnt),
        consistency,
    )


def _analysed(comparison: Comparison, consistency: Consistency | None, by_quantiles: bool) -> ModelAnalysis:
    depths = _depths([*comparison.wanted, *comparison.given])
    values, mistakes = values_of(comparison, consistency), mistakes_of(comparison)
    return ModelAnalysis(
        comparison=comparison,
        scores=scores_of(comparison),
        by_depth=grouped(comparison.wanted, comparison.given, lambda found: depths[_key(found)][0]),
        by_role=grouped(comparison.wanted, comparison.given, lambda found: _role(*depths[_key(found)])),
        attributes={
            name: buckets(comparison, value, name, by_quantiles=by_quantiles) for name, value in values.items()
        },
        mistakes=mistakes,
        confusion=confusion(comparison, mistakes),
        calibration=calibration_of(comparison),
    )


def _key(found: Found) -> tuple[int, Span]:
    """An entity's hull, in its sentence; both sides have sentences of their own."""
    return id(found.sentence), found.entity.hull


def _depths(entities: Sequence[Found]) -> dict[tuple[int, Span], tuple[int, bool]]:
    """How deep hulls lie among those of their sentence, and whether they have others inside."""
    sentences = {id(found.sentence): found.sentence for found in entities}
    found: dict[tuple[int, Span], tuple[int, bool]] = {}
    for number, sentence in sentences.items():
        for hull, before in overlapped(entity.hull for entity in sentence.entities):
            around = [(number, other) for other in before if other.contains(hull)]
            found[number, hull] = 1 + max((found[key][0] for key in around), default=0), False
            found |= {key: (found[key][0], True) for key in around}
    return found


def _role(depth: int, has_inner: bool) -> str:
    role: Role = "inner" if depth > 1 else "outer" if has_inner else "alone"
    return role
