"""What every head has, and what it learns from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from nestling.nn.batch import Words
from nestling.types import Entity, Labels, Span

_NO_CHOICE = -1e4  # a score that no other is below


@dataclass(frozen=True, slots=True)
class Targets:
    """The gold of a batch. Entities with more than one fragment stand in `discontinuous`."""

    spans: Tensor  # (G, 4): sentence, start, end, label
    discontinuous: tuple[tuple[int, Entity], ...]  # sentence, entity
    seeds: tuple[int, ...]  # one a sentence and epoch: what is drawn depends on it alone, not on the batch
    known: Tensor | None = None  # (B, L) labels that were looked for in a sentence; None: all in all

    def to(self, device: torch.device) -> "Targets":
        """The same on another device."""
        known = self.known.to(device) if self.known is not None else None
        return Targets(self.spans.to(device), self.discontinuous, self.seeds, known)

    def without_unknown(self, logits: Tensor, sentence: Tensor) -> Tensor:
        """Scores of labels (S, 1 + L), none first, in sentences (S,): what was not looked for there is no choice."""
        if self.known is None:
            return logits
        is_unknown = nn.functional.pad(~self.known, (1, 0))[sentence]  # (S, 1 + L), none is always known
        return logits.masked_fill(is_unknown, _NO_CHOICE)


class Loss(NamedTuple):
    """A sum of terms and how many there are; means are taken over all processes, not in each."""

    total: Tensor  # ()
    terms: Tensor  # ()


class Head(Protocol):
    """One paper's way from words to entities."""

    def forward(self, words: Words) -> Any:
        """The head's output, of the same type in training and in use."""
        ...

    def loss(self, output: Any, targets: Targets) -> dict[str, Loss]:
        """Named parts; the model sums them by weight."""
        ...

    def candidates(self, output: Any) -> list[list[Entity]]:
        """Every scored entity of every sentence, before any choice."""
        ...


class Kind(Protocol):
    """The class of a head: what makes one for words of a size, and what it can find."""

    finds_nested: bool  # entities inside others
    finds_gaps: bool  # entities of several fragments

    def __call__(self, size: int, labels: Labels, settings: Any) -> nn.Module:
        """A head."""
        ...


Given = tuple[int, tuple[Span, ...]]  # the number of its sentence, and its fragments


@runtime_checkable
class Labeller(Protocol):
    """A head that labels mentions whose borders are given."""

    def given_labels(self, output: Any, mentions: Sequence[Given]) -> Tensor:
        """Probabilities of labels: (S, L)."""
        ...


@runtime_checkable
class Inspectable(Protocol):
    """A head that can tell where on the way entities are lost."""

    widths: frozenset[int]  # of the spans that it enumerates

    def inspect(self, output: Any, targets: Targets) -> dict[str, tuple[float, float]]:
        """Named sums, each with what it is out of."""
        ...


class Likely(NamedTuple):
    """Spans that may be entities."""

    places: Tensor  # (S, 3): sentence, width - 1, start
    labels: Tensor  # (S,): the best but for none
    scores: Tensor  # (S,): its probability


def likely(logits: Tensor, mask: Tensor, least: float = 1.0) -> Likely:
    """Every span whose best label is likelier than none, or has `least`.

    Logits are (B, W, T, 1 + L) by width and start, none first.
    """
    chances = logits.float().softmax(dim=-1)
    scores, best = chances[..., 1:].max(dim=-1)  # each (B, W, T)
    is_candidate = ((scores > chances[..., 0]) | (scores >= least)) & mask
    return Likely(is_candidate.nonzero(), best[is_candidate], scores[is_candidate])


def labelled_spans(logits: Tensor, mask: Tensor, labels: Labels, least: float = 1.0) -> list[list[Entity]]:
    """The entities of `likely`, sentence by sentence."""
    found: list[list[Entity]] = [[] for _ in range(mask.shape[0])]
    for (sentence, width, start), label, score in zip(*map(Tensor.tolist, likely(logits, mask, least)), strict=True):
        found[sentence].append(Entity.at(start, start + width + 1, labels[label], min(score, 1.0)))
    return found
