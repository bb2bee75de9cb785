"""What thresholds that are fitted to dev are worth on documents of it that they were not fitted to, for shipped models.

python benchmarks/tuning.py [en-bio ...]
"""

import argparse
import shlex
import sys

import torch
from records import add

from nestling.checkpoint import load, load_model, model_folders
from nestling.data import corpora
from nestling.tuning import tune


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="Default: all that can be named.")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for name in given.names or [folder.name for folder in model_folders()]:
        settings = load_model(name).settings
        corpus = str(settings.data.corpus)
        recognizer, entry = load(name), corpora.find(corpus)
        gold = corpora.load(corpus, "dev")
        inputs = recognizer.inputs(gold, is_raw=entry.is_raw or settings.data.from_raw_text)
        tuned = tune(recognizer, recognizer.judged_by(gold, entry.labels), inputs, has_thresholds=True)
        for way in tuned.ways:
            add(
                {
                    "experiment": "tuning",
                    "corpus": corpus,
                    "part": "dev",
                    "model": f"{name}, {way.name}",
                    "encoder": str(settings.encoder),
                    "seed": settings.training.seed,
                    "precision": None,
                    "recall": None,
                    "f1": round(way.trial.f1, 2),
                    "f1_unseen": None if way.unseen is None else round(way.unseen, 2),
                    "is_taken": way is tuned.way,
                    "command": shlex.join(["python", "benchmarks/tuning.py", *sys.argv[1:]]),
                }
            )


if __name__ == "__main__":
    main()
