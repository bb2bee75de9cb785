"""SNG: labels of given mentions, and entities from text, with vectors from the training text alone.

    python benchmarks/sng.py [genia litbank …] [--tasks given extraction] [--minutes 60] [--set KEY=VALUE]

Vectors are trained first and kept under vectors/. Epochs, and the threshold of extraction, are chosen on dev; test is
scored once. The two tasks are different measures and stand in different fields of a record.
"""

import os
import time
from pathlib import Path
from typing import Any

from records import ROOT, add
from runs import command, figures, finished, given_of, parser_of

from nestling.checkpoint import load
from nestling.data import corpora
from nestling.evaluation.given import given_spans
from nestling.evaluation.scores import score
from nestling.settings import load_settings
from nestling.tuning import EVERYTHING, trials
from nestling.vectors import Glove, GloveSettings, counted, write_vectors

CORPORA = ["genia", "litbank", "nerel", "germeval14", "anercorp", "harem", "weibo"]
TASKS = {
    "given": [],
    "extraction": ["heads.fragments.negatives=100", "training.measure=f1"],
}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("corpora", nargs="*", default=CORPORA)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    given = parser.parse_args()
    os.chdir(ROOT)  # configurations name the vectors from there
    deadline = time.monotonic() + 60 * given.minutes
    for name in given.corpora:
        file = ROOT / "vectors" / f"{name}.txt"
        for task in given.tasks:
            settings = load_settings(ROOT / "configs" / f"sng-{name}-laptop.toml", [*TASKS[task], *given.changes])
            corpus = str(settings.data.corpus)
            vector_seconds = trained_vectors(corpus, file)
            folder = ROOT / "runs" / "sng" / "-".join([name, task, *given.changes]).replace("/", "_")
            run = finished(settings, folder, deadline)
            if run is None:
                return
            record: dict[str, Any] = {"experiment": "sng", "corpus": corpus, "part": given.part, "model": task}
            if given.changes:
                record["model"] += " with " + ", ".join(given.changes)
            record |= measured(run, corpus, given.part, task) | {"vector_seconds": vector_seconds}
            add(record | {"command": command()})


def trained_vectors(corpus: str, file: Path) -> float:
    """Trains vectors on the training text if there are none; gives the seconds that it took."""
    note = file.with_suffix(".seconds")
    if not file.exists():
        started = time.monotonic()
        sentences = (s.words for d in corpora.load(corpus, "train") for s in d.sentences)
        made = Glove(counted(sentences), GloveSettings())
        for loss in made.epochs():
            print(f"vectors of {corpus}: loss {loss:.5f}", flush=True)
        file.parent.mkdir(exist_ok=True)
        note.write_text(f"{time.monotonic() - started:.1f}")
        write_vectors(made.vectors(), file)
    return float(note.read_text()) if note.exists() else 0.0


def measured(run: Any, corpus: str, part: str, task: str) -> dict[str, Any]:
    gold = corpora.load(corpus, part)
    recognizer = load(run.folder)
    if task == "given":
        return figures(run, None) | given_spans(recognizer.label_given(gold)).as_json()  # this is no NER score
    base, recognizer.decoder = recognizer.decoder, EVERYTHING
    dev = corpora.load(corpus, "dev")
    recognizer.decoder = trials(dev, list(recognizer.pipe(given_of(corpus, dev))), base)[0].decoder
    return figures(run, score(gold, recognizer.pipe(given_of(corpus, gold))))


if __name__ == "__main__":
    main()
