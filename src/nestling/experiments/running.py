"""Experiments → records. Models are kept by a hash of their settings, so that experiments share them, and go on."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

from filelock import FileLock

from nestling.checkpoint import load
from nestling.data import corpora
from nestling.data.files import written
from nestling.data.formats import jsonl
from nestling.evaluation.given import given_spans, labelled_documents
from nestling.evaluation.scores import Scores, score
from nestling.experiments.experiment import Part, Record, Training
from nestling.glove import Glove, GloveSettings, counted
from nestling.recognizer import Decoder, Recognizer
from nestling.run import Run
from nestling.settings import Settings, VectorSettings
from nestling.tuning import everything, trials
from nestling.vectors import write_vectors

Told = Callable[[str], None]
_KEY = ("corpus", "part", "model", "run", "decoded")


class Store:
    """The folder that models, vectors and records are kept in. Several processes may share it."""

    def __init__(self, folder: Path, records: Path | None = None, *, tell: Told = print) -> None:
        self.folder, self.tell = folder, tell
        self.record_folder = records or folder / "records"

    # Models

    def path_of(self, settings: Settings) -> Path:
        """Where the model of these settings is, or will be."""
        text = json.dumps(settings.model_dump(mode="json", exclude_defaults=True), sort_keys=True)
        digest = sha256(text.encode()).hexdigest()[:12]
        return self.folder / f"{settings.data.corpus}-{'-'.join(sorted(settings.heads))}-{digest}"

    def trained(self, settings: Settings, deadline: float = float("inf")) -> Run | None:
        """The model, trained to its end; None where the deadline came first."""
        folder = self.path_of(settings)
        with self._alone(folder.name):
            run = Run(self._with_vectors(settings), folder, resume=True)
            if run.trainer.progress.step == 0:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "commit.txt").write_text(commit() or "", encoding="utf-8")
            for step in run.steps():
                if step.score is not None:
                    epochs = f"{step.progress.epoch} of {settings.training.epochs}"
                    self.tell(f"{folder.name}: epoch {epochs}, dev {run.measure} {step.score:.2f}")
                if time.monotonic() > deadline:
                    return None
        return run

    def predictions_of(self, settings: Settings, part: Part, head: str) -> Path:
        """Where the predictions of a model that was measured are, as JSON lines."""
        return self.path_of(settings) / f"{part}-{head}.jsonl"

    def _alone(self, name: str) -> FileLock:
        """Waits until no other process has the same in hand."""
        (self.folder / "locks").mkdir(parents=True, exist_ok=True)
        return FileLock(self.folder / "locks" / name)

    def _with_vectors(self, settings: Settings) -> Settings:
        """The settings with vectors of our own: those below vectors/ are trained on the training text alone."""
        parts = tuple(
            part.model_copy(update={"path": str(self._vectors(settings, Path(part.path)))})
            if isinstance(part, VectorSettings) and Path(part.path).parent.name == "vectors"
            else part
            for part in settings.encoder.parts
        )
        return settings.model_copy(update={"encoder": settings.encoder.model_copy(update={"parts": parts})})

    def _vectors(self, settings: Settings, wanted: Path) -> Path:
        """The file of vectors from a corpus's training text; a number at the end of the name is their size."""
        size = wanted.stem.rpartition("-")[2]
        made = GloveSettings(size=int(size) if size.isdigit() else 100)
        file = self.folder.resolve() / "vectors" / f"{settings.data.corpus}-{made.size}.txt"
        with self._alone(file.name):
            if not file.exists():
                started = time.monotonic()
                train = corpora.load(str(settings.data.corpus), "train", root=settings.data.root)
                trained = Glove(counted(s.words for d in train for s in d.sentences), made)
                for _ in trained.epochs():
                    pass
                write_vectors(trained.vectors(), file)
                self.tell(f"{file.name}: vectors from train in {time.monotonic() - started:.0f} s")
        return file

    # Records

    def records(self, experiment: str) -> list[Record]:
        """What was measured so far."""
        path = self.record_folder / f"{experiment}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []

    def add(self, record: Record) -> None:
        """Adds a record, in place of one of the same row."""
        path = self.record_folder / f"{record['experiment']}.json"
        with self._alone(path.name):
            kept = [old for old in self.records(record["experiment"]) if _key(old) != _key(record)]
            with written(path) as temporary:
                temporary.write_text(json.dumps([*kept, record], indent=1) + "\n", encoding="utf-8")

    def measure(
        self,
        experiment: str,
        trainings: Sequence[Training],
        *,
        part: Part = "test",
        command: str = "",
        deadline: float = float("inf"),
    ) -> Iterator[Record]:
        """Trains what is not trained, measures what is not measured; every record as it comes."""
        known = {_key(record): record for record in self.records(experiment)}
        is_late = False
        for training in trainings:
            rows = [self._row(experiment, training, part, model) for model in training.answers]
            if all(_key(row) in known for row in rows):
                yield from (known[_key(row)] for row in rows)
                continue
            run = None if is_late else self.trained(training.settings, deadline)
            if run is None:
                is_late = True
                continue
            for row, head in zip(rows, training.answers.values(), strict=True):
                made_by = (run.folder / "commit.txt").read_text(encoding="utf-8") or None
                record = row | self._measured(run, training, part, head) | {"command": command, "commit": made_by}
                self.add(record)
                yield record
        if is_late:
            self.tell("stopped; the same command goes on")

    def _row(self, experiment: str, training: Training, part: Part, model: str) -> Record:
        """What makes a record the one that is wanted."""
        name = self.path_of(training.settings).name
        row = {"experiment": experiment, "corpus": training.corpus, "part": part, "model": model}
        return row | {"run": name, "decoded": training.decoding}

    def _measured(self, run: Run, training: Training, part: Part, head: str) -> Record:
        """The figures of a trained model; predictions are kept beside it."""
        recognizer = load(run.folder, answer=head)
        gold = corpora.load(training.corpus, part, root=training.settings.data.root)
        file = self.predictions_of(training.settings, part, head)
        if training.settings.training.measure == "given_spans":
            mentions = list(recognizer.label_given(gold))
            jsonl.write(labelled_documents(gold, mentions), file)
            return _of_training(run, None) | given_spans(mentions).as_json()
        if training.decoding != "as set":
            recognizer.decoder = _tuned(recognizer, training)
        predicted = list(recognizer.pipe(recognizer.inputs(gold, is_raw=_is_raw(training))))
        jsonl.write(predicted, file)
        scores = score(gold, predicted)
        decoding = {key: value for key, value in asdict(recognizer.decoder).items() if key != "thresholds"}
        return _of_training(run, scores) | _of_groups(scores, recognizer) | {"decoding": decoding}


