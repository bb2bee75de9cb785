"""Candidates → entities: the only decoder.

Both functions take the scored candidates of one sentence in any order and give the chosen entities, best first. The
outcome depends on the candidates alone, not on their order: equal scores are settled by place and label.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nestling.errors import InvalidValueError, UnknownNameError
from nestling.types import Entity

Rule = Literal["flat", "nested", "any"]
Array = NDArray[np.int64]


class _Fragments:
    """The fragments of many candidates as arrays, to compare one candidate with all at once."""

    def __init__(self, candidates: list[Entity]) -> None:
        flat = [(n, f.start, f.end) for n, entity in enumerate(candidates) for f in entity.fragments]
        table = np.array(flat, dtype=np.int64).reshape(-1, 3)
        self.owner, self.start, self.end = table.T.copy()  # each (fragments,)
        self.size = np.array([len(entity) for entity in candidates], dtype=np.int64)  # (candidates,)
        self.low = np.array([entity.start for entity in candidates], dtype=np.int64)  # (candidates,)
        self.high = np.array([entity.end for entity in candidates], dtype=np.int64)  # (candidates,)
        self.is_continuous = len(flat) == len(candidates)

    def overlap(self, entity: Entity) -> Array:
        """How many words each candidate shares with one: (candidates,)."""
        shared = np.zeros(len(self.start), dtype=np.int64)
        for fragment in entity.fragments:
            shared += np.maximum(np.minimum(self.end, fragment.end) - np.maximum(self.start, fragment.start), 0)
        if self.is_continuous:
            return shared
        return np.bincount(self.owner, weights=shared, minlength=len(self.size)).astype(np.int64)

    def iou(self, entity: Entity) -> NDArray[np.float64]:
        """Shared words over all words of each candidate and one: (candidates,)."""
        shared = self.overlap(entity)
        return shared / (self.size + len(entity) - shared)

    def overlaps(self, entity: Entity) -> NDArray[np.bool_]:
        """Which candidates share a word with one."""
        return np.greater(self.overlap(entity), 0)

    def crosses_or_equals(self, entity: Entity) -> NDArray[np.bool_]:
        """Which candidates' hulls cross that of one, or have the very same fragments."""
        before = (self.low < entity.start) & (entity.start < self.high) & (self.high < entity.end)
        behind = (entity.start < self.low) & (self.low < entity.end) & (entity.end < self.high)
        equal = (self.size == len(entity)) & (self.overlap(entity) == self.size)
        conflicts: NDArray[np.bool_] = before | behind | equal
        return conflicts


_CONFLICTS: dict[str, Callable[[_Fragments, Entity], NDArray[np.bool_]]] = {
    "flat": _Fragments.overlaps,
    "nested": _Fragments.crosses_or_equals,
}


def keep_best(candidates: Iterable[Entity], rule: Rule = "nested", *, threshold: float = 0.0) -> list[Entity]:
    """Takes the best first and leaves out what conflicts with something better.

    flat: no word in two entities; nested: no crossing hulls and one label a span; any: whatever is not a duplicate.
    Candidates that score below the threshold are left out.
    """
    if rule not in (*_CONFLICTS, "any"):
        raise UnknownNameError("rule", rule, [*_CONFLICTS, "any"])
    ranked = [entity for entity in _ranked(candidates) if entity.score >= threshold]
    if rule == "any" or len(ranked) < 2:
        return ranked
    conflicts = _CONFLICTS[rule]
    fragments = _Fragments(ranked)
    is_out = np.zeros(len(ranked), dtype=np.bool_)
    kept = []
    for n, entity in enumerate(ranked):
        if not is_out[n]:
            kept.append(entity)
            is_out |= conflicts(fragments, entity)
    return kept


def soft_nms(
    candidates: Iterable[Entity], *, decay: float = 0.9, overlap: float = 0.6, threshold: float = 0.5
) -> list[Entity]:
    """Soft non-maximum suppression: Locate and Label (Shen et al., 2021), equation 18 and Algorithm 1.

    In the order of their scores, each candidate multiplies by `decay` (u) the score of every later one whose IoU with
    it is at least `overlap` (k). Those that still score above `threshold` (δ) are kept, with their lowered scores.
    Candidates with the same fragments and label are first taken for one, with the best score: two proposals that land
    on one span are not two witnesses against their neighbours.
    """
    for name, value in {"decay": decay, "overlap": overlap, "threshold": threshold}.items():
        if not 0 <= value <= 1:
            raise InvalidValueError(f"{name} lies between 0 and 1, not {value}")
    ranked = _ranked(candidates)
    if not ranked:
        return []
    fragments = _Fragments(ranked)
    scores = np.array([entity.score for entity in ranked])  # (candidates,)
    waiting = np.ones(len(ranked), dtype=np.bool_)
    kept: list[Entity] = []
    while True:
        best = int(np.argmax(np.where(waiting, scores, -1.0)))  # the first of equals: ranked settles ties
        if not waiting[best] or scores[best] <= threshold:  # scores only fall, so no later one passes
            return kept
        waiting[best] = False
        kept.append(replace(ranked[best], score=float(scores[best])))
        scores[waiting & (fragments.iou(ranked[best]) >= overlap)] *= decay


def _ranked(candidates: Iterable[Entity]) -> list[Entity]:
    """Best first; of candidates with the same fragments and label the best alone."""
    best: dict[object, Entity] = {}
    for entity in candidates:
        known = best.get(entity.key)
        if known is None or entity.score > known.score:
            best[entity.key] = entity
    return sorted(best.values(), key=lambda entity: (-entity.score, entity.order))
