"""How candidates are best decoded, found on dev: the threshold δ, the u and k of soft-NMS, and what scores say.

Scores only fall and nothing depends on what scores less, so one decoding without a threshold tells the outcome of all
thresholds at once. What is best on dev is so by chance in part, the more so the more there is to choose: ways to choose
are compared on documents that they did not choose by.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from nestling.evaluation.calibration import best_threshold, calibration_of
from nestling.evaluation.comparison import Comparison, Found, compare
from nestling.evaluation.scores import score
from nestling.recognizer import Decoder, Recognizer, log_odds
from nestling.types import Document

DECAYS = (0.5, 0.7, 0.8, 0.9)
OVERLAPS = (0.4, 0.5, 0.6, 0.7, 0.8)
EVERYTHING = Decoder(rule="any")
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Trial:
    """A decoder at its best threshold, and the strict F1 that it reaches."""

    decoder: Decoder
    f1: float


Choice = Callable[[Sequence[Document], Sequence[Document]], Trial]  # of gold and all candidates


@dataclass(frozen=True, slots=True)
class Way:
    """A way to choose a decoder, what it chooses on all of dev, and its F1 on documents that it did not choose by."""

    name: str
    trial: Trial
    unseen: float | None  # None: there are too few documents to leave some out


@dataclass(frozen=True, slots=True)
class Tuned:
    """All ways, that of the model first; the one that is taken, its scores calibrated; calibration errors in %."""

    ways: list[Way]
    way: Way
    best: Trial
    error_before: float
    error: float


def tune(
    recognizer: Recognizer, gold: Sequence[Document], inputs: Sequence[Document], *, has_thresholds: bool = False
) -> Tuned:
    """Tries all ways to decode dev, a threshold for each label if wanted; the scores of the best are calibrated."""
    base = untuned(recognizer.decoder)
    before = compare(gold, recognizer.pipe(inputs))
    candidates = everything(recognizer, inputs)
    ways = [
        Way(name, choose(gold, candidates), unseen(choose, gold, candidates))
        for name, choose in _choices(base, has_thresholds=has_thresholds).items()
    ]
    way = max(ways, key=lambda own: own.trial.f1 if own.unseen is None else own.unseen)  # the first of equals
    best = calibrated(gold, candidates, way.trial)
    after = compare(gold, _decoded(candidates, best.decoder))
    return Tuned(ways, way, best, _error(before), _error(after))


def untuned(decoder: Decoder) -> Decoder:
    """A decoder as a model has it at first: one that was tuned, perhaps on the same text, is no measure for others."""
    is_tuned = decoder.thresholds or decoder.scale != 1.0 or decoder.shift != 0.0
    return replace(Decoder(rule=decoder.rule), threshold=0.5) if is_tuned else decoder


def _choices(base: Decoder, *, has_thresholds: bool) -> dict[str, Choice]:
    """Ways to choose a decoder, the simplest first."""
    plain = next(_decoders(base))
    found: dict[str, Choice] = {
        "as it is": lambda gold, own: Trial(base, round(score(gold, _decoded(own, base)).strict.f1, 4)),
        "one threshold": lambda gold, own: _best(gold, own, plain),
        "expected F1": lambda gold, own: expected(gold, own, plain),
        "soft-NMS": lambda gold, own: trials(gold, own, base)[0],
    }
    if has_thresholds:
        found["by label"] = lambda gold, own: by_label(gold, own, _best(gold, own, plain))
    return found


def unseen(choose: Choice, gold: Sequence[Document], candidates: Sequence[Document]) -> float | None:
    """The strict F1 of documents, each decoded by what was chosen on four fifths that it is not in."""
    if len(gold) < FOLDS:
        return None
    decoded = list(candidates)
    for fold in range(FOLDS):
        others = [n for n in range(len(gold)) if n % FOLDS != fold]
        decoder = choose([gold[n] for n in others], [candidates[n] for n in others]).decoder
        decoded[fold::FOLDS] = _decoded(candidates[fold::FOLDS], decoder)
    return round(score(gold, decoded).strict.f1, 4)


def everything(recognizer: Recognizer, inputs: Iterable[Document]) -> list[Document]:
    """Documents with all candidates."""
    base, recognizer.decoder = recognizer.decoder, EVERYTHING
    try:
        return list(recognizer.pipe(inputs))
    finally:
        recognizer.decoder = base


def trials(gold: Sequence[Document], candidates: Sequence[Document], base: Decoder) -> list[Trial]:
    """Decoders with the rule of `base`, best first.

    Of equals the simpler is first: without soft-NMS, then with less of it.
    """
    found = [_best(gold, candidates, decoder) for decoder in _decoders(base)]
    return sorted(found, key=lambda trial: -trial.f1)


def _decoders(base: Decoder) -> Iterator[Decoder]:
    open_to_all = replace(base, method="best", threshold=0.0, thresholds={}, scale=1.0, shift=0.0)
    yield open_to_all
    for decay, overlap in product(reversed(DECAYS), reversed(OVERLAPS)):
        yield replace(open_to_all, method="soft_nms", decay=decay, overlap=overlap)


def _best(gold: Sequence[Document], candidates: Sequence[Document], decoder: Decoder) -> Trial:
    comparison = compare(gold, _decoded(candidates, decoder))
    threshold, f1 = best_threshold(_scores(comparison.given), _is_right(comparison.given), len(comparison.wanted))
    return Trial(replace(decoder, threshold=threshold), round(f1, 4))


def expected(gold: Sequence[Document], candidates: Sequence[Document], decoder: Decoder) -> Trial:
    """The threshold that is best for F1 if as many are right as fitted scores say (Lipton et al., 2014).

    F1 as counted goes up and down from one threshold to the next, and is best at one of them by chance in part.
    """
    comparison = compare(gold, _decoded(candidates, decoder))
    scores, is_right = np.sort(_scores(comparison.given))[::-1], _is_right(comparison.given)
    if is_right.all() or not is_right.any():
        return _best(gold, candidates, decoder)
    scale, shift = _fitted(np.array([log_odds(found.score) for found in comparison.given]), is_right.astype(float))
    likely = expit(scale * np.array([log_odds(score) for score in scores]) + shift)
    f1 = 2 * likely.cumsum() / (len(comparison.wanted) + np.arange(1, len(scores) + 1))
    chosen = replace(decoder, threshold=float(scores[f1.argmax()]))
    return Trial(chosen, round(score(gold, _decoded(candidates, chosen)).strict.f1, 4))


def by_label(gold: Sequence[Document], candidates: Sequence[Document], trial: Trial) -> Trial:
    """The same decoder with the best threshold of each label that gold has; others keep the common one."""
    comparison = compare(gold, _decoded(candidates, replace(trial.decoder, threshold=0.0)))
    thresholds = {}
    for label, wanted in Counter(found.label for found in comparison.wanted).items():
        given = [found for found in comparison.given if found.label == label]
        thresholds[label] = best_threshold(_scores(given), _is_right(given), wanted)[0]
    decoder = replace(trial.decoder, thresholds=thresholds)
    return Trial(decoder, round(score(gold, _decoded(candidates, decoder)).strict.f1, 4))


def calibrated(gold: Sequence[Document], candidates: Sequence[Document], trial: Trial) -> Trial:
    """The same choice of entities, with scores as high as such entities are often right (Platt, 1999)."""
    plain = trial.decoder
    given = compare(gold, _decoded(candidates, plain)).given
    is_right = _is_right(given)
    if is_right.all() or not is_right.any():  # nothing to learn from
        return trial
    scale, shift = _fitted(np.array([log_odds(found.score) for found in given]), is_right.astype(float))
    fitted = replace(plain, scale=scale, shift=shift)
    thresholds = {label: fitted.calibrated(threshold) for label, threshold in plain.thresholds.items()}
    return Trial(replace(fitted, threshold=fitted.calibrated(plain.threshold), thresholds=thresholds), trial.f1)


def _fitted(odds: NDArray[np.float64], is_right: NDArray[np.float64]) -> tuple[float, float]:
    """The scale and shift of log-odds by which what is right was likeliest to be right, and what is wrong wrong."""

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        moved = parameters[0] * odds + parameters[1]
        wrong = expit(moved) - is_right
        return float((np.logaddexp(0, moved) - is_right * moved).sum()), np.array([wrong @ odds, wrong.sum()])

    found = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=[(0.01, 10), (-20, 20)])
    return float(found.x[0]), float(found.x[1])


def _error(comparison: Comparison) -> float:
    calibration = calibration_of(comparison)
    return 0.0 if calibration is None else calibration.error


def _decoded(candidates: Iterable[Document], decoder: Decoder) -> list[Document]:
    return [d.with_entities([decoder(s.entities) for s in d.sentences]) for d in candidates]


def _scores(given: Iterable[Found]) -> NDArray[np.float64]:
    return np.array([found.score for found in given])


def _is_right(given: Iterable[Found]) -> NDArray[np.bool_]:
    return np.array([found.is_right for found in given], dtype=bool)
