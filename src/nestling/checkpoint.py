"""A model folder ⇄ a model. Weights are safetensors, all else is JSON: loading runs no code from the folder.

`manifest.json` names the weights, with a hash, and is replaced last and at once; whatever happens while saving, what it
names is whole. The same holds for `training/state.json`, from which training goes on.
"""

import gzip
import json
import logging
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import file_digest
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from nestling.config import Built, build, embedded
from nestling.data.files import Source, written, written_folder
from nestling.decoding import Rule
from nestling.errors import CheckpointError, DataError, InvalidValueError, SettingsError, UnknownNameError, nearest
from nestling.memory import Budget
from nestling.nn import int8
from nestling.nn.encoders import Transformer
from nestling.packing import Precision, pack, unpack
from nestling.recognizer import Decoder, Recognizer
from nestling.settings import DecodingSettings, settings_of, without_places
from nestling.training import Progress, Trainer
from nestling.types import Labels

log = logging.getLogger(__name__)
FORMAT = 1
_NAMES = TypeAdapter(list[str], config={"strict": True})
_VOCABULARIES = TypeAdapter(dict[str, list[str]], config={"strict": True})
_RANGES = TypeAdapter(list[int8.Ranges])
_PACKED_VOCABULARIES = "vocabularies.json.gz"
_MOST_UNPACKED = 2**28  # bytes
_PACKAGES = ("nestling", "torch", "transformers")


def save_model(folder: Path, built: Built, weights: Mapping[str, Tensor] | None = None) -> None:
    """Writes everything that `load` needs; the weights are the model's own where none are given."""
    _save_parts(folder, built)
    save_weights(folder, weights or built.model.state_dict())


def _save_parts(folder: Path, built: Built) -> None:
    """All but the weights."""
    _write_json(folder / "settings.json", built.settings.model_dump(mode="json"))
    _write_json(folder / "labels.json", list(built.batcher.labels))
    _write_json(folder / _PACKED_VOCABULARIES, built.vocabularies)
    for name, tokenizer in built.tokenizers.items():
        tokenizer.save_pretrained(folder / name)
        part = next(part for part in built.model.encoder.modules() if getattr(part, "name", None) == name)
        part.model.config.save_pretrained(folder / name)  # type: ignore[union-attr, operator]


def save_decoding(folder: Path, decoder: Decoder) -> None:
    """Replaces how a saved model decodes; all else stays."""
    folder = model_path(folder)
    settings = settings_of(read_json(folder / "settings.json", dict), str(folder / "settings.json"))
    decoding = DecodingSettings.model_validate(asdict(decoder))
    _write_json(folder / "settings.json", settings.model_copy(update={"decoding": decoding}).model_dump(mode="json"))


def save_weights(folder: Path, weights: Mapping[str, Tensor]) -> None:
    """Replaces the weights of a model folder."""
    _save_weights(folder, weights, {})


def _save_weights(folder: Path, weights: Mapping[str, Tensor], how: Mapping[str, Any]) -> None:
    entry = _save_tensors(folder, "model", weights)
    packages = {name: version(name) for name in _PACKAGES}
    manifest = {"format": FORMAT, "weights": entry, "files": _hashes(folder), "packages": packages, **how}
    _write_json(folder / "manifest.json", manifest)
    _remove_others(folder, "model", entry["file"])


def export(folder: Path | str, out: Path, precision: Precision) -> None:
    """Writes a model for passing on: small, without where its corpus lay; `load` takes it as any other."""
    built = load_model(folder)
    weights, borrowed = pack(built.model, precision, _of_embedded(built))
    how: dict[str, Any] = {"precision": precision, "borrowed": borrowed}
    if precision == "int8":
        how["ranges"] = [int8.transformer_ranges(transformer) for transformer in _transformers(built.model)]
    with written_folder(out) as temporary:
        _save_parts(temporary, replace(built, settings=without_places(built.settings)))
        _save_weights(temporary, weights, how)


