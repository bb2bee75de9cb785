"""Pictures of what a model says of given mentions: the analyses of the SNG paper (Qi, 2024), sections 3.2 to 3.5.

Figures are matplotlib's, which is an extra; what they show is worked out by plain functions beside them. Each picture
has its definition written under it.
"""

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from nestling.data.files import written
from nestling.errors import InvalidValueError, MissingExtraError
from nestling.evaluation.given import Labelled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Change = Literal["Up", "Stable", "Down"]
_RIGHT, _WRONG = "#4477aa", "#ee6677"
_SMALLEST = 1e-12  # probabilities below it are taken for it, so that ratios stay finite


def loss_curve(losses: Mapping[str, Sequence[float]]) -> "Figure":
    """The mean loss of every epoch, a line a model."""
    figure, axes = empty("Mean loss a term in each epoch of training.")
    for name, values in losses.items():
        axes.plot(range(1, len(values) + 1), values, label=name)
    axes.set(xlabel="epoch", ylabel="loss", yscale="log")
    axes.legend()
    return figure


def principal_components(probabilities: Array) -> tuple[Array, Array]:
    """Rows (N, L) on their first two principal axes (N, 2), and the shares of variance that these explain (2,)."""
    if len(probabilities) < 2 or probabilities.shape[1] < 2:
        raise InvalidValueError("principal components need two mentions and two labels")
    centred = probabilities - probabilities.mean(axis=0)
    values, axes = np.linalg.eigh(np.cov(centred.T))  # ascending
    order = np.argsort(-values)[:2]
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])])  # the same each time
    total = values.sum()
    return centred @ (axes * signs)[:, order], values[order] / total if total > 0 else np.zeros(2)


def pca(mentions: Sequence[Labelled]) -> "Figure":
    """Probabilities of labels on two axes: colour by gold label, triangles right, circles wrong."""
    points, explained = principal_components(table_of(mentions))
    figure, axes = empty(
        "Probabilities of labels on their first two principal axes. Colour: gold label; ▲ right, ● wrong."
    )
    labels = sorted({mention.label for mention in mentions})
    for n, label in enumerate(labels):
        for is_right, mark in ((True, "^"), (False, "o")):
            chosen = [m.label == label and m.is_right_joined is is_right for m in mentions]
            name = drawable(label) if is_right else None
            axes.scatter(*points[chosen].T, s=12, marker=mark, color=f"C{n % 10}", label=name, alpha=0.6, linewidths=0)
    axes.set(
        xlabel=f"first axis, {100 * explained[0]:.1f} % of variance",
        ylabel=f"second axis, {100 * explained[1]:.1f} % of variance",
    )
    axes.legend(fontsize="small")
    return figure


def violin(mentions: Sequence[Labelled]) -> "Figure":
    """How probable the gold label is, label by label; the left half where the model is right, the right where wrong."""
    figure, axes = empty(
        "Probability that the model gives to the gold label. Left: labelled rightly, right: wrongly; bar: median."
    )
    labels = sorted({mention.label for mention in mentions})
    for n, label in enumerate(labels):
        for is_right, colour in ((True, _RIGHT), (False, _WRONG)):
            values = [m.whole[label] for m in mentions if m.label == label and m.is_right_joined is is_right]
            if values:
                _half_violin(axes, np.array(values), n, colour, is_left=is_right)
    axes.set(
        xticks=range(len(labels)),
        xticklabels=[drawable(label) for label in labels],
        ylabel="probability of the gold label",
        ylim=(-0.02, 1.02),
    )
    axes.tick_params("x", rotation=30 if sum(map(len, labels)) > 60 else 0)  # long names would overlap
    axes.plot([], [], color=_RIGHT, label="right", linewidth=6)
    axes.plot([], [], color=_WRONG, label="wrong", linewidth=6)
    axes.legend(fontsize="small", loc="center right")
    return figure


