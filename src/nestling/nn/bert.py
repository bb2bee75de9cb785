"""BERT (Devlin et al., 2019) with the names and the sums that transformers has, computed without padding.

Most encoders that people use for entities are of this kind. Sentences of as many words have very different numbers of
pieces, so that much of a batch is padding; here every layer sees real pieces only, and only attention, which is
little, sees rows. And a model is in use seconds earlier than it takes to import transformers.
"""

from pathlib import Path
from typing import Literal, NamedTuple, Self

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor, nn


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
    """Where real pieces stand in padded rows."""

    places: Tensor  # (N,) in the flattened rows
    shape: torch.Size  # R, P
    mask: Tensor | None  # (R, 1, 1, P) for attention; None: nothing is padding

    def padded(self, pieces: Tensor) -> Tensor:
        """Pieces (N, D) → rows (R, P, D)."""
        if self.mask is not None:
            empty = pieces.new_zeros(self.shape.numel(), pieces.shape[1])
            pieces = empty.index_copy(0, self.places, pieces)
        return pieces.view(*self.shape, -1)

    def packed(self, rows: Tensor) -> Tensor:
        """Rows (R, P, D) → pieces (N, D)."""
        pieces = rows.flatten(0, 1)
        return pieces if self.mask is None else pieces[self.places]


class Bert(nn.Module):
    """Embeddings and layers."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        self.encoder = nn.ModuleDict({"layer": layers})

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Hidden:
        real = attention_mask.bool()  # (R, P)
        places = real.flatten().nonzero().squeeze(1)  # (N,)
        mask = None if len(places) == real.numel() else real[:, None, None]
        rows = Rows(places, real.shape, mask)
        pieces = self.embeddings(input_ids.flatten()[places], places % real.shape[1])  # (N, D)
        for layer in self.encoder["layer"].children():
            pieces = layer(pieces, rows)
        return Hidden(rows.padded(pieces))


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

    def forward(self, pieces: Tensor, rows: Rows) -> Tensor:
        attended = self.attention(pieces, rows)
        wide = nn.functional.gelu(self.intermediate["dense"](attended))
        return self.output(wide, attended)  # type: ignore[no-any-return]


class Attention(nn.Module):
    """Every piece looks at all of its row."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        size = config.hidden_size
        self.heads, self.dropout = config.num_attention_heads, config.attention_probs_dropout_prob
        self.self = nn.ModuleDict({name: nn.Linear(size, size) for name in ("query", "key", "value")})
        self.output = Output(size, config)

    def forward(self, pieces: Tensor, rows: Rows) -> Tensor:
        query, key, value = (self._heads(rows.padded(linear(pieces))) for linear in self.self.values())
        found = nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=rows.mask, dropout_p=self.dropout if self.training else 0.0
        )  # (R, H, P, D / H)
        return self.output(rows.packed(found.transpose(1, 2).flatten(2)), pieces)  # type: ignore[no-any-return]

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
