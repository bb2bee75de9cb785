"""How many mentions a CPU second the network of SNG learns from: in batches, as here, and one by one, as published.

    python benchmarks/sng_speed.py [--rounds 5]

Both have frozen vectors of 300 numbers and a BiLSTM of 200 each way, and take turns on one thread. One by one,
gradients are added up and no step is made; in batches, whole steps of training are counted, 32 sentences each.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from records import add
from torch import Tensor, nn

from nestling.data import corpora
from nestling.heads.fragments import FragmentsHead
from nestling.run import Run
from nestling.settings import load_settings
from nestling.vectors import Vectors, write_vectors

SENTENCES, SIZE, ALONE = 1280, 300, 100  # an epoch in batches, numbers of a vector, mentions one by one; each round


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        run = made(Path(folder), given.rounds)
        epochs = in_batches(run)
        next(epochs)  # the first allocates
        batched, alone = [], []
        for _ in range(given.rounds):
            batched.append(next(epochs))
            alone.append(one_by_one(run))
    add(
        {
            "experiment": "sng_speed",
            "corpus": "genia",
            "part": "train",
            "model": "fragments",
            "encoder": "vectors",
            "seed": 0,
            "mentions_per_cpu_second": round(statistics.median(batched), 1),
            "one_by_one_per_cpu_second": round(statistics.median(alone), 1),
            "times_one_by_one": round(statistics.median(m / o for m, o in zip(batched, alone, strict=True)), 1),
            "command": " ".join(["python", "benchmarks/sng_speed.py", *sys.argv[1:]]),
        }
    )


def made(folder: Path, rounds: int) -> Run:
    """The network of the paper, to be trained in small batches; vectors are drawn, which takes no other time."""
    documents = corpora.first_sentences(corpora.load("genia", "train"), 0, SENTENCES)
    words = sorted({word for document in documents for sentence in document.sentences for word in sentence.words})
    table = np.random.default_rng(0).normal(size=(len(words), SIZE)).astype(np.float32)
    write_vectors(Vectors(words, table), folder / "vectors.txt")
    changes = [f"data.sentences={SENTENCES}", "data.dev_sentences=1", "heads.fragments.context=0"]
    changes += [f"training.epochs={rounds + 1}", "training.patience=99"]
    parts = f'encoder.parts=[{{kind="vectors", path="{folder / "vectors.txt"}"}}]'
    return Run(load_settings("sng-genia-laptop", [*changes, parts]), folder / "run", save_seconds=1e9)


def mentions(run: Run) -> list[int]:
    """How many words each has."""
    return [e.end - e.start for d in run.corpus.train for s in d.sentences for e in s.entities]


def in_batches(run: Run) -> Iterator[float]:
    """Mentions a CPU second of each epoch."""
    steps = SENTENCES // run.settings.training.batch_size
    training = run.trainer.steps(lambda: 0.0)
    while True:
        before = time.process_time()
        for _ in range(steps):
            next(training)
        yield len(mentions(run)) / (time.process_time() - before)


def one_by_one(run: Run) -> float:
    """Mentions a CPU second, forward and back."""
    head = run.built.model.heads["fragments"]
    assert isinstance(head, FragmentsHead)
    before = time.process_time()
    for length in mentions(run)[:ALONE]:
        logits = head.out(read_alone(head, torch.randn(length, SIZE)))
        nn.functional.cross_entropy(logits[1:].unsqueeze(0), torch.tensor([0])).backward()
    seconds = time.process_time() - before
    head.zero_grad()
    return ALONE / seconds


def read_alone(head: FragmentsHead, words: Tensor) -> Tensor:
    """One mention (M, D): both LSTMs, attention against the final state, the weighted sum."""
    ahead = head.forwards(words.unsqueeze(0))[0][0]
    back = head.backwards(words.flip(0).unsqueeze(0))[0][0].flip(0)
    outputs = torch.cat([ahead, back], dim=1)  # (M, 2 H)
    return (outputs @ torch.cat([ahead[-1], back[0]])).softmax(dim=0) @ outputs


if __name__ == "__main__":
    main()
