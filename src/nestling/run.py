"""A training run and its folder: settings, weights, metrics, log, model card; stopped and resumed at will.

manifest.json, model-….safetensors, settings.json, labels.json, vocabularies.json.gz  the best model so far: `load`
training/state.json, training/state-….safetensors                                  where training stands: `--resume`
pretraining/                                                                       the same of hidden words, before it
metrics.jsonl, log.txt, README.md                                                    what happened
"""

import json
import logging
import shutil
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from accelerate import Accelerator

from nestling.cards import CARD, card, write_card
from nestling.checkpoint import load_state, read_json, save_model, save_state, save_weights
from nestling.config import build, learnt, resolved
from nestling.data import corpora
from nestling.data.batches import Passage, passages
from nestling.data.files import written
from nestling.data.formats import FORMATS, guess, is_raw, read
from nestling.data.gaps import made_up
from nestling.data.names import renamed
from nestling.data.statistics import nesting
from nestling.errors import CheckpointError, SettingsError, TrainingError, UnknownNameError
from nestling.evaluation.given import given_spans
from nestling.evaluation.scores import score
from nestling.heads import HEADS
from nestling.heads.head import Labeller
from nestling.memory import release
from nestling.pretraining import FOLDER as PRETRAINING
from nestling.pretraining import Pretraining
from nestling.settings import DataSettings, Settings, settings_of
from nestling.text import parse, resplit
from nestling.training import Step, Trainer
from nestling.types import Document, Labels

log = logging.getLogger(__name__)
_INSPECTED = 200  # sentences of dev, after every epoch


@dataclass(frozen=True, slots=True)
class Corpus:
    """What a run learns from and is judged by. Raw text is learnt as it will be met: split without its mentions."""

    train: list[Document]
    dev: list[Document]  # gold
    dev_inputs: list[Document]  # the same texts, without gold's words where they come from raw text
    notes: list[str]
    silver: list[Document] = field(default_factory=list)  # what a model annotated

    @property
    def learnt(self) -> list[Document]:
        """All that is learnt."""
        return [*self.train, *self.silver]

    def in_epoch(self, epoch: int, seed: int) -> list[Document]:
        """What an epoch learns: train, and as many sentences of silver, which take turns."""
        return [*self.train, *in_turn(self.silver, epoch, _sentences(self.train), seed)]


@dataclass(slots=True)
class Sums:
    """What an epoch has added up so far; saved with the state, so that a stop in its midst loses nothing."""

    losses: dict[str, float] = field(default_factory=dict)
    steps: int = 0
    words: int = 0
    seconds: float = 0.0

    def add(self, step: Step, seconds: float) -> None:
        """Counts one more step, or the scoring of dev."""
        self.seconds += seconds
        self.words += step.words
        self.steps += bool(step.losses)
        for name, loss in step.losses.items():
            self.losses[name] = self.losses.get(name, 0.0) + loss


