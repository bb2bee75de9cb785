"""`nestling inspect`, `nestling tune-decoding`: where a model loses entities, how candidates are best chosen."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Annotated, Any

import typer
from rich.text import Text

from nestling.apps.data import print_json
from nestling.apps.models import Answer, Folder, Format, Gold, Json, Language, Root, opened
from nestling.apps.sources import Reading
from nestling.apps.tables import SCORE_HEADER, between, score_row
from nestling.apps.terminal import Painter, out, table, visible
from nestling.evaluation.comparison import paired
from nestling.evaluation.scores import Score, Scores, score
from nestling.types import Document, Sentence, Span

_GROUPS = ((1, 4), (5, 9), (10, None))


def inspect(
    model: Folder,
    data: Gold,
    cases: Annotated[int, typer.Option(help="Sentences to show, gold above prediction, where they differ.")] = 0,
    format: Format = None,
    root: Root = None,
    language: Language = None,
    answer: Answer = None,
    as_json: Json = False,
) -> None:
    """Show where a model loses entities: by length, inside its head, and in single sentences."""
    recognizer, gold, inputs = opened(model, answer, data, Reading(format, root, language))
    predicted = list(recognizer.pipe(inputs))
    scores, inside = score(gold, predicted), recognizer.inspect(gold)
    widths = getattr(recognizer.model.heads[recognizer.model.answer], "widths", None)
    groups = _length_groups(scores, widths)
    if as_json:
        by_length = {str(length): own.as_json() for length, own in scores.by_length.items()}
        figures = {"inside": inside, "groups": {n: s.as_json() for n, s in groups.items()}, "by_length": by_length}
        typer.echo(json.dumps(figures, ensure_ascii=False, indent=1))
        return
    if inside:
        out.print(table("Inside the head", ["", "mean"], [[name, f"{mean:.4f}"] for name, mean in inside.items()]), "")
    rows = [_marked(str(length), own, widths, length) for length, own in scores.by_length.items()]
    out.print(table("By words in the entity", [*SCORE_HEADER, "enumerated"], rows), "")
    out.print(table("Groups", list(SCORE_HEADER), [score_row(name, own) for name, own in groups.items()]), "")
    painter = Painter()
    for truth, guess in islice(_differing(gold, predicted), cases):
        out.print(Text("gold       ", style="dim") + painter.draw(truth))
        out.print(Text("predicted  ", style="dim") + painter.draw(guess))
        out.print()


def _length_groups(scores: Scores, widths: frozenset[int] | None) -> dict[str, Score]:
    """Strict scores of short, middling and long entities, and of lengths that the head does not enumerate."""
    wanted: dict[str, Callable[[int], bool]] = {
        f"{low} or more words" if high is None else f"{low} to {high} words": between(low, high)
        for low, high in _GROUPS
    }
    if widths is not None:
        wanted["lengths enumerated"] = lambda length: length in widths
        wanted["lengths never enumerated"] = lambda length: length not in widths
    return {name: scores.of_lengths(is_wanted) for name, is_wanted in wanted.items()}


def _marked(name: str, own: Score, widths: frozenset[int] | None, length: int) -> list[str]:
    return [*score_row(name, own), "" if widths is None else "yes" if length in widths else "no"]


def _differing(gold: Sequence[Document], predicted: Sequence[Document]) -> Iterator[tuple[Sentence, Sentence]]:
    """Sentences, cut alike on both sides, whose entities differ."""
    for truth, guess in paired(gold, predicted):
        theirs = {sentence.tokens[0].start: sentence for sentence in guess.sentences}
        for sentence in truth.sentences:
            other = theirs.get(sentence.tokens[0].start)
            if other is not None and _places(sentence) != _places(other):
                yield sentence, other


def _places(sentence: Sentence) -> set[tuple[tuple[Span, ...], str]]:
    """Entities by characters: the two sides may have cut words differently."""
    return {(sentence.characters(entity), entity.label) for entity in sentence.entities}


def tune_decoding(
    model: Folder,
    data: Annotated[
        list[str], typer.Argument(metavar="DATA...", help="Gold: files, folders or parts of corpora (conll04:dev).")
    ],
    has_thresholds: Annotated[bool, typer.Option("--by-label", help="A threshold for each label.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell; leave the model as it is.")] = False,
    format: Format = None,
    root: Root = None,
    language: Language = None,
    answer: Answer = None,
    as_json: Json = False,
) -> None:
    """Find how candidates of dev are best chosen, by a threshold, soft-NMS or thresholds of labels; keep that.

    Each way is judged by documents that it was not fitted to. Scores are fitted too: of entities with 0.8, eight in ten
    shall be right.
    """
    if answer and not dry_run:
        raise typer.BadParameter(
            "a model keeps the decoding of its answering head: give --dry-run too", param_hint="--answer"
        )
    from nestling.checkpoint import own_path, save_decoding
    from nestling.tuning import tune

    if not dry_run:
        own_path(model)  # before the work
    parts = [opened(model, answer, own, Reading(format, root, language)) for own in data]
    recognizer = parts[0][0]
    gold = [document for _, own, _ in parts for document in own]
    inputs = [document for _, _, own in parts for document in own]
    tuned = tune(recognizer, gold, inputs, has_thresholds=has_thresholds)
    if not dry_run:
        save_decoding(model, tuned.best.decoder)
    if as_json:
        rows: list[dict[str, Any]] = [
            {"way": way.name, "f1": way.trial.f1, "unseen_f1": way.unseen, **asdict(way.trial.decoder)}
            for way in tuned.ways
        ]
        errors = {"calibration_error_before": tuned.error_before, "calibration_error": tuned.error}
        print_json({"ways": rows, "taken": tuned.way.name, "best": asdict(tuned.best.decoder), **errors})
        return
    _print_tuned(tuned, is_kept=not dry_run)


def _print_tuned(tuned: Any, *, is_kept: bool) -> None:
    header = ["way", "threshold δ", "decay u", "overlap k", "F1", "unseen F1"]
    rows = [
        [way.name, f"{own.threshold:.3f}", *_nms(own), f"{way.trial.f1:.2f}", _figure(way.unseen)]
        for way, own in ((way, way.trial.decoder) for way in tuned.ways)
    ]
    out.print(table("", header, rows), "")
    out.print("unseen: of documents that the way was not fitted to, a fifth at a time", markup=False)
    fitted = tuned.best.decoder
    out.print(f"taken: {tuned.way.name}; with fitted scores, the threshold is {fitted.threshold:.3f}", markup=False)
    for label, threshold in fitted.thresholds.items():
        out.print(f"threshold of {visible(label)}: {threshold:.3f}", markup=False)
    errors = f"{tuned.error_before:.1f} % before, {tuned.error:.1f} % now"
    out.print(f"scores are off by {errors}, on average, from the share that is right", markup=False)
    out.print("this is kept in the model" if is_kept else "the model is left as it was", markup=False)


def _figure(f1: float | None) -> str:
    return "–" if f1 is None else f"{f1:.2f}"


def _nms(decoder: Any) -> tuple[str, str]:
    return (f"{decoder.decay:.1f}", f"{decoder.overlap:.1f}") if decoder.method == "soft_nms" else ("–", "–")
