"""An analysis as one HTML page that needs nothing but itself: tables, diagrams, and every mistake to look through."""

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING, Any

from nestling.errors import MissingExtraError
from nestling.evaluation.analysis import Analysis, ModelAnalysis
from nestling.evaluation.attributes import Bucket, values_of
from nestling.evaluation.calibration import Calibration
from nestling.evaluation.comparison import Found
from nestling.evaluation.given import labelled_of
from nestling.evaluation.mistakes import KINDS, Mistake
from nestling.evaluation.plots import pca, violin, volcano
from nestling.evaluation.sections import Cell, Table, tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PLOTS = {"principal components": pca, "violins": violin, "discrepancies": volcano}
_SIDE = 220  # of a diagram, in pixels


def page(analysis: Analysis, *, title: str = "nestling") -> str:
    """The page."""
    template = files("nestling.evaluation").joinpath("report.html").read_text(encoding="utf-8")
    shown = list(tables(analysis))
    parts = {
        "title": escape(title),
        "contents": "".join(f'<a href="#s{n}">{escape(table.title)}</a>' for n, table in enumerate(shown)),
        "sections": "".join([*(_section(analysis, own, n) for n, own in enumerate(shown)), *_pictures(analysis)]),
        "data": _embedded(_browsable(analysis)),
    }
    return re.sub(r"{{(\w+)}}", lambda mark: parts[mark[1]], template)  # in one go: texts may hold such marks too


def _section(analysis: Analysis, table: Table, number: int) -> str:
    kind, _, name = table.title.partition(": ")
    calibration = analysis.models[name].calibration if kind == "Calibration" else None
    return (
        f'<section id="s{number}"><h2>{escape(table.title)}</h2><p class="note">{escape(table.note)}</p>'
        f'<div class="wide">{_table(table)}</div>{_diagram(calibration) if calibration else ""}</section>'
    )


def _table(table: Table) -> str:
    header = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    rows = "".join(f"<tr>{''.join(_cell(cell, n) for n, cell in enumerate(row))}</tr>" for row in table.rows)
    return f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(cell: Cell, column: int) -> str:
    if column == 0:
        return f'<th scope="row">{escape(cell.text)}</th>'
    if not cell.heat:
        return f"<td>{escape(cell.text)}</td>"
    kind = "better" if cell.heat > 0 else "worse"
    return f'<td class="{kind}" style="--heat:{abs(cell.heat):.2f}">{escape(cell.text)}</td>'


def _diagram(calibration: Calibration) -> str:
    """The share of right predictions over their scores; on the diagonal, scores mean what they say."""
    most = max(own.count for own in calibration.bins)
    bars = []
    for own in calibration.bins:
        if own.count:
            x, width, height = own.low * _SIDE, 0.1 * _SIDE - 2, own.share_right * _SIDE
            told = f"score {own.mean_score:.3f}, right {own.share_right:.3f}, {own.count} predictions"
            faded = 0.35 + 0.65 * own.count / most
            bars.append(
                f'<rect x="{x + 1:.1f}" y="{_SIDE - height:.1f}" width="{width:.1f}" height="{height:.1f}" '
                f'opacity="{faded:.2f}"><title>{told}</title></rect>'
            )
    return (
        f'<figure><svg viewBox="-2 -2 {_SIDE + 4} {_SIDE + 4}" width="{_SIDE}" role="img" '
        f'aria-label="reliability diagram"><path class="axes" d="M0 0V{_SIDE}H{_SIDE}"/>{"".join(bars)}'
        f'<path class="diagonal" d="M0 {_SIDE}L{_SIDE} 0"/></svg>'
        "<figcaption>Across: score. Up: share of predictions that are right. Darker: more predictions. "
        "On the line, scores mean what they say.</figcaption></figure>"
    )


