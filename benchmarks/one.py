"""Trains one configuration on a known corpus, going on where it stood, and records its score on test (or --part).

python benchmarks/one.py light configs/genia-light.toml --set data.sentences=2087
"""

import argparse
import json
import sys
from pathlib import Path

from records import ROOT, add

from nestling.checkpoint import load
from nestling.data import corpora
from nestling.evaluation.scores import score
from nestling.run import Run
from nestling.settings import load_settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment")
    parser.add_argument("config", type=Path)
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--part", default="test")
    given = parser.parse_args()
    settings = load_settings(given.config, given.changes)
    changed = "".join(f"-{change.replace('/', '_')}" for change in given.changes)
    folder = ROOT / "runs" / given.experiment / f"{given.config.stem}{changed}"
    run = Run(settings, folder, resume=True)
    for step in run.steps():
        if step.score is not None:
            print(f"epoch {step.progress.epoch}: dev F1 {step.score:.2f}", flush=True)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    gold = corpora.load(str(settings.data.corpus), given.part, root=settings.data.root)
    scores = score(gold, load(folder).pipe(gold))
    tops = [settings.encoder.top.kind] if settings.encoder.top else []
    add(
        {
            "experiment": given.experiment,
            "corpus": settings.data.corpus,
            "part": given.part,
            "model": " + ".join(f"{name} {own['weight']:g}" for name, own in settings.heads.items()),
            "encoder": " + ".join([*(part.kind for part in settings.encoder.parts), *tops]),
            "seed": settings.training.seed,
            "precision": round(scores.strict.precision, 2),
            "recall": round(scores.strict.recall, 2),
            "f1": round(scores.strict.f1, 2),
            "dev_f1": round(run.trainer.progress.best, 2),
            "sentences": settings.data.sentences,
            "epochs": len(rows),
            "train_seconds": round(sum(row["seconds"] for row in rows), 1),
            "command": "python " + " ".join(["benchmarks/one.py", *sys.argv[1:]]),
        }
    )


if __name__ == "__main__":
    main()
