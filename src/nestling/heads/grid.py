"""A grid of word pairs: flat, nested and discontinuous mentions alike. After W2NER (Li et al., 2022).

Two things are asked of words i ≤ j: is j the next word of a mention behind its word i (a link), and does a mention with
some label begin with i and end with j (its ends)? A mention is a path of links between its ends, so gaps cost nothing
special. Pairs lie in a band (B, W, T), by distance and first word: memory grows with the sentence, not with its square.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from nestling.heads.head import Loss, Targets, likely
from nestling.nn.batch import Words
from nestling.nn.spans import Maxima, mask_of, shifted
from nestling.types import Entity, Labels, Span, joined

Links = dict[int, list[tuple[int, float]]]  # from a word to those that may follow it, with probabilities
_MOST_PATHS = 16  # between two ends


class GridSettings(BaseModel):
    """Settings of the grid head."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    reach: int | None = Field(
        default=None, ge=1, le=10_000, description="widest mention, gaps included; by default it covers 99 % of train's"
    )
    size: int = Field(default=128, ge=1, le=65_536, description="of the hidden layer")
    distance_size: int = Field(default=16, ge=1, le=65_536)
    dropout: float = Field(default=0.2, ge=0, lt=1)
    gap_weight: float = Field(
        default=1.0, gt=0, allow_inf_nan=False, description="how much a pair of a mention with gaps counts"
    )
    link_threshold: float = Field(default=0.5, gt=0, lt=1, description="probability from which two words are linked")
    least: float = Field(
        default=1.0, gt=0, le=1, description="probability from which ends are a candidate though none is likelier"
    )


@dataclass(frozen=True, slots=True)
class Grid:
    """Scores of pairs of words."""

    links: Tensor  # (B, W, T)
    ends: Tensor  # (B, W, T, 1 + L); label 0 is none
    mask: Tensor  # (B, W, T)


