"""Word vectors: files in the text format of GloVe and word2vec."""

from pathlib import Path

import torch
from torch import Tensor

from nestling.data.files import Source


def read_vectors(path: Path) -> tuple[list[str], Tensor]:
    """Words and their vectors, (words, D); a first line of two numbers, as word2vec has, is passed over."""
    source = Source(path)
    words: list[str] = []
    rows: list[list[float]] = []
    for line, content in source.lines():
        word, *numbers = content.rstrip().split(" ")
        if line == 1 and len(numbers) == 1:
            continue
        try:
            row = [float(number) for number in numbers]
        except ValueError:
            source.fail(f"{content[:60]!r} is not a word and numbers", line=line)
        if not row or (rows and len(row) != len(rows[0])):
            source.fail(f"{len(row)} numbers instead of {len(rows[0]) if rows else 'some'}", line=line)
        words.append(word)
        rows.append(row)
    if not rows:
        source.fail("holds no vectors")
    return words, torch.tensor(rows)
