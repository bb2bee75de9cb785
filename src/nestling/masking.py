"""Learning from text that nobody annotated: a transformer guesses words that are hidden from it."""

from collections.abc import Mapping

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from nestling.heads.head import Loss
from nestling.nn.batch import Batch, Pieces
from nestling.nn.encoders import Transformer

_SHOWN, _OTHER = 0.1, 0.1  # of the pieces that are to be guessed: shown as they are, shown as another one


class PretrainingSettings(BaseModel):
    """Settings of guessing hidden words, before entities are learnt."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epochs: int = Field(default=0, ge=0, description="over the text of train, and `texts`; 0: none")
    texts: tuple[str, ...] = Field(
        default=(), description="files with more text, annotated or not: .txt, or any format that data may have"
    )
    share: float = Field(default=0.15, gt=0, lt=1, description="of words that are hidden")
    pieces: int = Field(default=126, ge=1, description="of neighbouring sentences that are read together")
    batch_words: int = Field(default=1500, ge=1, description="words a step at most")
    rate: float = Field(default=2e-4, gt=0)


class MaskedWords(nn.Module):
    """A transformer and what guesses the pieces of hidden words from its vectors (Devlin et al., 2019, section 3.1).

    Whole words are hidden. Guesses are compared with the embeddings as they were at first, and a piece that is shown in
    the place of another is one of the same batch: embeddings of pieces that the text does not have stay the same.
    """

    def __init__(self, encoder: Transformer, mask: int, *, share: float) -> None:
        super().__init__()
        self.encoder, self.mask, self.share = encoder, mask, share
        table = encoder.model.get_input_embeddings().weight.detach().clone()  # type: ignore[operator]
        self.register_buffer("table", table, persistent=False)  # (V, E)
        self.table: Tensor
        self.guess = nn.Sequential(nn.Linear(encoder.size, table.shape[1]), nn.GELU(), nn.LayerNorm(table.shape[1]))
        self.bias = nn.Parameter(torch.zeros(len(table)))

    def forward(self, batch: Batch, targets: object = None) -> dict[str, Loss]:
        """The loss of guesses; what is hidden is drawn anew each time."""
        logits, wanted = self.guesses(batch)
        loss = nn.functional.cross_entropy(logits.float(), wanted, reduction="sum")
        return {"masked": Loss(loss, torch.tensor(float(len(wanted)), device=wanted.device))}

    def total(self, means: Mapping[str, Tensor]) -> Tensor:
        """The only loss there is."""
        return means["masked"]

    def guesses(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Scores of all pieces (N, V) at the places of hidden words, and which pieces stood there (N,)."""
        pieces: Pieces = batch.features[self.encoder.name]
        places = self._hidden(pieces, batch.mask)  # (N,)
        shown = pieces.ids.flatten().clone()  # (R * P,)
        wanted = shown[places]
        shown[places] = self._instead(wanted)
        vectors = self.encoder.hidden(shown.view_as(pieces.ids), pieces.mask).flatten(0, 1)[places]  # (N, D)
        return nn.functional.linear(self.guess(vectors), self.table, self.bias), wanted

    def _hidden(self, pieces: Pieces, mask: Tensor) -> Tensor:
        """The places of all pieces of words that are drawn; of one word at least."""
        chances = torch.rand(mask.shape, device=mask.device).masked_fill(~mask, 2.0)  # (B, T)
        places = pieces.words[chances <= chances.min().clamp(min=self.share)].flatten()
        return places[places > 0]

    def _instead(self, wanted: Tensor) -> Tensor:
        """What is shown in the place of pieces (N,): mostly the mask."""
        draws = torch.rand(wanted.shape, device=wanted.device)
        others = wanted[torch.randint(len(wanted), wanted.shape, device=wanted.device)]
        shown = torch.where(draws < _OTHER, others, self.mask)
        return torch.where(draws > 1 - _SHOWN, wanted, shown)
