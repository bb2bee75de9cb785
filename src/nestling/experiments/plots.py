"""Pictures of experiments."""

from collections.abc import Mapping, Sequence
from typing import Any

from nestling.evaluation.plots import empty


def lines(rows: Mapping[str, Mapping[float, float]], across: str, up: str, caption: str) -> Any:
    """A line a row, over its keys."""
    figure, axes = empty(caption)
    for name, own in rows.items():
        places = sorted(own)
        axes.plot(places, [own[place] for place in places], marker="o", label=name)
    axes.set(xlabel=across, ylabel=up)
    axes.legend()
    return figure


def points(rows: Mapping[str, Sequence[tuple[float, float, str]]], across: str, up: str, caption: str) -> Any:
    """Named points, a colour a row."""
    figure, axes = empty(caption)
    for name, own in rows.items():
        axes.scatter([x for x, _, _ in own], [y for _, y, _ in own], label=name)
        for x, y, told in own:
            axes.annotate(told, (x, y), xytext=(4, 3), textcoords="offset points", fontsize="small")
    axes.axhline(0, color="grey", linewidth=0.6)
    axes.set(xlabel=across, ylabel=up)
    axes.legend()
    return figure
