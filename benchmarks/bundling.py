"""SeqNER, SpanNER and Bundling Learning on six corpora: the paper's Table 3 with the embedded encoder.

    python benchmarks/bundling.py [--corpora conll04 scierc] [--seeds 3] [--minutes 60] [--table]

Each training is a run of its own under runs/bundling, which goes on where it stood when the command is given again; a
record is written for each model that is trained. The model is the best epoch on dev by the head with the largest
weight, so that BL-SeqNER is the model that BL-SpanNER is, read by its other head; test is scored once.
"""

import argparse
import statistics
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
    parser.add_argument("--table", action="store_true", help="only print what is recorded, as a table")
    given = parser.parse_args()
    if given.table:
        print_table()
        return
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
    dev, test = corpora.load(corpus, "dev"), corpora.load(corpus, "test")
    for answer in weights:
        recognizer = load(folder, answer=answer)
        found = score(test, recognizer.pipe(test))
        add(
            {
                "experiment": "bundling",
                "corpus": corpus,
                "part": "test",
                "model": MODELS[training, answer],
                **figures(run, found),
                "dev_f1": round(score(dev, recognizer.pipe(dev)).strict.f1, 2),
                "command": "python benchmarks/bundling.py",
            }
        )
    return True


def print_table() -> None:
    """Means over seeds of precision, recall and F1 on test, with the deviation of F1, a row a corpus and model."""
    print("| corpus | model | seeds | precision | recall | F1 |\n|---|---|---|---|---|---|")
    rows = records("bundling")
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        for model in ("SeqNER", "BL-SeqNER", "SpanNER", "BL-SpanNER"):
            own = [row for row in rows if (row["corpus"], row["model"]) == (corpus, model)]
            if own:
                means = [statistics.mean(row[name] for row in own) for name in ("precision", "recall", "f1")]
                spread = f" ± {statistics.stdev(row['f1'] for row in own):.2f}" if len(own) > 1 else ""
                print(f"| {corpus} | {model} | {len(own)} | {means[0]:.2f} | {means[1]:.2f} | {means[2]:.2f}{spread} |")


def is_of(row: dict[str, object], corpus: str, seed: int, model: str) -> bool:
    return (row["corpus"], row["seed"], row["model"]) == (corpus, seed, model)


if __name__ == "__main__":
    main()
