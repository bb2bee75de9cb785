"""The `nestling` command."""

import io
import sys
from typing import Annotated

import typer

from nestling import __version__
from nestling.apps import analysis, catalogue, data, exporting, inspection, models, reproduce, vectors
from nestling.apps.sources import Reading, one_part
from nestling.apps.tables import score_tables
from nestling.apps.terminal import err, out, visible
from nestling.errors import NestlingError
from nestling.evaluation.scores import lead, significance
from nestling.evaluation.scores import score as score_documents
from nestling.types import Document

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Named entity recognition for flat, nested and discontinuous entities.",
)
app.add_typer(data.app, name="data")
app.add_typer(vectors.app, name="vectors")
for command in (models.train, models.evaluate, models.predict, inspection.inspect, inspection.tune_decoding):
    app.command()(command)
app.command()(exporting.export)
app.command()(exporting.average)
app.command()(catalogue.models)
app.command("card")(catalogue.model_card)
app.command("analyze")(analysis.analyze_files)
app.command()(reproduce.reproduce)


def _version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"nestling {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of the command itself."""


@app.command()
def score(
    gold: Annotated[
        str,
        typer.Argument(metavar="GOLD", help="The truth: a file, a folder or a part of a corpus (genia:test)."),
    ],
    predicted: Annotated[str, typer.Argument(metavar="PREDICTED", help="The same documents as predicted.")],
    against: Annotated[str | None, typer.Option(help="Another prediction: is the difference significant?")] = None,
    format: data.Format = None,
    root: data.Root = None,
    language: data.Language = None,
    columns: data.Columns = None,
    predicted_format: data.PredictedFormat = None,
    predicted_columns: data.PredictedColumns = None,
    as_json: data.Json = False,
) -> None:
    """Score predictions: strict precision, recall and F1, per label and length, with a 95 % interval."""
    how = Reading(format, root, language, columns)
    theirs = how.of_predictions(predicted_format, predicted_columns)
    truth = _documents(gold, how)
    scores = score_documents(truth, _documents(predicted, theirs))
    figures = scores.as_json() if as_json else {}
    lines = []
    if against is not None:
        other = score_documents(truth, _documents(against, theirs))
        p_value, interval = significance(scores, other), lead(scores, other)
        bounds = {"lead_low": round(interval.low, 4), "lead_high": round(interval.high, 4)}
        figures["against"] = other.strict.as_json() | {"p_value": round(p_value, 4)} | bounds
        difference = scores.strict.f1 - other.strict.f1
        where = f"95 % interval {interval.low:+.2f} to {interval.high:+.2f}"
        lines = [
            f"{against}: F1 {other.strict.f1:.2f}; the difference of {difference:+.2f} has p = {p_value:.4f} ({where})"
        ]
    if as_json:
        data.print_json(figures)
        return
    for table in score_tables(scores):
        out.print(table, "")
    for line in lines:
        out.print(visible(line), markup=False)


def _documents(name: str, how: Reading) -> list[Document]:
    return next(iter(one_part(name, how).read().values()))


def main() -> None:
    """Runs the command; what goes wrong is one line on the error stream and exit code 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # where the terminal does not know a character
    try:
        app()
    except NestlingError as error:
        err.print(f"nestling: {visible(str(error))}", style="red", markup=False)
        sys.exit(2)
    except OSError as error:  # an unreadable folder, a full disk behind the standard output
        sys.stdout = io.StringIO()  # nothing more can be flushed
        err.print(f"nestling: {visible(str(error))}", style="red", markup=False)
        sys.exit(2)


if __name__ == "__main__":
    main()
