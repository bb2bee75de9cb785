"""Documents → passages → batches and targets.

A passage is what is encoded together: a sentence alone, or neighbouring sentences of a document as context for each
other. Every sentence stands in one passage, so context costs nothing twice. Order and draws depend on seed, epoch and
place in the corpus alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from nestling.data.features import Indexer
from nestling.heads.head import Targets
from nestling.nn.batch import Batch
from nestling.types import Document, Labels, Sentence

_WORTHWHILE, _MUCH_SHORTER = 256, 0.75  # words of a batch; of the longest passage
_LONG_WORD = 8  # characters, with the blank behind it


@dataclass(frozen=True, slots=True)
class Passage:
    """Neighbouring sentences, and the number of the first in its corpus."""

    sentences: tuple[Sentence, ...]
    first: int
    annotated: frozenset[str] | None = None  # labels that were looked for; None: all

    @property
    def words(self) -> int:
        """How many words the sentences have."""
        return sum(map(len, self.sentences))

    @property
    def bulk(self) -> int:
        """What they take in memory, in words of ordinary length: a word of eighty letters has forty pieces."""
        characters = sum(sentence.tokens[-1].end - sentence.tokens[0].start for sentence in self.sentences)
        return max(self.words, characters // _LONG_WORD)


def passages(
    documents: Iterable[Document], *, room: int = 0, size: Callable[[tuple[str, ...]], int] = len
) -> Iterator[Passage]:
    """The sentences of documents, as many together as `room` allows by their `size`; 0: each alone."""
    number = 0
    for document in documents:
        held: list[Sentence] = []
        filled = 0
        for sentence in document.sentences:
            needed = size(sentence.words) if room else 0
            if held and (not room or filled + needed > room):
                yield Passage(tuple(held), number, document.annotated)
                number += len(held)
                held, filled = [], 0
            held.append(sentence)
            filled += needed
        if held:
            yield Passage(tuple(held), number, document.annotated)
            number += len(held)


def shuffled(
    made: Sequence[Passage], *, sentences: int, words: int | None = None, seed: int, epoch: int
) -> list[list[Passage]]:
    """Batches of about so many sentences, and words, for one epoch, in random order, of passages of similar length.

    Passages are shuffled, then sorted by length in stretches of fifty batches: little padding, and much chance.
    """
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(made))
    mean = max(1, sum(len(p.sentences) for p in made) / max(len(made), 1))
    stretch = 50 * max(1, round(sentences / mean))
    batches: list[list[Passage]] = []
    for start in range(0, len(order), stretch):
        near = sorted((made[n] for n in order[start : start + stretch]), key=lambda passage: passage.words)
        batches += by_count(near, sentences, words)
    return [batches[n] for n in rng.permutation(len(batches))]


def by_count(made: Iterable[Passage], sentences: int, words: int | None = None) -> Iterator[list[Passage]]:
    """Batches of passages, given by length, with at most so many sentences, and words with padding, or one passage."""
    batch: list[Passage] = []
    count = 0
    for passage in made:
        is_wide = words is not None and passage.words * (len(batch) + 1) > words
        if batch and (is_wide or count + len(passage.sentences) > sentences):
            yield batch
            batch, count = [], 0
        batch.append(passage)
        count += len(passage.sentences)
    if batch:
        yield batch


def by_words(made: Sequence[Passage], words: int) -> Iterator[list[int]]:
    """Batches for prediction, as positions in `made`: largest first, at most so many words, padding counted.

    A batch that is worth its while ends where passages become much smaller: padding would cost more than another batch.
    """
    sizes = [passage.bulk for passage in made]
    batch: list[int] = []
    largest = filled = 0
    for position in sorted(range(len(made)), key=lambda n: -sizes[n]):
        own = sizes[position]
        is_full = largest * (len(batch) + 1) > words
        if batch and (is_full or (filled >= _WORTHWHILE and own < _MUCH_SHORTER * largest)):
            yield batch
            batch, largest, filled = [], 0, 0
        largest = largest or own
        filled += own
        batch.append(position)
    if batch:
        yield batch


class Batcher:
    """Passages → what the model takes."""

    def __init__(self, indexers: Mapping[str, Indexer], labels: Labels) -> None:
        self.indexers, self.labels = dict(indexers), labels

    def batch(self, made: Sequence[Passage]) -> Batch:
        """The sentences of passages, in order."""
        words = [[sentence.words for sentence in passage.sentences] for passage in made]
        lengths = torch.tensor([len(sentence) for passage in words for sentence in passage])
        mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(1)  # (B, T)
        return Batch(mask, {name: indexer(words) for name, indexer in self.indexers.items()})

    def targets(self, made: Sequence[Passage], *, seed: int = 0, epoch: int = 0) -> Targets:
        """The gold of the same sentences."""
        spans, discontinuous, seeds = [], [], []
        numbered = [(p.first + n, sentence) for p in made for n, sentence in enumerate(p.sentences)]
        for row, (number, sentence) in enumerate(numbered):
            seeds.append(hash((seed, epoch, number)) % 2**63)
            for entity in sentence.entities:
                if entity.is_discontinuous:
                    discontinuous.append((row, entity))
                else:
                    spans.append([row, entity.start, entity.end, self.labels.index(entity.label)])
        table = torch.tensor(spans, dtype=torch.long).reshape(-1, 4)
        return Targets(table, tuple(discontinuous), tuple(seeds), self._known(made))

    def _known(self, made: Sequence[Passage]) -> torch.Tensor | None:
        """Which labels were looked for in each sentence (B, L); None where all were in all."""
        if all(passage.annotated is None for passage in made):
            return None
        rows = [
            [passage.annotated is None or label in passage.annotated for label in self.labels]
            for passage in made
            for _ in passage.sentences
        ]
        return torch.tensor(rows)
