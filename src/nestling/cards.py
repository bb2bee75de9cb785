"""What is told of a model that is passed on: a page for people, README.md, and the same figures in card.json."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from nestling.data import corpora
from nestling.data.files import Source, written
from nestling.errors import NestlingError
from nestling.evaluation.scores import Score, Scores

CARD = "card.json"


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a model did on gold."""

    data: str
    scores: Scores
    words_per_cpu_second: float


def card(
    folder: Path,
    settings: Mapping[str, Any],
    labels: Sequence[str],
    judged: Sequence[Judgement] = (),
    *,
    notes: str = "",
) -> dict[str, Any]:
    """What is told of the model in a folder, whose settings are those of its settings.json; notes are Markdown."""
    data = settings["data"]
    trained_on = [corpus for corpus in (data["corpus"], *data["also"]) if corpus]
    return {
        "name": folder.name,
        "language": data["language"] or (corpora.find(trained_on[0]).language if trained_on else "en"),
        "labels": list(labels),
        "encoder": _encoder(settings["encoder"]),
        "heads": {head: own["weight"] for head, own in settings["heads"].items()},
        "answer": settings["answer"],
        "trained_on": {corpus: _told(corpora.find(corpus)) for corpus in trained_on},
        "from_raw_text": data["from_raw_text"] or any(corpora.find(c).is_raw for c in trained_on),
        "megabytes": round(megabytes_of(folder), 1),
        "scores": {own.data: _figures(own) for own in judged},
        "notes": notes.strip(),
    }


def _told(corpus: corpora.Corpus) -> str:
    """What a corpus is, how it is split, and on what terms it is passed on."""
    return f"{corpus.about}. {corpus.terms or 'No licence is stated'}"


def _encoder(own: Mapping[str, Any]) -> list[str]:
    """What reads the words: the parts, and what stands on top of them."""
    parts = [part.get("model") or part["kind"] for part in own["parts"]]
    layers = [part.get("layers") for part in own["parts"]]
    told = [name if n is None else f"{name} ({n} layers)" for name, n in zip(parts, layers, strict=True)]
    return [*told, *([own["top"]["kind"]] if own["top"] else [])]


def megabytes_of(folder: Path) -> float:
    """What a model takes, without its training."""
    return round(sum(file.stat().st_size for file in _own_files(folder)) / 1e6, 2)


def _own_files(folder: Path) -> list[Path]:
    found = [file for file in folder.glob("*") if file.is_file() and file.suffix in (".json", ".gz", ".safetensors")]
    return found + [file for file in folder.glob("transformer*/*") if file.is_file()]


def _figures(own: Judgement) -> dict[str, Any]:
    interval = own.scores.interval()
    figures = _rounded(own.scores.strict) | {"f1_low": round(interval.low, 1), "f1_high": round(interval.high, 1)}
    by_label = {label: _rounded(score) for label, score in own.scores.by_label.items() if score.gold}
    return figures | {"by_label": by_label, "words_per_cpu_second": round(own.words_per_cpu_second)}


def _rounded(score: Score) -> dict[str, float | int]:
    figures = {"precision": score.precision, "recall": score.recall, "f1": score.f1}
    return {name: round(value, 1) for name, value in figures.items()} | {"gold": score.gold}


def page(figures: Mapping[str, Any]) -> str:
    """The figures as Markdown, with notes on limits and failures behind them."""
    name = figures["name"]
    heads = " and ".join(figures["heads"])
    how = "raw text, split as in use" if figures["from_raw_text"] else "words as they were given"
    lines = [
        f"# {name}",
        "",
        f"A nestling model ({figures['language']}) for {_listed(figures['labels'])}.",
        "",
        f"* Encoder: {' + '.join(figures['encoder'])}; heads: {heads}; {figures['answer']} answers.",
        f"* {figures['megabytes']} MB.",
        f"* Learnt from {how}.",
        *(f"* {corpus}: {told}." for corpus, told in figures["trained_on"].items()),
        "",
        "```python",
        "import nestling",
        "",
        f'nestling.load("{name}")("Your text.").mentions',
        "```",
        "",
        *(line for data, own in figures["scores"].items() for line in _score_lines(data, own)),
    ]
    return "\n".join([*lines, *([figures["notes"]] if figures["notes"] else [])])


def _score_lines(data: str, own: Mapping[str, Any]) -> list[str]:
    interval = f"{own['f1_low']}–{own['f1_high']}"
    return [
        f"## {data}",
        "",
        "Strict scores by characters and label; the interval is that of 95 % of bootstrap samples.",
        "",
        "| | precision | recall | F1 | gold |",
        "|---|---|---|---|---|",
        _row("all", own, f"{own['f1']} ({interval})"),
        *(_row(label, score, str(score["f1"])) for label, score in own["by_label"].items()),
        "",
        f"{own['words_per_cpu_second']} words a CPU second, split already, on one thread, where this card was made.",
        "",
    ]


def _row(name: str, own: Mapping[str, Any], f1: str) -> str:
    return f"| {name} | {own['precision']} | {own['recall']} | {f1} | {own['gold']} |"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)


def write_card(folder: Path, figures: Mapping[str, Any]) -> None:
    """Puts both into a model's folder."""
    for name, text in {
        CARD: json.dumps(figures, ensure_ascii=False, indent=1),
        "README.md": page(figures),
    }.items():
        with written(folder / name) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")


def read_card(folder: Path) -> dict[str, Any]:
    """The figures of a model that are listed; none where its folder has no card, or one that is no card."""
    try:
        return _Listed.model_validate_json(Source(folder / CARD).text()).model_dump()
    except (NestlingError, ValidationError):
        return _Listed().model_dump()


class _Score(BaseModel):
    f1: float


class _Listed(BaseModel):
    language: str = ""
    labels: list[str] = []
    megabytes: float = 0
    scores: dict[str, _Score] = {}
    notes: str = ""