class Run:
    """Training with everything saved that is worth saving."""

    def __init__(self, settings: Settings, folder: Path, *, resume: bool = False, save_seconds: float = 300) -> None:
        self.folder, self.save_seconds = folder, save_seconds
        self.accelerator = Accelerator(mixed_precision=settings.training.precision)
        self.is_main = self.accelerator.is_main_process
        self._require_room(resume)
        self.accelerator.wait_for_everyone()  # before any process writes into the folder
        self.corpus = load_corpus(settings.data)
        self.settings = resolved(settings, self.corpus.learnt)
        labels = Labels.of(self.corpus.learnt)
        if not labels:
            raise TrainingError("the training text has no entities: there is nothing to learn")
        self.built = build(self.settings, labels, learnt(self.settings, self.corpus.learnt))
        self._require_measurable()
        self.recognizer = self.built.recognizer()
        self.trainer = Trainer(
            self.built.model, self._passages, self.built.batcher, self.settings.training, self.accelerator
        )
        self.measure = {"f1": "strict F1", "given_spans": "accuracy of given spans"}[self.settings.training.measure]
        self.dev_figures: dict[str, float] = {}
        self.inside: dict[str, float] = {}  # where the answering head loses entities of dev
        self.sums = Sums()
        self._made_from = digest_of(self.corpus.train)
        has_begun = resume and (folder / "manifest.json").exists()
        self.pretraining = self._first_phase(resume) if self.settings.pretraining.epochs and not has_begun else None
        if has_begun:
            self._go_on()

    def _first_phase(self, resume: bool) -> Pretraining:
        made = Pretraining(self.built, self.corpus.learnt, self.corpus.dev_inputs, self.folder, self.accelerator)
        if resume:
            made.resume()
        return made

    def _passages(self, epoch: int) -> list[Passage]:
        """What is learnt in an epoch."""
        share, draws = self.settings.data.renamed, self.settings.training.draws
        documents = self.corpus.in_epoch(epoch, draws)
        if share:
            documents = renamed(documents, share, f"{draws}, {epoch}")
        return list(passages(documents, room=self.recognizer.room, size=self.recognizer.size))

    def _go_on(self) -> None:
        """Puts training where the folder says it stood."""
        if not (self.folder / "training" / "state.json").exists():
            raise CheckpointError(
                f"{self.folder} holds a model, but not where its training stood; begin anew elsewhere"
            )
        self._require_same_settings()
        self.sums = Sums(**load_state(self.folder, self.trainer, made_from=self._made_from))

    def _require_room(self, resume: bool) -> None:
        if not resume and self.folder.exists() and any(self.folder.iterdir()):
            raise SettingsError(f"{self.folder} is not empty; go on with --resume, or name another with --out")
        if resume and not _may_be_of_a_run(self.folder):
            raise SettingsError(f"{self.folder} is not empty, and no run that could go on; name another with --out")

    def _require_measurable(self) -> None:
        head = self.built.model.heads[self.settings.answer]
        if self.settings.training.measure == "given_spans" and not isinstance(head, Labeller):
            raise SettingsError(f"training.measure: the head {self.settings.answer!r} does not label given spans")

    def _require_same_settings(self) -> None:
        path = self.folder / "settings.json"
        saved = settings_of(read_json(path, dict), str(path))
        before, now = _flat(_lasting(saved)), _flat(_lasting(self.settings))
        changed = [key for key in {**before, **now} if before.get(key) != now.get(key)]
        if changed:
            told = ", ".join(f"{key} = {before.get(key)}, not {now.get(key)}" for key in changed[:5])
            raise CheckpointError(f"{self.folder} was begun with {told}; resume with that, or begin anew")

    def steps(self) -> Iterator[Step]:
        """Trains to the end; what is best and where training stands are saved on the way."""
        if self.pretraining is not None:
            yield from self._saving(self._pretrain(self.pretraining), self.pretraining.save)
            self.pretraining = None
        if self.is_main and self.trainer.progress.step == 0:
            self._save_state()  # first, so that a model is never there without it
            save_model(self.folder, self.built)
            processes = f"{self.accelerator.num_processes} process(es) on {self.accelerator.device.type}"
            self._log([processes, *self.corpus.notes, *self.notes()])
        if self.is_main:
            shutil.rmtree(self.folder / PRETRAINING, ignore_errors=True)  # what it gave is in the weights now
        has_learnt = yield from self._saving(self._train(), self._save_state)
        if self.is_main and (has_learnt or not (self.folder / CARD).exists()):
            self._write_card()

    def _pretrain(self, own: Pretraining) -> Iterator[Step]:
        loss = steps = 0.0
        for step in own.steps():
            loss, steps = loss + step.losses.get("total", 0.0), steps + bool(step.losses)
            if step.score is not None and self.is_main:
                told = f"loss {loss / max(steps, 1):.4f}, {own.measure} {step.score:.2f}"
                self._log([f"pretraining, epoch {step.progress.epoch}: {told}"])
                loss = steps = 0.0
            yield step

    def _train(self) -> Iterator[Step]:
        clock = time.monotonic()
        for step in self.trainer.steps(self._evaluate):
            clock, before = time.monotonic(), clock
            self.sums.add(step, clock - before)
            if step.score is not None and self.is_main:
                self._record(step)
                if step.is_best:
                    with self.trainer.average.in_place():
                        save_weights(self.folder, self.built.model.state_dict())
            if step.score is not None:
                self.sums = Sums()
                release()
            yield step

    def _saving(self, steps: Iterator[Step], save: Callable[[], None]) -> Generator[Step, None, bool]:
        """The same steps, and whether there were any.

        Where they stand is saved behind each epoch, every few minutes, and when no more are wanted.
        """
        saved, has_any = time.monotonic(), False
        for step in steps:
            has_any = True
            if self.is_main and (step.score is not None or time.monotonic() - saved > self.save_seconds):
                save()
                saved = time.monotonic()
            try:
                yield step
            except GeneratorExit:
                if self.is_main:
                    save()
                raise
        return has_any

    def _save_state(self) -> None:
        save_state(self.folder, self.trainer, made_from=self._made_from, sums=asdict(self.sums))

    def notes(self) -> list[str]:
        """What a user should know before training."""
        found = []
        for name, own in self.settings.heads.items():
            if own.get("widest"):
                lengths = [len(e) for d in self.corpus.train for e in d.entities if not e.is_discontinuous]
                beyond = sum(length > own["widest"] for length in lengths)
                reach = f"{beyond} of {len(lengths)} entities of train are longer and out of reach"
                found.append(f"{name}: ε = {own['widest']}; {reach}")
        found += self._beyond()
        known = set(self.built.batcher.labels)
        unseen = Counter(e.label for d in self.corpus.dev for e in d.entities if e.label not in known)
        if unseen:
            named = ", ".join(f"{label} ({count})" for label, count in unseen.items())
            found.append(f"dev has labels that train has not: {named}; they count as missed")
        return found

    def _beyond(self) -> Iterator[str]:
        """What of train no head of its kind can express, and context that there is none of."""
        answer = self.settings.answer
        head = HEADS[answer][0]
        sentences = [sentence for document in self.corpus.train for sentence in document.sentences]
        gapped = sum(entity.is_discontinuous for sentence in sentences for entity in sentence.entities)
        if gapped and not head.finds_gaps:
            able = ", ".join(name for name, (own, _) in HEADS.items() if own.finds_gaps)
            yield f"{gapped} entities of train are discontinuous; {answer} finds none such, {able} does"
        twice = sum(len(s.entities) - len({e.fragments for e in s.entities}) for s in sentences)
        if twice:
            yield f"{twice} entities of train have the very words of another; one label a span is learnt"
        inner = sum(nesting(sentence.entities).inner for sentence in sentences)
        if inner and not head.finds_nested:
            yield f"{inner} entities of train lie inside others; {answer} finds one layer"
        elif inner and self.settings.decoding.rule == "flat":
            yield f'{inner} entities of train lie inside others; decoding.rule = "flat" keeps one layer'
        if self.settings.data.also and self.settings.heads.get("two_stage", {}).get("filters_labels") is False:
            yield "two_stage: labels that a corpus does not have are no proposals there; filters_labels mends it"
        if self.recognizer.room and all(len(document.sentences) < 2 for document in self.corpus.train):
            yield "context is wanted, but every document of train is a single sentence"

    def _evaluate(self) -> float:
        if self.settings.training.measure == "given_spans":
            given = given_spans(self.recognizer.label_given(self.corpus.dev))
            self.dev_figures = given.as_json()
            return given.accuracy
        scores = score(self.corpus.dev, self.recognizer.pipe(self.corpus.dev_inputs))
        self.dev_figures = scores.strict.as_json()
        self.inside = self.recognizer.inspect(corpora.first_sentences(self.corpus.dev, 0, _INSPECTED))
        return scores.strict.f1

    def _record(self, step: Step) -> None:
        sums = self.sums
        losses = {name: total / max(sums.steps, 1) for name, total in sums.losses.items()}
        row: dict[str, Any] = {
            "epoch": step.progress.epoch,
            "step": step.progress.step,
            "losses": {name: round(value, 6) for name, value in losses.items()},
            "dev": self.dev_figures,
            **({"inside": self.inside} if self.inside else {}),
            "is_best": step.is_best,
            "seconds": round(sums.seconds, 2),
            "words_per_second": round(sums.words / sums.seconds, 1) if sums.seconds else 0.0,
        }
        path = self.folder / "metrics.jsonl"
        before = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        kept = [line for line in before if json.loads(line)["step"] < step.progress.step]  # of a run that was resumed
        with written(path) as temporary:
            temporary.write_text("\n".join([*kept, json.dumps(row)]) + "\n", encoding="utf-8")
        self._log(
            [f"epoch {step.progress.epoch}: loss {losses.get('total', 0):.4f}, dev {self.measure} {step.score:.2f}"]
        )

    def _log(self, lines: Sequence[str]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "log.txt").open("a", encoding="utf-8") as file:
            for line in lines:
                log.info("%s", line)
                file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")

    def _write_card(self) -> None:
        progress, data = self.trainer.progress, self.settings.data
        lines = [
            f"Trained on {data.corpus or Path(data.train or '').name}, {len(self.corpus.train)} documents. "
            f"Best {self.measure} on dev: {progress.best:.2f}, epoch {progress.best_epoch + 1} of {progress.epoch}.",
            "Settings are in settings.json, every epoch in metrics.jsonl.",
        ]
        labels = list(self.built.batcher.labels)
        write_card(self.folder, card(self.folder, self.settings.model_dump(), labels, notes="\n".join(lines)))


