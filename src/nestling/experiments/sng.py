"""SNG (Qi, 2024), section 3: labels of given mentions, and, beyond the paper, entities from text."""

from collections.abc import Sequence
from typing import Any

from nestling.evaluation.plots import loss_curve
from nestling.experiments.experiment import Experiment, Record, Size, Training, available, configured

CORPORA = ("genia", "litbank", "nerel", "germeval14", "anercorp", "harem", "weibo")
GIVEN, EXTRACTED = "labels of given mentions", "entities from text"
ACCURACY = {
    "genia": 91.76,
    "litbank": 87.93,
    "litbank-sentences": 87.93,
    "nerel": 68.66,
    "germeval14": 69.47,
    "anercorp": 72.73,
    "harem-total": 64.98,
}


def _given(size: Size, seed: int) -> list[Training]:
    """On all corpora; LitBank split by sentence too, as the paper does not tell how it splits."""
    settings = [configured(f"sng-{corpus}", size, seed) for corpus in available(CORPORA, size, "sng-")]
    settings.append(configured("sng-litbank", size, seed, "data.corpus=litbank-sentences"))
    return [Training(own, {GIVEN: "fragments"}) for own in settings]


def _extracted(size: Size, seed: int) -> list[Training]:
    """With half the states, as every span of a sentence is read: a quarter of the time."""
    changes = ["heads.fragments.negatives=100", "heads.fragments.size=100", "training.measure=f1"]
    changes += ["training.epochs=8", "training.patience=2", "training.batch_size=8"]
    return [
        Training(configured(f"sng-{corpus}", size, seed, *changes), {EXTRACTED: "fragments"}, "tuned")
        for corpus in available(CORPORA, size, "sng-")
    ]


def _discontinuous(size: Size, seed: int) -> list[Training]:
    return [
        Training(configured(f"grid-{corpus}", size, seed), {"grid": "grid"}, "tuned threshold")
        for corpus in available(("craft", "nerel"), size, "grid-")
    ]


def _losses(records: Sequence[Record]) -> Any:
    """The paper's Figure 3; Figures 4 to 6 are in the pages."""
    return loss_curve({record["corpus"]: record["losses"] for record in records})


EXPERIMENTS = {
    "sng-given": Experiment(
        "labels of given mentions on seven corpora; accuracy, which is no F1", "SNG, Table 2", _given, 60,
        {(corpus, GIVEN): accuracy for corpus, accuracy in ACCURACY.items()}, plot=_losses, is_analysed=True,
    ),
    "sng-extraction": Experiment(
        "entities from text with the same network, on the same corpora", "not in the paper", _extracted, 120
    ),
    "discontinuous": Experiment(
        "flat, nested and discontinuous mentions from text, by the grid head", "not in the paper", _discontinuous, 100
    ),
}  # fmt: skip
