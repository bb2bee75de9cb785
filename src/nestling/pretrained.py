"""A pretrained transformer and its tokenizer, from a folder or a hub.

Plain BERTs in a local folder are read here, without transformers, which takes seconds to import; all else is read by
transformers. Weights are safetensors; no code of a folder is run.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn

from nestling.data.features import PieceTokenizer
from nestling.data.files import Source
from nestling.errors import DataError
from nestling.nn.bert import Bert, BertConfig

_DROPOUTS = ("attention_probs_dropout_prob", "attention_dropout")  # as the models of transformers call it
_CONFIG, _TOKENIZER, _TOKENIZER_CONFIG, _WEIGHTS = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "model.safetensors",
)


@dataclass(frozen=True)
class Pretrained:
    """A transformer, what cuts words for it, and how many pieces it takes at once."""

    model: nn.Module
    tokenizer: PieceTokenizer
    limit: int


def load_pretrained(where: str, *, layers: int | None, attention_dropout: float, is_saved: bool = False) -> Pretrained:
    """The transformer of a folder or a hub's name, cut to its lowest layers; of a saved model, without its weights."""
    if config := _plain_bert(Path(where)):
        config = config.model_copy(
            update={
                "num_hidden_layers": _depth(layers, config.num_hidden_layers),
                "attention_probs_dropout_prob": attention_dropout,
            }
        )
        tokenizer = FolderTokenizer(Path(where))
        model = Bert(config)
        if is_saved or _fill(model, Path(where) / _WEIGHTS):
            return Pretrained(model, tokenizer, min(config.max_position_embeddings, tokenizer.longest))
    return _by_transformers(where, layers=layers, attention_dropout=attention_dropout, is_saved=is_saved)


def _depth(layers: int | None, depth: int) -> int:
    if layers is not None and layers > depth:
        raise ValueError(f"it has {depth} layers, not {layers}")
    return depth if layers is None else layers


# Plain BERTs


def _plain_bert(folder: Path) -> BertConfig | None:
    """The configuration of a folder that holds such a BERT, and all that is needed of its tokenizer."""
    try:
        config = BertConfig.model_validate_json(Source(folder / _CONFIG).text())
        is_told = _special(json.loads(Source(folder / _TOKENIZER_CONFIG).text()))
        return config if is_told and (folder / _TOKENIZER).is_file() else None
    except (DataError, ValueError):
        return None


def _special(told: Any) -> dict[str, str]:
    """The special pieces by what they are for; none where one is not told."""
    if not isinstance(told, dict):
        return {}
    named = {key: told.get(f"{key}_token") for key in ("cls", "sep", "pad", "unk")}
    found = {key: _text(value) for key, value in named.items()}
    return {key: value for key, value in found.items() if value} if all(found.values()) else {}


def _text(piece: Any) -> str | None:
    """A special piece, as a tokenizer's configuration writes it."""
    text = piece.get("content") if isinstance(piece, dict) else piece
    return str(text) if text else None


def _fill(model: Bert, path: Path) -> bool:
    """Gives a model the weights of a file; whether they are all there."""
    if not path.is_file():
        return False
    weights = {name.removeprefix("bert."): weight.float() for name, weight in load_file(path).items()}
    needed = model.state_dict().keys()
    if not needed <= weights.keys():
        return False
    model.load_state_dict({name: weights[name] for name in needed})
    return True


class FolderTokenizer:
    """The tokenizer of a folder."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = Tokenizer.from_str(Source(folder / _TOKENIZER).text())
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.settings = json.loads(Source(folder / _TOKENIZER_CONFIG).text())
        special = _special(self.settings)
        self.first, self.last = self._number(special["cls"]), self._number(special["sep"])
        self.padding, self.unknown = self._number(special["pad"]), self._number(special["unk"])
        self.mask = self.tokenizer.token_to_id(_text(self.settings.get("mask_token")) or "")
        self.longest = int(self.settings.get("model_max_length") or 10**9)

    def _number(self, piece: str) -> int:
        number = self.tokenizer.token_to_id(piece)
        if number is None:
            raise ValueError(f"the tokenizer has no {piece}")
        return number

    def __call__(self, texts: list[str]) -> list[list[int]]:
        """The pieces of each text."""
        return [found.ids for found in self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    def save_pretrained(self, folder: Path) -> None:
        """Writes it as it was read."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _TOKENIZER).write_text(self.tokenizer.to_str(), encoding="utf-8")
        (folder / _TOKENIZER_CONFIG).write_text(json.dumps(self.settings, ensure_ascii=False), encoding="utf-8")


# All others


def _by_transformers(where: str, *, layers: int | None, attention_dropout: float, is_saved: bool) -> Pretrained:
    import transformers

    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    safe: dict[str, Any] = {"trust_remote_code": False, "local_files_only": is_saved}
    tokenizer = transformers.AutoTokenizer.from_pretrained(where, **safe)
    config = transformers.AutoConfig.from_pretrained(where, **safe)
    for key in set(_DROPOUTS) & set(config.to_dict()):
        setattr(config, key, attention_dropout)
    config.num_hidden_layers = _depth(layers, config.num_hidden_layers)
    if is_saved:
        model = transformers.AutoModel.from_config(config, trust_remote_code=False)  # type: ignore[no-untyped-call]
    else:
        model = transformers.AutoModel.from_pretrained(where, config=config, use_safetensors=True, **safe)
    if hasattr(model, "pooler"):
        model.pooler = None  # nothing reads it
    positions = getattr(config, "max_position_embeddings", None) or 512
    before = getattr(getattr(model, "embeddings", None), "padding_idx", None)  # RoBERTa counts from behind its padding
    limit = min(int(tokenizer.model_max_length), positions - (0 if before is None else before + 1))
    return Pretrained(model.float(), HubTokenizer(tokenizer), limit)


class HubTokenizer:
    """A tokenizer of transformers."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.first = self._number("cls_token_id", "bos_token_id")
        self.last = self._number("sep_token_id", "eos_token_id")
        self.padding = self._number("pad_token_id", "eos_token_id")
        self.unknown = self._number("unk_token_id", "eos_token_id", "sep_token_id")
        self.mask: int | None = getattr(tokenizer, "mask_token_id", None)

    def _number(self, *names: str) -> int:
        for name in names:
            if (number := getattr(self.tokenizer, name, None)) is not None:
                return int(number)
        raise ValueError(f"the tokenizer has none of {', '.join(names)}")

    def __call__(self, texts: list[str]) -> list[list[int]]:
        """The pieces of each text."""
        return self.tokenizer(texts, add_special_tokens=False)["input_ids"]  # type: ignore[no-any-return]

    def save_pretrained(self, folder: Path) -> None:
        """Writes it as transformers does."""
        self.tokenizer.save_pretrained(folder)
