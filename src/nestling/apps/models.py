"""`nestling train`, `evaluate` and `predict`. What needs torch is imported when a command runs: torch takes seconds."""

import json
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from nestling.apps.sources import Reading, named, one_part
from nestling.apps.tables import score_tables
from nestling.apps.terminal import Painter, err, out, visible
from nestling.data.files import STDIN, Source
from nestling.data.formats import JSON_SUFFIXES, jsonl
from nestling.decoding import Rule
from nestling.errors import DataError
from nestling.evaluation.given import GivenSpans, given_spans, labelled_documents
from nestling.evaluation.scores import score
from nestling.text import parse
from nestling.types import Document

if TYPE_CHECKING:
    from nestling.recognizer import Recognizer
    from nestling.settings import Settings
    from nestling.training import Step

DEFAULT = "en-general"
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Model = Annotated[Path, typer.Option("--model", "-m", help="A model by name, or its folder.")]
Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="Settings in TOML; configs/ has many.")]
Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting: training.epochs=3.")
]
Folder = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder of a trained model.")]
Gold = Annotated[
    str, typer.Argument(metavar="DATA", help="Gold: a file, a folder or a part of a corpus (conll04:test).")
]
Format = Annotated[str | None, typer.Option("--format", "-f", help="Format of the file. Default: guessed.")]
Root = Annotated[Path | None, typer.Option(help="Folder that holds the corpora. Default: $NESTLING_DATA.")]
Language = Annotated[str | None, typer.Option(help="Language of raw text.")]
Precision = Annotated[
    Literal["fp32", "int8"] | None,
    typer.Option(help="What a transformer computes in; int8 is faster. Default: as the model was exported, or fp32."),
]
Answer = Annotated[str | None, typer.Option(help="The head that answers, if not the one in the settings.")]


def train(
    config: Config,
    changes: Changes = None,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="Folder of the run. Default: runs/ and the config's name.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    seeds: Annotated[
        int, typer.Option(min=1, help="Train so many times with other seeds; mean and deviation are told.")
    ] = 1,
    as_json: Json = False,
) -> None:
    """Train a model; stopped at any time, it goes on with --resume."""
    from nestling.settings import load_settings

    settings = load_settings(config, changes or [])
    folder = out_folder or Path("runs") / config.stem
    results = []
    for n in range(seeds):
        own = folder if seeds == 1 else folder / f"seed-{settings.training.seed + n}"
        results.append(_train(_with_seed(settings, settings.training.seed + n), own, resume, quiet=as_json))
    best = [row["dev"] for row in results]
    if as_json:
        typer.echo(json.dumps(results, indent=1))
    elif seeds > 1:
        out.print(
            f"dev {results[0]['measure']} {statistics.mean(best):.2f} ± {statistics.stdev(best):.2f} over {seeds} seeds"
        )


def _with_seed(settings: "Settings", seed: int) -> "Settings":
    return settings.model_copy(update={"training": settings.training.model_copy(update={"seed": seed})})


@contextmanager
def _told_how_to_go_on(*, is_told: bool) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        if is_told:
            err.print("stopped; the same command with --resume goes on", markup=False)
        raise


def _train(settings: "Settings", folder: Path, resume: bool, *, quiet: bool) -> dict[str, Any]:
    """One run, with a bar that shows loss, dev score, words a second and the time left."""
    from nestling.pretraining import Pretraining
    from nestling.run import Run

    run = Run(settings, folder, resume=resume)
    for note in [*run.corpus.notes, *run.notes()] if not quiet and run.is_main else []:
        err.print(visible(note), style="yellow", markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[shown]}"), TimeRemainingColumn())
    is_shown = sys.stderr.isatty() and run.is_main and not quiet
    bar = Progress(*columns, console=err, transient=True, disable=not is_shown)
    measures = {"pretraining": Pretraining.measure, "training": run.measure}
    with bar, _told_how_to_go_on(is_told=run.is_main and not quiet):
        for phase, steps in groupby(run.steps(), key=lambda step: step.phase):
            name = "epoch" if phase == "training" else f"{phase}, epoch"
            for line in _shown(steps, bar, folder.name, name, measures[phase]):
                if not quiet and run.is_main:
                    bar.console.print(line)
    progress = run.trainer.progress
    if not quiet and run.is_main:
        out.print(f"{folder}: dev {run.measure} {progress.best:.2f}, in epoch {progress.best_epoch + 1}", markup=False)
    return {
        "folder": str(folder),
        "seed": settings.training.seed,
        "dev": round(progress.best, 4),
        "measure": run.measure,
        "best_epoch": progress.best_epoch + 1,
    }


def _shown(steps: Iterable["Step"], bar: Progress, title: str, name: str, measure: str) -> Iterator[str]:
    """Moves the bar with the steps of a phase; gives a line for each epoch."""
    loss, words, started = 0.0, 0, time.monotonic()
    task = bar.add_task(title, total=1.0, shown="")
    for step in steps:
        words += step.words
        if step.losses:
            loss = step.losses["total"] if not loss else 0.95 * loss + 0.05 * step.losses["total"]
        speed = words / max(time.monotonic() - started, 1e-9)
        epoch = f"{name} {step.progress.epoch + (step.score is None)}"
        best = f"dev {measure} {max(step.progress.best, 0):.2f}  {speed:.0f} words/s"
        bar.update(task, completed=step.share, shown=f"{epoch}  loss {loss:.4f}  {best}")
        if step.score is not None:
            mark = " (best)" if step.is_best else ""
            yield f"{epoch}: loss {loss:.4f}, dev {measure} {step.score:.2f}{mark}"
    bar.remove_task(task)