def _half_violin(axes: "Axes", values: Array, place: int, colour: str, *, is_left: bool) -> None:
    """A histogram on its side, smoothed by its bins alone, as wide as it has the most values."""
    counts, borders = np.histogram(values, bins=20, range=(0, 1))
    widths = 0.4 * np.pad(counts, 1, mode="edge") / max(counts.max(), 1)  # up to the ends
    heights = np.concatenate([[0], (borders[:-1] + borders[1:]) / 2, [1]])
    edge = place - widths if is_left else place + widths
    axes.fill_betweenx(heights, place, edge, color=colour, alpha=0.7, linewidth=0)
    median = float(np.median(values))
    side = -0.2 if is_left else 0.2
    axes.plot([place, place + side], [median, median], color="white", linewidth=2)
    axes.plot([place, place + side], [median, median], color="black", linewidth=0.8)


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """How far what a model says of a mention is from the truth."""

    label: str
    log_ratio: float  # log₂ of the predicted label's probability over the gold label's
    d_value: float  # variance of the probabilities over the gold label's
    change: Change


def discrepancies(mentions: Sequence[Labelled]) -> list[Discrepancy]:
    """Up: the predicted label is more probable than gold's; Stable: as probable; Down: less, which cannot be."""
    found = []
    for mention in mentions:
        values = np.array(list(mention.whole.values()))
        gold = max(mention.whole[mention.label], _SMALLEST)
        ratio = max(float(values.max()), _SMALLEST) / gold
        change: Change = "Up" if ratio > 1 else "Stable" if ratio == 1 else "Down"
        found.append(Discrepancy(mention.label, float(np.log2(ratio)), float(values.var() / gold), change))
    return found


def volcano(mentions: Sequence[Labelled]) -> "Figure":
    """Discrepancies as points: how far from the truth, and how decided the model is."""
    figure, axes = empty(
        "Across: log₂ of the predicted label's probability over the gold label's. Up the side: D-value, the variance "
        "of the probabilities over the gold label's. Up: ratio above 1, Stable: 1, Down: below, which cannot be."
    )
    found = discrepancies(mentions)
    for change, colour in (("Up", _WRONG), ("Stable", _RIGHT), ("Down", "#228833")):
        own = [d for d in found if d.change == change]
        shown = [(d.log_ratio, max(d.d_value, _SMALLEST)) for d in own]
        axes.scatter(*np.array(shown).reshape(-1, 2).T, s=10, color=colour, alpha=0.6, label=f"{change} ({len(own)})")
    axes.set(xlabel="log₂ (predicted / gold)", ylabel="D-value", yscale="log")
    axes.axvline(0, color="grey", linewidth=0.6, linestyle="--")
    axes.legend(fontsize="small")
    return figure


def table_of(mentions: Sequence[Labelled]) -> Array:
    """The probabilities of labels, a row a mention, a column a label: (N, L)."""
    labels = sorted({label for mention in mentions for label in mention.whole})
    return np.array([[mention.whole.get(label, 0.0) for label in labels] for mention in mentions])


def drawable(label: str) -> str:
    """A label as matplotlib draws it and nothing else: no formulas, and none left out of legends for a leading _."""
    escaped = label.replace("$", r"\$")
    return f"\u200b{escaped}" if escaped.startswith("_") else escaped


def save(figure: "Figure", path: Path) -> None:
    """Writes a figure as what the path's suffix says: .png, .svg or .pdf; the same figure makes the same file."""
    from matplotlib import rc_context  # noqa: PLC0415

    if path.suffix not in (".png", ".svg", ".pdf"):
        raise InvalidValueError(f"{path.name}: a picture is .png, .svg or .pdf")
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix)
    with written(path) as temporary, rc_context({"svg.hashsalt": "nestling"}):
        figure.savefig(temporary, format=path.suffix[1:], dpi=150, metadata=undated)


def empty(caption: str) -> tuple["Figure", Any]:
    """A figure with its definition under it, made without the state that pyplot keeps."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("matplotlib", "plots") from None
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # a script without a font is drawn as boxes
    warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    figure.supxlabel(caption, fontsize=8, wrap=True)
    return figure, axes
