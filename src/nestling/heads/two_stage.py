"""The two-stage identifier: locate entities, then label them. Locate and Label (Shen et al., 2021), section 2.

    words ─▶ seeds ─▶ filter ─▶ regressor ─▶ proposals ─▶ classifier ─▶ candidates

Seeds are all spans of the window widths. The filter drops most of them, the regressor moves the borders of the rest,
the classifier labels what they become. Only the filter ever sees all seeds, and in use only what it keeps goes on.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, field_validator
from torch import Tensor, nn

from nestling.heads.head import Loss, Targets
from nestling.nn.batch import Words
from nestling.nn.losses import focal, offset_loss, overlap_loss, soft_weights
from nestling.nn.matching import drawn, paired
from nestling.nn.spans import Maxima, bordered, distinct, windows
from nestling.types import Entity, Labels

Locator = Literal["filter", "regressor"]
_FEW = 300  # seeds, all of which are looked at in one go
_MOST = 0.7  # share of a width's places that are inside a sentence, from which it is faster to look at all
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class TwoStageSettings(BaseModel):
    """Settings of the two-stage head; defaults are those of the paper's Table 6."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    windows: tuple[int, ...] = Field(default=(1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 15), description="widths of seeds")
    locate: tuple[Locator, ...] = Field(
        default=("filter", "regressor"), description="what stands before the classifier"
    )
    size: int = Field(default=256, ge=1, le=65_536, description="of the hidden layers")
    dropout: float = Field(default=0.5, ge=0, lt=1)
    proposal_overlap: float = Field(default=0.7, gt=0, le=1, description="α₁: IoU from which a seed is a proposal")
    label_overlap: float = Field(default=1.0, gt=0, le=1, description="α₂: IoU from which a proposal has a label")
    softness: float = Field(default=1.0, ge=0, description="η of the weights by IoU; 0: every span counts the same")
    focus: float = Field(default=2.0, ge=0, description="γ of the filter's focal loss")
    negatives: int = Field(default=5, ge=0, description="seeds without an entity that are learnt for each one with")
    least_negatives: int = Field(default=2, ge=0, description="the same, at least, in every sentence")
    hard_negatives: int = Field(default=0, ge=0, description="proposals a sentence of the model as it is, learnt too")
    has_gold: bool = Field(default=True, description="classify gold spans too: positives from the first step")
    filters_labels: bool = Field(
        default=False, description="the filter looks for each label apart: where corpora do not have the same labels"
    )
    keep: float = Field(default=0.15, ge=0, lt=1, description="the filter's probability from which a seed goes on")
    loss_weights: tuple[Weight, Weight, Weight] = Field(
        default=(1.0, 0.1, 1.0), description="λ of filter, regressor, labels"
    )

    @field_validator("windows")
    @classmethod
    def _are_widths(cls, given: tuple[int, ...]) -> tuple[int, ...]:
        if not given or min(given) < 1 or max(given) > 10_000 or len(given) > 1000:
            raise ValueError("name one to a thousand widths, each from 1 to 10,000")
        return given


@dataclass(frozen=True, slots=True)
class Reading:
    """Words as the three parts look at them: those of all sentences behind one another, N in all, without padding."""

    vectors: Tensor  # (N, D)
    outside: Tensor | None  # (B, T + 2, D) with edges around each sentence, for the regressor
    maxima: Maxima  # of (1, N, D)
    first: Tensor  # (B,): where sentences begin
    mask: Tensor  # (B, T)

    def at(self, spans: Tensor) -> "Seen":
        """Spans (S, 3) as they are read."""
        sentence, start, end = spans.unbind(1)
        begin, row = self.first[sentence], torch.zeros_like(sentence)
        return Seen(spans, self.maxima.of_spans(torch.stack([row, begin + start, begin + end], dim=1)))


@dataclass(frozen=True, slots=True)
class Seen:
    """Spans, and what all three parts look at: the largest values over their words."""

    spans: Tensor  # (S, 3)
    maximum: Tensor  # (S, D)

    def __getitem__(self, which: Tensor) -> "Seen":
        return Seen(self.spans[which], self.maximum[which])


