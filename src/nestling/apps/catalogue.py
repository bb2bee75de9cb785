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
from nestling.evaluation.scores import score


def models(as_json: Json = False) -> None:
    """List the models that `-m NAME` and nestling.load find: those that come with nestling, and $NESTLING_MODELS."""
    from nestling.checkpoint import model_folders

    rows: list[dict[str, Any]] = []
    for folder in model_folders():
        figures = read_card(folder)
        f1 = {data: own["f1"] for data, own in figures.pop("scores").items()}
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


def make_card(
    model: Folder,
    tests: Annotated[
        list[str] | None, typer.Option("--test", metavar="DATA", help="Gold to be judged by; may be given again.")
    ] = None,
    notes: Annotated[Path | None, typer.Option(help="Markdown on limits and failures, put behind the figures.")] = None,
    root: Root = None,
) -> None:
    """Judge a model and write its card: README.md and card.json in its folder."""
    import torch

    from nestling.checkpoint import load_model, model_path

    torch.set_num_threads(1)  # as the card says
    folder = model_path(model)
    built = load_model(folder)
    judged = []
    for data in tests or []:
        recognizer, gold, inputs = opened(folder, None, data, Reading(root=root))
        began = time.process_time()
        found = list(recognizer.pipe(inputs))
        seconds = time.process_time() - began
        words = sum(len(sentence) for document in inputs for sentence in document.sentences)
        judged.append(Judgement(data, score(gold, found), words / seconds))
    figures = card(folder, built.settings.model_dump(), list(built.batcher.labels), judged)
    write_card(folder, figures, Source(notes).text() if notes else "")
    out.print(str(folder / "README.md"), markup=False)
