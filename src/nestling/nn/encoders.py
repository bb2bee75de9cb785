"""Words → vectors. A part reads its own feature of a batch and gives (B, T, size); parts stand side by side.

`Transformer` alone is the encoder of the papers' flat models; `Concat` of a transformer, word vectors, part of speech
and characters under a `BiLSTM` is that of Locate and Label, section 2.1; `Concat` of a transformer without layers,
which is its embeddings, and `Affixes` under `Convolutions` is a light one.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nestling.nn.batch import Batch, Pieces, Spellings, Words

Pooling = Literal["max", "mean", "first"]


class Encoder(Protocol):
    """Whatever gives words their vectors: ours or anybody's."""

    size: int

    def __call__(self, batch: Batch) -> Words:
        """Words of a batch as vectors."""
        ...


class Transformer(nn.Module):
    """A pretrained transformer; a word is its pieces pooled, the sentence is its row's first piece.

    With a memory it is not trained, and reads every sentence once.
    """

    def __init__(
        self, name: str, model: nn.Module, *, pooling: Pooling = "max", memory: "Memory | None" = None
    ) -> None:
        super().__init__()
        self.name, self.model, self.pooling, self.memory = name, model, pooling, memory
        self.size: int = model.config.hidden_size  # type: ignore[union-attr, assignment]
        if memory is not None:
            model.requires_grad_(False)

    def train(self, mode: bool = True) -> "Transformer":
        super().train(mode)
        if self.memory is not None:
            self.model.eval()  # no dropout: what is remembered is always the same
        return self

    def forward(self, batch: Batch) -> Words:
        pieces: Pieces = batch.features[self.name]
        hidden = self.hidden(pieces.ids, pieces.mask) if self.memory is None else self.memory(self.hidden, pieces)
        vectors = pool(hidden.flatten(0, 1), pieces.words, self.pooling)  # (B, T, D)
        return Words(vectors, hidden[pieces.rows, 0], batch.mask)

    def hidden(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Vectors of pieces: (R, P, D)."""
        return self.model(input_ids=ids, attention_mask=mask).last_hidden_state  # type: ignore[no-any-return]


class Memory:
    """Vectors of pieces by their row of pieces, in 16 bits, as long as there is room."""

    def __init__(self, megabytes: float = 2000) -> None:
        self.room, self.known = 1e6 * megabytes, dict[bytes, Tensor]()

    @torch.no_grad()
    def __call__(self, read: Callable[[Tensor, Tensor], Tensor], pieces: Pieces) -> Tensor:
        """What `read` gives for rows, asked only for those that are new: (R, P, D)."""
        lengths = pieces.mask.sum(dim=1).tolist()
        keys = [row[:n].cpu().numpy().tobytes() for row, n in zip(pieces.ids, lengths, strict=True)]
        new = [n for n, key in enumerate(keys) if key not in self.known]
        made = dict(zip(new, read(pieces.ids[new], pieces.mask[new]).half(), strict=True)) if new else {}
        rows = [made[n] if n in made else self.known[key] for n, key in enumerate(keys)]
        whole = torch.zeros(*pieces.ids.shape, rows[0].shape[-1], device=pieces.ids.device)
        for n, row in enumerate(rows):
            self._keep(keys[n], row[: lengths[n]])
            whole[n, : lengths[n]] = row[: lengths[n]].to(whole)
        return whole

    def _keep(self, key: bytes, row: Tensor) -> None:
        if key not in self.known and self.room > 2 * row.numel():
            self.room -= 2 * row.numel()
            self.known[key] = row.cpu().clone()


def freeze(model: nn.Module, lowest: int) -> None:
    """Takes the lowest layers of a transformer out of training; the embeddings are the first of them."""
    depth: int = model.config.num_hidden_layers  # type: ignore[union-attr, assignment]
    stacks = [own for own in model.modules() if isinstance(own, nn.ModuleList) and len(own) == depth]
    layers = [model.embeddings, *stacks[0]] if stacks and hasattr(model, "embeddings") else []
    if lowest > len(layers):
        raise ValueError(f"{lowest} layers cannot be frozen: {len(layers)} are known, with the embeddings")
    for layer in layers[:lowest]:
        layer.requires_grad_(False)


def pool(hidden: Tensor, words: Tensor, pooling: Pooling) -> Tensor:
    """Pieces (N, D) → words (B, T, D); `words` (B, T, K) are positions of pieces, 0 for none."""
    first = hidden[words[:, :, 0]] * (words[:, :, :1] > 0)  # (B, T, D); padding is 0
    if pooling == "first" or words.shape[2] == 1:
        return first
    several = (words[:, :, 1] > 0).nonzero(as_tuple=True)  # words of more than one piece: the few
    own = words[several]  # (M, K)
    gathered, real = hidden[own], (own > 0).unsqueeze(-1)  # (M, K, D), (M, K, 1)
    if pooling == "mean":
        pooled = (gathered * real).sum(dim=1) / real.sum(dim=1)
    else:
        pooled = gathered.masked_fill(~real, torch.finfo(gathered.dtype).min).amax(dim=1)  # (M, D)
    return first.index_put(several, pooled)


class WordVectors(nn.Module):
    """Word vectors from a table; row 0 is for unknown words and padding.

    Vectors that come from the training text know all of its words: what an unknown one means is learnt from a share of
    words that are taken for `unknown`.
    """

    def __init__(
        self, name: str, table: Tensor, *, is_frozen: bool = True, dropout: float = 0.0, unknown: float = 0.0
    ) -> None:
        super().__init__()
        self.name, self.size, self.unknown = name, table.shape[1], unknown
        self.table = nn.Embedding(table.shape[0], table.shape[1], _weight=table, _freeze=is_frozen)  # (vocabulary, D)
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> Words:
        rows = batch.features[self.name]  # (B, T)
        if self.training and self.unknown:
            rows = rows.masked_fill(torch.rand(rows.shape, device=rows.device) < self.unknown, 0)
        return _words(self.dropout(self.table(rows)), batch.mask)


class Classes(nn.Module):
    """A learned vector for each class of words, as part of speech or cluster; 0 is for unknown ones and padding."""

    def __init__(self, name: str, classes: int, *, size: int = 50, dropout: float = 0.0) -> None:
        super().__init__()
        self.name, self.size = name, size
        self.table = nn.Embedding(classes, size, padding_idx=0)
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> Words:
        return _words(self.dropout(self.table(batch.features[self.name])), batch.mask)


class Characters(nn.Module):
    """Words by their characters: the final states of a BiLSTM, or a convolution and its maximum, which is faster."""

    def __init__(
        self,
        name: str,
        alphabet: int,
        *,
        kind: Literal["lstm", "convolution"] = "lstm",
        size: int = 100,
        character_size: int = 32,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.name, self.kind, self.size = name, kind, size
        self.table = nn.Embedding(alphabet, character_size, padding_idx=0)
        self.dropout = nn.Dropout(dropout)
        self.reader: nn.Module = (
            nn.LSTM(character_size, size // 2, batch_first=True, bidirectional=True)
            if kind == "lstm"
            else nn.Conv1d(character_size, size, kernel_size=3, padding=1)
        )

    def forward(self, batch: Batch) -> Words:
        spellings: Spellings = batch.features[self.name]
        characters = self.dropout(self.table(spellings.ids))  # (U, C, E)
        mask = spellings.ids > 0  # (U, C)
        if self.kind == "lstm":
            distinct = _final_states(self.reader, characters, mask.sum(dim=1).clamp(min=1))  # (U, D)
        else:
            read = self.reader(characters.transpose(1, 2))  # (U, D, C)
            distinct = read.masked_fill(~mask.unsqueeze(1), torch.finfo(read.dtype).min).amax(dim=2).relu()  # (U, D)
        return _words(distinct[spellings.words], batch.mask)


class Affixes(nn.Module):
    """Words by hashed features of their spelling: the word, its prefixes and suffixes, its shape.

    Every feature has a table of its own, whose rows it shares with whatever hashes there too; an unseen word still has
    its affixes and its shape. The features are mixed by a maxout layer (Miranda et al., 2022, Multi hash embeddings).
    """

    def __init__(self, name: str, features: int, rows: int, *, size: int = 128, dropout: float = 0.0) -> None:
        super().__init__()
        self.name, self.size = name, size
        width = size // 2
        self.tables = nn.ModuleList(nn.Embedding(rows, width, padding_idx=0) for _ in range(features))
        self.mix = Maxout(features * width, size, dropout=dropout)

    def forward(self, batch: Batch) -> Words:
        spellings: Spellings = batch.features[self.name]
        rows = [table(spellings.ids[:, n]) for n, table in enumerate(self.tables)]  # each (U, size / 2)
        return _words(self.mix(torch.cat(rows, dim=1))[spellings.words], batch.mask)


class Maxout(nn.Module):
    """The largest of three linear maps, normalised."""

    def __init__(self, inputs: int, size: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, 3 * size)
        self.norm = nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Tensor) -> Tensor:
        pieces = self.linear(vectors).unflatten(-1, (-1, 3))  # (..., size, 3)
        return self.dropout(self.norm(pieces.amax(dim=-1)))  # type: ignore[no-any-return]


class Concat(nn.Module):
    """Several parts side by side."""

    def __init__(self, parts: Sequence[nn.Module]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.size = sum(size_of(part) for part in parts)

    def forward(self, batch: Batch) -> Words:
        words = [part(batch) for part in self.parts]
        vectors = torch.cat([part.vectors for part in words], dim=-1)  # (B, T, D)
        return Words(vectors, torch.cat([part.sentence for part in words], dim=-1), batch.mask)


class BiLSTM(nn.Module):
    """A BiLSTM over an encoder's words; the sentence is its final states."""

    def __init__(self, encoder: nn.Module, *, size: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        self.encoder, self.size = encoder, size
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(
            size_of(encoder),
            size // 2,
            num_layers=layers,
            dropout=between,
            batch_first=True,
            bidirectional=True,
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch: Batch) -> Words:
        words: Words = self.encoder(batch)
        lengths = words.mask.sum(dim=1).cpu()
        packed = pack_padded_sequence(self.dropout(words.vectors), lengths, batch_first=True, enforce_sorted=False)
        read, (final, _) = self.lstm(packed)
        vectors, _ = pad_packed_sequence(read, batch_first=True, total_length=words.mask.shape[1])  # (B, T, D)
        return Words(vectors, torch.cat([final[-2], final[-1]], dim=-1), words.mask)


class Convolutions(nn.Module):
    """Residual layers of windows of three words over an encoder's words: a light stand-in for attention."""

    def __init__(self, encoder: nn.Module, *, size: int, layers: int = 4, dropout: float = 0.0) -> None:
        super().__init__()
        self.encoder, self.size = encoder, size
        self.enter = Maxout(size_of(encoder), size, dropout=dropout)
        self.layers = nn.ModuleList(Maxout(3 * size, size, dropout=dropout) for _ in range(layers))

    def forward(self, batch: Batch) -> Words:
        words: Words = self.encoder(batch)
        real = words.mask.unsqueeze(-1)
        vectors = self.enter(words.vectors) * real  # (B, T, D)
        for layer in self.layers:
            before = nn.functional.pad(vectors[:, :-1], (0, 0, 1, 0))
            behind = nn.functional.pad(vectors[:, 1:], (0, 0, 0, 1))
            vectors = (vectors + layer(torch.cat([before, vectors, behind], dim=-1))) * real
        return _words(vectors, words.mask)


def size_of(encoder: nn.Module) -> int:
    """The size of an encoder's vectors."""
    return int(encoder.size)  # type: ignore[arg-type]


def _words(vectors: Tensor, mask: Tensor) -> Words:
    """Words whose sentence vector is their mean."""
    real = mask.unsqueeze(-1)  # (B, T, 1)
    return Words(vectors, (vectors * real).sum(dim=1) / real.sum(dim=1).clamp(min=1), mask)


def _final_states(lstm: Any, vectors: Tensor, lengths: Tensor) -> Tensor:
    """The final states of both directions: (U, D)."""
    packed = pack_padded_sequence(vectors, lengths.cpu(), batch_first=True, enforce_sorted=False)
    _, (final, _) = lstm(packed)
    return torch.cat([final[-2], final[-1]], dim=-1)
