"""What a model takes under a limit: one text of a megabyte, then many short texts.

    python benchmarks/memory.py MODEL --max-memory 800 [--texts 100000]

Each is read by a process of its own; its peak, of which libraries and weights are a part, is recorded beside the limit.
"""

import argparse
import json
import sys
from itertools import islice
from pathlib import Path

from records import add
from speed import Contestant

from nestling.data import corpora
from nestling.data.files import Source
from nestling.settings import settings_of

MEGABYTE, SHORT = 1_000_000, 60  # characters


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--max-memory", type=float, required=True, help="megabytes")
    parser.add_argument("--texts", type=int, default=100_000, help="how many short texts")
    given = parser.parse_args()
    settings = settings_of(json.loads(Source(given.model / "settings.json").text()), str(given.model))
    genia = " ".join(document.text for document in corpora.load("genia", "test"))
    long = (genia * (1 + MEGABYTE // len(genia)))[:MEGABYTE]
    short = [long[n : n + SHORT] for n in range(0, MEGABYTE, SHORT)]
    many = list(islice((text for _ in range(given.texts) for text in short), given.texts))
    peaks = {
        name: asked(given.model, texts, given.max_memory)
        for name, texts in (("megabytes_of_a_megabyte", [long]), (f"megabytes_of_{given.texts}_texts", many))
        if texts
    }
    add(
        {
            "experiment": "memory",
            "corpus": "genia",
            "part": "test",
            "model": settings.answer,
            "encoder": str(settings.encoder),
            "seed": settings.training.seed,
            "max_memory": given.max_memory,
            **peaks,
            "command": " ".join(["python", "benchmarks/memory.py", *sys.argv[1:]]),
        }
    )


def asked(model: Path, texts: list[str], limit: float) -> int:
    """The peak of a process that reads texts, in megabytes."""
    contestant = Contestant(sys.executable, "ours.py", {"model": str(model), "max_memory": limit}, 1)
    try:
        return round(contestant.ask({"run": "texts", "texts": texts})["megabytes"])
    finally:
        contestant.close()


if __name__ == "__main__":
    main()
