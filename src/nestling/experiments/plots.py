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


def bars(rows: Mapping[str, Mapping[str, float]], up: str, caption: str) -> Any:
    """A group of bars a row, a colour a key; the axis starts below the lowest."""
    figure, axes = empty(caption)
    names = list(dict.fromkeys(name for own in rows.values() for name in own))
    width = 0.8 / max(len(names), 1)
    for n, name in enumerate(names):
        places = [place + n * width for place, own in enumerate(rows.values()) if name in own]
        axes.bar(places, [own[name] for own in rows.values() if name in own], width=width, label=name)
    lowest = min((value for own in rows.values() for value in own.values()), default=0.0)
    ticks = [place + 0.4 - width / 2 for place in range(len(rows))]
    axes.set(xticks=ticks, xticklabels=list(rows), ylabel=up, ylim=(max(lowest - 5, 0), None))
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
