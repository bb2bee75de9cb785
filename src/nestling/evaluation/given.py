"""How well mentions are labelled whose borders are given: what the SNG paper measures. It is no NER F1.

A discontinuous mention counts as right, as in the paper, where each of its fragments, labelled on its own, gets the
right label. The paper's F1 takes wrong discontinuous mentions as the only ones missed and right ones for nothing, so
that recall is 100 % where there are none.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from nestling.evaluation.comparison import Comparison, Place
from nestling.types import Document, Entity


@dataclass(frozen=True, slots=True)
class Labelled:
    """A gold mention, and the probabilities of labels for it: as a whole, and for each of its fragments."""

    label: str
    whole: dict[str, float]
    fragments: tuple[dict[str, float], ...]

    @property
    def is_discontinuous(self) -> bool:
        """Whether it has several fragments."""
        return len(self.fragments) > 1

    @property
    def is_right(self) -> bool:
        """Whether all fragments get the mention's label."""
        return all(max(own, key=lambda label: own[label]) == self.label for own in self.fragments)

    @property
    def is_right_joined(self) -> bool:
        """Whether the mention, its fragments joined, gets its label."""
        return max(self.whole, key=lambda label: self.whole[label]) == self.label


@dataclass(frozen=True, slots=True)
class GivenSpans:
    """Counts of mentions whose borders were given, and figures in per cent."""

    continuous: int
    continuous_right: int
    discontinuous: int
    discontinuous_right: int
    joined_right: int  # discontinuous mentions that are right when labelled as a whole

    @property
    def accuracy(self) -> float:
        """The share of mentions with the right label."""
        total = self.continuous + self.discontinuous
        return 100 * (self.continuous_right + self.discontinuous_right) / total if total else 0.0

    @property
    def paper_precision(self) -> float:
        """Of continuous mentions, those that are right."""
        return 100 * self.continuous_right / self.continuous if self.continuous else 0.0

    @property
    def paper_recall(self) -> float:
        """Right continuous mentions among these and the wrong discontinuous ones."""
        missed = self.discontinuous - self.discontinuous_right
        known = self.continuous_right + missed
        return 100 * self.continuous_right / known if known else 0.0

    @property
    def paper_f1(self) -> float:
        """What the paper calls F1."""
        both = self.paper_precision + self.paper_recall
        return 2 * self.paper_precision * self.paper_recall / both if both else 0.0

    def as_json(self) -> dict[str, Any]:
        """All figures under their names."""
        return {
            "given_spans_accuracy": round(self.accuracy, 4),
            "paper_precision": round(self.paper_precision, 4),
            "paper_recall": round(self.paper_recall, 4),
            "paper_f1": round(self.paper_f1, 4),
            "continuous": self.continuous,
            "continuous_right": self.continuous_right,
            "discontinuous": self.discontinuous,
            "discontinuous_right": self.discontinuous_right,
            "discontinuous_right_joined": self.joined_right,
        }


def labelled_documents(documents: Iterable[Document], mentions: Iterable[Labelled]) -> Iterator[Document]:
    """Documents with their entities labelled as a model did, with the probabilities; mentions in the same order."""
    found = iter(mentions)
    for document in documents:
        yield document.with_entities(
            [_relabelled(entity, next(found)) for entity in sentence.entities] for sentence in document.sentences
        )


def _relabelled(entity: Entity, labelled: Labelled) -> Entity:
    best = max(labelled.whole, key=lambda label: labelled.whole[label])
    probabilities = {label: min(value, 1.0) for label, value in labelled.whole.items()}
    return Entity(entity.fragments, best, probabilities[best], probabilities)


def labelled_of(comparison: Comparison) -> list[Labelled]:
    """Predictions that tell the probabilities of labels, on borders that gold has."""
    gold: dict[tuple[int, Place], list[str]] = defaultdict(list)
    for found in comparison.wanted:
        gold[found.unit, found.place].append(found.label)
    return [
        Labelled(label, {label: 0.0, **own}, (own,))
        for found in comparison.given
        if (own := dict(found.probabilities or {})) and (labels := gold.get((found.unit, found.place)))
        for label in [found.label if found.label in labels else min(labels)]
    ]


def given_spans(mentions: Iterable[Labelled]) -> GivenSpans:
    """Counts labelled mentions."""
    found = list(mentions)
    gapped = [mention for mention in found if mention.is_discontinuous]
    whole = [mention for mention in found if not mention.is_discontinuous]
    return GivenSpans(
        len(whole),
        sum(mention.is_right for mention in whole),
        len(gapped),
        sum(mention.is_right for mention in gapped),
        sum(mention.is_right_joined for mention in gapped),
    )
