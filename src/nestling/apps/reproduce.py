"""`nestling reproduce`: the papers' experiments, run here."""

import shlex
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from nestling.apps.data import Json, print_json
from nestling.apps.terminal import err, out, table
from nestling.data import corpora
from nestling.data.files import written
from nestling.errors import DataError, NestlingError, UnknownNameError

if TYPE_CHECKING:
    from nestling.experiments.experiment import Experiment, Record, Size, Training
    from nestling.experiments.running import Store
    from nestling.settings import Settings

_GROUPS = {
    "F1 by words": {"1_4": "1–4", "5_9": "5–9", "10_up": "10 or more", "never_enumerated": "not enumerated"},
    "F1 where there are gaps": {
        "discontinuous": "discontinuous entities",
        "beside_discontinuous": "all in sentences that have one",
    },
}


def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="An experiment; --list shows all.")] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List experiments: what they need, how long they take.")] = (
        False
    ),
    size: Annotated[
        Literal["light", "laptop", "paper"],
        typer.Option(help="The embeddings of the embedded encoder, all of it, or the papers' encoders and settings."),
    ] = "laptop",
    seeds: Annotated[int, typer.Option(min=1, help="Train so many times, with other seeds.")] = 1,
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
        _list(EXPERIMENTS, store, size, as_json)
        return
    if name not in EXPERIMENTS:
        raise UnknownNameError("experiment", name, EXPERIMENTS)
    experiment = EXPERIMENTS[name]
    trainings = _chosen(experiment, size, seeds, only or [])
    if not trainings:
        where = f"on {', '.join(only)}" if only else f"at {size} size"
        raise DataError(f"{name} is not run {where}")
    deadline = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    command = shlex.join(["nestling", *sys.argv[1:]])
    found = list(store.measure(name, trainings, part=experiment.part, command=command, deadline=deadline))
    if as_json:
        print_json(found)
    else:
        _print(experiment, found)
    if plots is not None and found:
        _save(experiment, name, found, trainings, store, plots)


def _chosen(experiment: "Experiment", size: "Size", seeds: int, only: list[str]) -> "list[Training]":
    every = (training for seed in range(seeds) for training in experiment.trainings(size, seed))
    return [training for training in every if not only or training.corpus in only]


def _list(experiments: "dict[str, Experiment]", store: "Store", size: "Size", as_json: bool) -> None:
    rows: list[dict[str, Any]] = []
    for name, experiment in experiments.items():
        trainings = experiment.trainings(size, 0)
        needed = list(dict.fromkeys(training.corpus for training in trainings))
        row: dict[str, Any] = {"name": name, "about": experiment.about, "source": experiment.source, "corpora": needed}
        row["missing"] = [corpus for corpus in needed if not _is_there(corpus)]
        row["encoders"] = sorted({_encoder(training.settings) for training in trainings})
        row["trainings"] = len(trainings)
        row["begun"] = sum((store.path_of(t.settings) / "manifest.json").exists() for t in trainings)
        row["minutes"] = experiment.minutes if size == "laptop" else None
        rows.append(row)
    if as_json:
        print_json(rows)
        return
    for row in rows:
        out.print(f"[bold]{row['name']}[/bold]  {row['source']}")
        if not row["trainings"]:
            out.print(f"  {row['about']}; not at this size", markup=False)
            continue
        time_needed = f"; about {row['minutes']} minutes a seed on two cores" if row["minutes"] else ""
        out.print(f"  {row['about']}", markup=False)
        out.print(f"  {row['trainings']} trainings, {row['begun']} begun or done{time_needed}", markup=False)
        absent = f" (not found: {', '.join(row['missing'])})" if row["missing"] else ""
        out.print(f"  needs {', '.join(row['corpora'])}{absent}; {', '.join(row['encoders'])}", markup=False)


def _encoder(settings: "Settings") -> str:
    """What reads the words, as one needs to have it."""
    parts = [getattr(part, "model", None) or part.kind for part in settings.encoder.parts]
    return " + ".join(parts)


def _is_there(corpus: str) -> bool:
    try:
        return corpora.folder_of(corpus).is_dir()
    except NestlingError:
        return False


def _print(experiment: "Experiment", found: "list[Record]") -> None:
    """A row a corpus and model, means over seeds; what bundling changes as an arrow; the paper's figure last."""
    from nestling.experiments.experiment import gain

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
            figure = f"{_mean(same, key)} {gain(own, corpus, model, key)}".rstrip()
            rows.append([corpus, model, same[0]["encoder"], *extra, figure, f"{seconds:.0f}", _shown(paper)])
        extra = ["precision", "recall"] if key == "f1" else []
        out.print(table("", ["corpus", "model", "encoder", *extra, told, "seconds", "paper"], rows), "")
        _print_groups(own)
    out.print(f"{experiment.source}; the paper's encoders are larger.", style="dim", markup=False)


def _print_groups(found: "list[Record]") -> None:
    """F1 of groups of entities, where the experiment has them."""
    for title, groups in _GROUPS.items():
        names = [name for name in groups if any(record.get(f"gold_{name}") for record in found)]
        rows = [
            [record["corpus"], record["model"], *(_shown(_f1(record, name)) for name in names)]
            for record in means(found)
        ]
        if names:
            out.print(table(title, ["corpus", "model", *(groups[name] for name in names)], rows), "")


def _f1(record: "Record", group: str) -> float | None:
    return record[f"f1_{group}"] if record.get(f"gold_{group}") else None


def means(found: "list[Record]") -> "list[Record]":
    """A record a corpus and model, with the means over seeds."""
    same: dict[tuple[str, str], list[Record]] = {}
    for record in found:
        same.setdefault((record["corpus"], record["model"]), []).append(record)
    made = []
    for own in same.values():
        numbers = [key for key, value in own[0].items() if isinstance(value, float) and all(key in r for r in own)]
        made.append(own[0] | {key: statistics.mean(r[key] for r in own) for key in numbers})
    return made


def _mean(found: "list[Record]", key: str) -> str:
    values = [record[key] for record in found]
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _save(
    experiment: "Experiment",
    name: str,
    found: "list[Record]",
    trainings: "Sequence[Training]",
    store: "Store",
    folder: Path,
) -> None:
    """Pictures and pages, as far as the experiment has any."""
    from nestling.evaluation.plots import save
    from nestling.experiments.pages import pages

    made = []
    if experiment.plot is not None:
        figure = experiment.plot(means(found))
        for suffix in (".png", ".svg"):
            made.append(folder / f"{name}{suffix}")
            save(figure, made[-1])
    if experiment.is_analysed:
        for corpus, text in pages(store, trainings, experiment.part):
            made.append(folder / f"{name}-{corpus}.html")
            with written(made[-1]) as temporary:
                temporary.write_text(text, encoding="utf-8")
    for path in made:
        out.print(str(path), markup=False)
    if not made:
        err.print(f"{name} has no pictures", markup=False)
