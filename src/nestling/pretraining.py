"""Before training: hidden words are guessed in the text of train, and in more text if there is some."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import torch
from accelerate import Accelerator

from nestling.checkpoint import load_state, save_state
from nestling.config import Built
from nestling.data.batches import Batcher, by_count, passages
from nestling.data.features import PieceIndexer
from nestling.data.files import Source
from nestling.data.formats import guess, read
from nestling.errors import SettingsError
from nestling.masking import MaskedWords, PretrainingSettings
from nestling.nn.encoders import Transformer
from nestling.text import parse
from nestling.training import Step, Trainer, TrainingSettings
from nestling.types import Document

FOLDER = "pretraining"  # of a run: where it stands


class Pretraining:
    """The first phase of a run. It ends with the last weights; how many words of dev are guessed is only told."""

    measure = "hidden pieces guessed, %"

    def __init__(
        self, built: Built, train: Sequence[Document], dev: Sequence[Document], folder: Path, accelerator: Accelerator
    ) -> None:
        own = built.settings.pretraining
        self.settings, self.folder, self.accelerator = own, folder / FOLDER, accelerator
        language = built.recognizer().language
        documents = [*train, *(document for path in own.texts for document in texts_of(Path(path), language))]
        transformer, indexer = _transformer(built)
        with torch.random.fork_rng(devices=[]):  # the caller's random numbers are the caller's
            torch.manual_seed(built.settings.training.seed)
            self.masked = MaskedWords(transformer, _mask(indexer), share=own.share).to(accelerator.device)
        self.batcher = Batcher({transformer.name: indexer}, built.batcher.labels)
        self.room, self.size = min(own.pieces, indexer.room), indexer.size
        made = list(passages(documents, room=self.room, size=self.size))
        self.dev = list(passages(dev, room=self.room, size=self.size))
        training = _training(own, built.settings.training)
        self.trainer = Trainer(self.masked, lambda _: made, self.batcher, training, accelerator)
        self._made_from = _digest(documents, own)

    def resume(self) -> None:
        """Goes on where the folder says that it stood, if it says so."""
        if (self.folder / "training" / "state.json").exists():
            load_state(self.folder, self.trainer, made_from=self._made_from)

    def save(self) -> None:
        """Writes where it stands."""
        save_state(self.folder, self.trainer, made_from=self._made_from, sums={})

    def steps(self) -> Iterator[Step]:
        """Learns, giving every step."""
        for step in self.trainer.steps(self._guessed):
            yield replace(step, phase="pretraining")

    @torch.no_grad()
    def _guessed(self) -> float:
        """The share of hidden pieces of dev that are guessed, in per cent; every time the same are hidden."""
        right = total = 0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            ordered = sorted(self.dev, key=lambda passage: passage.words)
            for batch in by_count(ordered, len(ordered), self.settings.batch_words):
                with self.accelerator.autocast():
                    logits, wanted = self.masked.guesses(self.batcher.batch(batch).to(self.accelerator.device))
                right += int((logits.argmax(dim=1) == wanted).sum())
                total += len(wanted)
        return 100 * right / max(total, 1)


def texts_of(path: Path, language: str) -> Iterator[Document]:
    """The documents of a file, as far as words go: a .txt is one text, all else what its format says."""
    if path.suffix == ".txt" and guess(path) != "brat":
        yield parse(Source(path).text(), id=path.stem, language=language)
    else:
        yield from (parse(document.text, id=document.id, language=language) for document in read(path))


def _transformer(built: Built) -> tuple[Transformer, PieceIndexer]:
    """The transformer that learns, and what cuts words for it."""
    for part in built.model.encoder.modules():
        if isinstance(part, Transformer) and any(weight.requires_grad for weight in part.parameters()):
            return part, built.batcher.indexers[part.name]  # type: ignore[return-value]
    raise SettingsError("pretraining: the encoder has no transformer that is trained")


def _mask(indexer: PieceIndexer) -> int:
    if indexer.tokenizer.mask is None:
        raise SettingsError("pretraining: the transformer's tokenizer has no piece that hides others")
    return indexer.tokenizer.mask


def _training(own: PretrainingSettings, training: TrainingSettings) -> TrainingSettings:
    """How it is trained: on the same machine and with the same seed as what follows."""
    return TrainingSettings(
        epochs=own.epochs,
        batch_size=10**6,  # words decide
        batch_words=own.batch_words,
        encoder_rate=own.rate,
        seed=training.seed,
        precision=training.precision,
    )


def _digest(documents: Iterable[Document], own: PretrainingSettings) -> str:
    digest = sha256(own.model_dump_json().encode())
    for document in documents:
        digest.update(document.text.encode())
    return digest.hexdigest()
