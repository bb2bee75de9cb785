"""Experiments → records. Models are kept by a hash of their settings, so that experiments share them, and go on."""

import fcntl
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from nestling.checkpoint import load
from nestling.data import corpora
from nestling.data.files import written
from nestling.evaluation.given import given_spans
from nestling.evaluation.scores import Scores, score
from nestling.experiments.experiment import Record, Training
from nestling.recognizer import Decoder, Recognizer
from nestling.run import Run
from nestling.settings import Settings, VectorSettings
from nestling.text import parse
from nestling.tuning import EVERYTHING, trials
from nestling.types import Document
from nestling.vectors import Glove, GloveSettings, counted, write_vectors

Told = Callable[[str], None]


class Store:
    """The folder that models, vectors and records are kept in."""

    def __init__(self, folder: Path, records: Path | None = None, *, tell: Told = print) -> None:
        self.folder, self.tell = folder, tell
        self.record_folder = records or folder / "records"

    # Models

    def path_of(self, settings: Settings) -> Path:
        """Where the model of these settings is, or will be."""
        digest = sha256(settings.model_dump_json().encode()).hexdigest()[:12]
        return self.folder / f"{settings.data.corpus}-{'-'.join(settings.heads)}-{digest}"

    def trained(self, settings: Settings, deadline: float = float("inf")) -> Run | None:
        """The model, trained to its end; None where the deadline came first."""
        folder = self.path_of(settings)
        run = Run(self._with_vectors(settings), folder, resume=True)
        for step in run.steps():
            if step.score is not None:
                epochs = f"{step.progress.epoch} of {settings.training.epochs}"
                self.tell(f"{folder.name}: epoch {epochs}, dev {run.measure} {step.score:.2f}")
            if time.monotonic() > deadline:
                return None
        return run

    def _with_vectors(self, settings: Settings) -> Settings:
        """The settings with vectors that are there: missing ones are trained on the training text alone."""
        parts = tuple(
            part.model_copy(update={"path": str(self._vectors(settings, Path(part.path)))})
            if isinstance(part, VectorSettings) and not Path(part.path).exists()
            else part
            for part in settings.encoder.parts
        )
        return settings.model_copy(update={"encoder": settings.encoder.model_copy(update={"parts": parts})})

    def _vectors(self, settings: Settings, wanted: Path) -> Path:
        """Vectors with the name that is wanted; a number at its end is their size."""
        file = self.folder / "vectors" / wanted.name
        if not file.exists():
            size = int(wanted.stem.rpartition("-")[2]) if wanted.stem.rpartition("-")[2].isdigit() else 100
            train = corpora.load(str(settings.data.corpus), "train", root=settings.data.root)
            made = Glove(counted(s.words for d in train for s in d.sentences), GloveSettings(size=size))
            started = time.monotonic()
            for _ in made.epochs():
                pass
            write_vectors(made.vectors(), file)
            self.tell(f"{file}: vectors from train in {time.monotonic() - started:.0f} s")
        return file

    # Records

    def records(self, experiment: str) -> list[Record]:
        """What was measured so far."""
        path = self.record_folder / f"{experiment}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []

    def add(self, record: Record) -> None:
        """Adds a record, in place of one of the same model, corpus, part and settings."""
        path = self.record_folder / f"{record['experiment']}.json"
        self.record_folder.mkdir(parents=True, exist_ok=True)
        with (self.record_folder / ".lock").open("w") as lock:  # several processes may measure at once
            fcntl.flock(lock, fcntl.LOCK_EX)
            kept = [old for old in self.records(record["experiment"]) if _key(old) != _key(record)]
            with written(path) as temporary:
                temporary.write_text(json.dumps([*kept, record], indent=1) + "\n", encoding="utf-8")

    def measure(
        self, experiment: str, trainings: Sequence[Training], *, command: str, deadline: float = float("inf")
    ) -> Iterator[Record]:
        """Trains what is not trained, measures what is not measured; every record as it comes."""
        known = {_key(record): record for record in self.records(experiment)}
        for training in trainings:
            name = self.path_of(training.settings).name
            own = {(training.corpus, "test", model, name) for model in training.answers}
            if own <= known.keys():
                yield from (known[key] for key in sorted(own))
                continue
            run = self.trained(training.settings, deadline)
            if run is None:
                self.tell("stopped; the same command goes on")
                return
            for model, head in training.answers.items():
                record = {"experiment": experiment, "corpus": training.corpus, "part": "test", "model": model}
                record |= measured(run, training, head) | {"run": name, "command": command, "commit": commit()}
                self.add(record)
                yield record


