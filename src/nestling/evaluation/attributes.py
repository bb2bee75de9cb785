"""What entities are like, and scores by it: the attributes of Bundling Learning, equations 21 and 23, in its buckets.

    eLen  words of the entity                   eCon  how often train gives the same words the same label
    tLen  words of the sentence                 eDen  gold entities a word of the sentence

Both sides are put into buckets: a prediction by its own length and label, and by the gold sentence that it starts in.
The printed formula of eCon has no condition on the words and would be the frequency of the label; the text of the paper
says what is meant, and that is what is counted: of the entities of train with the same words, in lower case, the share
with the same label, 0 for words unseen; or, as a choice, of all places where the words stand in train.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from nestling.evaluation.comparison import Comparison, Found
from nestling.evaluation.scores import Score, count
from nestling.types import Document

Attribute = Literal["eLen", "tLen", "eCon", "eDen"]
Basis = Literal["entities", "occurrences"]
NAMES = ("XS", "S", "L", "XL")
_PAPER: Mapping[Attribute, tuple[float, float, float]] = {  # the last value of all buckets but XL (Table 5)
    "eLen": (1, 2, 4),
    "tLen": (7, 16, 31),
    "eCon": (0.1, 0.5, 0.9),
    "eDen": (0.01, 0.025, 0.05),
}


@dataclass(frozen=True, slots=True)
class Bucket:
    """The entities whose value lies above `low` and not above `high`."""

    name: str
    low: float
    high: float
    score: Score

    def as_json(self) -> dict[str, Any]:
        """All figures under their names; a side without end is null."""
        low, high = (border if np.isfinite(border) else None for border in (self.low, self.high))
        return {"bucket": self.name, "above": low, "up_to": high, **self.score.as_json()}


class Consistency:
    """How often train gives the words of an entity its label."""

    def __init__(self, train: Iterable[Document], asked: Iterable[str] = (), *, basis: Basis = "entities") -> None:
        documents = list(train)
        self._labels: Counter[tuple[str, str]] = Counter()
        self._all: Counter[str] = Counter()
        for document in documents:
            for sentence in document.sentences:
                words = [word.lower() for word in sentence.words]
                texts = {
                    e.key: " ".join(w for f in e.fragments for w in words[f.start : f.end]) for e in sentence.entities
                }
                self._labels.update((text, label) for (_, label), text in texts.items())
                self._all.update(texts.values())
        if basis == "occurrences":  # what is annotated with gaps stands nowhere as such
            found = _occurrences(documents, {text.lower() for text in asked})
            self._all = Counter({text: max(times, found[text]) for text, times in self._all.items()})

    def __call__(self, text: str, label: str) -> float:
        """The share, from 0 to 1."""
        own = self._labels[text.lower(), label]
        return min(own / self._all[text.lower()], 1.0) if own and self._all[text.lower()] else 0.0


def _occurrences(documents: Iterable[Document], asked: set[str]) -> Counter[str]:
    """How often each of the texts stands in documents."""
    widths = {text.count(" ") + 1 for text in asked}
    found: Counter[str] = Counter()
    for document in documents:
        for sentence in document.sentences:
            words = [word.lower() for word in sentence.words]
            for width in widths:
                for start in range(len(words) - width + 1):
                    text = " ".join(words[start : start + width])
                    if text in asked:
                        found[text] += 1
    return found


def oov_density(documents: Iterable[Document], train: Iterable[Document]) -> float:
    """The share of words that train does not have (equation 21), from 0 to 1."""
    known = {token.text for document in train for token in document.tokens}
    words = [token.text for document in documents for token in document.tokens]
    return sum(word not in known for word in words) / len(words) if words else 0.0


def values_of(comparison: Comparison, consistency: Consistency | None) -> dict[Attribute, Callable[[Found], float]]:
    """The attributes that can be told of entities; eCon needs train."""
    lengths = [len(unit.sentence) if unit.sentence else 0 for unit in comparison.units]
    entities = Counter(found.unit for found in comparison.wanted)
    found: dict[Attribute, Callable[[Found], float]] = {
        "eLen": lambda found: found.words,
        "tLen": lambda found: lengths[found.unit],
    }
    if consistency is not None:
        found["eCon"] = lambda found: consistency(found.text, found.label)
    return found | {"eDen": lambda found: entities[found.unit] / max(lengths[found.unit], 1)}


def buckets(
    comparison: Comparison, value: Callable[[Found], float], attribute: Attribute, *, by_quantiles: bool = False
) -> list[Bucket]:
    """Strict scores in XS, S, L and XL: the paper's intervals, or quarters of gold where those are degenerate."""
    wanted = [(value(found), found) for found in comparison.wanted]
    given = [(value(found), found) for found in comparison.given]
    inner = _quartiles([own for own, _ in wanted]) if by_quantiles else _PAPER[attribute]
    borders = (-np.inf, *inner, np.inf)
    return [
        Bucket(
            name,
            float(low),
            float(high),
            count([f for v, f in wanted if low < v <= high], [f for v, f in given if low < v <= high]),
        )
        for name, (low, high) in zip(NAMES, pairwise(borders), strict=True)
    ]


def _quartiles(values: Sequence[float]) -> tuple[float, ...]:
    if not values:
        return (0.0, 0.0, 0.0)
    return tuple(float(q) for q in np.quantile(values, (0.25, 0.5, 0.75), method="inverted_cdf"))
