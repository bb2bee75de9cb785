"""What a configuration may say: the keys, their types and defaults."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from nestling.data.files import Source
from nestling.errors import SettingsError, UnknownNameError, nearest
from nestling.heads import HEADS
from nestling.masking import PretrainingSettings
from nestling.training import TrainingSettings


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DataSettings(_Settings):
    """A known corpus, or files of one's own."""

    corpus: str | None = None
    also: tuple[str, ...] = Field(
        default=(),
        description="further corpora; a label that one does not have is unknown there, not absent; "
        "one that is named twice is read twice an epoch",
    )
    root: str | None = Field(default=None, description="folder that holds the corpora")
    train: str | None = None
    dev: str | None = None
    test: str | None = Field(default=None, description="not read in training; for whoever evaluates the model")
    format: str | None = None
    language: str | None = None
    from_raw_text: bool = Field(
        default=False, description="split texts anew, as a model meets them, even where the corpus has words"
    )
    sentences: int | None = Field(default=None, ge=1, description="learn from the first so many sentences only")
    dev_sentences: int | None = Field(default=None, ge=1, description="score the first so many sentences of dev only")
    silver: tuple[str, ...] = Field(
        default=(),
        description="files that a model annotated (nestling predict --json), learnt beside train; "
        "an epoch has as many sentences of them as of train, the next ones each time",
    )
    renamed: float = Field(
        default=0.0, ge=0, le=1, description="share of train's names that an epoch exchanges for others of their label"
    )
    made_gaps: float = Field(
        default=0.0, ge=0, le=100, description="sentences made up for each that has a mention with a gap, learnt too"
    )

    @model_validator(mode="after")
    def _from_one_place(self) -> "DataSettings":
        files = [name for name in ("train", "dev", "test", "format") if getattr(self, name) is not None]
        if self.corpus is not None and files:
            raise ValueError(f"name a corpus or files of your own, not both: corpus and {files[0]}")
        if self.corpus is None and self.also:
            raise ValueError("also: further corpora stand beside a corpus, and there is none")
        return self


class TransformerSettings(_Settings):
    """A pretrained transformer: `embedded`, a local folder or a hub name."""

    kind: Literal["transformer"] = "transformer"
    model: str = "embedded"
    layers: int | None = Field(
        default=None, ge=0, description="use the lowest so many layers only: faster; 0 is the embeddings alone"
    )
    pooling: Literal["max", "mean", "first"] = "max"
    context: int = Field(default=0, ge=0, description="pieces of neighbouring sentences encoded together; 0: none")
    attention_dropout: float = Field(
        default=0.0, ge=0, lt=1, description="while training; above 0 attention is many steps instead of one, and slow"
    )
    frozen: int = Field(default=0, ge=0, description="layers that are not trained: 1 the embeddings, 2 one more, …")
    is_remembered: bool = Field(
        default=False, description="not trained at all: every sentence of train is read once, and epochs are short"
    )


class AffixSettings(_Settings):
    """Hashed words, prefixes, suffixes and shapes."""

    kind: Literal["affixes"]
    size: int = Field(default=128, ge=2, le=65_536)
    rows: int = Field(default=5000, ge=2, le=10_000_000)
    dropout: float = Field(default=0.2, ge=0, lt=1)


class CharacterSettings(_Settings):
    """Characters, by a BiLSTM or a convolution."""

    kind: Literal["characters"]
    reader: Literal["lstm", "convolution"] = "lstm"
    size: int = Field(default=100, ge=2, le=65_536, multiple_of=2)
    dropout: float = Field(default=0.1, ge=0, lt=1)


class VectorSettings(_Settings):
    """Word vectors from a file in the text format of GloVe or word2vec."""

    kind: Literal["vectors"]
    path: str
    is_frozen: bool = True
    dropout: float = Field(default=0.0, ge=0, lt=1)
    unknown: float = Field(default=0.0, ge=0, lt=1, description="share of words that training takes for unknown ones")


class PosSettings(_Settings):
    """Parts of speech, by the tagger of a language."""

    kind: Literal["pos"]
    tagger: Literal["en", "de", "ru"]
    size: int = Field(default=50, ge=1, le=65_536)
    dropout: float = Field(default=0.0, ge=0, lt=1)


class ClusterSettings(_Settings):
    """Clusters of words, of a language or from a file in Brown's format; the model keeps them."""

    kind: Literal["clusters"]
    source: str = Field(description="de or en, or a file of lines: bits, word, count, or a folder of WordNet's files")
    most: int = Field(default=250_000, ge=1, description="words, the most frequent ones")
    size: int = Field(default=50, ge=1, le=65_536)
    dropout: float = Field(default=0.1, ge=0, lt=1)