def _key(record: Record) -> tuple[Any, ...]:
    return tuple(record.get(name) for name in ("corpus", "part", "model", "run"))


def measured(run: Run, training: Training, head: str) -> Record:
    """The figures of a trained model on test, which is looked at here and nowhere else."""
    recognizer = load(run.folder, answer=head)
    gold = corpora.load(training.corpus, "test", root=training.settings.data.root)
    if training.settings.training.measure == "given_spans":
        return _of_training(run, None) | given_spans(recognizer.label_given(gold)).as_json()
    if training.decoding != "as set":
        recognizer.decoder = _tuned(recognizer, training)
    scores = score(gold, recognizer.pipe(_inputs(training, gold)))
    decoding = {key: value for key, value in asdict(recognizer.decoder).items() if key != "thresholds"}
    return _of_training(run, scores) | _by_length(scores, recognizer) | {"decoding": decoding}


def _tuned(recognizer: Recognizer, training: Training) -> Decoder:
    """The decoder that is best on dev."""
    dev = corpora.load(training.corpus, "dev", root=training.settings.data.root)
    base, recognizer.decoder = recognizer.decoder, EVERYTHING
    found = trials(dev, list(recognizer.pipe(_inputs(training, dev))), base)
    methods = ("best",) if training.decoding == "tuned threshold" else ("best", "soft_nms")
    return replace(next(trial.decoder for trial in found if trial.decoder.method in methods))


def _inputs(training: Training, documents: list[Document]) -> list[Document]:
    """What a model is given of documents: raw text without gold's words."""
    entry = corpora.find(training.corpus)
    if entry.unit != "document":
        return documents
    return [parse(document.text, id=document.id, language=entry.language) for document in documents]


def _of_training(run: Run, scores: Scores | None) -> Record:
    rows = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    settings = run.settings
    tops = [settings.encoder.top.kind] if settings.encoder.top else []
    figures = None if scores is None else scores.strict
    return {
        "encoder": " + ".join([*(part.kind for part in settings.encoder.parts), *tops]),
        "seed": settings.training.seed,
        "precision": figures and round(figures.precision, 2),
        "recall": figures and round(figures.recall, 2),
        "f1": figures and round(figures.f1, 2),
        "discontinuous_f1": round(scores.discontinuous.f1, 2) if scores and scores.discontinuous.gold else None,
        "dev": round(run.trainer.progress.best, 2),
        "sentences": settings.data.sentences,
        "epochs": len(rows),
        "train_seconds": round(sum(row["seconds"] for row in rows), 1),
    }


def _by_length(scores: Scores, recognizer: Recognizer) -> Record:
    """F1 and gold entities of short, middling and long entities, and of lengths that the head does not enumerate."""
    widths = getattr(recognizer.model.heads[recognizer.model.answer], "widths", None)
    wanted: dict[str, Callable[[int], bool]] = {
        "1_4": lambda length: length <= 4,
        "5_9": lambda length: 5 <= length <= 9,
        "10_up": lambda length: length >= 10,
    }
    if widths is not None:
        wanted["never_enumerated"] = lambda length: length not in widths
    found = {name: scores.of_lengths(is_wanted) for name, is_wanted in wanted.items()}
    f1 = {f"f1_{name}": round(own.f1, 2) for name, own in found.items()}
    return f1 | {f"gold_{name}": own.gold for name, own in found.items()}


def commit() -> str | None:
    """The commit of the code, where it is a checkout; marked where it was changed."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], capture_output=True, text=True, cwd=here, check=False).stdout.strip()

    head = git("rev-parse", "--short", "HEAD")
    return head + ("-changed" if git("status", "--porcelain", ".") else "") if head else None
