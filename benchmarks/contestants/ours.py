"""A model of nestling: from raw texts, from words, one text at a time; and training."""

import tempfile
from pathlib import Path
from typing import Any

import torch
from serving import Runs, main

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

    return {"words": of_words, "texts": of_texts, "alone": alone}


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