def _pictures(analysis: Analysis) -> Iterator[str]:
    """The SNG paper's pictures, for predictions that tell the probabilities of labels."""
    for name, model in analysis.models.items():
        mentions = labelled_of(model.comparison)
        if len({mention.label for mention in mentions}) < 2:
            continue
        try:
            drawn = "".join(f'<img alt="{kind}" src="{_image(plot(mentions))}">' for kind, plot in _PLOTS.items())
        except MissingExtraError as error:
            drawn = f'<p class="note">{escape(str(error))}</p>'
        yield f"<section><h2>Probabilities of labels: {escape(name)}</h2><figure>{drawn}</figure></section>"


def _image(figure: "Figure") -> str:
    """A picture that is part of the page."""
    made = BytesIO()
    figure.savefig(made, format="png", dpi=110)
    return f"data:image/png;base64,{b64encode(made.getvalue()).decode()}"


def _browsable(analysis: Analysis) -> dict[str, Any]:
    """Sentences with mistakes, the entities of all sides in them, and the mistakes of each model."""
    first = next(iter(analysis.models.values()))
    wanted = sorted({m.unit for model in analysis.models.values() for m in model.mistakes.all})
    rows = {unit: n for n, unit in enumerate(wanted)}
    gold = _sides(first.comparison.wanted, rows)
    predicted = [_sides(model.comparison.given, rows) for model in analysis.models.values()]
    sentences = []
    for unit, n in rows.items():
        own = first.comparison.units[unit]
        tokens = own.sentence.tokens if own.sentence else ()
        start, end = (tokens[0].start, tokens[-1].end) if tokens else (0, 0)
        sides = [[_drawn(f, start, end) for f in side[n]] for side in (gold, *predicted)]
        sentences.append([own.document.id, own.document.text[start:end], *sides])
    return {
        "models": list(analysis.models),
        "kinds": list(KINDS),
        "attributes": {name: [b.name for b in own] for name, own in first.attributes.items()},
        "sentences": sentences,
        "mistakes": [_mistakes(analysis, model, rows) for model in analysis.models.values()],
    }


def _sides(side: tuple[Found, ...], rows: dict[int, int]) -> list[list[Found]]:
    """The entities of one side, by sentence."""
    found: list[list[Found]] = [[] for _ in rows]
    for own in side:
        if own.unit in rows:
            found[rows[own.unit]].append(own)
    return found


def _drawn(found: Found, start: int, end: int) -> list[Any]:
    """Fragments in characters of the sentence, label, score, and whether it is right."""
    places = [[max(s - start, 0), min(e, end) - start] for s, e in found.place]
    return [places, found.label, round(found.entity.score, 3), int(found.is_right)]


def _mistakes(analysis: Analysis, model: ModelAnalysis, rows: dict[int, int]) -> list[list[Any]]:
    """Sentence, kind, gold and predicted place and label, words, and the buckets of its attributes."""
    values = values_of(model.comparison, analysis.consistency)
    found = []
    for mistake in model.mistakes.all:
        own = _of(mistake)
        places = [_bucket_of(model.attributes[name], value(own)) for name, value in values.items()]
        sentence = model.comparison.units[mistake.unit].sentence
        start, end = (sentence.tokens[0].start, sentence.tokens[-1].end) if sentence else (0, 0)
        sides = [side and _drawn(side, start, end)[:2] for side in (mistake.gold, mistake.predicted)]
        found.append([rows[mistake.unit], KINDS.index(mistake.kind), *sides, own.words, *places])
    return found


def _of(mistake: Mistake) -> Found:
    """Whose length and buckets a mistake has: gold's, where there is one."""
    found = mistake.gold or mistake.predicted
    assert found is not None
    return found


def _bucket_of(buckets: list[Bucket], value: float) -> int:
    return next(n for n, own in enumerate(buckets) if own.low < value <= own.high)


def _embedded(data: Any) -> str:
    """JSON that can stand in a page: no character of it can end the element that it is in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
