"""Locate and Label (Shen et al., 2021), sections 3 and 4."""

from nestling.experiments.experiment import Decoding, Experiment, Size, Training, available, configured

FULL, NO_NMS = "full", "without soft-NMS"
SUBSET = 2087  # sentences of GENIA that ablations are trained on
ABLATIONS = {
    FULL: (),
    "without regressor": ('heads.two_stage.locate=["filter"]',),
    "without filter": ('heads.two_stage.locate=["regressor"]',),
    "without filter and regressor": ("heads.two_stage.locate=[]",),
    NO_NMS: (),  # the same model, decoded otherwise
    "without soft examples": ("heads.two_stage.softness=0",),
}


def _model(corpus: str, size: Size, seed: int, name: str, *changes: str) -> Training:
    decoding: Decoding = "tuned threshold" if name == NO_NMS else "tuned"
    return Training(configured(f"two-stage-{corpus}", size, seed, *changes), {name: "two_stage"}, decoding)


def _rivals(corpus: str, size: Size, seed: int) -> list[Training]:
    """The full model, SpanNER, and the full model with a sequence head beside it."""
    if not available([corpus], size, "two-stage-"):
        return []
    base = f"two-stage-{corpus}"
    bundled = {"two_stage": {"weight": 0.9}, "sequence": {"weight": 0.1}}
    return [
        _model(corpus, size, seed, FULL),
        Training(configured(base, size, seed, heads={"span": {}}), {"SpanNER": "span"}, "tuned"),
        Training(configured(base, size, seed, heads=bundled), {"bundled": "two_stage"}, "tuned"),
    ]


def _ablations(size: Size, seed: int) -> list[Training]:
    few = f"data.sentences={SUBSET}"
    return [_model("genia", size, seed, name, few, *own) for name, own in ABLATIONS.items()]


def _lengths(size: Size, seed: int) -> list[Training]:
    if not (rivals := _rivals("litbank", size, seed)):
        return []
    full, *others = rivals
    return [full, _model("litbank", size, seed, "without regressor", *ABLATIONS["without regressor"]), *others]


def _windows(size: Size, seed: int) -> list[Training]:
    """Windows that leave out every other length, with the regressor and without."""
    names = {"few windows": (), "few windows, without regressor": ABLATIONS["without regressor"]}
    few = (f"data.sentences={SUBSET}", "heads.two_stage.windows=[1, 2, 4, 6]")
    return [_model("genia", size, seed, name, *few, *own) for name, own in names.items()]


EXPERIMENTS = {
    "two-stage": Experiment(
        "the two-stage identifier on GENIA, beside SpanNER and bundled", "Locate and Label, Table 1",
        lambda size, seed: _rivals("genia", size, seed), 400, {("genia", FULL): 80.54},
    ),
    "two-stage-ablation": Experiment(
        f"without its parts, {SUBSET} sentences of GENIA", "Locate and Label, Table 3", _ablations, 90
    ),
    "two-stage-lengths": Experiment(
        "short and long entities on LitBank, with and without the regressor", "Locate and Label, Tables 2 and 3",
        _lengths, 200,
    ),
    "two-stage-windows": Experiment(
        f"windows of 1, 2, 4 and 6 words, {SUBSET} sentences of GENIA", "Locate and Label, Table 2", _windows, 40,
    ),
    "two-stage-german": Experiment(
        "the two-stage identifier on GermEval14, beside SpanNER and bundled", "not in the paper",
        lambda size, seed: _rivals("germeval14", size, seed), 100,
    ),
}  # fmt: skip
