"""Trainings that can be stopped and gone on with, and what is the same in all their records."""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from nestling.evaluation.scores import Scores
from nestling.run import Run
from nestling.settings import Settings


def finished(settings: Settings, folder: Path, deadline: float = float("inf")) -> Run | None:
    """The run in a folder, trained to its end; None where the deadline came first."""
    run = Run(settings, folder, resume=True)
    for step in run.steps():
        if step.score is not None:
            print(f"{folder.name} epoch {step.progress.epoch}: dev F1 {step.score:.2f}", flush=True)
        if time.monotonic() > deadline:
            print("stopped; give the command again to go on", flush=True)
            return None
    return run


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """The options that benchmarks of trainings share."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="test")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long; the command goes on next time")
    return parser


def command() -> str:
    """The command that was given."""
    return " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])


def figures(run: Run, scores: Scores | None) -> dict[str, Any]:
    """The figures of one trained model on one part; without scores, those of training alone."""
    rows = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    settings = run.settings
    return {
        "encoder": str(settings.encoder),
        "seed": settings.training.seed,
        "precision": round(scores.strict.precision, 2) if scores else None,
        "recall": round(scores.strict.recall, 2) if scores else None,
        "f1": round(scores.strict.f1, 2) if scores else None,
        "dev_f1": round(run.trainer.progress.best, 2),
        "sentences": settings.data.sentences,
        "epochs": len(rows),
        "train_seconds": round(sum(row["seconds"] for row in rows), 1),
    }
