"""An analysis as tables with words around them: the same for the terminal, the page and JSON readers.

A section is a function `Analysis → Table`s, named in SECTIONS.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isinf

from nestling.evaluation.analysis import Analysis, ModelAnalysis
from nestling.evaluation.attributes import Attribute, Bucket
from nestling.evaluation.calibration import Calibration
from nestling.evaluation.mistakes import KINDS, Kind
from nestling.evaluation.scores import Score

_FULL_HEAT = 10.0  # points of difference that have the full colour
LENGTHS: tuple[tuple[int, int | None], ...] = (
    (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 7), (8, 10), (11, 15), (16, 30), (31, None),
)  # fmt: skip
_ATTRIBUTES: Mapping[Attribute, str] = {
    "eLen": "words of the entity",
    "tLen": "words of the sentence",
    "eCon": "share of the entity's words in train that have its label; 0 for words unseen",
    "eDen": "gold entities a word of the sentence",
}
_MISTAKES: Mapping[Kind, str] = {
    "type": "right borders, wrong label",
    "boundary": "wrong borders, some words in common",
    "missed": "gold that nothing was predicted for",
    "spurious": "predicted where gold has nothing left",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure; `heat` is how much better (1) or worse (-1) than the reference it is."""

    text: str
    heat: float = 0.0


@dataclass(frozen=True, slots=True)
class Table:
    """A title, a line that says what is shown, and rows whose first cell is a name."""

    title: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    calibration: Calibration | None = None  # whose diagram belongs to it
    ends_in_words: bool = False  # the last column has no figures


def tables(analysis: Analysis) -> Iterator[Table]:
    """All sections in order."""
    for section in SECTIONS:
        yield from section(analysis)


def overview(analysis: Analysis) -> Iterator[Table]:
    """A row a model."""
    standard = analysis.models[analysis.reference].scores
    rows = []
    for name, model in analysis.models.items():
        scores, interval = model.scores, model.scores.interval()
        p_value = analysis.p_values.get(name)
        rows.append(
            (
                Cell(name),
                *_figures(scores.strict, standard.strict),
                Cell(f"{interval.low:.2f}–{interval.high:.2f}"),
                _compared(scores.boundaries.f1, standard.boundaries.f1),
                _compared(scores.macro.f1, standard.macro.f1),
                Cell("–" if p_value is None else f"{p_value:.4f}"),
            )
        )
    header = ("", "precision", "recall", "F1", "95 % interval", "borders only", "mean over labels", "p")
    gold = f"{standard.strict.gold} gold entities in {len(standard.units)} sentences"
    unknown = analysis.oov_density
    words = "" if unknown is None else f"; {100 * unknown:.2f} % of words are not in train"
    against = f" Colours and p compare with {analysis.reference}." if len(analysis.models) > 1 else ""
    yield Table("Overview", f"{gold}{words}. Strict: borders and label.{against}", header, tuple(rows))


def labels(analysis: Analysis) -> Iterator[Table]:
    """A row a label."""
    known = sorted({label for model in analysis.models.values() for label in model.scores.by_label})
    nothing = Score(0, 0, 0)
    by_label = lambda model: {label: model.scores.by_label.get(label, nothing) for label in known}  # noqa: E731
    yield _f1_table(analysis, "By label", "Strict F1.", by_label)


def lengths(analysis: Analysis) -> Iterator[Table]:
    """A row a group of lengths."""

    def grouped(model: ModelAnalysis) -> dict[str, Score]:
        return {
            length_range(low, high): model.scores.of_lengths(lambda n, low=low, high=high: low <= n <= (high or n))  # type: ignore[misc]
            for low, high in LENGTHS
        }

    yield _f1_table(analysis, "By words in the entity", "Strict F1.", grouped)


def nesting(analysis: Analysis) -> Iterator[Table]:
    """Depth, place in the nesting, and gaps."""
    nothing = Score(0, 0, 0)
    deepest = max((depth for model in analysis.models.values() for depth in model.by_depth), default=0)

    def grouped(model: ModelAnalysis) -> dict[str, Score]:
        roles = {"alone": "neither inside another nor around one", "outer": "around others", "inner": "inside others"}
        found = {f"depth {depth}": model.by_depth.get(depth, nothing) for depth in range(1, deepest + 1)}
        found |= {told: model.by_role.get(role, nothing) for role, told in roles.items()}
        return found | {
            "discontinuous": model.scores.discontinuous,
            "in sentences with discontinuous": model.scores.beside_discontinuous,
        }

    note = "Strict F1; depth 1 is inside no other. What is predicted wrongly is placed among predictions."
    yield _f1_table(analysis, "By nesting", note, grouped)


def attributes(analysis: Analysis) -> Iterator[Table]:
    """A table an attribute: F1 in every bucket."""
    standard = analysis.models[analysis.reference]
    for attribute, own in standard.attributes.items():
        header = tuple(f"{bucket.name} {_interval(bucket)}" for bucket in own)
        counts = tuple(Cell(str(bucket.score.gold)) for bucket in own)
        gains = analysis.gains(attribute)
        rows = [
            (Cell(name), *(_bucket(b, gain) for b, gain in zip(model.attributes[attribute], gains[name], strict=True)))
            for name, model in analysis.models.items()
        ]
        note = f"{_ATTRIBUTES[attribute]}. Strict F1; empty where gold has none."
        yield Table(f"By {attribute}", note, ("", *header), ((Cell("gold entities"), *counts), *rows))


