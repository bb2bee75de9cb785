"""The models that come with nestling, as they are shipped, on the test sets of the corpora that they learnt from.

    python benchmarks/models.py [en-bio ...]

Texts are raw; strict F1 by characters, labels that a corpus does not annotate left out of what is found in it.
"""

import argparse
import sys
import time

import torch
from records import add

from nestling.cards import megabytes_of
from nestling.checkpoint import load, load_model, model_folders, model_path
from nestling.data import corpora
from nestling.evaluation.calibration import calibration_of
from nestling.evaluation.comparison import compare
from nestling.evaluation.scores import scores_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="Default: all that can be named.")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for name in given.names or [folder.name for folder in model_folders()]:
        data = load_model(name).settings.data
        for corpus in dict.fromkeys(filter(None, (data.corpus, *data.also))):
            judge(name, f"{corpus}-text" if f"{corpus}-text" in corpora.CORPORA else corpus)


def judge(name: str, corpus: str) -> None:
    recognizer, settings = load(name), load_model(name).settings
    gold = corpora.load(corpus, "test")
    inputs = recognizer.inputs(gold, is_raw=corpora.find(corpus).is_raw)
    began = time.process_time()
    found = list(recognizer.pipe(inputs))
    seconds = time.process_time() - began
    comparison = compare(recognizer.judged_by(gold, corpora.find(corpus).labels), found)
    scores, calibration = scores_of(comparison), calibration_of(comparison)
    interval = scores.interval()
    add(
        {
            "experiment": "models",
            "corpus": corpus,
            "part": "test",
            "model": name,
            "encoder": str(settings.encoder),
            "seed": settings.training.seed,
            "precision": round(scores.strict.precision, 2),
            "recall": round(scores.strict.recall, 2),
            "f1": round(scores.strict.f1, 2),
            "f1_low": round(interval.low, 2),
            "f1_high": round(interval.high, 2),
            "calibration_error": round(calibration.error, 2) if calibration else None,
            "words_per_cpu_second": round(sum(len(s) for d in inputs for s in d.sentences) / seconds, 1),
            "megabytes": megabytes_of(model_path(name)),
            "command": " ".join(["python", "benchmarks/models.py", *sys.argv[1:]]),
        }
    )


if __name__ == "__main__":
    main()