class SpanLayers(nn.Module):
    """Linear, GELU, linear over [maximum; left; right] (equations 3, 5 and 10).

    The first layer is three maps summed, so that left and right words are multiplied once each where spans are many.
    """

    def __init__(self, size: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.of_maximum = nn.Linear(size, hidden)
        self.of_left = nn.Linear(size, hidden, bias=False)
        self.of_right = nn.Linear(size, hidden, bias=False)
        self.out = nn.Linear(hidden, outputs)

    def forward(self, maximum: Tensor, words: Tensor, left: Tensor, right: Tensor) -> Tensor:
        """Scores of spans (S, outputs); `left` and `right` (S,) are places of their words among all `words` (N, D)."""
        if len(left) > len(words):
            return self.end(
                maximum, self.of_left(words).index_select(0, left), self.of_right(words).index_select(0, right)
            )
        return self.end(maximum, self.of_left(words.index_select(0, left)), self.of_right(words.index_select(0, right)))

    def end(self, maximum: Tensor, left: Tensor, right: Tensor) -> Tensor:
        """The same when left and right words are multiplied already."""
        return self.out(nn.functional.gelu(self.of_maximum(maximum) + left + right))  # type: ignore[no-any-return]


class TwoStageHead(nn.Module):
    """A filter and a regressor, either of which may be missing, and a classifier."""

    finds_nested, finds_gaps = True, False

    def __init__(self, size: int, labels: Labels, settings: TwoStageSettings) -> None:
        super().__init__()
        self.labels, self.settings, self.widths = labels, settings, frozenset(settings.windows)
        self.dropout = nn.Dropout(settings.dropout)
        sought = len(labels) if settings.filters_labels else 1
        self.filter = SpanLayers(size, settings.size, sought) if "filter" in settings.locate else None
        self.regressor = SpanLayers(size, settings.size, 2) if "regressor" in settings.locate else None
        self.classifier = SpanLayers(size, settings.size, 1 + len(labels))
        self.edges = nn.Parameter(torch.zeros(2, size)) if self.regressor is not None else None
        if self.regressor is not None:  # borders stay where they are until there is reason to move them
            nn.init.normal_(self.regressor.out.weight, std=1e-3)
            nn.init.zeros_(self.regressor.out.bias)

    def forward(self, words: Words) -> Reading:
        vectors = self.dropout(words.vectors)
        outside = bordered(vectors, words.mask, self.edges) if self.edges is not None else None
        lengths, real = words.mask.sum(dim=1), vectors[words.mask]  # (B,), (N, D)
        return Reading(real, outside, Maxima(real.unsqueeze(0)), lengths.cumsum(dim=0) - lengths, words.mask)

    # What the parts say of spans

    def is_proposal(self, reading: Reading, seen: Seen) -> Tensor:
        """The filter's logits (S, 1), or (S, L) where it looks for each label apart (equations 1 to 3)."""
        assert self.filter is not None
        return self.filter(*_inner(reading, seen))  # type: ignore[no-any-return]

    def offsets(self, reading: Reading, seen: Seen) -> Tensor:
        """How far the borders should move: (S, 2), signed, in words (equations 4 and 5)."""
        sentence, start, end = seen.spans.unbind(1)
        if self.regressor is None or reading.outside is None:
            return torch.zeros(len(start), 2, device=start.device)
        first = sentence * reading.outside.shape[1]  # where their sentences begin in `outside`
        return self.regressor(seen.maximum, reading.outside.flatten(0, 1), first + start, first + end + 1)  # type: ignore[no-any-return]

    def label_logits(self, reading: Reading, seen: Seen) -> Tensor:
        """The classifier's logits (S, 1 + L); label 0 is none (equations 8 to 10)."""
        return self.classifier(*_inner(reading, seen))  # type: ignore[no-any-return]

    # Learning

    def loss(self, output: Reading, targets: Targets) -> dict[str, Loss]:
        """The parts of equation 17, each over the spans that are learnt."""
        own, gold = self.settings, targets.spans
        spans = windows(output.mask, own.windows)
        row, overlap = paired(spans, gold[:, :3])
        is_positive = overlap >= own.proposal_overlap
        chosen = drawn(spans, is_positive, targets.seeds, ratio=own.negatives, least=own.least_negatives)  # (S,)
        spans, row, overlap, is_positive = spans[chosen], row[chosen], overlap[chosen], is_positive[chosen]
        seen, terms = output.at(spans), chosen.sum()
        parts = {}
        if self.filter is not None:
            sought = torch.zeros(len(spans), len(self.labels), dtype=torch.bool, device=spans.device)  # (S, L)
            sought[is_positive, gold[row[is_positive], 3]] = True
            weights = soft_weights(overlap, own.proposal_overlap, own.softness)
            wrong = self._filter_loss(output, seen, sought, targets)
            assert wrong.shape == weights.shape
            parts["filter"] = Loss(own.loss_weights[0] * (weights * wrong).sum(), terms)
        offsets = torch.zeros(len(spans), 2, device=spans.device)
        if self.regressor is not None:
            learnt = self.offsets(output, seen[is_positive])
            moved = _regression(spans[is_positive], learnt, gold[row[is_positive]])
            parts["regressor"] = Loss(own.loss_weights[1] * moved.sum(), terms)
            with torch.no_grad():  # where the others go is used, but not learnt
                offsets[is_positive] = learnt.float()
                offsets[~is_positive] = self.offsets(output, seen[~is_positive]).float()
        proposals = [shifted_borders(spans, offsets, output.mask)]
        if own.hard_negatives:
            proposals.append(self._kept_now(output, targets))
        if own.has_gold:
            proposals.append(gold[:, :3])
        wrong = self._label_loss(output, torch.cat(proposals), targets)
        parts["classifier"] = Loss(own.loss_weights[2] * wrong.sum(), torch.tensor(len(wrong), device=wrong.device))
        return parts

    def _filter_loss(self, output: Reading, seen: Seen, sought: Tensor, targets: Targets) -> Tensor:
        """The focal loss (S,) of spans that are near entities of `sought` labels (S, L) (equation 12)."""
        logits = self.is_proposal(output, seen)
        if not self.settings.filters_labels:
            return focal(logits, sought.any(dim=1, keepdim=True), self.settings.focus).squeeze(1)
        wrong = focal(logits, sought, self.settings.focus)  # (S, L)
        if targets.known is not None:
            wrong = wrong * targets.known[seen.spans[:, 0]]
        return wrong.sum(dim=1)

    @torch.no_grad()
    def _kept_now(self, output: Reading, targets: Targets) -> Tensor:
        """Proposals of the model as it is: what the classifier will meet in use, where random spans are rare."""
        kept = self.proposals(output).spans
        none = torch.zeros(len(kept), dtype=torch.bool, device=kept.device)
        return kept[drawn(kept, none, targets.seeds, ratio=0, least=self.settings.hard_negatives)]

    def _label_loss(self, output: Reading, proposals: Tensor, targets: Targets) -> Tensor:
        """Weighted cross-entropy (S,) of proposals, labelled anew by where they are now (equation 16)."""
        gold = targets.spans
        row, overlap = paired(proposals, gold[:, :3])
        labels = torch.zeros(len(proposals), dtype=torch.long, device=gold.device)
        is_entity = overlap >= self.settings.label_overlap
        labels[is_entity] = 1 + gold[row[is_entity], 3]
        logits = targets.without_unknown(self.label_logits(output, output.at(proposals)), proposals[:, 0])
        wrong = nn.functional.cross_entropy(logits, labels, reduction="none")
        weights = soft_weights(overlap, self.settings.label_overlap, self.settings.softness)
        assert wrong.shape == weights.shape
        return weights * wrong

    # Use

    def candidates(self, output: Reading) -> list[list[Entity]]:
        """Every proposal whose best label is not none, with that label's probability (section 2.6)."""
        proposals = self.proposals(output)
        scores, best = self.label_logits(output, proposals).float().softmax(dim=1).max(dim=1)  # each (S,)
        found: list[list[Entity]] = [[] for _ in range(output.mask.shape[0])]
        is_entity = best > 0
        rows = zip(
            proposals.spans[is_entity].tolist(), best[is_entity].tolist(), scores[is_entity].tolist(), strict=True
        )
        for (sentence, start, end), label, score in rows:
            found[sentence].append(Entity.at(start, end, self.labels[label - 1], min(score, 1.0)))
        return found

    def proposals(self, output: Reading) -> Seen:
        """What the filter keeps, moved by the regressor; each once."""
        kept = self.kept(output)
        if self.regressor is None:
            return kept
        return output.at(distinct(shifted_borders(kept.spans, self.offsets(output, kept), output.mask)))

    def kept(self, output: Reading) -> Seen:
        """The seeds that the filter lets through."""
        spans = windows(output.mask, self.settings.windows)
        if self.filter is None:
            return output.at(spans)
        if len(spans) >= _FEW:
            return output.at(spans[self._is_kept(self._window_logits(output, spans))])
        seeds = output.at(spans)
        return seeds[self._is_kept(self.is_proposal(output, seeds).amax(dim=1))]

    def _is_kept(self, logits: Tensor) -> Tensor:
        return logits.sigmoid() >= self.settings.keep

    def _window_logits(self, output: Reading, spans: Tensor) -> Tensor:
        """The best of `is_proposal` (S,) for all seeds, width by width: faster where they are many."""
        filter = self.filter
        assert filter is not None
        left, right = filter.of_left(output.vectors), filter.of_right(output.vectors)  # (N, H)
        widths, which = (spans[:, 2] - spans[:, 1]).unique(return_inverse=True)  # type: ignore[no-untyped-call]  # (V,), (S,)
        logits = output.vectors.new_zeros(len(spans))
        for n, width in enumerate(widths.tolist()):
            own = (which == n).nonzero().squeeze(1)
            start = output.first[spans[own, 0]] + spans[own, 1]
            if len(own) > _MOST * (len(left) - width + 1):
                maximum = output.maxima.of_width(width).squeeze(0)  # (N - width + 1, D)
                found = filter.end(maximum, left[: len(maximum)], right[width - 1 :]).amax(dim=1)[start]
            else:  # most of that width reach from one sentence into another
                maximum = output.at(spans[own]).maximum
                found = filter.end(maximum, left[start], right[start + width - 1]).amax(dim=1)
            logits[own] = found.to(logits)
        return logits

    def inspect(self, output: Reading, targets: Targets) -> dict[str, tuple[float, float]]:
        """Where entities are lost on the way: sums and what they are out of."""
        gold, least = targets.spans[:, :3], self.settings.proposal_overlap
        kept = self.kept(output)
        row, overlap = paired(kept.spans, gold)
        near = overlap >= least
        offsets = self.offsets(output, kept)
        wanted = (gold[row[near]] - kept.spans[near])[:, 1:]
        proposals = self.proposals(output).spans
        count = len(gold)
        return {
            "gold near a seed": (_near(windows(output.mask, self.settings.windows), gold, least), count),
            "gold near a kept seed": (_near(kept.spans, gold, least), count),
            "gold located": (_near(proposals, gold, 1.0), count),
            "offset error in words": (float((offsets[near] - wanted).abs().sum()), 2 * int(near.sum())),
            "kept seeds an entity": (len(kept.spans), count),
            "proposals an entity": (len(proposals), count),
            **_histogram(offsets),
        }


def shifted_borders(spans: Tensor, offsets: Tensor, mask: Tensor) -> Tensor:
    """Spans with their borders moved to the nearest word, inside their sentences and never empty (6 and 7)."""
    sentence, start, end = spans.unbind(1)
    length = mask.sum(dim=1)[sentence]  # (S,)
    left, right = torch.floor(offsets.float() + 0.5).long().unbind(1)
    starts = torch.minimum((start + left).clamp(min=0), length - 1)
    ends = torch.maximum(torch.minimum(end + right, length), starts + 1)
    return torch.stack([sentence, starts, ends], dim=1)


def _regression(spans: Tensor, offsets: Tensor, gold: Tensor) -> Tensor:
    """The losses of borders and of overlap (S,) on offsets as they are, neither rounded nor clamped (13 to 15)."""
    wanted = (gold[:, :3] - spans)[:, 1:]  # (S, 2)
    starts, ends = (spans[:, 1:] + offsets).unbind(1)
    return offset_loss(offsets, wanted) + overlap_loss(starts, ends, gold[:, 1], gold[:, 2])


def _inner(reading: Reading, seen: Seen) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What the filter and the classifier look at: the maximum, and where the first and last words are."""
    sentence, start, end = seen.spans.unbind(1)
    begin = reading.first[sentence]
    return seen.maximum, reading.vectors, begin + start, begin + end - 1


def _histogram(offsets: Tensor) -> dict[str, tuple[float, float]]:
    """How many borders of seeds are moved by how many words (the paper's Figure 3)."""
    moved = torch.floor(offsets.abs() + 0.5).long().clamp(max=4).flatten()
    counts = torch.bincount(moved, minlength=5).tolist()
    return {f"borders moved by {n}{'+' if n == 4 else ''}": (count, len(moved)) for n, count in enumerate(counts)}


def _near(spans: Tensor, gold: Tensor, least: float) -> int:
    """How many gold spans some span overlaps by at least so much."""
    return int((paired(gold, spans)[1] >= least).sum())