def _may_be_of_a_run(folder: Path) -> bool:
    """Whether nobody else's files are in it: it is a run, or one that was stopped before it had a model, or empty."""
    if any((folder / own).exists() for own in ("manifest.json", "training/state.json", f"{PRETRAINING}/training")):
        return True
    names = {path.name for path in folder.glob("*")} if folder.exists() else set()
    return all(name in ("training", PRETRAINING, "log.txt", "commit.txt") or name.startswith(".") for name in names)


def digest_of(documents: Iterable[Document]) -> str:
    """A hash of words and entities: training goes on with the same text or not at all."""
    digest = sha256()
    for document in documents:
        for sentence in document.sentences:
            entities = sorted((e.label, [(f.start, f.end) for f in e.fragments]) for e in sentence.entities)
            digest.update(repr((sentence.words, entities)).encode())
    return digest.hexdigest()


def _lasting(settings: Settings) -> dict[str, Any]:
    """What may not change when a run goes on: all but rates, decoding, and where vectors or clusters come from."""
    table = settings.model_dump(exclude={"decoding": True, "training": {"encoder_rate", "head_rate", "clip"}})
    for part in table["encoder"]["parts"]:
        part.pop("path", None)
        part.pop("source", None)
    return table


def _flat(table: Any, name: str = "") -> dict[str, Any]:
    """The values of tables in tables, under names such as `training.epochs`."""
    if isinstance(table, dict):
        return {key: own for part, below in table.items() for key, own in _flat(below, f"{name}.{part}").items()}
    if isinstance(table, list | tuple) and any(isinstance(below, dict) for below in table):
        return {key: own for n, below in enumerate(table) for key, own in _flat(below, f"{name}.{n}").items()}
    return {name.removeprefix("."): table}


