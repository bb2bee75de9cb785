"""SpanNER: a label, or none, for every span of up to ε words. Bundling Learning (Ji et al., 2022), section 3.1.3.

A span is its first and last words (boundary, equation 13), the maximum over its words and the sentence (pooling, 14),
or both (hybrid, 15), always with a vector for its width; one linear layer classifies it (16). That layer is applied to
the parts apart and summed, which is the same and lets first words, last words and sentences be multiplied once each.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from nestling.heads.head import Loss, Targets, labelled_spans
from nestling.nn.batch import Words
from nestling.nn.spans import mask_of, running_maxima, shifted
from nestling.types import Entity, Labels


class SpanSettings(BaseModel):
    """Settings of the span head."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    features: Literal["boundary", "pooling", "hybrid"] = "hybrid"
    widest: int | None = Field(
        default=None, ge=1, le=10_000, description="ε; by default the smallest that covers 99 % of train"
    )
    negatives: int = Field(default=100, ge=1, description="spans without a label that are learnt, a sentence and epoch")
    width_size: int = Field(default=25, ge=1, le=65_536)
    dropout: float = Field(default=0.1, ge=0, lt=1)
    least: float = Field(
        default=1.0, gt=0, le=1, description="probability from which a span is a candidate though none is likelier"
    )


@dataclass(frozen=True, slots=True)
class Spans:
    """Scores of labels for all spans; label 0 is none."""

    logits: Tensor  # (B, W, T, 1 + L)
    mask: Tensor  # (B, W, T)


class SpanHead(nn.Module):
    """The span features that are wanted, and one linear layer over them."""

    finds_nested, finds_gaps = True, False

    def __init__(self, size: int, labels: Labels, settings: SpanSettings) -> None:
        super().__init__()
        if settings.widest is None:
            raise ValueError("widest must be known when the head is made")
        self.labels, self.widest, self.negatives = labels, settings.widest, settings.negatives
        self.least = settings.least
        self.widths = frozenset(range(1, self.widest + 1))
        outputs = 1 + len(labels)
        has_boundary, has_pooling = settings.features != "pooling", settings.features != "boundary"
        self.dropout = nn.Dropout(settings.dropout)
        self.width = nn.Embedding(self.widest, settings.width_size)
        self.of_width = nn.Linear(settings.width_size, outputs)
        self.of_first = nn.Linear(size, outputs, bias=False) if has_boundary else None
        self.of_last = nn.Linear(size, outputs, bias=False) if has_boundary else None
        self.of_maximum = nn.Linear(size, outputs, bias=False) if has_pooling else None
        self.of_sentence = nn.Linear(size, outputs, bias=False) if has_pooling else None

    def forward(self, words: Words) -> Spans:
        widest = min(self.widest, words.mask.shape[1])
        vectors = self.dropout(words.vectors)  # (B, T, D)
        logits = self.of_width(self.width.weight[:widest]).view(1, widest, 1, -1)  # (1, W, 1, 1 + L)
        if self.of_first is not None and self.of_last is not None:
            last = self.of_last(vectors)  # (B, T, 1 + L)
            lasts = torch.stack([shifted(last, width) for width in range(widest)], dim=1)  # (B, W, T, 1 + L)
            logits = logits + self.of_first(vectors).unsqueeze(1) + lasts
        if self.of_maximum is not None and self.of_sentence is not None:
            maxima = [self.of_maximum(maximum) for maximum in running_maxima(vectors, widest)]
            sentence = self.of_sentence(self.dropout(words.sentence))  # (B, 1 + L)
            logits = logits + torch.stack(maxima, dim=1) + sentence[:, None, None]
        return Spans(logits, mask_of(words.mask, widest))

    def loss(self, output: Spans, targets: Targets) -> dict[str, Loss]:
        """The cross-entropy of gold and of sampled spans (equation 18)."""
        gold, chosen = self.learnt(output.mask, targets)
        logits = targets.without_unknown(output.logits[chosen], chosen.nonzero()[:, 0])
        wrong = nn.functional.cross_entropy(logits, gold[chosen], reduction="sum")
        return {"span": Loss(wrong, chosen.sum())}

    def learnt(self, mask: Tensor, targets: Targets) -> tuple[Tensor, Tensor]:
        """Labels of all spans, and which are learnt: gold and, of the others, `negatives` a sentence (20)."""
        gold = torch.zeros(mask.shape, dtype=torch.long)  # (B, W, T)
        for sentence, start, end, label in targets.spans.tolist():
            if end - start <= mask.shape[1]:
                gold[sentence, end - start - 1, start] = 1 + label
        chosen = (gold > 0) & mask.cpu()
        others = (gold == 0) & mask.cpu()
        for sentence, seed in enumerate(targets.seeds):
            places = others[sentence].flatten().nonzero().squeeze(1)
            if len(places) > self.negatives:
                drawn = np.random.default_rng(seed).choice(len(places), self.negatives, replace=False)
                places = places[torch.from_numpy(drawn)]
            chosen[sentence].view(-1)[places] = True
        return gold.to(mask.device), chosen.to(mask.device)

    def candidates(self, output: Spans) -> list[list[Entity]]:
        """Every span whose best label is likelier than none, or likely enough, with that label's probability (17)."""
        return labelled_spans(output.logits, output.mask, self.labels, self.least)