Part = Annotated[
    TransformerSettings | AffixSettings | CharacterSettings | VectorSettings | PosSettings | ClusterSettings,
    Field(discriminator="kind"),
]


class TopSettings(_Settings):
    """What reads the parts in order."""

    kind: Literal["bilstm", "convolutions"]
    size: int = Field(default=256, ge=2, le=65_536, multiple_of=2)
    layers: int = Field(default=1, ge=1, le=1000)
    dropout: float = Field(default=0.2, ge=0, lt=1)


class EncoderSettings(_Settings):
    """Parts side by side, and what may stand on top of them."""

    parts: tuple[Part, ...] = Field(default=(TransformerSettings(),), min_length=1)
    top: TopSettings | None = None

    @property
    def context(self) -> int:
        """How many pieces are encoded together."""
        return max((part.context for part in self.parts if isinstance(part, TransformerSettings)), default=0)

    def __str__(self) -> str:
        """What stands side by side and on top, as records name it."""
        return " + ".join([*map(_described, self.parts), *([self.top.kind] if self.top else [])])


def _described(part: Part) -> str:
    if not isinstance(part, TransformerSettings) or part.layers is None:
        return part.kind
    return f"transformer of {part.layers} layers" if part.layers else "embeddings"


class DecodingSettings(_Settings):
    """How candidates become entities."""

    rule: Literal["flat", "nested", "any"] = "nested"
    method: Literal["best", "soft_nms"] = "best"
    threshold: float = Field(default=0.0, ge=0, le=1)
    thresholds: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(default={}, description="by label")
    decay: float = Field(default=0.9, gt=0, le=1)
    overlap: float = Field(default=0.6, ge=0, le=1)
    scale: float = Field(default=1.0, gt=0, le=1000, description="of the log-odds of scores, as dev has it")
    shift: float = Field(default=0.0, ge=-1000, le=1000, description="the same")


class Settings(_Settings):
    """All of it. `heads` maps names of heads to their settings and a `weight`."""

    data: DataSettings = DataSettings()
    encoder: EncoderSettings = EncoderSettings()
    heads: dict[str, Any]
    answer: str = ""
    decoding: DecodingSettings = DecodingSettings()
    pretraining: PretrainingSettings = PretrainingSettings()
    training: TrainingSettings = TrainingSettings()

    @model_validator(mode="before")
    @classmethod
    def _with_heads(cls, given: Any) -> Any:
        """Checks every head by the settings class that HEADS names; the first head answers by default."""
        if not isinstance(given, dict) or not isinstance(given.get("heads"), dict) or not given["heads"]:
            raise ValueError("heads: name at least one of " + ", ".join(HEADS))
        heads = {}
        for name, table in given["heads"].items():
            if name not in HEADS:
                raise ValueError(f"unknown head {name!r}; known: {', '.join(HEADS)}")
            if not isinstance(table, dict):
                raise ValueError(f"heads.{name}: a table of settings, not {table!r}")  # noqa: TRY004
            own = dict(table)
            weight = own.pop("weight", 1.0)
            if not isinstance(weight, int | float) or not 0 <= weight < float("inf"):
                raise ValueError(f"heads.{name}.weight: not a number from 0 up: {weight!r}")
            heads[name] = HEADS[name][1].model_validate(own).model_dump() | {"weight": float(weight)}
        if not any(own["weight"] for own in heads.values()):
            raise ValueError("heads: all weights are 0, so nothing would be learnt")
        answer = given.get("answer") or next(iter(heads))
        if answer not in heads:
            raise ValueError(f"answer {answer!r} names none of the heads {', '.join(heads)}")
        return given | {"heads": heads, "answer": answer}

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each head's loss."""
        return {name: own["weight"] for name, own in self.heads.items()}


def without_places(settings: Settings) -> Settings:
    """The same without folders of the machine that it was made on: of files, names are left."""
    data = settings.data
    files = {part: Path(own).name for part in ("train", "dev", "test") if (own := getattr(data, part)) is not None}
    parts = tuple(_without_place(part) for part in settings.encoder.parts)
    texts = tuple(map(_name_of, settings.pretraining.texts))
    changed = {
        "pretraining": settings.pretraining.model_copy(update={"texts": texts}),
        "data": data.model_copy(update={"root": None, "silver": tuple(map(_name_of, data.silver)), **files}),
        "encoder": settings.encoder.model_copy(update={"parts": parts}),
    }
    return settings.model_copy(update=changed)


