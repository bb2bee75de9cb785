"""The two-stage identifier, its ablations and its rivals: Locate and Label's Tables 1 to 3 with encoders for a laptop.

    python benchmarks/two_stage.py genia [--models full span bundled] [--sentences 2087] [--minutes 60]

Every training goes on where it stood when the command is given again. The epoch, and the threshold and soft-NMS of
decoding, are chosen on dev; then test is scored once.
"""

import time
from dataclasses import asdict
from typing import Any

from records import ROOT, add
from runs import command, figures, finished, given_of, parser_of

from nestling.checkpoint import load
from nestling.data import corpora
from nestling.evaluation.scores import Scores, score
from nestling.recognizer import Decoder, Recognizer
from nestling.settings import Settings, load_settings, settings_of
from nestling.tuning import EVERYTHING, trials
from nestling.types import Document

MODELS: dict[str, tuple[str, ...]] = {  # what is changed in the configuration
    "full": (),
    "without regressor": ('heads.two_stage.locate=["filter"]',),
    "without filter": ('heads.two_stage.locate=["regressor"]',),
    "without filter and regressor": ("heads.two_stage.locate=[]",),
    "without soft examples": ("heads.two_stage.softness=0",),
    "without hard negatives": ("heads.two_stage.hard_negatives=0",),
    "sparse windows": ("heads.two_stage.windows=[1, 2, 4, 6]",),
    "sparse windows, without regressor": ("heads.two_stage.windows=[1, 2, 4, 6]", 'heads.two_stage.locate=["filter"]'),
    "bundled": ("heads.two_stage.weight=0.9", "heads.sequence.weight=0.1"),
    "span": (),
}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=["full", "without regressor", "span", "bundled"])
    parser.add_argument("--sentences", type=int, help="train on the first so many only")
    given = parser.parse_args()
    deadline = time.monotonic() + 60 * given.minutes
    for model in given.models:
        settings = settings_for(given.corpus, model, given.sentences, given.changes)
        name = "-".join([given.corpus, *model.replace(",", "").split(), str(given.sentences or "all"), *given.changes])
        run = finished(settings, ROOT / "runs" / "two-stage" / name.replace("/", "_"), deadline)
        if run is None:
            return
        recognizer = load(run.folder)
        dev = corpora.load(given.corpus, "dev")
        tuned = best_decoder(recognizer, dev, given_of(given.corpus, dev))
        part = corpora.load(given.corpus, given.part)
        answers = {model: tuned}
        if model == "full":
            answers["without soft-NMS"] = best_decoder(recognizer, dev, given_of(given.corpus, dev), method="best")
        for row, decoder in answers.items():
            recognizer.decoder = decoder
            scores = score(part, recognizer.pipe(given_of(given.corpus, part)))
            record = {"experiment": "two_stage", "corpus": given.corpus, "part": given.part, "model": row}
            if given.changes:
                record["model"] += " with " + ", ".join(given.changes)
            if given.sentences:
                record["model"] += f", {given.sentences} sentences"
            record |= figures(run, scores) | groups(scores, recognizer)
            record["decoding"] = {k: v for k, v in asdict(decoder).items() if k != "thresholds"}
            add(record | {"command": command()})


def settings_for(corpus: str, model: str, sentences: int | None, changes: list[str]) -> Settings:
    wanted = [*MODELS[model], *changes, *([f"data.sentences={sentences}"] if sentences else [])]
    settings = load_settings(ROOT / "configs" / f"two-stage-{corpus}-laptop.toml", wanted)
    if model != "span":
        return settings
    return settings_of(settings.model_dump() | {"heads": {"span": {}}, "answer": "span"}, corpus)


def best_decoder(
    recognizer: Recognizer, dev: list[Document], inputs: list[Document], method: str | None = None
) -> Decoder:
    """The decoder that is best on dev, of all or of one method."""
    base, recognizer.decoder = recognizer.decoder, EVERYTHING
    found = trials(dev, list(recognizer.pipe(inputs)), base)
    recognizer.decoder = base
    return next(trial.decoder for trial in found if method in (None, trial.decoder.method))


def groups(scores: Scores, recognizer: Recognizer) -> dict[str, Any]:
    """F1 by length, and of lengths that the head does not enumerate, with how many there are."""
    widths = getattr(recognizer.model.heads[recognizer.model.answer], "widths", frozenset())
    wanted = {
        "1_4": lambda length: length <= 4,
        "5_9": lambda length: 5 <= length <= 9,
        "10_up": lambda length: length >= 10,
        "never_enumerated": lambda length: length not in widths,
    }
    found = {name: scores.of_lengths(is_wanted) for name, is_wanted in wanted.items()}
    return {f"f1_{name}": round(own.f1, 2) for name, own in found.items()} | {
        f"gold_{name}": own.gold for name, own in found.items()
    }


if __name__ == "__main__":
    main()
