"""What goes into an encoder and what comes out of it."""

from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Pieces:
    """The sub-words of a batch: rows for the transformer, and where in them each word and sentence is.

    A row is a sentence, or several neighbours, or a part of a long one. A word is the pieces at `words`, positions in
    the flattened rows; 0, where every row's first piece is, stands for none.
    """

    ids: Tensor  # (R, P)
    mask: Tensor  # (R, P)
    words: Tensor  # (B, T, K)
    rows: Tensor  # (B,) the row whose first piece speaks for the sentence


@dataclass(frozen=True, slots=True)
class Spellings:
    """What depends on the spelling of a word alone, once for each distinct word of a batch."""

    ids: Tensor  # (U, C) or (U, F), 0 for none
    words: Tensor  # (B, T) the row of each word; padding has row 0


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentences for an encoder; `features` has one entry a part of the encoder, under the part's name."""

    mask: Tensor  # (B, T)
    features: dict[str, Any]

    def to(self, device: torch.device) -> "Batch":
        """The same on another device."""
        return Batch(self.mask.to(device), {name: _moved(value, device) for name, value in self.features.items()})


@dataclass(frozen=True, slots=True)
class Words:
    """Sentences as an encoder sees them."""

    vectors: Tensor  # (B, T, D)
    sentence: Tensor  # (B, D) one vector for the whole sentence
    mask: Tensor  # (B, T)


def _moved(value: Any, device: torch.device) -> Any:
    if isinstance(value, Tensor):
        return value.to(device)
    return replace(value, **{field.name: getattr(value, field.name).to(device) for field in fields(value)})
