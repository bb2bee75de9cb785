"""Statistics and scores as tables for people."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.table import Table

from nestling.apps.terminal import table
from nestling.data.statistics import Statistics
from nestling.evaluation.scores import Score, Scores
from nestling.evaluation.sections import LENGTHS, length_range

SCORE_HEADER = ("", "precision", "recall", "F1", "gold", "predicted", "right")


def statistics_tables(figures: Sequence[Statistics], published: Mapping[str, int] | None = None) -> Iterator[Table]:
    """The rows of Locate and Label's Table 5 and more, then labels, then lengths; a column a part."""
    header = ["", *(part.split for part in figures)]
    unit = figures[0].unit
    of: dict[str, Callable[[Statistics], object]] = {
        "documents": lambda part: part.documents,
        "sentences": lambda part: part.sentences,
        "sentences with nesting": lambda part: part.sentences_with_nesting,
        "mean length in words": lambda part: f"{part.mean_words:.2f}",
        "entities": lambda part: part.entities,
        "entities, as published": lambda part: (published or {}).get(part.split),
        "nested entities": lambda part: part.nested,
        "nested entities in %": lambda part: f"{part.nested_percent:.2f}",
        "inner entities": lambda part: part.inner,
        "deepest nesting": lambda part: part.max_depth,
        "discontinuous": lambda part: part.discontinuous,
        "crossing pairs": lambda part: part.crossing_pairs,
        "spans with several labels": lambda part: part.spans_with_several_labels,
        "annotated twice": lambda part: part.exact_duplicate_entities,
        "ε, covers 99 % of entities": lambda part: part.epsilon,
        "longest entity in words": lambda part: max(part.entity_lengths, default=0),
        f"longest {unit} in {'words' if unit == 'sentence' else 'characters'}": lambda part: part.max_length,
        f"repeated {unit}s": lambda part: part.repeated_units,
        f"distinct {unit}s also in train": lambda part: part.distinct_units_also_in_train,
    }
    if not published:
        del of["entities, as published"]
    yield table("", header, [[name, *(_cell(value(part)) for part in figures)] for name, value in of.items()])
    labels = {
        label: sum(part.type_counts.get(label, 0) for part in figures) for part in figures for label in part.type_counts
    }
    ranked = sorted(labels, key=lambda label: (-labels[label], label))
    yield table(
        "Labels",
        header,
        [[label, *(_cell(p.type_counts.get(label, 0)) for p in figures)] for label in ranked],
    )
    yield table(
        "Words in an entity",
        header,
        [[length_range(*b), *(_share(part, *b) for part in figures)] for b in LENGTHS],
    )


def score_tables(scores: Scores) -> Iterator[Table]:
    """Overall figures, then labels, then lengths."""
    interval, macro = scores.interval(), scores.macro
    header = list(SCORE_HEADER)
    overall = [score_row("strict", scores.strict), score_row("boundaries only", scores.boundaries)]
    if scores.discontinuous.gold or scores.discontinuous.predicted:
        overall.append(score_row("discontinuous only", scores.discontinuous))
        overall.append(score_row("in such sentences", scores.beside_discontinuous))
    overall.insert(1, ["mean over labels", f"{macro.precision:.2f}", f"{macro.recall:.2f}", f"{macro.f1:.2f}"])
    overall.insert(1, ["95 % interval", "", "", f"{interval.low:.2f}–{interval.high:.2f}"])
    yield table("", header, [row + [""] * (len(header) - len(row)) for row in overall])
    yield table("By label", header, [score_row(label, score) for label, score in scores.by_label.items()])
    lengths = [(length_range(low, high), scores.of_lengths(between(low, high))) for low, high in LENGTHS]
    rows = [score_row(name, score) for name, score in lengths if score.gold or score.predicted]
    yield table("By words in the entity", header, rows)


def between(low: int, high: int | None) -> Callable[[int], bool]:
    """Whether a length lies between two, both in."""
    return lambda length: low <= length <= (high or length)


def score_row(name: str, score: Score) -> list[str]:
    """The cells under SCORE_HEADER."""
    figures = [f"{value:.2f}" for value in (score.precision, score.recall, score.f1)]
    return [name, *figures, *(str(count) for count in (score.gold, score.predicted, score.right))]


def _share(part: Statistics, low: int, high: int | None) -> str:
    count = sum(count for length, count in part.entity_lengths.items() if low <= length <= (high or length))
    return f"{count} ({100 * count / part.entities:.1f} %)" if count else "0"


def _cell(value: object) -> str:
    return "–" if value is None else str(value)
