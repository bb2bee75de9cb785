"""`nestling models` and `nestling card`: which models there are, and what is told of them."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from nestling.apps.data import print_json
from nestling.apps.models import Folder, Json, Root, opened
from nestling.apps.sources import Reading
from nestling.apps.terminal import out, visible
from nestling.cards import Judgement, card, read_card, write_card
from nestling.data.files import Source
from nestling.errors import CheckpointError
from nestling.evaluation.scores import score


def models(as_json: Json = False) -> None:
    """List the models that `-m NAME` and nestling.load find: those that come with nestling, and $NESTLING_MODELS."""
    from nestling.checkpoint import model_folders

    rows: list[dict[str, Any]] = []
    for folder in model_folders():
        figures = read_card(folder)
        f1 = {data: own["f1"] for data, own in figures.pop("scores").items()}
        del figures["notes"]
        rows.append({"name": folder.name, "folder": str(folder), **figures, "f1": f1})
    if as_json:
        print_json(rows)
        return
    if not rows:
        out.print("no models; nestling train makes one, and $NESTLING_MODELS names a folder of them", markup=False)
    for row in rows:
        size = f"{row['megabytes']} MB" if row["megabytes"] else ""
        out.print(visible("  ".join(filter(None, [row["name"], row["language"], size]))), style="bold", markup=False)
        for line in (", ".join(row["labels"]), *(f"F1 {f1} on {data}" for data, f1 in row["f1"].items())):
            out.print(f"  {visible(line)}", markup=False)


def model_card(
    model: Folder,
    tests: Annotated[
        list[str] | None, typer.Option("--test", metavar="DATA", help="Gold to be judged by; may be given again.")
    ] = None,
    notes: Annotated[
        Path | None, typer.Option(help="Markdown on limits and failures, put behind the figures; with --test.")
    ] = None,
    root: Root = None,
) -> None:
    """Show a model's card; with --test, judge the model and write it anew: README.md and card.json in its folder."""
    from nestling.checkpoint import model_path, own_path

    folder = model_path(model)
    if tests:
        _write_card(own_path(model), tests, notes, root)
        out.print(str(folder / "README.md"), markup=False)
        return
    if notes is not None:
        raise typer.BadParameter("a card with notes is written with --test", param_hint="--notes")
    if not (folder / "README.md").is_file():
        raise CheckpointError(f"{folder} has no card; --test DATA judges the model and writes one")
    for line in Source(folder / "README.md").text().splitlines():
        out.print(visible(line), markup=False, highlight=False, soft_wrap=True)


def _write_card(folder: Path, tests: list[str], notes: Path | None, root: Path | None) -> None:
    """What was noted before stays, unless there are new notes."""
    import torch

    from nestling.checkpoint import load_model

    torch.set_num_threads(1)  # as the card says
    built = load_model(folder)
    judged = []
    for data in tests:
        recognizer, gold, inputs = opened(folder, None, data, Reading(root=root))
        began = time.process_time()
        found = list(recognizer.pipe(inputs))
        seconds = time.process_time() - began
        words = sum(len(sentence) for document in inputs for sentence in document.sentences)
        judged.append(Judgement(data, score(gold, found), words / seconds))
    noted = Source(notes).text() if notes else read_card(folder)["notes"]
    write_card(folder, card(folder, built.settings.model_dump(), list(built.batcher.labels), judged, notes=noted))
