"""Trains one configuration on a known corpus, going on where it stood, and records its score on test (or --part).

python benchmarks/one.py light configs/genia-light.toml --set data.sentences=2087
"""

import time
from pathlib import Path

from records import ROOT, add
from runs import command, figures, finished, parser_of

from nestling.checkpoint import load
from nestling.data import corpora
from nestling.evaluation.scores import score
from nestling.settings import load_settings


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("experiment")
    parser.add_argument("config", type=Path)
    given = parser.parse_args()
    settings = load_settings(given.config, given.changes)
    changed = "".join(f"-{change.replace('/', '_')}" for change in given.changes)
    folder = ROOT / "runs" / given.experiment / f"{given.config.stem}{changed}"
    run = finished(settings, folder, time.monotonic() + 60 * given.minutes)
    if run is None:
        return
    gold = corpora.load(str(settings.data.corpus), given.part, root=settings.data.root)
    recognizer = load(folder)
    is_raw = corpora.find(str(settings.data.corpus)).is_raw
    scores = score(gold, recognizer.pipe(recognizer.inputs(gold, is_raw=is_raw)))
    add(
        {
            "experiment": given.experiment,
            "corpus": settings.data.corpus,
            "part": given.part,
            "model": " + ".join(f"{name} {own['weight']:g}" for name, own in settings.heads.items()),
            **figures(run, scores),
            "command": command(),
        }
    )


if __name__ == "__main__":
    main()