def evaluate(
    model: Folder,
    data: Gold,
    format: Format = None,
    root: Root = None,
    language: Language = None,
    answer: Answer = None,
    has_given_spans: Annotated[
        bool, typer.Option("--given-spans", help="Only label gold's mentions: accuracy of labels, no NER score.")
    ] = False,
    out_file: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the predictions as JSON lines, for nestling analyze.")
    ] = None,
    precision: Precision = None,
    as_json: Json = False,
) -> None:
    """Predict and score: strict precision, recall and F1, per label and length, with a 95 % interval."""
    recognizer, gold, inputs = opened(model, answer, data, Reading(format, root, language), precision)
    if has_given_spans:
        found = list(recognizer.label_given(gold))
        if out_file is not None:
            jsonl.write(labelled_documents(gold, found), out_file)
        _print_given_spans(given_spans(found), as_json)
        return
    predicted = list(recognizer.pipe(inputs))
    if out_file is not None:
        jsonl.write(predicted, out_file)
    scores = score(gold, predicted)
    if as_json:
        typer.echo(json.dumps(scores.as_json(), ensure_ascii=False, indent=1))
        return
    for table in score_tables(scores):
        out.print(table, "")


def _print_given_spans(found: GivenSpans, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(found.as_json(), indent=1))
        return
    total, right = found.continuous + found.discontinuous, found.continuous_right + found.discontinuous_right
    out.print(f"accuracy of labels, borders given: {found.accuracy:.2f} % ({right} of {total})")
    if found.discontinuous:
        rule = f"{found.discontinuous_right} by fragments, {found.joined_right} as a whole"
        out.print(f"discontinuous mentions: {found.discontinuous}, right: {rule}")
    derived = f"precision {found.paper_precision:.2f}, recall {found.paper_recall:.2f}, F1 {found.paper_f1:.2f}"
    out.print(f"what the SNG paper derives from it: {derived}. Borders are given, so this is no NER F1.")


def opened(
    model: Path, answer: str | None, data: str, reading: Reading, precision: Literal["fp32", "int8"] | None = None
) -> tuple["Recognizer", list[Document], list[Document]]:
    """A model, gold, and what the model is given of it: raw text is met without gold's words."""
    from nestling.checkpoint import load

    parts = one_part(data, reading)
    recognizer = load(model, answer=answer, precision=precision)
    (gold,) = parts.read().values()
    unknown = Counter(e.label for d in gold for e in d.entities if e.label not in recognizer.batcher.labels)
    if unknown:
        told = ", ".join(f"{label} ({count})" for label, count in unknown.most_common(10))
        known = ", ".join(recognizer.batcher.labels)
        err.print(visible(f"labels that the model does not have count as missed: {told}; it has {known}"), markup=False)
    return recognizer, recognizer.judged_by(gold, parts.labels), recognizer.inputs(gold, is_raw=parts.is_raw)


def predict(
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Texts; without any, --input is read.")
    ] = None,
    model: Model = Path(DEFAULT),
    input_file: Annotated[
        str | None, typer.Option("--input", "-i", help="A text a line, or our JSON lines; - is the standard input.")
    ] = None,
    answer: Answer = None,
    threshold: Annotated[float | None, typer.Option(min=0, max=1, help="Leave out what scores less.")] = None,
    rule: Annotated[Rule | None, typer.Option(help="What may overlap, if not as in the settings.")] = None,
    precision: Precision = None,
    max_memory: Annotated[
        float | None, typer.Option(min=1, help="Megabytes that the process may take: smaller batches if need be.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find entities in texts: nested brackets for people, JSON lines with --json or when not in a terminal."""
    from nestling.checkpoint import load

    recognizer = load(model, answer=answer, threshold=threshold, rule=rule, precision=precision, max_memory=max_memory)
    for text in texts or []:
        if len(text) < 256 and Path(text).is_file():
            err.print(f"{visible(text)} is taken for a text; --input reads the file of that name", markup=False)
    painter = Painter()
    given = chain(texts or [], _lines(input_file, recognizer.language, bool(texts)))
    is_typed = input_file == "-" and sys.stdin.isatty()  # then every line is answered at once
    for document in map(recognizer, given) if is_typed else recognizer.pipe(given):
        if as_json or not sys.stdout.isatty():
            typer.echo(jsonl.dumps(document, words=False))
        else:
            for sentence in document.sentences:
                out.print(painter.draw(sentence))


def _lines(path: str | None, language: str, has_texts: bool) -> Iterator[str | Document]:
    """The texts of a file, a line each; what JSON files hold are documents."""
    if path is None:
        if not has_texts:
            raise DataError("nothing to read", fix="give a text, or --input FILE, or --input -")
        return
    source = Source(Path(path))
    if source.path == STDIN and _is_json(sys.stdin.buffer):
        yield from jsonl.read(source, language=language, without_entities=True)
    elif Path(path).suffix in JSON_SUFFIXES:
        parts = named(path, Reading(language=language))
        for document in (document for part in parts.parts for document in parts.stream(part)):
            yield parse(document.text, id=document.id, language=language) if parts.is_raw else document
    else:
        yield from (line for _, line in source.lines() if line.strip())


def _is_json(stream: Any) -> bool:
    """Whether what comes first is the start of a JSON object; nothing is taken from the stream."""
    return re.match(rb'\s*{\s*"', stream.peek(1)) is not None
