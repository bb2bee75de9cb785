"""An encoder and weighted heads, one of which answers. Two heads with weights are Bundling Learning (equation 19)."""

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from nestling.errors import InvalidValueError
from nestling.heads.head import Given, Inspectable, Labeller, Loss, Targets
from nestling.nn.batch import Batch, Words
from nestling.types import Entity


class Model(nn.Module):
    """`answer` names the head whose candidates count; the others only help the encoder learn."""

    def __init__(
        self, encoder: nn.Module, heads: Mapping[str, nn.Module], weights: Mapping[str, float], answer: str
    ) -> None:
        super().__init__()
        if answer not in heads or heads.keys() != weights.keys():
            raise InvalidValueError(f"answer {answer!r} and weights {list(weights)} must name heads: {list(heads)}")
        self.encoder = encoder
        self.heads = nn.ModuleDict(heads)
        self.weights, self.answer = dict(weights), answer

    def forward(self, batch: Batch, targets: Targets) -> dict[str, Loss]:
        """The losses of all heads, named `head.part`."""
        words = self.encoder(batch)
        losses: dict[str, Loss] = {}
        for name, head in self.heads.items():
            own: dict[str, Loss] = head.loss(head(words), targets)  # type: ignore[operator]
            losses |= {f"{name}.{part}": loss for part, loss in own.items()}
        return losses

    def total(self, means: Mapping[str, Tensor]) -> Tensor:
        """The weighted sum of the means of losses."""
        parts = [self.weights[name.split(".")[0]] * mean for name, mean in means.items()]
        return sum(parts[1:], start=parts[0])

    def candidates(self, batch: Batch) -> list[list[Entity]]:
        """Every scored entity of every sentence, by the head that answers."""
        words: Words = self.encoder(batch)
        head = self.heads[self.answer]
        return head.candidates(head(words))  # type: ignore[no-any-return, operator]

    def given_labels(self, batch: Batch, mentions: Sequence[Given]) -> Tensor:
        """Probabilities of labels (S, L) for mentions whose borders are given, by the answering head."""
        head = self.heads[self.answer]
        if not isinstance(head, Labeller):
            raise InvalidValueError(f"the head {self.answer!r} does not label mentions whose borders are given")
        return head.given_labels(head(self.encoder(batch)), mentions)

    def inspect(self, batch: Batch, targets: Targets) -> dict[str, tuple[float, float]]:
        """Where the answering head loses entities, if it can tell: sums and what they are out of."""
        head = self.heads[self.answer]
        if not isinstance(head, Inspectable):
            return {}
        return head.inspect(head(self.encoder(batch)), targets)
