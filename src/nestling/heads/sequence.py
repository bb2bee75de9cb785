"""SeqNER: a BIO tag for every word. Bundling Learning (Ji et al., 2022), section 3.1.2, equations 5 to 11.

Tags hold flat entities. Where gold overlaps, the outermost (or innermost) layer is what this head learns, and the rest
is beyond it. Tags that go on from nothing start an entity, as everywhere in nestling. An entity's score is the product
of the probabilities of its tags.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from nestling.data.tags import decode, layers
from nestling.heads.head import Loss, Targets
from nestling.nn.batch import Words
from nestling.nn.crf import CRF
from nestling.types import Entity, Labels


class SequenceSettings(BaseModel):
    """Settings of the sequence head."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tagging: Literal["softmax", "crf"] = "softmax"
    layer: Literal["outermost", "innermost"] = "outermost"
    dropout: float = Field(default=0.1, ge=0, lt=1)


@dataclass(frozen=True, slots=True)
class Tagged:
    """Scores of tags."""

    emissions: Tensor  # (B, T, L), L = 2 labels + 1
    mask: Tensor  # (B, T)


class SequenceHead(nn.Module):
    """One linear layer to tags, and transitions between them if they are to be chosen together."""

    finds_nested, finds_gaps = False, False

    def __init__(self, size: int, labels: Labels, settings: SequenceSettings) -> None:
        super().__init__()
        self.layer = settings.layer
        self.tags = ("O", *(f"{letter}-{label}" for label in labels for letter in "BI"))
        self.labels = labels
        self.dropout = nn.Dropout(settings.dropout)
        self.linear = nn.Linear(size, len(self.tags))
        self.crf = CRF(len(self.tags)) if settings.tagging == "crf" else None

    def forward(self, words: Words) -> Tagged:
        return Tagged(self.linear(self.dropout(words.vectors)), words.mask)  # equation 5

    def loss(self, output: Tagged, targets: Targets) -> dict[str, Loss]:
        """The mean over words of the cross-entropy (7), or of the path's negative log-likelihood (10)."""
        gold = self.gold_tags(output.mask, targets)  # (B, T)
        emissions = self._known_tags(output.emissions, targets)
        count = output.mask.sum()
        if self.crf is not None:
            return {"crf": Loss(self.crf.loss(emissions, gold, output.mask).sum(), count)}
        wrong = nn.functional.cross_entropy(emissions.transpose(1, 2), gold, reduction="none")  # (B, T)
        return {"softmax": Loss((wrong * output.mask).sum(), count)}

    def _known_tags(self, emissions: Tensor, targets: Targets) -> Tensor:
        """Emissions in which tags of labels that were not looked for are no choice."""
        if targets.known is None:
            return emissions
        twice = Targets(targets.spans, (), (), targets.known.repeat_interleave(2, dim=1))  # a label has two tags
        sentence = torch.arange(len(emissions), device=emissions.device).repeat_interleave(emissions.shape[1])
        return twice.without_unknown(emissions.flatten(0, 1), sentence).view_as(emissions)

    def gold_tags(self, mask: Tensor, targets: Targets) -> Tensor:
        """The tags of the first layer of gold: (B, T)."""
        tags = torch.zeros(mask.shape, dtype=torch.long)
        gold: dict[int, list[Entity]] = {}
        for sentence, start, end, label in targets.spans.tolist():
            gold.setdefault(sentence, []).append(Entity.at(start, end, self.labels[label]))
        for sentence, entities in gold.items():
            for entity in layers(entities, self.layer)[0]:
                begin = 1 + 2 * self.labels.index(entity.label)
                tags[sentence, entity.start : entity.end] = begin + 1
                tags[sentence, entity.start] = begin
        return tags.to(mask.device)

    def candidates(self, output: Tagged) -> list[list[Entity]]:
        """The entities that the best tags combine to."""
        probabilities, best = self._best(output)
        return [
            [self._scored(entity, row) for entity in decode([self.tags[tag] for tag in tags[:length]])[0]]
            for tags, row, length in zip(
                best.tolist(), probabilities.tolist(), output.mask.sum(1).tolist(), strict=True
            )
        ]

    def _best(self, output: Tagged) -> tuple[Tensor, Tensor]:
        """The best tag of every word and its probability: both (B, T)."""
        if self.crf is None:
            probabilities, best = output.emissions.softmax(dim=2).max(dim=2)  # equation 6
            return probabilities, best
        best = self.crf.best_paths(output.emissions, output.mask)
        marginals = self.crf.marginals(output.emissions, output.mask)
        return marginals.gather(2, best.unsqueeze(2)).squeeze(2), best

    @staticmethod
    def _scored(entity: Entity, probabilities: list[float]) -> Entity:
        score = 1.0
        for probability in probabilities[entity.start : entity.end]:
            score *= min(probability, 1.0)
        return Entity(entity.fragments, entity.label, score)
