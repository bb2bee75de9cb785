"""`nestling reproduce`: the papers' experiments, run here."""

import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from nestling.apps.data import Json, print_json
from nestling.apps.terminal import err, out, table
from nestling.data import corpora
from nestling.errors import DataError, NestlingError, UnknownNameError

if TYPE_CHECKING:
    from nestling.experiments.experiment import Experiment, Record
    from nestling.experiments.running import Store


def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="An experiment; --list shows all.")] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List experiments: what they need, how long they take.")] = (
        False
    ),
    size: Annotated[
        Literal["laptop", "paper"],
        typer.Option(help="The embedded encoder, or the encoders and settings of the papers."),
    ] = "laptop",
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Train so many times. Default: the experiment's own.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option("--corpus", help="Only this corpus; may be given again.")] = None,
    folder: Annotated[Path, typer.Option("--runs", help="Where models are kept; finished ones are used again.")] = Path(
        "runs/reproduce"
    ),
    records: Annotated[
        Path | None, typer.Option(help="Where records are kept, as JSON. Default: records/ below the runs.")
    ] = None,
    plots: Annotated[Path | None, typer.Option(help="Write pictures, PNG and SVG, into this folder.")] = None,
    minutes: Annotated[float | None, typer.Option(min=0, help="Stop after so long; the same command goes on.")] = None,
    as_json: Json = False,
) -> None:
    """Run an experiment of one of the three papers and print the paper's figures beside ours."""
    from nestling.experiments import EXPERIMENTS
    from nestling.experiments.running import Store

    store = Store(folder, records, tell=lambda line: err.print(line, markup=False))
    if list_all or name is None:
        _list(EXPERIMENTS, store, as_json)
        return
    if name not in EXPERIMENTS:
        raise UnknownNameError("experiment", name, EXPERIMENTS)
    experiment = EXPERIMENTS[name]
    trainings = [
        training
        for seed in range(seeds or experiment.seeds)
        for training in experiment.trainings(size, seed)
        if not only or training.corpus in only
    ]
    if not trainings:
        raise DataError(f"{name} is not run on {', '.join(only or [])}")
    deadline = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    command = " ".join(["nestling", *sys.argv[1:]])
    found = list(store.measure(name, trainings, command=command, deadline=deadline))
    if as_json:
        print_json(found)
    else:
        _print(experiment, found)
    if plots is not None and experiment.plot is not None and found:
        _save_plot(experiment.plot(found), plots, name)


def _list(experiments: "dict[str, Experiment]", store: "Store", as_json: bool) -> None:
    rows: list[dict[str, Any]] = []
    for name, experiment in experiments.items():
        trainings = experiment.trainings("laptop", 0)
        needed = list(dict.fromkeys(training.corpus for training in trainings))
        done = sum((store.path_of(t.settings) / "manifest.json").exists() for t in trainings)
        rows.append(
            {
                "name": name,
                "about": experiment.about,
                "source": experiment.source,
                "corpora": needed,
                "missing": [corpus for corpus in needed if not _is_there(corpus)],
                "minutes": experiment.minutes,
                "trainings": len(trainings),
                "begun": done,
            }
        )
    if as_json:
        print_json(rows)
        return
    for row in rows:
        out.print(f"[bold]{row['name']}[/bold]  {row['source']}")
        told = f"{row['trainings']} trainings, {row['begun']} begun or done; about {row['minutes']} minutes a seed"
        out.print(f"  {row['about']}\n  {told}", markup=False)
        absent = f"; not found: {', '.join(row['missing'])}" if row["missing"] else ""
        out.print(f"  needs {', '.join(row['corpora'])}{absent}", markup=False)


def _is_there(corpus: str) -> bool:
    try:
        return corpora.folder_of(corpus).is_dir()
    except NestlingError:
        return False


def _print(experiment: "Experiment", found: "list[Record]") -> None:
    """A row a corpus and model, means over seeds; the paper's figure last."""
    measures = [("F1", "f1"), ("accuracy, borders given", "given_spans_accuracy")]
    for told, key in measures:
        own = [record for record in found if record.get(key) is not None]
        if not own:
            continue
        rows = []
        for corpus, model in dict.fromkeys((record["corpus"], record["model"]) for record in own):
            same = [record for record in own if (record["corpus"], record["model"]) == (corpus, model)]
            paper = experiment.paper.get((corpus, model))
            seconds = statistics.mean(record["train_seconds"] for record in same)
            extra = [_mean(same, name) for name in ("precision", "recall")] if key == "f1" else []
            rows.append([corpus, model, same[0]["encoder"], *extra, _mean(same, key), f"{seconds:.0f}", _shown(paper)])
        extra = ["precision", "recall"] if key == "f1" else []
        out.print(table("", ["corpus", "model", "encoder", *extra, told, "seconds", "paper"], rows), "")
        _print_lengths(own)
    out.print(f"{experiment.source}; the paper's encoders are larger.", style="dim", markup=False)


def _print_lengths(found: "list[Record]") -> None:
    keys = ("f1_1_4", "f1_5_9", "f1_10_up", "f1_never_enumerated")
    own = [record for record in found if "f1_10_up" in record]
    if own:
        rows = [[r["corpus"], r["model"], *(_shown(r.get(key)) for key in keys)] for r in own]
        out.print(table("F1 by words", ["corpus", "model", "1–4", "5–9", "10 or more", "not enumerated"], rows), "")


def _mean(found: "list[Record]", key: str) -> str:
    values = [record[key] for record in found]
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _save_plot(figure: Any, folder: Path, name: str) -> None:
    from nestling.evaluation.plots import save

    for suffix in (".png", ".svg"):
        save(figure, folder / f"{name}{suffix}")
        out.print(str(folder / f"{name}{suffix}"), markup=False)
