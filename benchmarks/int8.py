"""What eight bits cost a trained model and what they bring: F1, agreement, size and time beside its own fp32.

    python benchmarks/int8.py runs/reproduce/genia-two_stage-3588d4635223 genia:dev [--sentences 500]

Both are run by `nestling export --check`, in turns, and recorded.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from records import add

from nestling.data.files import Source
from nestling.settings import settings_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("data", help="gold, such as genia:dev")
    parser.add_argument("--sentences", type=int)
    given = parser.parse_args()
    settings = settings_of(json.loads(Source(given.model / "settings.json").text()), str(given.model))
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "nestling.apps.cli", "export", str(given.model), "--out", f"{folder}/small"]
        words += ["--check", given.data, "--json", *(["--sentences", str(given.sentences)] if given.sentences else [])]
        told = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    corpus, _, part = given.data.partition(":")
    add(
        {
            "experiment": "int8",
            "corpus": corpus,
            "part": part,
            "model": f"{settings.answer}, int8",
            "encoder": str(settings.encoder),
            "seed": settings.training.seed,
            "judged_sentences": given.sentences,
            "megabytes": told["megabytes"],
            **{key: value for key, value in told["checks"][0].items() if key != "data"},
            "command": " ".join(["python", "benchmarks/int8.py", *sys.argv[1:]]),
        }
    )


if __name__ == "__main__":
    main()