def average(folders: Sequence[Path | str], out: Path) -> None:
    """Writes a model whose weights are the mean of those of models that were begun alike (Wortsman et al., 2022).

    They may differ in what they learnt, for how long and in which order, and in how they decode, which the first one
    decides.
    """
    models = [load_model(folder) for folder in folders]
    first = models[0]
    for folder, other in zip(folders, models, strict=True):
        if _begun_as(other) != _begun_as(first):
            raise CheckpointError(f"{folder} was not begun as {folders[0]} was: their mean would mean nothing")
    weights = [own.model.state_dict() for own in models]
    means = {name: sum(own[name] for own in weights) / len(weights) for name in weights[0]}
    with written_folder(out) as temporary:
        save_model(temporary, first, means)


def _begun_as(built: Built) -> tuple[Any, ...]:
    """All that decides what a model begins with."""
    own = without_places(built.settings)
    settings = (own.encoder, own.heads, own.pretraining, own.training.seed)
    return *settings, tuple(built.batcher.labels), built.vocabularies


def _of_embedded(built: Built) -> dict[str, Tensor]:
    """The weights of the embedded encoder, under the names that they have in the model."""
    names = {part.model for part in built.settings.encoder.parts if part.kind == "transformer"}
    if names != {"embedded"}:
        return {}
    own = load_file(embedded() / "model.safetensors")
    places = [name for name, part in built.model.named_modules() if isinstance(part, Transformer)]
    return {f"{place}.model.{name}": weight for place in places for name, weight in own.items()}


def model_path(name: Path | str) -> Path:
    """A model's folder: that path or, for a plain name, below $NESTLING_MODELS or inside the package."""
    path = Path(name)
    if path.exists():
        return path
    known = {folder.name: folder for folder in model_folders()}
    if str(name) not in known:
        near = nearest(str(name), known)
        hint = f"did you mean {near!r}?" if near else "`nestling models` lists those that have a name"
        raise CheckpointError(f"{name}: there is no such folder, and no model of that name; {hint}")
    return known[str(name)]


def own_path(name: Path | str) -> Path:
    """The folder of a model that may be changed: not one that a name found, which others use too."""
    if not Path(name).exists():
        model_path(name)  # says if there is none
        raise CheckpointError(f"{name} stays as it is; `nestling export {name} --out mine` makes a model to change")
    return Path(name)


def model_folders() -> list[Path]:
    """The folders of all models that can be named."""
    found = [file.parent for home in _homes() for file in sorted(home.glob("*/manifest.json"))]
    return list({folder.name: folder for folder in reversed(found)}.values())[::-1]  # the first of a name is the one


def _homes() -> list[Path]:
    own = os.environ.get("NESTLING_MODELS")
    return [*([Path(own)] if own else []), Path(__file__).parent / "models"]


def load_model(folder: Path | str) -> Built:
    """The model of a folder or of that name, ready for use."""
    folder = model_path(folder)
    manifest = read_json(folder / "manifest.json", dict)
    if manifest.get("format") != FORMAT:
        raise CheckpointError(
            f"{folder}: format {manifest.get('format')}, but this nestling reads {FORMAT}; install a newer one"
        )
    settings = settings_of(read_json(folder / "settings.json", dict), str(folder / "settings.json"))
    _require_whole(folder, manifest.get("files", {}))
    names, vocabularies = read_json(folder / "labels.json", list), read_json(_vocabularies(folder), dict)
    try:
        labels = Labels(tuple(_NAMES.validate_python(names)))
        built = build(settings, labels, _VOCABULARIES.validate_python(vocabularies), saved=folder)
        borrowed = _NAMES.validate_python(manifest.get("borrowed", []))
    except ValidationError as error:
        raise CheckpointError(f"{folder}: is damaged: {error.errors()[0]['msg']}") from None
    except (InvalidValueError, ValueError, SettingsError, RuntimeError, MemoryError) as error:
        raise CheckpointError(f"{folder}: is damaged: {str(error).splitlines()[0]}") from None
    tensors = _load_tensors(folder, manifest.get("weights"))
    _fill(built.model, unpack(tensors, borrowed, _of_embedded(built) if borrowed else {}))
    built.model.eval()
    return built


def _vocabularies(folder: Path) -> Path:
    """Where they are: packed, or as earlier versions wrote them."""
    packed = folder / _PACKED_VOCABULARIES
    return packed if packed.exists() else packed.with_suffix("")


