"""What an experiment is: models to train, what is read off each, and the paper's figures to stand beside ours."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from nestling.settings import Settings, TransformerSettings, config_names, config_path, load_settings, settings_of

Size = Literal["light", "laptop", "paper"]
Decoding = Literal["as set", "tuned", "tuned threshold"]
Part = Literal["dev", "test"]
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Training:
    """A model to train; every answer is a row of the result."""

    settings: Settings
    answers: Mapping[str, str]  # the row's name: the head that answers
    decoding: Decoding = "as set"  # or chosen on dev: threshold and soft-NMS, or the threshold alone

    @property
    def corpus(self) -> str:
        """The corpus that it is trained on."""
        return str(self.settings.data.corpus)


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or a figure of a paper."""

    about: str
    source: str  # where the paper has it
    trainings: Callable[[Size, int], Sequence[Training]]  # size, seed
    minutes: int  # of one seed at laptop size on two cores, roughly
    paper: Mapping[tuple[str, str], float] = field(default_factory=dict)  # by corpus and row; F1, or accuracy
    part: Part = "test"  # dev, where settings are compared to choose among them
    plot: Callable[[Sequence[Record]], Any] | None = None  # means over seeds → a matplotlib figure
    is_analysed: bool = False  # a page a corpus, all rows side by side


def gain(found: Sequence[Record], corpus: str, model: str, key: str = "f1") -> str:
    """How far a bundled model is above or below the one that is not, as an arrow and points; empty for all others."""
    means = [
        statistics.mean(values)
        for name in (model, model.removeprefix("BL-"))
        if (values := [r[key] for r in found if (r["corpus"], r["model"]) == (corpus, name) and r.get(key) is not None])
    ]
    if not model.startswith("BL-") or len(means) < 2:
        return ""
    points = means[0] - means[1]
    return f"{'↑' if points > 0 else '↓'}{abs(points):.2f}"


def available(names: Sequence[str], size: Size, prefix: str = "") -> list[str]:
    """Those that have a configuration of this size."""
    return [name for name in names if _named(f"{prefix}{name}", size) in config_names()]


def configured(name: str, size: Size, seed: int, *changes: str, heads: Mapping[str, Any] | None = None) -> Settings:
    """The settings of a configuration, with changes; `heads` replaces all heads, the one of largest weight answers."""
    path = config_path(_named(name, size))
    settings = load_settings(path, [f"training.seed={seed}", *changes])
    if size == "light":
        settings = _light(settings)
    if heads is None:
        return settings
    answer = max(heads, key=lambda head: heads[head].get("weight", 1.0))
    known = {head: settings.heads.get(head, {}) | own for head, own in heads.items()}
    return settings_of(settings.model_dump() | {"heads": known, "answer": answer}, str(path))


def _named(name: str, size: Size) -> str:
    return name if size == "paper" else f"{name}-laptop"


def _light(settings: Settings) -> Settings:
    """The same over the light encoder, and trained as that is; what has no transformer stays as it is."""
    if not any(isinstance(part, TransformerSettings) for part in settings.encoder.parts):
        return settings
    light = load_settings("conll04-light", [f"training.seed={settings.training.seed}"])
    return settings.model_copy(update={"encoder": light.encoder, "training": light.training})
