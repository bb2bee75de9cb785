"""Trains one configuration on a known corpus, going on where it stood, and records its score on test (or --part).

python benchmarks/one.py light configs/genia-light.toml --set data.sentences=2087
"""

import argparse
import sys
from pathlib import Path

from records import ROOT, add
from runs import figures, finished, given_of

from nestling.checkpoint import load
from nestling.data import corpora
from nestling.evaluation.scores import score
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
    run = finished(settings, folder)
    assert run is not None
    gold = corpora.load(str(settings.data.corpus), given.part, root=settings.data.root)
    scores = score(gold, load(folder).pipe(given_of(str(settings.data.corpus), gold)))
    add(
        {
            "experiment": given.experiment,
            "corpus": settings.data.corpus,
            "part": given.part,
            "model": " + ".join(f"{name} {own['weight']:g}" for name, own in settings.heads.items()),
            **figures(run, scores),
            "command": "python " + " ".join(["benchmarks/one.py", *sys.argv[1:]]),
        }
    )


if __name__ == "__main__":
    main()
