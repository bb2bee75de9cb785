"""Spans of words as tensors, by width: (B, W, T), where [b, w, t] is the span of words [t, t + w + 1) of sentence b."""

from collections.abc import Iterator

import torch
from torch import Tensor


def mask_of(words: Tensor, widest: int) -> Tensor:
    """Which spans lie inside their sentences: (B, W, T), from the mask of words (B, T)."""
    lengths = words.sum(dim=1).view(-1, 1, 1)  # (B, 1, 1)
    starts = torch.arange(words.shape[1], device=words.device)  # (T,)
    widths = torch.arange(1, widest + 1, device=words.device).unsqueeze(1)  # (W, 1)
    return starts + widths <= lengths


def running_maxima(vectors: Tensor, widest: int) -> Iterator[Tensor]:
    """The largest values over the words of spans, each width from the one below: W times (B, T, D)."""
    maximum = vectors
    yield maximum
    for width in range(1, widest):
        maximum = torch.maximum(maximum, shifted(vectors, width))
        yield maximum


def shifted(vectors: Tensor, by: int) -> Tensor:
    """The words `by` places to the right: (B, T, D); where there are none, zeros, which no mask lets through."""
    return torch.nn.functional.pad(vectors[:, by:], (0, 0, 0, min(by, vectors.shape[1])))