def load(
    folder: Path | str,
    *,
    answer: str | None = None,
    threshold: float | None = None,
    rule: Rule | None = None,
    precision: Literal["fp32", "int8"] | None = None,
    max_memory: float | None = None,
) -> Recognizer:
    """The recogniser of a model, by folder or name, with another answering head, threshold or rule if given.

    With int8 its transformer computes in eight bits: much faster, nearly as good. A model that was exported so is
    loaded so, unless fp32 is asked for. `max_memory` is what the process may take in megabytes: texts are then read in
    smaller batches where need be.
    """
    if precision not in (None, "fp32", "int8"):
        raise UnknownNameError("precision", str(precision), ["fp32", "int8"])
    built = load_model(folder)
    manifest = read_json(model_path(folder) / "manifest.json", dict)
    is_stored_so = manifest.get("precision") == "int8" and _transformers(built.model)
    if precision == "int8" or (precision is None and is_stored_so):
        _to_int8(built.model, manifest.get("ranges"))
    if answer is not None:
        if answer not in built.model.heads:
            raise UnknownNameError("head of this model", answer, built.model.heads.keys())
        built.model.answer = answer
    recognizer = built.recognizer()
    recognizer.budget = Budget(max_memory)
    if threshold is not None:  # for all labels
        recognizer.decoder = replace(recognizer.decoder, threshold=threshold, thresholds={})
    if rule is not None:
        recognizer.decoder = replace(recognizer.decoder, rule=rule)
    return recognizer


def _to_int8(model: nn.Module, ranges: Any) -> None:
    """Eight bits for all transformers, by ranges that were saved, if any; where that cannot be, a message and fp32."""
    transformers = _transformers(model)
    if not transformers:
        log.warning("computing in int8 is for transformers, and this model has none: it runs in fp32")
    elif not int8.is_supported():
        log.warning("this processor or this torch cannot compute in int8: the model runs in fp32")
    else:
        try:
            known = [int8.transformer_ranges(own) for own in transformers] if ranges is None else ranges
            for transformer, own in zip(transformers, _RANGES.validate_python(known), strict=True):
                int8.quantize(transformer, own)
        except ValueError as error:
            raise CheckpointError(f"the model cannot be computed in int8: {str(error).splitlines()[0]}") from None


def _transformers(model: nn.Module) -> list[nn.Module]:
    """The transformers that have layers."""
    found = [part.model for part in model.modules() if isinstance(part, Transformer)]
    return [own for own in found if any(isinstance(module, nn.Linear) for module in own.modules())]