def _name_of(path: str) -> str:
    return Path(path).name


def _without_place(part: Part) -> Part:
    if isinstance(part, VectorSettings):
        return part.model_copy(update={"path": Path(part.path).name})
    if isinstance(part, ClusterSettings):
        return part.model_copy(update={"source": Path(part.source).name})
    if isinstance(part, TransformerSettings) and Path(part.model).is_dir():  # else it is a name of the hub
        return part.model_copy(update={"model": Path(part.model).name})
    return part


def config_path(name: str | Path) -> Path:
    """A file, or the configuration of that name that comes with nestling."""
    path = Path(name)
    if path.exists() or path.suffix:
        return path
    if str(name) not in config_names():
        raise UnknownNameError("configuration", str(name), config_names())
    return _config_folder() / f"{name}.toml"


def config_names() -> list[str]:
    """The configurations that come with nestling."""
    return sorted(file.stem for file in _config_folder().glob("*.toml"))


def _config_folder() -> Path:
    package = Path(__file__).parent
    installed = package / "configs"
    return installed if installed.is_dir() else package.parent.parent / "configs"  # in a checkout


def load_settings(path: Path | str, changes: Sequence[str] = ()) -> Settings:
    """The settings of a TOML file, or of a configuration by name, with changes such as `training.epochs=3`."""
    path = config_path(path)
    try:
        table = tomllib.loads(Source(path).text())
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not TOML: {error}") from None
    for change in changes:
        table = _changed(table, change)
    settings = settings_of(table, str(path))
    return settings.model_copy(update={"data": _found_beside(settings.data, path.parent)})


def _found_beside(data: DataSettings, folder: Path) -> DataSettings:
    """Files that are not there from where we are, but are from the configuration's folder, are those."""
    given = {part: getattr(data, part) for part in ("train", "dev", "test")}
    found = {part: _beside(own, folder) for part, own in given.items() if own}
    return data.model_copy(update=found | {"silver": tuple(_beside(own, folder) for own in data.silver)})


def _beside(path: str, folder: Path) -> str:
    return str(folder / path) if not Path(path).exists() and (folder / path).exists() else path


def settings_of(table: Mapping[str, Any], where: str) -> Settings:
    """The settings of a table; what is wrong is said with its key and, if it is misspelt, the nearest known one."""
    try:
        return Settings.model_validate(dict(table))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            last = str(first["loc"][-1])
            meant = nearest(last, _all_keys())
            hint = f"; {last!r} belongs in another table" if meant == last else f"; did you mean {meant!r}?"
            raise SettingsError(f"{where}: unknown key {key!r}" + (hint if meant else "")) from None
        message = first["msg"].removeprefix("Value error, ")
        raise SettingsError(f"{where}: {key}: {message}" if key else f"{where}: {message}") from None


def _all_keys() -> set[str]:
    classes: list[type[BaseModel]] = [settings for _, settings in HEADS.values()]
    classes += [Settings, DataSettings, EncoderSettings, TransformerSettings, AffixSettings, CharacterSettings]
    classes += [VectorSettings, PosSettings, ClusterSettings, TopSettings, DecodingSettings, TrainingSettings]
    classes += [PretrainingSettings]
    return {"weight", *(name for known in classes for name in known.model_fields)}


def _changed(table: Mapping[str, Any], change: str) -> dict[str, Any]:
    """The table with a change such as `training.epochs=3` or `encoder.parts.0.context=256`."""
    key, equals, text = change.partition("=")
    if not equals or not key:
        raise SettingsError(f"--set {change}: write key=value, as in training.epochs=3")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    try:
        return dict(_with(dict(table), key.split("."), value))
    except SettingsError as error:
        raise SettingsError(f"--set {change}: {error}") from None


def _with(own: Any, keys: Sequence[str], value: Any) -> Any:
    """A table, or a list, with a value at the place that keys lead to."""
    if not keys:
        return value
    first, *rest = keys
    if isinstance(own, list):
        if first not in map(str, range(len(own))):
            raise SettingsError(f"there is no {first!r} in a list of {len(own)}, which are numbered from 0")
        return [_with(item, rest, value) if str(n) == first else item for n, item in enumerate(own)]
    if not isinstance(own, dict):
        raise SettingsError(f"{first!r} stands in no table")
    return own | {first: _with(own.get(first, {}), rest, value)}
