"""Word vectors: files in the text format of GloVe and word2vec."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nestling.data.files import Source, written
from nestling.errors import DataError

Table = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Vectors:
    """Words and their vectors, a row each."""

    words: list[str]
    table: Table  # (words, D)

    def nearest(self, word: str, count: int = 10) -> list[tuple[str, float]]:
        """The words whose vectors point the same way most nearly, with the cosines."""
        if word not in self.words:
            raise DataError(f"there is no vector for {word!r}")
        unit = self.table / np.maximum(np.linalg.norm(self.table, axis=1, keepdims=True), 1e-12)
        own = self.words.index(word)
        cosines = unit @ unit[own]
        order = [int(n) for n in np.argsort(-cosines, kind="stable") if n != own][:count]
        return [(self.words[n], float(cosines[n])) for n in order]


def read_vectors(path: Path) -> Vectors:
    """The vectors of a file; a first line of two numbers, as word2vec has, is passed over."""
    source = Source(path)
    words: list[str] = []
    rows: list[Table] = []
    for line, content in source.lines():
        word, *numbers = content.rstrip().rsplit(" ", len(rows[0]) if rows else -1)  # words may have blanks
        if line == 1 and len(numbers) == 1:
            continue
        try:
            row = np.array(numbers, dtype=np.float32)
        except ValueError:
            source.fail(f"{content[:60]!r} is not a word and numbers", line=line)
        if not len(row) or (rows and len(row) != len(rows[0])):
            source.fail(f"{len(row)} numbers instead of {len(rows[0]) if rows else 'some'}", line=line)
        if not np.isfinite(row).all():
            source.fail("a number is not finite", line=line)
        words.append(word)
        rows.append(row)
    if not rows:
        source.fail("holds no vectors")
    return Vectors(words, np.stack(rows))


def write_vectors(vectors: Vectors, path: Path, *, has_header: bool = False) -> None:
    """Writes GloVe's text format, or with a header word2vec's."""
    with written(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        if has_header:
            file.write(f"{len(vectors.words)} {vectors.table.shape[1]}\n")
        for word, row in zip(vectors.words, vectors.table, strict=True):
            file.write(f"{word} {' '.join(f'{number:.6g}' for number in row)}\n")
