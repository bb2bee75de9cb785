"""Gives our heads to somebody else's encoder: whatever turns a batch into words can be bundled."""

from pathlib import Path

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import nestling
from nestling.data.batches import Batcher, passages
from nestling.data.features import WordIndexer
from nestling.heads import SequenceHead, SequenceSettings, SpanHead, SpanSettings
from nestling.model import Model
from nestling.nn.batch import Batch, Words
from nestling.recognizer import Decoder, Recognizer
from nestling.training import Trainer, TrainingSettings


class Foreign(nn.Module):
    """A GRU of one's own; `size`, and a call that gives vectors, a sentence vector and the mask, are all it needs."""

    def __init__(self, words: int, size: int = 64) -> None:
        super().__init__()
        self.size = size
        self.table = nn.Embedding(words + 1, size)
        self.gru = nn.GRU(size, size // 2, batch_first=True, bidirectional=True)

    def forward(self, batch: Batch) -> Words:
        lengths = batch.mask.sum(dim=1)
        packed = pack_padded_sequence(self.table(batch.features["words"]), lengths, True, enforce_sorted=False)
        vectors, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)  # padding is 0, so sums leave it out
        return Words(vectors, vectors.sum(dim=1) / lengths.unsqueeze(1), batch.mask)


def main() -> None:
    torch.manual_seed(0)
    gold = list(nestling.read(Path(__file__).parent / "corpus" / "gold.jsonl"))
    labels = nestling.Labels.of(gold)
    vocabulary = sorted({token.text for document in gold for token in document.tokens})
    batcher = Batcher({"words": WordIndexer(vocabulary)}, labels)
    encoder = Foreign(len(vocabulary))
    heads = {
        "sequence": SequenceHead(encoder.size, labels, SequenceSettings()),
        "span": SpanHead(encoder.size, labels, SpanSettings(widest=8)),
    }
    model = Model(encoder, heads, weights={"sequence": 0.1, "span": 0.9}, answer="span")
    recognizer = Recognizer(model, batcher, decoder=Decoder(rule="nested"))
    settings = TrainingSettings(epochs=40, batch_size=3, head_rate=0.01)
    made = list(passages(gold))
    for step in Trainer(model, lambda epoch: made, batcher, settings).steps(
        evaluate=lambda: nestling.score(gold, recognizer.pipe(gold)).strict.f1
    ):
        if step.score is not None and step.progress.epoch % 10 == 0:
            print(f"epoch {step.progress.epoch}: F1 on what it learns from {step.score:.1f}")


if __name__ == "__main__":
    main()
