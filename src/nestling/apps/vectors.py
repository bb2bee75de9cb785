"""`nestling vectors`: train word vectors on one's own text, and look at vectors."""

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from nestling.apps.data import Columns, Format, Json, Language, Root
from nestling.apps.sources import Named, Reading, named
from nestling.apps.terminal import err, out, table
from nestling.data.files import written
from nestling.errors import DataError

if TYPE_CHECKING:
    from nestling.glove import Glove

app = typer.Typer(no_args_is_help=True, help="Word vectors: GloVe on your own text.")


@app.command()
def train(
    source: Annotated[str, typer.Argument(metavar="DATA", help="Text: a corpus, a file, a folder, or a part of one.")],
    file: Annotated[Path, typer.Option("--out", "-o", help="File for the vectors, in GloVe's text format.")],
    all_parts: Annotated[
        bool, typer.Option("--all-parts", help="Read dev and test too, not the training text alone.")
    ] = False,
    size: Annotated[int, typer.Option(min=1, help="Numbers in a vector.")] = 100,
    window: Annotated[int, typer.Option(min=1, help="Words that stand so near count together.")] = 10,
    least: Annotated[int, typer.Option(min=1, help="Leave out words that occur less often.")] = 1,
    epochs: Annotated[int, typer.Option(min=1)] = 25,
    ceiling: Annotated[float, typer.Option(help="Counts from which a pair weighs no more.")] = 100.0,
    seed: int = 0,
    format: Format = None,
    root: Root = None,
    language: Language = None,
    columns: Columns = None,
    as_json: Json = False,
) -> None:
    """Train GloVe; FILE.json beside the vectors tells what they were made from."""
    from nestling.glove import Glove, GloveSettings, counted
    from nestling.vectors import write_vectors

    parts = _parts(named(source, Reading(format, root, language, columns)), all_parts)
    settings = GloveSettings(size=size, epochs=epochs, ceiling=ceiling, seed=seed)
    sentences = (s.words for part in parts.parts for d in parts.stream(part) for s in d.sentences)
    counts = counted(sentences, window=window, least=least)
    if not counts.words:
        raise DataError(f"{source} has no words that occur {least} times")
    err.print(f"{len(counts.words)} words, {counts.pairs.nnz} pairs", markup=False)
    trained = Glove(counts, settings)
    losses = _train(trained, epochs)
    write_vectors(trained.vectors(), file)
    text: dict[str, Any] = {"source": source, "parts": list(parts.parts), "words": len(counts.words)}
    card = json.dumps(
        text | {"window": window, "least": least, **asdict(settings), "losses": losses}, ensure_ascii=False, indent=1
    )
    with written(file.with_name(f"{file.name}.json")) as temporary:
        temporary.write_text(card, encoding="utf-8")
    if as_json:
        typer.echo(card)
        return
    out.print(f"{file}: {len(counts.words)} vectors from {source} ({', '.join(parts.parts)})", markup=False)


def _parts(found: Named, all_parts: bool) -> Named:
    """The training text alone, where there is one, unless all is wanted."""
    return found if all_parts or "train" not in found.parts else found.only("train")


def _train(trained: "Glove", epochs: int) -> list[float]:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[shown]}"), TimeRemainingColumn())
    losses = []
    with Progress(*columns, console=err, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("training", total=epochs, shown="")
        started = time.monotonic()
        for loss in trained.epochs():
            losses.append(round(loss, 6))
            bar.update(task, advance=1, shown=f"loss {loss:.5f}  {time.monotonic() - started:.0f} s")
    return losses


@app.command()
def info(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Vectors in the text format of GloVe or word2vec.")],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD]...", help="Show what is nearest to them.")
    ] = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many neighbours.")] = 10,
    as_json: Json = False,
) -> None:
    """How many vectors a file has, of what size, and the nearest neighbours of words."""
    from nestling.vectors import read_vectors

    vectors = read_vectors(file)
    near = {word: vectors.nearest(word, count) for word in words or []}
    if as_json:
        figures = {"words": len(vectors.words), "size": vectors.table.shape[1]}
        typer.echo(json.dumps(figures | {"nearest": near} if near else figures, ensure_ascii=False, indent=1))
        return
    out.print(f"{len(vectors.words)} words, {vectors.table.shape[1]} numbers each", markup=False)
    for word, found in near.items():
        out.print(table(word, ["word", "cosine"], [[other, f"{cosine:.3f}"] for other, cosine in found]), "")
