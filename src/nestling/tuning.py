"""How candidates are best decoded, found on dev: the threshold δ, and the u and k of soft-NMS.

Scores only fall and nothing depends on what scores less, so one decoding without a threshold tells the outcome of all
thresholds at once.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from nestling.evaluation.calibration import best_threshold
from nestling.evaluation.comparison import paired
from nestling.evaluation.scores import score
from nestling.recognizer import Decoder
from nestling.types import Document

DECAYS = (0.5, 0.7, 0.8, 0.9)
OVERLAPS = (0.4, 0.5, 0.6, 0.7, 0.8)
EVERYTHING = Decoder(rule="any")


@dataclass(frozen=True, slots=True)
class Trial:
    """A decoder at its best threshold, and the strict F1 that it reaches."""

    decoder: Decoder
    f1: float


def trials(gold: Sequence[Document], candidates: Sequence[Document], base: Decoder) -> list[Trial]:
    """Decoders with the rule of `base`, best first; `candidates` are documents decoded by EVERYTHING.

    Of equals the simpler is first: without soft-NMS, then with less of it.
    """
    found = [_best(gold, candidates, decoder) for decoder in _decoders(base)]
    return sorted(found, key=lambda trial: -trial.f1)


def _decoders(base: Decoder) -> Iterator[Decoder]:
    open_to_all = replace(base, method="best", threshold=0.0, thresholds={})
    yield open_to_all
    for decay, overlap in product(reversed(DECAYS), reversed(OVERLAPS)):
        yield replace(open_to_all, method="soft_nms", decay=decay, overlap=overlap)


def by_label(gold: Sequence[Document], candidates: Sequence[Document], trial: Trial) -> Trial:
    """The same decoder with the best threshold of each label that gold has; others keep the common one."""
    found = _outcomes(gold, candidates, replace(trial.decoder, threshold=0.0))
    thresholds = {label: own.best()[0] for label, own in found.items() if own.wanted}
    decoder = replace(trial.decoder, thresholds=thresholds)
    decoded = [d.with_entities([decoder(s.entities) for s in d.sentences]) for d in candidates]
    return Trial(decoder, round(score(gold, decoded).strict.f1, 4))


def _best(gold: Iterable[Document], candidates: Iterable[Document], decoder: Decoder) -> Trial:
    every = _Outcomes()
    for own in _outcomes(gold, candidates, decoder).values():
        every.scores += own.scores
        every.is_right += own.is_right
        every.wanted += own.wanted
    threshold, f1 = every.best()
    return Trial(replace(decoder, threshold=threshold), round(f1, 4))


@dataclass(slots=True)
class _Outcomes:
    """What was found, and how much there is to find."""

    scores: list[float] = field(default_factory=list)
    is_right: list[bool] = field(default_factory=list)
    wanted: int = 0

    def best(self) -> tuple[float, float]:
        return best_threshold(np.array(self.scores), np.array(self.is_right, dtype=bool), self.wanted)


def _outcomes(gold: Iterable[Document], candidates: Iterable[Document], decoder: Decoder) -> dict[str, _Outcomes]:
    """By label; labels that were not looked for are left out."""
    found: dict[str, _Outcomes] = defaultdict(_Outcomes)
    for truth, document in paired(list(gold), list(candidates)):
        known = {(s.characters(e), e.label) for s in truth.sentences for e in s.entities}
        for _, label in known:
            found[label].wanted += 1
        for sentence in document.sentences:
            for entity in decoder(sentence.entities):
                if truth.annotated is None or entity.label in truth.annotated:
                    found[entity.label].scores.append(entity.score)
                    found[entity.label].is_right.append((sentence.characters(entity), entity.label) in known)
    return found
