"""A model of nestling: from raw texts, from words, one text at a time; where its time goes; and training."""

import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from serving import Runs, main

import nestling.recognizer
from nestling.checkpoint import load
from nestling.run import Run
from nestling.settings import load_settings, settings_of
from nestling.types import Document


def make(command: dict[str, Any]) -> Runs:
    torch.set_num_threads(command.get("threads", 1))
    if "config" in command:
        return {"train": trainer(command)}
    recognizer = load(command["model"], max_memory=command.get("max_memory"))
    recognizer("Ready?")

    def of_words(texts: list[Any]) -> int:
        documents = [Document.of_words(str(n), [(words, []) for words in text]) for n, text in enumerate(texts)]
        return sum(len(document.mentions) for document in recognizer.pipe(documents))

    def of_texts(texts: list[str]) -> int:
        return sum(len(document.mentions) for document in recognizer.pipe(texts))

    def alone(texts: list[str]) -> int:
        return sum(len(recognizer(text).mentions) for text in texts)

    def stages(texts: list[str]) -> dict[str, float]:
        """What each stage takes from raw texts, in CPU seconds."""
        clock = Clock()
        model = recognizer.model
        with ExitStack() as stack:
            for owner, name, stage in (
                (nestling.recognizer, "parse", "text"),
                (recognizer.batcher, "batch", "numbers"),
                (model.encoder, "forward", "encoder"),
                (model, "candidates", "head"),
                (recognizer, "decoder", "decoding"),
            ):
                stack.enter_context(patch.object(owner, name, clock.timed(getattr(owner, name), stage)))
            clock.timed(of_texts, "rest")(texts)
        return dict(clock.seconds)

    return {"words": of_words, "texts": of_texts, "alone": alone, "stages": stages}


class Clock:
    """CPU seconds inside functions, without what is spent in others that are timed."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._own = threading.local()  # texts are split in a thread of their own

    def timed(self, function: Any, stage: str) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            began, outer = time.thread_time(), getattr(self._own, "inside", 0.0)
            self._own.inside = 0.0
            found = function(*given, **named)
            whole = time.thread_time() - began
            self.seconds[stage] += whole - self._own.inside  # type: ignore[assignment]
            self._own.inside = outer + whole
            return found

        return call


def trainer(command: dict[str, Any]) -> Any:
    """Steps of training; `texts` is a list as long as the steps that are wanted, and words are given back."""
    base = load_settings(command["config"], ["data.sentences=2000", "data.dev_sentences=1"])
    head = command["head"]
    table = base.model_dump() | {"heads": {head: base.heads.get(head, {})}, "answer": head}
    run = Run(settings_of(table, head), Path(tempfile.mkdtemp()) / "run", save_seconds=1e9)
    steps = run.trainer.steps(lambda: 0.0)

    def train(texts: list[Any]) -> int:
        return sum(next(steps).words for _ in texts)

    return train


if __name__ == "__main__":
    main(make)