class GridHead(nn.Module):
    """What the two words are, how far apart, and what lies between them; one hidden layer."""

    finds_nested, finds_gaps = True, True

    def __init__(self, size: int, labels: Labels, settings: GridSettings) -> None:
        super().__init__()
        if settings.reach is None:
            raise ValueError("reach must be known when the head is made")
        self.labels, self.reach, self.settings = labels, settings.reach, settings
        hidden = settings.size
        self.dropout = nn.Dropout(settings.dropout)
        self.of_first = nn.Linear(size, hidden, bias=False)
        self.of_last = nn.Linear(size, hidden, bias=False)
        self.of_between = nn.Linear(size, hidden, bias=False)  # before the maximum is taken: once a word, not a pair
        self.distance = nn.Embedding(self.reach, settings.distance_size)
        self.of_distance = nn.Linear(settings.distance_size, hidden)
        self.link = nn.Linear(hidden, 1)
        self.end = nn.Linear(hidden, 1 + len(labels))

    def forward(self, words: Words) -> Grid:
        reach = min(self.reach, words.mask.shape[1])
        vectors = self.dropout(words.vectors)
        first, last = self.of_first(vectors), self.of_last(vectors)  # (B, T, H)
        between = Maxima(self.of_between(vectors))
        distance = self.of_distance(self.distance.weight[:reach])  # (W, H)
        links, ends = [], []
        for by in range(reach):
            inside = between.of_width(by + 1)  # (B, T - by, H)
            inside = nn.functional.pad(inside, (0, 0, 0, by))
            hidden = nn.functional.gelu(first + shifted(last, by) + inside + distance[by])  # (B, T, H)
            hidden = self.dropout(hidden)
            links.append(self.link(hidden).squeeze(-1))
            ends.append(self.end(hidden))
        return Grid(torch.stack(links, dim=1), torch.stack(ends, dim=1), mask_of(words.mask, reach))

    def loss(self, output: Grid, targets: Targets) -> dict[str, Loss]:
        """Cross-entropies over all pairs of words, a word's worth of them at a time."""
        links, ends, weights = self.gold(output.mask, targets)
        is_pair = output.mask.clone()
        is_pair[:, 0] = False  # a word does not follow itself
        if targets.known is not None:  # links of labels that were not looked for are unknown, not absent
            is_pair &= targets.known.all(dim=1).view(-1, 1, 1) | (links > 0)
        words = output.mask[:, 0].sum()
        wrong = nn.functional.binary_cross_entropy_with_logits(
            output.links[is_pair], links[is_pair], weights[is_pair], reduction="sum"
        )
        logits = targets.without_unknown(output.ends[output.mask], output.mask.nonzero()[:, 0])
        missed = nn.functional.cross_entropy(logits, ends[output.mask], reduction="none") * weights[output.mask]
        return {"links": Loss(wrong, words), "ends": Loss(missed.sum(), words)}

    def gold(self, mask: Tensor, targets: Targets) -> tuple[Tensor, Tensor, Tensor]:
        """Links, labels of ends, and weights, each (B, W, T); what reaches too far is left out."""
        links, weights = torch.zeros(mask.shape), torch.ones(mask.shape)
        ends = torch.zeros(mask.shape, dtype=torch.long)
        continuous = [(row, [Span(start, end)], label) for row, start, end, label in targets.spans.tolist()]
        gapped = [(row, list(e.fragments), self.labels.index(e.label)) for row, e in targets.discontinuous]
        for row, fragments, label in continuous + gapped:
            words = [n for span in fragments for n in range(span.start, span.end)]
            if words[-1] - words[0] < mask.shape[1]:
                weight = self.settings.gap_weight if len(fragments) > 1 else 1.0
                ends[row, words[-1] - words[0], words[0]] = 1 + label
                weights[row, words[-1] - words[0], words[0]] = weight
                for one, other in pairwise(words):
                    links[row, other - one, one] = 1
                    weights[row, other - one, one] = weight
        return links.to(mask.device), ends.to(mask.device), weights.to(mask.device)

    def candidates(self, output: Grid) -> list[list[Entity]]:
        """Every path between two ends; its score is that of the ends, times the weakest link's probability."""
        linked = output.links.float().sigmoid()
        links = self._links(linked, output.mask)
        found: list[list[Entity]] = [[] for _ in range(output.mask.shape[0])]
        ends = likely(output.ends, output.mask, self.settings.least)
        for (row, by, first), label, score in zip(*map(Tensor.tolist, ends), strict=True):
            ways = list(paths(links[row], first, first + by))
            if not ways:  # the words between the ends, linked or not
                ways = [(list(range(first, first + by + 1)), float(linked[row, 1, first : first + by].min()))]
            for words, weakest in ways:
                name = self.labels[label]
                found[row].append(Entity(joined(Span(n, n + 1) for n in words), name, min(score * weakest, 1.0)))
        return found

    def _links(self, linked: Tensor, mask: Tensor) -> list[Links]:
        is_link = (linked >= self.settings.link_threshold) & mask
        is_link[:, 0] = False
        found: list[Links] = [{} for _ in range(mask.shape[0])]
        places = is_link.nonzero()
        for (row, by, first), probability in zip(places.tolist(), linked[tuple(places.T)].tolist(), strict=True):
            found[row].setdefault(first, []).append((first + by, probability))
        return found


def paths(links: Links, first: int, last: int) -> Iterator[tuple[list[int], float]]:
    """Ways from a word to another along links, each with its weakest link; at most so many."""
    leads = {last}  # words from which there is a way
    for word in range(last - 1, first - 1, -1):
        if any(other in leads for other, _ in links.get(word, ())):
            leads.add(word)
    waiting = [([first], 1.0)] if first in leads else []
    count = 0
    while waiting and count < _MOST_PATHS:
        words, weakest = waiting.pop()
        if words[-1] == last:
            count += 1
            yield words, weakest
        else:
            ahead = [(other, p) for other, p in links.get(words[-1], ()) if other in leads]
            waiting += [([*words, n], min(weakest, p)) for n, p in sorted(ahead, key=lambda link: link[1])]
