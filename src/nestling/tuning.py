"""How candidates are best decoded, found on dev: the threshold δ, and the u and k of soft-NMS.

Scores only fall and nothing depends on what scores less, so one decoding without a threshold tells the outcome of all
thresholds at once.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from nestling.evaluation.calibration import best_threshold
from nestling.evaluation.comparison import paired
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


def _best(gold: Iterable[Document], candidates: Iterable[Document], decoder: Decoder) -> Trial:
    scores: list[float] = []
    is_right: list[bool] = []
    wanted = 0
    for truth, document in paired(list(gold), list(candidates)):
        known = {(s.characters(e), e.label) for s in truth.sentences for e in s.entities}
        wanted += len(known)
        for sentence in document.sentences:
            for entity in decoder(sentence.entities):
                if truth.annotated is not None and entity.label not in truth.annotated:
                    continue
                scores.append(entity.score)
                is_right.append((sentence.characters(entity), entity.label) in known)
    threshold, f1 = best_threshold(np.array(scores), np.array(is_right, dtype=bool), wanted)
    return Trial(replace(decoder, threshold=threshold), round(f1, 4))
