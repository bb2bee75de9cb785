"""An analysis as one HTML page that needs nothing but itself: tables, diagrams, and every mistake to look through."""

import json
import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from nestling.errors import MissingExtraError
from nestling.evaluation.analysis import Analysis, ModelAnalysis
from nestling.evaluation.attributes import Bucket, values_of
from nestling.evaluation.calibration import Calibration
from nestling.evaluation.comparison import Comparison, Found
from nestling.evaluation.given import labelled_of
from nestling.evaluation.mistakes import KINDS, Mistake
from nestling.evaluation.plots import pca, violin, volcano
from nestling.evaluation.sections import Cell, Table, tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PLOTS = {"principal components": pca, "violins": violin, "discrepancies": volcano}
_SIDE = 220  # of a diagram, in pixels
_LONG = 1500  # characters of a text that is not shown whole


def page(analysis: Analysis, *, title: str = "nestling") -> str:
    """The page."""
    template = files("nestling.evaluation").joinpath("report.html").read_text(encoding="utf-8")
    shown = list(tables(analysis))
    parts = {
        "title": escape(title),
        "contents": "".join(f'<a href="#s{n}">{escape(table.title)}</a>' for n, table in enumerate(shown)),
        "sections": "".join([*(_section(own, n) for n, own in enumerate(shown)), *_pictures(analysis)]),
        "data": _embedded(_browsable(analysis)),
    }
    return re.sub(r"{{(\w+)}}", lambda mark: parts[mark[1]], template)  # in one go: texts may hold such marks too


def _section(table: Table, number: int) -> str:
    picture = _diagram(table.calibration) if table.calibration else ""
    return (
        f'<section id="s{number}"><h2>{escape(table.title)}</h2><p class="note">{escape(table.note)}</p>'
        f'<div class="wide">{_table(table)}</div>{picture}</section>'
    )


def _table(table: Table) -> str:
    header = "".join(f"<th>{escape(name)}</th>" for name in table.header)
    rows = "".join(f"<tr>{''.join(_cell(cell, n) for n, cell in enumerate(row))}</tr>" for row in table.rows)
    kind = ' class="told"' if table.ends_in_words else ""
    return f"<table{kind}><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(cell: Cell, column: int) -> str:
    if column == 0:
        return f'<th scope="row" dir="auto">{escape(cell.text)}</th>'
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


class _Excerpt(NamedTuple):
    """A stretch of a document around a mistake."""

    unit: int  # the first gold sentence
    last: int
    start: int  # in characters of the document
    end: int


def _browsable(analysis: Analysis) -> dict[str, Any]:
    """Excerpts with mistakes, the entities of all sides in them, and the mistakes of each model."""
    first = next(iter(analysis.models.values()))
    excerpts = [[_excerpt(model.comparison, m) for m in model.mistakes.all] for model in analysis.models.values()]
    rows = {excerpt: n for n, excerpt in enumerate(sorted({excerpt for own in excerpts for excerpt in own}))}
    gold = _by_unit(first.comparison, first.comparison.wanted)
    sides = [gold, *(_by_unit(model.comparison, model.comparison.given) for model in analysis.models.values())]
    return {
        "models": list(analysis.models),
        "kinds": list(KINDS),
        "attributes": {name: [b.name for b in own] for name, own in first.attributes.items()},
        "excerpts": [_shown(first.comparison, excerpt, sides) for excerpt in rows],
        "mistakes": [
            _mistakes(analysis, model, own, rows) for model, own in zip(analysis.models.values(), excerpts, strict=True)
        ],
    }


def _excerpt(comparison: Comparison, mistake: Mistake) -> _Excerpt:
    """The sentences that a mistake lies in; of long ones, what is near it."""
    sides = [side for side in (mistake.gold, mistake.predicted) if side is not None]
    reach = [unit for side in sides for unit in _reach(comparison, side)]
    tokens = [
        t for u in (min(reach), max(reach)) if (s := comparison.units[u].sentence) for t in (s.tokens[0], s.tokens[-1])
    ]
    start, end = (tokens[0].start, tokens[-1].end) if tokens else (0, 0)
    if end - start > _LONG:
        start = max(start, min(side.place[0][0] for side in sides) - _LONG // 3)
        end = min(end, max(side.place[-1][1] for side in sides) + _LONG // 3)
    return _Excerpt(min(reach), max(reach), start, end)


def _reach(comparison: Comparison, found: Found) -> range:
    """The gold sentences that an entity lies in."""
    units, last = comparison.units, found.unit
    while last + 1 < len(units) and units[last + 1].first == units[found.unit].first:
        sentence = units[last + 1].sentence
        if sentence is None or sentence.tokens[0].start >= found.place[-1][1]:
            break
        last += 1
    return range(found.unit, last + 1)


def _by_unit(comparison: Comparison, side: Sequence[Found]) -> dict[int, list[Found]]:
    """The entities of one side by every gold sentence that they lie in."""
    found: dict[int, list[Found]] = defaultdict(list)
    for own in side:
        for unit in _reach(comparison, own):
            found[unit].append(own)
    return found


def _shown(comparison: Comparison, excerpt: _Excerpt, sides: Sequence[Mapping[int, list[Found]]]) -> list[Any]:
    """The document's id, the text, and the entities of gold and of every model."""
    document = comparison.units[excerpt.unit].document
    entities = []
    for side in sides:
        near = {(f.place, f.label): f for u in range(excerpt.unit, excerpt.last + 1) for f in side.get(u, ())}
        drawn = [_drawn(found, excerpt) for _, found in sorted(near.items())]
        entities.append([own for own in drawn if own[0]])
    return [document.id, document.text[excerpt.start : excerpt.end], *entities]


def _drawn(found: Found, excerpt: _Excerpt) -> list[Any]:
    """Fragments in characters of the excerpt, label, score, and whether it is right."""
    places = [[max(s, excerpt.start) - excerpt.start, min(e, excerpt.end) - excerpt.start] for s, e in found.place]
    return [[place for place in places if place[0] < place[1]], found.label, round(found.score, 3), int(found.is_right)]


def _mistakes(
    analysis: Analysis, model: ModelAnalysis, excerpts: Sequence[_Excerpt], rows: Mapping[_Excerpt, int]
) -> list[list[Any]]:
    """Excerpt, kind, gold and predicted place and label, words, and the buckets of its attributes."""
    values = values_of(model.comparison, analysis.consistency)
    found = []
    for mistake, excerpt in zip(model.mistakes.all, excerpts, strict=True):
        own = _of(mistake)
        places = [_bucket_of(model.attributes[name], value(own)) for name, value in values.items()]
        sides = [side and _drawn(side, excerpt)[:2] for side in (mistake.gold, mistake.predicted)]
        found.append([rows[excerpt], KINDS.index(mistake.kind), *sides, own.words, *places])
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
