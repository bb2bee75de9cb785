"""How fast a two-stage model predicts, as a share of its bare transformer; and where the time goes.

    python benchmarks/two_stage_speed.py MODEL [genia:test] [--sentences 600] [--rounds 5]

Contestants take turns, on one thread; CPU seconds are compared, medians over the rounds. The bare transformer reads the
same sentences, tokenised beforehand, in batches of like length.
"""

import argparse
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

import torch
from records import add

from nestling.checkpoint import load
from nestling.data import corpora
from nestling.data.batches import by_words, passages
from nestling.heads.two_stage import TwoStageHead, shifted_borders
from nestling.nn.batch import Batch
from nestling.nn.encoders import Transformer
from nestling.nn.spans import distinct, windows
from nestling.recognizer import Recognizer
from nestling.types import Document

BATCH_WORDS = 2048


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("data", nargs="?", default="genia:test")
    parser.add_argument("--sentences", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    recognizer = load(given.model)
    corpus, part = given.data.split(":")
    documents = corpora.first_sentences(corpora.load(corpus, part), 0, given.sentences)
    words = sum(len(sentence) for document in documents for sentence in document.sentences)
    transformer = next(m for m in recognizer.model.modules() if isinstance(m, Transformer))
    batches = batches_of(recognizer, documents)
    seconds: dict[str, list[float]] = {"bare": [], "whole": []}
    parts: list[Counter[str]] = []
    for _ in range(given.rounds):
        seconds["bare"].append(timed(lambda: [bare(transformer, batch) for batch in batches]))
        seconds["whole"].append(timed(lambda: list(recognizer.pipe(documents))))
        parts.append(apart(recognizer, transformer, documents))
    share = [one / other for one, other in zip(seconds["bare"], seconds["whole"], strict=True)]
    whole = statistics.median(seconds["whole"])
    add(
        {
            "experiment": "two_stage_speed",
            "corpus": corpus,
            "part": part,
            "model": given.model.name,
            "encoder": " + ".join(recognizer.batcher.indexers),
            "seed": 0,
            "words": words,
            "share_of_bare_encoder": round(statistics.median(share), 3),
            "share_lowest_and_highest": [round(min(share), 3), round(max(share), 3)],
            "words_per_cpu_second": round(words / whole, 1),
            "bare_words_per_cpu_second": round(words / statistics.median(seconds["bare"]), 1),
            "cpu_milliseconds_a_thousand_words": {
                name: round(1e6 * statistics.median(own[name] for own in parts) / words, 2) for name in parts[0]
            },
            "command": "python benchmarks/two_stage_speed.py " + " ".join(sys.argv[1:]),
        }
    )


def timed(what: object) -> float:
    start = time.process_time()
    what()  # type: ignore[operator]
    return time.process_time() - start


def batches_of(recognizer: Recognizer, documents: list[Document]) -> list[Batch]:
    made = list(passages(documents, room=recognizer.room, size=recognizer.size))
    return [recognizer.batcher.batch([made[n] for n in batch]) for batch in by_words(made, BATCH_WORDS)]


def bare(transformer: Transformer, batch: Batch) -> None:
    pieces = batch.features[transformer.name]
    with torch.inference_mode():
        transformer.model(input_ids=pieces.ids, attention_mask=pieces.mask)


def apart(recognizer: Recognizer, transformer: Transformer, documents: list[Document]) -> Counter[str]:
    """CPU seconds of every step of a prediction."""
    head = recognizer.model.heads[recognizer.model.answer]
    assert isinstance(head, TwoStageHead)
    spent: Counter[str] = Counter()
    clock = [time.process_time()]

    def lap(name: str) -> None:
        now = time.process_time()
        spent[name] += now - clock[0]
        clock[0] = now

    batches = batches_of(recognizer, documents)
    lap("features")
    for batch in batches:
        bare(transformer, batch)
        lap("transformer")
        with torch.inference_mode():
            words = recognizer.model.encoder(batch)
            lap("encoder, all of it")
            reading = head(words)
            windows(reading.mask, head.settings.windows)
            lap("seeds")
            kept = head.kept(reading)
            lap("seeds again, and filter")
            moved = distinct(shifted_borders(kept.spans, head.offsets(reading, kept), reading.mask))
            lap("regressor")
            head.label_logits(reading, reading.at(moved)).softmax(dim=1)
            lap("classifier")
            candidates = head.candidates(reading)
        lap("all of the head")
        for own in candidates:
            recognizer.decoder(own)
        lap("decoding")
    return spent


if __name__ == "__main__":
    main()
