"""BERT (Devlin et al., 2019) with the names and the sums that transformers has, computed without padding.

Most encoders that people use for entities are of this kind. Sentences of as many words have very different numbers of
pieces, so that much of a batch is padding; here every layer sees real pieces only, and rows of one length attend
together. And a model is in use seconds earlier than it takes to import transformers.
"""

from contextlib import nullcontext
from pathlib import Path
from typing import Literal, NamedTuple, Self

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor, nn

_AT_ONCE = 256  # pieces, whose wide vectors stay in a processor's cache


class BertConfig(BaseModel):
    """What a folder's config.json says, as far as it is needed; whatever else it says is kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    model_type: Literal["bert"]
    vocab_size: int = Field(ge=1, le=10_000_000)
    type_vocab_size: int = Field(ge=1, le=1000)
    max_position_embeddings: int = Field(ge=3, le=1_000_000)
    hidden_size: int = Field(ge=1, le=65_536)
    intermediate_size: int = Field(ge=1, le=1_000_000)
    num_hidden_layers: int = Field(ge=0, le=1000)
    num_attention_heads: int = Field(ge=1, le=1000)
    layer_norm_eps: float = Field(ge=0, le=1)
    hidden_dropout_prob: float = Field(ge=0, lt=1)
    attention_probs_dropout_prob: float = Field(ge=0, lt=1)
    hidden_act: Literal["gelu"]
    position_embedding_type: Literal["absolute"] = "absolute"
    is_decoder: Literal[False] = False

    @model_validator(mode="after")
    def _heads_have_a_size(self) -> Self:
        if self.hidden_size % self.num_attention_heads:
            raise ValueError("the heads do not share the vector evenly")
        return self

    def save_pretrained(self, folder: Path) -> None:
        """Writes config.json."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(self.model_dump_json(indent=1), encoding="utf-8")


class Hidden(NamedTuple):
    """The vectors of pieces; those of padding are 0."""

    last_hidden_state: Tensor  # (R, P, D)


class Rows(NamedTuple):
    """Rows that attend together, and where their real pieces stand."""

    shape: tuple[int, int]  # R, P
    places: Tensor | None = None  # (N,) in the flattened rows; None: all are real
    mask: Tensor | None = None  # (R, 1, 1, P) for attention

    @property
    def pieces(self) -> int:
        """How many are real."""
        return self.shape[0] * self.shape[1] if self.places is None else len(self.places)

    def padded(self, pieces: Tensor) -> Tensor:
        """Pieces (N, D) → rows (R, P, D)."""
        if self.places is not None:
            empty = pieces.new_zeros(self.shape[0] * self.shape[1], pieces.shape[1])
            pieces = empty.index_copy(0, self.places, pieces)
        return pieces.view(*self.shape, -1)

    def packed(self, rows: Tensor) -> Tensor:
        """Rows (R, P, D) → pieces (N, D)."""
        pieces = rows.flatten(0, 1)
        return pieces if self.places is None else pieces[self.places]


def alike(real: Tensor) -> list[Rows]:
    """Rows (R, P) that are sorted by length: those of one length together, without padding."""
    lengths, counts = real.sum(1).unique_consecutive(return_counts=True)  # type: ignore[no-untyped-call]
    return [Rows((count, length)) for count, length in zip(counts.tolist(), lengths.tolist(), strict=True) if length]


def at_once(real: Tensor) -> list[Rows]:
    """All rows (R, P) together, with a mask."""
    return [Rows((real.shape[0], real.shape[1]), real.flatten().nonzero().squeeze(1), real[:, None, None])]


class Bert(nn.Module):
    """Embeddings and layers."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        self.encoder = nn.ModuleDict({"layer": layers})

    def get_input_embeddings(self) -> nn.Embedding:
        """The table of pieces."""
        return self.embeddings.word_embeddings

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Hidden:
        """Rows (R, P) of pieces; the mask has 1 for real ones."""
        order = attention_mask.sum(1).argsort(stable=True)  # (R,)
        real = attention_mask[order].bool()
        row, position = real.nonzero().unbind(1)  # (N,) each
        places = order[row] * real.shape[1] + position  # where the pieces stood
        pieces = self.embeddings(input_ids.flatten()[places], position)  # (N, D)
        groups = at_once(real) if real.is_cuda else alike(real)  # a GPU wants few large products
        for layer in self.encoder["layer"].children():
            pieces = layer(pieces, groups)
        return Hidden(Rows((real.shape[0], real.shape[1]), places).padded(pieces))


class Embeddings(nn.Module):
    """A piece by its number and its position; all are of the first type."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        size = config.hidden_size
        self.word_embeddings = nn.Embedding(config.vocab_size, size)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, size)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, size)
        self.LayerNorm = nn.LayerNorm(size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        summed = self.word_embeddings(ids) + self.token_type_embeddings.weight[0] + self.position_embeddings(positions)
        return self.dropout(self.LayerNorm(summed))  # type: ignore[no-any-return]


class Layer(nn.Module):
    """Attention, then two linear maps; what went in is added behind each."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(config.hidden_size, config.intermediate_size)})
        self.output = Output(config.intermediate_size, config)

    def forward(self, pieces: Tensor, groups: list[Rows]) -> Tensor:
        attended = self.attention(pieces, groups)
        if attended.requires_grad or attended.is_cuda or len(attended) <= _AT_ONCE:
            return self._widened(attended)
        return torch.cat([self._widened(some) for some in attended.split(_AT_ONCE)])

    def _widened(self, pieces: Tensor) -> Tensor:
        wide = nn.functional.gelu(self.intermediate["dense"](pieces))
        return self.output(wide, pieces)  # type: ignore[no-any-return]


class Attention(nn.Module):
    """Every piece looks at all of its row."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        size = config.hidden_size
        self.heads, self.dropout = config.num_attention_heads, config.attention_probs_dropout_prob
        self.self = nn.ModuleDict({name: nn.Linear(size, size) for name in ("query", "key", "value")})
        self.output = Output(size, config)

    def forward(self, pieces: Tensor, groups: list[Rows]) -> Tensor:
        sizes = [rows.pieces for rows in groups]
        heads = (linear(pieces).split(sizes) for linear in self.self.values())
        found = [self._attend(rows, *own) for rows, *own in zip(groups, *heads, strict=True)]
        return self.output(torch.cat(found), pieces)  # type: ignore[no-any-return]

    def _attend(self, rows: Rows, *own: Tensor) -> Tensor:
        """Queries, keys and values (n, D) → what was found (n, D)."""
        is_slow = own[0].device.type == "cpu" and own[0].dtype != torch.float  # 16 bits are faster everywhere but here
        if is_slow:
            own = tuple(part.float() for part in own)
        query, key, value = (self._heads(rows.padded(part)) for part in own)
        with torch.autocast("cpu", enabled=False) if is_slow else nullcontext():
            found = nn.functional.scaled_dot_product_attention(
                query, key, value, attn_mask=rows.mask, dropout_p=self.dropout if self.training else 0.0
            )  # (R, H, P, D / H)
        return rows.packed(found.transpose(1, 2).flatten(2))

    def _heads(self, rows: Tensor) -> Tensor:
        """(R, P, D) → (R, H, P, D / H)."""
        return rows.view(*rows.shape[:2], self.heads, -1).transpose(1, 2)


class Output(nn.Module):
    """A linear map, added to what was before it."""

    def __init__(self, inputs: int, config: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, vectors: Tensor, before: Tensor) -> Tensor:
        return self.LayerNorm(self.dropout(self.dense(vectors)) + before)  # type: ignore[no-any-return]
