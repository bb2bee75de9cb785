"""Losses of spans, one value a span (S,): Locate and Label (Shen et al., 2021), section 2.5."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, smooth_l1_loss


def soft_weights(overlap: Tensor, threshold: float, softness: float) -> Tensor:
    """How much a span counts (equation 11): η = `softness` of its IoU, or of what its IoU lacks below the threshold."""
    return torch.where(overlap >= threshold, overlap, 1 - overlap) ** softness


def focal(logits: Tensor, is_positive: Tensor, focus: float) -> Tensor:
    """Cross-entropy that fades where the model is sure (equation 12, the second term with its minus sign)."""
    signed = torch.where(is_positive, logits, -logits)
    return -((-signed).sigmoid() ** focus) * logsigmoid(signed)


def offset_loss(offsets: Tensor, wanted: Tensor) -> Tensor:
    """Smooth L1 of both borders (S, 2), summed (equation 14)."""
    return smooth_l1_loss(offsets, wanted.to(offsets.dtype), reduction="none").sum(dim=1)


def overlap_loss(starts: Tensor, ends: Tensor, gold_starts: Tensor, gold_ends: Tensor) -> Tensor:
    """One minus the shared part of the hull (equation 15), beyond one where spans do not meet; borders half-open."""
    shared = torch.minimum(ends, gold_ends) - torch.maximum(starts, gold_starts)
    hull = torch.maximum(ends, gold_ends) - torch.minimum(starts, gold_starts)
    return 1 - shared / hull
