"""`nestling export`: a model made small, and what that costs; `nestling average`: one model of several."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from nestling.apps.data import print_json
from nestling.apps.models import Folder, Format, Json, Language, Root
from nestling.apps.sources import Named, Reading, one_part
from nestling.apps.terminal import out, visible
from nestling.cards import megabytes_of
from nestling.data import corpora
from nestling.evaluation.scores import score
from nestling.types import Document

if TYPE_CHECKING:
    from nestling.recognizer import Recognizer


def export(
    model: Folder,
    out_folder: Annotated[Path, typer.Option("--out", "-o", help="Folder of the exported model.")],
    precision: Annotated[
        Literal["fp32", "fp16", "int8"],
        typer.Option(help="fp16 is for storing; in int8 transformers compute too, faster, where the processor can."),
    ] = "int8",
    check: Annotated[
        list[str] | None,
        typer.Option(metavar="DATA", help="Measure what is lost on gold, such as genia:dev; may be given again."),
    ] = None,
    sentences: Annotated[int | None, typer.Option(min=1, help="Check the first so many sentences only.")] = None,
    format: Format = None,
    root: Root = None,
    language: Language = None,
    as_json: Json = False,
) -> None:
    """Write a small model for passing on: fewer bits, and nothing that the embedded encoder's package has anyway."""
    from nestling import checkpoint

    reading = Reading(format, root, language)
    named = {data: one_part(data, reading) for data in check or []}
    gold = {data: next(iter(parts.read().values())) for data, parts in named.items()}  # before anything is written
    checkpoint.export(model, out_folder, precision)
    before, after = megabytes_of(checkpoint.model_path(model)), megabytes_of(out_folder)
    models = [checkpoint.load(model, precision="fp32"), checkpoint.load(out_folder)] if gold else []
    rows = [{"data": data} | _compared(models, named[data], own, sentences) for data, own in gold.items()]
    if as_json:
        print_json({"folder": str(out_folder), "precision": precision, "megabytes": after, "checks": rows})
        return
    out.print(f"{visible(str(out_folder))}: {after:.1f} MB in {precision}, from {before:.1f}", markup=False)
    for row in rows:
        lost, same, ratio = row["f1"] - row["f1_before"], row["agreement"], row["times_as_fast"]
        told = f"F1 {row['f1']:.2f}, before {row['f1_before']:.2f} ({lost:+.2f}); {same:.1f} % of entities are the same"
        out.print(f"{visible(row['data'])}: {told}; {ratio:.2f} times as fast", markup=False)


def average(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL...", help="Models of one configuration, each with a training.order.")
    ],
    out_folder: Annotated[Path, typer.Option("--out", "-o", help="Folder of the new model.")],
) -> None:
    """Write the mean of models that began alike and learnt in other orders: often better than any of them."""
    if len(models) < 2:
        raise typer.BadParameter("a mean is of two models or more", param_hint="MODEL")
    from nestling import checkpoint

    checkpoint.average(models, out_folder)
    out.print(f"{visible(str(out_folder))}: the mean of {len(models)} models", markup=False)


def _compared(models: "list[Recognizer]", parts: Named, whole: list[Document], sentences: int | None) -> dict[str, Any]:
    """F1 of both models, how far they agree, and CPU time; they take turns."""
    gold = corpora.first_sentences(models[0].judged_by(whole, parts.labels), 0, sentences)
    inputs = models[0].inputs(gold, is_raw=parts.is_raw)
    seconds = [0.0, 0.0]
    found: list[list[Document]] = [[], []]
    for start in range(0, len(inputs), 500):
        for n, recognizer in enumerate(models):
            began = time.process_time()
            found[n] += recognizer.pipe(inputs[start : start + 500])
            seconds[n] += time.process_time() - began
    scores = [score(gold, documents).strict.f1 for documents in found]
    return {
        "f1_before": round(scores[0], 2),
        "f1": round(scores[1], 2),
        "agreement": round(score(found[0], found[1]).strict.f1, 2),
        "times_as_fast": round(seconds[0] / seconds[1], 3),
    }