def _key(record: Record) -> tuple[object, ...]:
    return tuple(record.get(name) for name in _KEY)


def _tuned(recognizer: Recognizer, training: Training) -> Decoder:
    """The decoder that is best on dev."""
    dev = corpora.load(training.corpus, "dev", root=training.settings.data.root)
    inputs = recognizer.inputs(dev, is_raw=_is_raw(training))
    found = trials(dev, everything(recognizer, inputs), recognizer.decoder)
    methods = ("best",) if training.decoding == "tuned threshold" else ("best", "soft_nms")
    return next(trial.decoder for trial in found if trial.decoder.method in methods)


def _is_raw(training: Training) -> bool:
    return corpora.find(training.corpus).is_raw


def _of_training(run: Run, scores: Scores | None) -> Record:
    rows = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    settings = run.settings
    figures = None if scores is None else scores.strict
    return {
        "encoder": str(settings.encoder),
        "seed": settings.training.seed,
        "precision": figures and round(figures.precision, 2),
        "recall": figures and round(figures.recall, 2),
        "f1": figures and round(figures.f1, 2),
        "discontinuous_f1": round(scores.discontinuous.f1, 2) if scores and scores.discontinuous.gold else None,
        "dev": round(run.trainer.progress.best, 2),
        "sentences": settings.data.sentences,
        "epochs": len(rows),
        "train_seconds": round(sum(row["seconds"] for row in rows), 1),
        "epoch_seconds": min(row["seconds"] for row in rows),  # of the fastest: others may have waited for the machine
        "losses": [row["losses"]["total"] for row in rows],
    }


def _of_groups(scores: Scores, recognizer: Recognizer) -> Record:
    """F1 and gold entities by length, of lengths that the head does not enumerate, and where there are gaps."""
    widths = getattr(recognizer.model.heads[recognizer.model.answer], "widths", None)
    lengths: dict[str, Callable[[int], bool]] = {
        "1_4": lambda length: length <= 4,
        "5_9": lambda length: 5 <= length <= 9,
        "10_up": lambda length: length >= 10,
    }
    if widths is not None:
        lengths["never_enumerated"] = lambda length: length not in widths
    found = {name: scores.of_lengths(is_wanted) for name, is_wanted in lengths.items()}
    if scores.discontinuous.gold:
        found |= {"discontinuous": scores.discontinuous, "beside_discontinuous": scores.beside_discontinuous}
    f1 = {f"f1_{name}": round(own.f1, 2) for name, own in found.items()}
    return f1 | {f"gold_{name}": own.gold for name, own in found.items()}


def commit() -> str | None:
    """The commit of the code, where it is a checkout; marked where the package was changed."""
    package = Path(__file__).parent.parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], capture_output=True, text=True, cwd=package, check=False).stdout.strip()

    try:
        if not git("ls-files", "__init__.py"):
            return None  # installed, perhaps inside another checkout
        return git("rev-parse", "--short", "HEAD") + ("-changed" if git("status", "--porcelain", ".") else "")
    except OSError:  # no git
        return None