def _fill(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Gives a model its weights; those of other names or shapes are refused."""
    try:
        model.load_state_dict(dict(weights))
    except RuntimeError as error:
        raise CheckpointError(f"the weights do not fit the settings: {str(error).splitlines()[1].strip()}") from None


def save_state(folder: Path, trainer: Trainer, *, made_from: str, sums: Mapping[str, Any]) -> None:
    """Writes where training stands: weights, optimiser, progress, a hash of its text, and sums of the epoch so far."""
    tensors = {f"weights.{name}": tensor for name, tensor in trainer.model.state_dict().items()}
    for name, parameter in trainer.model.named_parameters():
        for key, value in trainer.optimizer.state.get(parameter, {}).items():
            tensors[f"{key}.{name}"] = value
    tensors |= {f"average.{name}": tensor for name, tensor in trainer.average.weights.items()}
    entry = _save_tensors(folder / "training", f"state-{trainer.progress.step}", tensors)
    state = {"progress": asdict(trainer.progress), "tensors": entry, "made_from": made_from, "sums": sums}
    _write_json(folder / "training" / "state.json", state)
    _remove_others(folder / "training", "state", entry["file"])


def load_state(folder: Path, trainer: Trainer, *, made_from: str) -> dict[str, Any]:
    """Puts a trainer where the saved one stood; gives the sums of the epoch so far."""
    state = read_json(folder / "training" / "state.json", dict)
    if state.get("made_from", made_from) != made_from:
        raise CheckpointError(f"{folder} was begun with another training text; resume with that, or begin anew")
    tensors = _load_tensors(folder / "training", state.get("tensors"))
    weights = {name.removeprefix("weights."): value for name, value in tensors.items() if name.startswith("weights.")}
    _fill(trainer.model, weights)
    for name, parameter in trainer.model.named_parameters():
        moments = {
            key: tensors[f"{key}.{name}"] for key in ("step", "exp_avg", "exp_avg_sq") if f"{key}.{name}" in tensors
        }
        if moments:
            trainer.optimizer.state[parameter] = moments
        if name in trainer.average.weights:
            trainer.average.weights[name].copy_(tensors.get(f"average.{name}", parameter.detach()))
    try:
        trainer.progress = Progress(**state["progress"])
    except (KeyError, TypeError):
        raise CheckpointError(f"{folder}: is damaged: where its training stood is not said") from None
    return dict(state.get("sums", {}))


def _save_tensors(folder: Path, name: str, tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """Writes tensors under a name of their own; gives the name and the hash."""
    whole = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.new.safetensors"
    try:
        with written(path) as temporary:
            save_file(whole, temporary)
    except SafetensorError as error:  # a full disk, most likely
        raise CheckpointError(f"{path}: cannot be written: {error}; what was saved before is still there") from None
    digest = _digest(path)
    final = folder / f"{name}-{digest[:12]}.safetensors"
    path.chmod(0o644)  # safetensors makes files for their owner alone
    path.replace(final)
    return {"file": final.name, "sha256": digest}


def _load_tensors(folder: Path, entry: Any) -> dict[str, Tensor]:
    if not isinstance(entry, dict) or Path(str(entry.get("file"))).name != entry.get("file"):
        raise CheckpointError(f"{folder}: names no weights")
    path = folder / entry["file"]
    if not path.is_file():
        raise CheckpointError(f"{path}: is missing")
    if _digest(path) != entry.get("sha256"):
        raise CheckpointError(f"{path}: is damaged: its hash is not the one that was saved")
    try:
        return load_file(path)
    except SafetensorError as error:
        raise CheckpointError(f"{path}: is damaged: {error}") from None


def _hashes(folder: Path) -> dict[str, str]:
    """Hashes of what a model is besides its weights; its settings may be changed by hand."""
    kept = [folder / "labels.json", _vocabularies(folder)]
    kept += sorted(path for path in folder.glob("*/*") if path.is_file() and path.parent.name.startswith("transformer"))
    return {path.relative_to(folder).as_posix(): _digest(path) for path in kept if path.is_file()}


def _require_whole(folder: Path, hashes: Any) -> None:
    found = _hashes(folder)
    for name, digest in hashes.items() if isinstance(hashes, dict) else ():
        if found.get(name) != digest:
            raise CheckpointError(f"{folder / name}: is missing or damaged: its hash is not the one that was saved")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _remove_others(folder: Path, name: str, kept: str) -> None:
    """Removes older tensors of a name, and what was being written when a run was killed."""
    for pattern in (f"{name}-*.safetensors", f"{name}*.new.safetensors", f".{name}*.new.safetensors.*"):
        for path in folder.glob(pattern):
            if path.name != kept:
                path.unlink()


def _write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1).encode()
    with written(path) as temporary:
        temporary.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


def read_json(path: Path, kind: type) -> Any:
    """The value of a file of a model folder; what is wrong is said in one line."""
    try:
        value = json.loads(_unpacked(path) if path.suffix == ".gz" else Source(path).text())
    except DataError:
        raise CheckpointError(f"{path}: is missing or cannot be read; is this a model folder?") from None
    except (ValueError, RecursionError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise CheckpointError(f"{path}: is damaged: {error}") from None
    if not isinstance(value, kind):
        raise CheckpointError(f"{path}: is damaged: not a JSON {kind.__name__}")
    return value


def _unpacked(path: Path) -> bytes:
    """What a packed file holds, which may be far more than it takes."""
    with gzip.open(BytesIO(Source(path).content())) as file:
        found = file.read(_MOST_UNPACKED + 1)
    if len(found) > _MOST_UNPACKED:
        raise CheckpointError(f"{path}: holds more than {_MOST_UNPACKED >> 20} MiB")
    return found