def load_corpus(data: DataSettings) -> Corpus:
    """What settings name: train, what a model annotated for it, and dev."""
    own = _load_all(data)
    silver = [document for path in data.silver for document in _silver(path, data)]
    count, most = _sentences(silver), _sentences(own.train)
    turns = f", {most} of them an epoch" if count > most else ""
    notes = [f"{count} sentences that a model annotated are learnt too{turns}"] if silver else []
    return replace(own, silver=silver, notes=[*own.notes, *notes])


def in_turn(documents: Sequence[Document], epoch: int, sentences: int, seed: int) -> list[Document]:
    """So many sentences, the next ones in every epoch, of documents in an order that the seed gives.

    All of them where they are fewer.
    """
    if _sentences(documents) <= sentences:
        return list(documents)
    start = epoch * sentences % _sentences(documents)
    every = Random(seed).sample(documents, len(documents))
    return corpora.first_sentences([*every, *every], start, start + sentences)


def _sentences(documents: Iterable[Document]) -> int:
    return sum(len(document.sentences) for document in documents)


def _silver(path: str, data: DataSettings) -> list[Document]:
    documents = list(read(path, "jsonl", language=language_of(data)))
    return [resplit(d, language_of(data)).document for d in documents] if is_raw(path, "jsonl") else documents


