"""`nestling analyze`: why predictions are right or wrong, whatever tool made them."""

import json
from itertools import count
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as RichTable
from rich.text import Text

from nestling.apps.data import Columns, Format, Json, Language, PredictedColumns, PredictedFormat, Root
from nestling.apps.sources import Reading, named, one_part
from nestling.apps.terminal import out, table, visible
from nestling.data.files import written
from nestling.errors import DataError
from nestling.evaluation.analysis import Analysis, analyze
from nestling.evaluation.attributes import Basis
from nestling.evaluation.report import page
from nestling.evaluation.sections import Cell, Table, tables
from nestling.types import Document


def analyze_files(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="The truth: a file, a folder, or a corpus's part.")],
    predicted: Annotated[
        list[str],
        typer.Argument(metavar="PREDICTED...", help="The same documents as predicted; NAME=FILE gives one a name."),
    ],
    train: Annotated[
        str | None, typer.Option(help="Training text: for label consistency (eCon) and the share of unknown words.")
    ] = None,
    out_file: Annotated[Path | None, typer.Option("--out", "-o", help="Write one HTML page.")] = None,
    reference: Annotated[
        str | None, typer.Option(help="The prediction that others are compared with. Default: the first.")
    ] = None,
    consistency: Annotated[
        Basis, typer.Option(help="eCon among the entities of train with the same words, or all places with them.")
    ] = "entities",
    quantiles: Annotated[
        bool, typer.Option("--quantiles", help="Quarters of gold as buckets, not the paper's intervals.")
    ] = False,
    fit_thresholds: Annotated[
        bool, typer.Option("--fit-thresholds", help="Print only the best thresholds, as settings; give it dev.")
    ] = False,
    format: Format = None,
    root: Root = None,
    language: Language = None,
    columns: Columns = None,
    predicted_format: PredictedFormat = None,
    predicted_columns: PredictedColumns = None,
    as_json: Json = False,
) -> None:
    """Analyse predictions of any tool, several side by side: labels, lengths, nesting, attributes, mistakes, scores.

    Formats of gold and predictions may differ; texts must be the same.
    """
    how = Reading(format, root, language, columns)
    theirs = how.of_predictions(predicted_format, predicted_columns)
    truth = _documents(gold, how)
    given = _named(predicted)
    if fit_thresholds and (out_file is not None or as_json):
        raise DataError("--fit-thresholds prints settings alone", fix="leave out --out and --json")
    found = analyze(
        truth,
        {name: _documents(path, theirs) for name, path in given.items()},
        train=None if train is None else _training(train, how),
        reference=reference,
        basis=consistency,
        by_quantiles=quantiles,
    )
    if fit_thresholds:
        typer.echo(_thresholds(found))
    else:
        _show(found, out_file, f"{gold}: {', '.join(given)}", as_json)


def _show(found: Analysis, out_file: Path | None, title: str, as_json: bool) -> None:
    if out_file is not None:
        with written(out_file) as temporary:
            temporary.write_bytes(page(found, title=title).encode("utf-8", "replace"))  # names of files may be no text
    if as_json:
        typer.echo(json.dumps(found.as_json(), ensure_ascii=False, indent=1))
    elif out_file is not None:
        out.print(_drawn(next(tables(found))), "")
        out.print(f"{out_file}: {out_file.stat().st_size / 1e6:.1f} MB", markup=False)
    else:
        for own in tables(found):
            out.print(_drawn(own), "")


def _named(predicted: list[str]) -> dict[str, str]:
    """Predictions by name: the one given, or that of the file; numbered where names are the same."""
    found: dict[str, str] = {}
    for given in predicted:
        name, mark, path = given.partition("=")
        if not mark or "/" in name or Path(given).exists():
            name, path = Path(given).stem, given
        if not name:
            raise DataError(f"{given}: a prediction needs a name", fix="write NAME=FILE, or FILE alone")
        numbered = (f"{name} {n}" for n in count(2))
        found[name if name not in found else next(own for own in numbered if own not in found)] = path
    return found


def _documents(name: str, how: Reading) -> list[Document]:
    return next(iter(one_part(name, how).read().values()))


def _training(name: str, how: Reading) -> list[Document]:
    """The training text: of a corpus, its train part."""
    found = named(name, how)
    if len(found.parts) > 1:
        found = found.only("train")
    return next(iter(found.read().values()))


def _thresholds(analysis: Analysis) -> str:
    """Thresholds of the reference as a part of a configuration."""
    calibration = analysis.models[analysis.reference].calibration
    if calibration is None:
        raise DataError(f"{analysis.reference} has no scores", fix="predict with a tool that gives them")
    kept = {label: own.threshold for label, own in calibration.thresholds.items() if own.threshold}
    if not kept:
        return "# every label is best as it is"
    return "\n".join(["[decoding.thresholds]", *(f"{json.dumps(label)} = {score!r}" for label, score in kept.items())])


def _drawn(own: Table) -> RichTable:
    """A table for the terminal."""
    made = table(own.title, own.header, [[Text(visible(c.text), style=_style(c)) for c in row] for row in own.rows])
    if own.ends_in_words:
        made.columns[-1].justify = "left"
    made.caption = Text(visible(own.note), style="dim")
    made.caption_justify = "left"
    return made


def _style(cell: Cell) -> str:
    return "green" if cell.heat > 0.05 else "red" if cell.heat < -0.05 else ""
