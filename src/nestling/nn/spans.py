"""Spans of words as tensors.

Either by width, (B, W, T), where [b, w, t] is the span of words [t, t + w + 1) of sentence b; or as a flat list (S, 3)
of sentence, start, end over a whole batch, which needs no padding.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn


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
    return nn.functional.pad(vectors[:, by:], (0, 0, 0, min(by, vectors.shape[1])))


class Maxima:
    """The largest values over the words of any spans, wide or narrow, from maxima over 1, 2, 4, 8 … words.

    A span is covered by two stretches of the largest power of two that fits it: two lookups, however long it is.
    """

    def __init__(self, vectors: Tensor) -> None:
        self.levels = [vectors]  # each (B, T, D): over 2 ** level words from a word on
        self.table = vectors.unsqueeze(0)  # (levels, B, T, D), as far as it was needed

    def of_spans(self, spans: Tensor) -> Tensor:
        """Of a flat list of spans: (S, D)."""
        sentence, start, end = spans.unbind(1)
        level = _level(end - start)  # (S,)
        high = int(level.max()) if len(spans) else 0
        if len(self.table) <= high:
            self.table = torch.stack([self._over(n) for n in range(high + 1)])
        table = self.table.flatten(0, 2)  # (levels · B · T, D)
        rows, words = self.levels[0].shape[:2]
        place = (level * rows + sentence) * words + start  # (S,)
        behind = end - start - 2**level
        return torch.maximum(table.index_select(0, place), table.index_select(0, place + behind))

    def of_width(self, width: int) -> Tensor:
        """Of all spans of a width, by their first words: (B, T - width + 1, D)."""
        level = width.bit_length() - 1
        stretch, starts = self._over(level), self.levels[0].shape[1] - width + 1
        behind = width - 2**level
        return torch.maximum(stretch[:, :starts], stretch[:, behind : behind + starts])

    def _over(self, level: int) -> Tensor:
        while len(self.levels) <= level:
            last = self.levels[-1]
            self.levels.append(torch.maximum(last, shifted(last, 2 ** (len(self.levels) - 1))))
        return self.levels[level]


def _level(lengths: Tensor) -> Tensor:
    """The exponent of the largest power of two up to each length."""
    return (torch.frexp(lengths.double())[1] - 1).long()


def windows(mask: Tensor, widths: Sequence[int]) -> Tensor:
    """Every span of these widths, and sentences that are shorter than all of them whole: (S, 3)."""
    lengths = mask.sum(dim=1)  # (B,)
    tried = torch.tensor(sorted(set(widths)), device=mask.device)  # (V,)
    starts = torch.arange(mask.shape[1], device=mask.device)  # (T,)
    inside = starts.view(1, 1, -1) + tried.view(1, -1, 1) <= lengths.view(-1, 1, 1)  # (B, V, T)
    sentence, width, start = inside.nonzero(as_tuple=True)
    found = torch.stack([sentence, start, start + tried[width]], dim=1)  # (S, 3)
    if min(widths) == 1:
        return found
    rows = ((lengths < tried[0]) & (lengths > 0)).nonzero().squeeze(1)
    return torch.cat([found, torch.stack([rows, torch.zeros_like(rows), lengths[rows]], dim=1)])


def bordered(vectors: Tensor, mask: Tensor, edges: Tensor) -> Tensor:
    """Sentences between two vectors that stand for their edges (2, D): (B, T + 2, D), word t at t + 1."""
    whole = nn.functional.pad(vectors, (0, 0, 1, 1))  # (B, T + 2, D)
    places = torch.arange(whole.shape[1], device=mask.device)  # (T + 2,)
    is_last = (places == mask.sum(dim=1, keepdim=True) + 1).unsqueeze(-1)  # (B, T + 2, 1)
    is_first = (places == 0).view(1, -1, 1)
    return torch.where(is_last, edges[1], torch.where(is_first, edges[0], whole))


def distinct(spans: Tensor) -> Tensor:
    """Each span of a flat list once, in order: (S, 3)."""
    if not len(spans):
        return spans
    most = int(spans.max()) + 1
    keys = ((spans[:, 0] * most + spans[:, 1]) * most + spans[:, 2]).unique()  # type: ignore[no-untyped-call]
    return torch.stack([keys // most**2, keys // most % most, keys % most], dim=1)


def iou(spans: Tensor, others: Tensor) -> Tensor:
    """Shared words over all words of spans and others (..., 3), which broadcast: (...); 0 in different sentences."""
    sentence, start, end = spans.unbind(-1)
    other_sentence, other_start, other_end = others.unbind(-1)
    shared = (torch.minimum(end, other_end) - torch.maximum(start, other_start)).clamp(min=0)
    shared = shared * (sentence == other_sentence)
    return shared / (end - start + other_end - other_start - shared)