def _load_all(data: DataSettings) -> Corpus:
    """The train and dev parts that settings name; of several corpora, what each does not annotate is unknown in it."""
    if not data.also:
        return _load_one(data)
    names = [str(name) for name in (data.corpus, *data.also)]
    alone = {name: data.model_copy(update={"corpus": name, "also": ()}) for name in names}
    parts = {name: _marked(_load_one(own), name) for name, own in alone.items()}
    return Corpus(
        [document for name in names for document in parts[name].train],  # as often as it is named
        [document for own in parts.values() for document in own.dev],
        [document for own in parts.values() for document in own.dev_inputs],
        [note for own in parts.values() for note in own.notes],
    )


def _marked(own: Corpus, name: str) -> Corpus:
    """A corpus whose documents know where they are from and which labels were looked for in them."""
    known = frozenset(entity.label for document in (*own.train, *own.dev) for entity in document.entities)

    def marked(documents: Iterable[Document]) -> list[Document]:
        return [replace(document, id=f"{name}/{document.id}", annotated=known) for document in documents]

    notes = [f"{name}: {note}" for note in (*own.notes, f"has {', '.join(sorted(known))}")]
    return Corpus(marked(own.train), marked(own.dev), marked(own.dev_inputs), notes)


def _load_one(data: DataSettings) -> Corpus:
    train, is_train_raw = documents_of(data, "train")
    dev, is_dev_raw = documents_of(data, "dev")
    notes = []
    if data.sentences is not None:
        train = corpora.first_sentences(train, 0, data.sentences)
        notes.append(f"learning from the first {data.sentences} sentences only")
    if data.dev_sentences is not None:
        dev = corpora.first_sentences(dev, 0, data.dev_sentences)
        notes.append(f"epochs are judged by the first {data.dev_sentences} sentences of dev")
    language = language_of(data)
    if is_train_raw:
        moved = [resplit(document, language) for document in train]
        notes.append(
            f"train was split without its mentions: {sum(r.widened for r in moved)} were widened to whole words, "
            f"{sum(r.dropped for r in moved)} cross sentences and are not learnt"
        )
        train = [r.document for r in moved]
    if data.made_gaps:
        made = made_up(train, data.made_gaps)
        notes.append(f"{len(made)} sentences with gaps were made up, and are learnt too")
        train = [*train, *made]
    inputs = [parse(d.text, id=d.id, language=language) for d in dev] if is_dev_raw else dev
    return Corpus(train, dev, inputs, notes)


def documents_of(data: DataSettings, part: str) -> tuple[list[Document], bool]:
    """The documents of a part, and whether they are to be taken as raw text."""
    if data.corpus is not None:
        found = corpora.load(data.corpus, part, root=data.root)
        return found, data.from_raw_text or corpora.find(data.corpus).is_raw
    path = getattr(data, part, None)
    if path is None:
        raise SettingsError(f"data: name a corpus, or a file for {part}")
    format = data.format or guess(Path(path))
    if format not in FORMATS:
        raise UnknownNameError("format", format, FORMATS)
    options: dict[str, Any] = {"language": data.language} if data.language and FORMATS[format].takes_language else {}
    return list(read(path, format, **options)), data.from_raw_text or is_raw(path, format)


def language_of(data: DataSettings) -> str:
    """The language that is named, or that of the corpus."""
    return data.language or (corpora.find(data.corpus).language if data.corpus else "en")
