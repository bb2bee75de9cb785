"""Spans ↔ gold: which gold each span means, and which spans are learnt. Plain integers: nothing here has gradients."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from nestling.nn.spans import iou


def paired(spans: Tensor, gold: Tensor) -> tuple[Tensor, Tensor]:
    """The gold of its sentence that each span (S, 3) overlaps most, as rows of gold (G, 3), and their IoU.

    Where a sentence has no gold, the row is 0 and the IoU too.
    """
    if not len(gold) or not len(spans):
        return spans.new_zeros(len(spans)), torch.zeros(len(spans), device=spans.device)
    near = _by_sentence(gold[:, 0], int(spans[:, 0].max()) + 1)[spans[:, 0]]  # (S, most gold of a sentence)
    overlap, which = iou(spans[:, None], gold[near]).max(dim=1)
    return near.gather(1, which[:, None]).squeeze(1), overlap


def _by_sentence(sentence: Tensor, least: int) -> Tensor:
    """Rows of gold by their sentences (B, most gold of a sentence), in order; padded by row 0, whose IoU is honest."""
    sentences = max(int(sentence.max()) + 1, least)
    counts = torch.bincount(sentence, minlength=sentences)  # (B,)
    order = sentence.argsort(stable=True)
    first = counts.cumsum(0) - counts  # (B,)
    rank = torch.arange(len(order), device=order.device) - first[sentence[order]]
    table = sentence.new_zeros(sentences, int(counts.max()))
    table[sentence[order], rank] = order
    return table


def drawn(spans: Tensor, is_positive: Tensor, seeds: Sequence[int], *, ratio: int, least: int) -> Tensor:
    """Which spans (S,) are learnt: all positives and, in each sentence, `ratio` times as many others, or `least`.

    The draw depends on the sentence's seed and the span's place alone, not on what else is in the batch.
    """
    sentence, start, end = spans.cpu().numpy().T
    positive = is_positive.cpu().numpy()
    quota = np.maximum(ratio * np.bincount(sentence[positive], minlength=len(seeds)), least)  # (B,)
    keys = _scrambled(np.array(seeds, dtype=np.uint64)[sentence], start, end)
    keys[positive] = np.iinfo(np.uint64).max  # behind all others
    order = np.lexsort((keys, sentence))
    first = np.searchsorted(sentence[order], np.arange(len(seeds)))  # (B,) where a sentence's spans begin
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - first[sentence[order]]
    return torch.from_numpy(positive | (rank < quota[sentence])).to(spans.device)


def _scrambled(seeds: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Seeds and places mixed into numbers without order: the finaliser of SplitMix64 (Steele et al., 2014)."""
    with np.errstate(over="ignore"):
        mixed = seeds + start.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + end.astype(np.uint64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        return mixed ^ (mixed >> np.uint64(31))  # type: ignore[no-any-return]
