"""SeqNER, SpanNER and Bundling Learning on six corpora: the paper's Table 3 with the embedded encoder.

    python benchmarks/bundling.py [--corpora conll04 scierc] [--seeds 3] [--minutes 60]

Each training is a run of its own under runs/bundling, which goes on where it stood when the command is given again; a
record is written for each model that is trained. The model is the best epoch on dev; test is scored once.
"""

import argparse
import time

from records import ROOT, add, records
from runs import figures, finished

from nestling.checkpoint import load
from nestling.data import corpora
from nestling.evaluation.scores import score
from nestling.settings import Settings, load_settings

RUNS = ROOT / "runs" / "bundling"
TRAININGS = {  # name: weights of heads
    "seq": {"sequence": 1.0},
    "span": {"span": 1.0},
    "bundle": {"sequence": 0.1, "span": 0.9},
}
MODELS = {
    ("seq", "sequence"): "SeqNER",
    ("span", "span"): "SpanNER",
    ("bundle", "sequence"): "BL-SeqNER",
    ("bundle", "span"): "BL-SpanNER",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--corpora", nargs="+", default=["conll04", "scierc", "wnut17", "weibo", "ncbi-disease", "bc5cdr"]
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long; the command goes on next time")
    given = parser.parse_args()
    deadline = time.monotonic() + 60 * given.minutes
    for corpus in given.corpora:
        for seed in range(given.seeds):
            for training, weights in TRAININGS.items():
                if not train_and_score(corpus, seed, training, weights, deadline):
                    return


def train_and_score(corpus: str, seed: int, training: str, weights: dict[str, float], deadline: float) -> bool:
    """Whether the training came to its end before the deadline."""
    wanted = [model for (name, _), model in MODELS.items() if name == training]
    if all(any(is_of(row, corpus, seed, model) for row in records("bundling")) for model in wanted):
        return True
    table = {name: {"weight": weight} for name, weight in weights.items()}
    base = load_settings(ROOT / "configs" / f"{corpus}-laptop.toml", [f"training.seed={seed}"])
    heads = {name: base.heads[name] | own for name, own in table.items()}
    answer = max(weights, key=lambda name: weights[name])  # whose dev score picks the epoch
    settings = Settings.model_validate(base.model_dump() | {"heads": heads, "answer": answer})
    folder = RUNS / f"{corpus}-{training}-{seed}"
    run = finished(settings, folder, deadline)
    if run is None:
        return False
    for answer in weights:
        test = corpora.load(corpus, "test")
        found = score(test, load(folder, answer=answer).pipe(test))
        add(
            {
                "experiment": "bundling",
                "corpus": corpus,
                "part": "test",
                "model": MODELS[training, answer],
                **figures(run, found),
                "command": "python benchmarks/bundling.py",
            }
        )
    return True


def is_of(row: dict[str, object], corpus: str, seed: int, model: str) -> bool:
    return (row["corpus"], row["seed"], row["model"]) == (corpus, seed, model)


if __name__ == "__main__":
    main()