def mistakes(analysis: Analysis) -> Iterator[Table]:
    """Kinds of mistakes, as rates."""
    standard = analysis.models[analysis.reference].mistakes
    rows = []
    for name, model in analysis.models.items():
        own = model.mistakes
        cells = [
            Cell(
                f"{own.rate(kind):.1f} % ({own.count(kind)})",
                _heat(standard.count(kind) - own.count(kind), 2 / max(standard.count(kind), 1)),
            )
            for kind in KINDS
        ]
        rows.append((Cell(name), Cell(str(own.wrong)), *cells))
    told = "; ".join(f"{kind}: {meaning}" for kind, meaning in _MISTAKES.items())
    note = f"Shares of FP + FN; a pair is one of each. {told}. One partner each, the most alike first."
    yield Table("Mistakes", note, ("", "FP + FN", *KINDS), tuple(rows))


def confusions(analysis: Analysis) -> Iterator[Table]:
    """What is taken for what, and the most frequent of it with examples."""
    for name, model in analysis.models.items():
        names = sorted({label for pair in model.confusion for label in pair if label})
        largest = max((n for (g, p), n in model.confusion.items() if g != p and g and p), default=1)
        rows = [
            (
                Cell(gold or "nothing"),
                *(_met(model.confusion, gold, guess, largest) for guess in (*names, "")),
            )
            for gold in (*names, "")
        ]
        note = "Rows: gold, columns: predicted, on the same borders; what has other borders counts as nothing."
        yield Table(f"Labels confused: {name}", note, ("", *names, "nothing"), tuple(rows))
        frequent = [
            (
                Cell(f"{gold} taken for {guess}"),
                Cell(str(len(found))),
                Cell("; ".join(dict.fromkeys(m.gold.text for m in found[:6] if m.gold))),
            )
            for (gold, guess), found in model.mistakes.confusions[:10]
        ]
        if frequent:
            header = ("", "times", "for example")
            yield Table(f"Most frequent: {name}", "Type errors.", header, tuple(frequent), ends_in_words=True)


def calibration(analysis: Analysis) -> Iterator[Table]:
    """Scores against the share of right predictions, and thresholds."""
    for name, model in analysis.models.items():
        own = model.calibration
        if own is None:
            continue
        bins = tuple(
            (
                Cell(f"{b.low:.1f}–{b.high:.1f}"),
                Cell(str(b.count)),
                Cell(f"{b.mean_score:.3f}" if b.count else ""),
                Cell(f"{b.share_right:.3f}" if b.count else ""),
            )
            for b in own.bins
        )
        note = f"Expected calibration error {own.error:.2f} %: the mean distance of score and share right."
        yield Table(f"Calibration: {name}", note, ("score", "predictions", "mean score", "share right"), bins, own)
        rows = tuple(
            (Cell(label), Cell(f"{t.threshold:.3f}"), Cell(f"{t.before:.2f}"), _compared(t.after, t.before))
            for label, t in own.thresholds.items()
        )
        note = "The score from which F1 of a label is best on these very documents; choose on dev."
        yield Table(f"Thresholds: {name}", note, ("", "threshold", "F1 now", "F1 then"), rows)


SECTIONS: tuple[Callable[[Analysis], Iterator[Table]], ...] = (
    overview,
    labels,
    lengths,
    nesting,
    attributes,
    mistakes,
    confusions,
    calibration,
)


def _f1_table(analysis: Analysis, title: str, note: str, of: Callable[[ModelAnalysis], Mapping[str, Score]]) -> Table:
    """A row a group, a column a model; groups that neither side has are left out."""
    found = {name: of(model) for name, model in analysis.models.items()}
    standard = found[analysis.reference]
    groups = dict.fromkeys(group for own in found.values() for group, s in own.items() if s.gold or s.predicted)
    nothing = Score(0, 0, 0)
    rows = tuple(
        (
            Cell(group),
            Cell(str(max(own.get(group, nothing).gold for own in found.values()))),
            *(_compared(own.get(group, nothing).f1, standard.get(group, nothing).f1) for own in found.values()),
        )
        for group in groups
    )
    return Table(title, note, ("", "gold", *found), rows)


def _figures(own: Score, standard: Score) -> tuple[Cell, Cell, Cell]:
    return (
        _compared(own.precision, standard.precision),
        _compared(own.recall, standard.recall),
        _compared(own.f1, standard.f1),
    )


def _compared(own: float, standard: float) -> Cell:
    return Cell(f"{own:.2f}", _heat(own - standard, 1 / _FULL_HEAT))


def _heat(difference: float, scale: float) -> float:
    return max(-1.0, min(1.0, difference * scale))


def _bucket(bucket: Bucket, gain: float | None) -> Cell:
    return Cell("") if gain is None else Cell(f"{bucket.score.f1:.2f}", _heat(gain, 1 / _FULL_HEAT))


def _met(confusion: Mapping[tuple[str, str], int], gold: str, guess: str, largest: int) -> Cell:
    times = confusion.get((gold, guess), 0)
    is_confused = gold and guess and gold != guess
    return Cell(str(times) if times else "", -times / largest if is_confused else 0.0)


def _interval(bucket: Bucket) -> str:
    if isinf(bucket.low):
        return f"≤ {bucket.high:g}"
    return f"> {bucket.low:g}" if isinf(bucket.high) else f"> {bucket.low:g}, ≤ {bucket.high:g}"


def length_range(low: int, high: int | None) -> str:
    """Lengths between two, as a person writes it."""
    return f"{low}" if low == high else f"{low}–{high}" if high else f"{low} or more"
