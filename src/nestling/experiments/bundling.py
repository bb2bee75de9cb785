"""Bundling Learning (Ji et al., 2022), sections 4.2 to 4.5."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nestling.experiments.experiment import Experiment, Record, Size, Training, available, configured
from nestling.experiments.plots import bars, lines, points

SEQ, BL_SEQ, SPAN, BL_SPAN = "SeqNER", "BL-SeqNER", "SpanNER", "BL-SpanNER"
CORPORA = ("conll04", "weibo", "scierc", "wnut17", "ncbi-disease", "bc5cdr")
ALPHAS = tuple(n / 10 for n in range(11))
PAPER = {  # Table 3
    ("conll04", SEQ): 90.62, ("conll04", BL_SEQ): 91.35, ("conll04", SPAN): 90.89, ("conll04", BL_SPAN): 91.64,
    ("bc5cdr", SEQ): 89.79, ("bc5cdr", BL_SEQ): 90.34, ("bc5cdr", SPAN): 89.91, ("bc5cdr", BL_SPAN): 90.40,
    ("ncbi-disease", SEQ): 89.20, ("ncbi-disease", BL_SEQ): 90.12,
    ("ncbi-disease", SPAN): 90.01, ("ncbi-disease", BL_SPAN): 90.49,
    ("scierc", SEQ): 69.57, ("scierc", BL_SEQ): 70.22, ("scierc", SPAN): 70.46, ("scierc", BL_SPAN): 71.14,
    ("wnut17", SEQ): 51.82, ("wnut17", BL_SEQ): 52.62, ("wnut17", SPAN): 54.79, ("wnut17", BL_SPAN): 53.86,
}  # fmt: skip


def _bundle(corpus: str, size: Size, seed: int, alpha: float, **heads: Mapping[str, Any]) -> Training:
    """A sequence head of weight α and a span head of weight 1 - α; α of 0 or 1 is the single model."""
    weights = {"sequence": alpha, "span": 1 - alpha}
    own = {name: {"weight": weight, **heads.get(name, {})} for name, weight in weights.items() if weight}
    names = {"sequence": SEQ, "span": SPAN} if len(own) == 1 else {"sequence": BL_SEQ, "span": BL_SPAN}
    return Training(configured(corpus, size, seed, heads=own), {names[name]: name for name in own})


def _main(size: Size, seed: int) -> list[Training]:
    return [_bundle(corpus, size, seed, alpha) for corpus in available(CORPORA, size) for alpha in (1, 0, 0.1)]


def _small(size: Size, seed: int) -> list[Training]:
    return [_bundle(corpus, size, seed, alpha) for corpus in available(CORPORA[:3], size) for alpha in (1, 0, 0.1)]


def _alphas(size: Size, seed: int) -> list[Training]:
    return [_renamed(_bundle("conll04", size, seed, alpha), f"α {alpha:g}") for alpha in ALPHAS]


def _tagging(size: Size, seed: int) -> list[Training]:
    return [
        _renamed(_bundle(corpus, size, seed, alpha, sequence={"tagging": tagging}), tagging)
        for corpus in available(("conll04", "weibo"), size)
        for tagging in ("softmax", "crf")
        for alpha in (1, 0.1)
    ]


def _features(size: Size, seed: int) -> list[Training]:
    return [
        _renamed(_bundle("conll04", size, seed, alpha, span={"features": features}), features)
        for features in ("boundary", "pooling", "hybrid")
        for alpha in (0, 0.1)
    ]


def _other_heads(size: Size, seed: int) -> Iterator[Training]:
    """Our other heads alone, and with a sequence head beside them."""
    for head in ("two_stage", "fragments", "grid"):
        for name, extra in ((head, {}), (f"BL-{head}", {"sequence": {"weight": 0.1}})):
            settings = configured("conll04", size, seed, heads={head: {"weight": 0.9 if extra else 1.0}} | extra)
            yield Training(settings, {name: head})


def _renamed(training: Training, mark: str) -> Training:
    answers = {f"{name}, {mark}": head for name, head in training.answers.items()}
    return Training(training.settings, answers, training.decoding)


def _alpha_plot(records: Sequence[Record]) -> Any:
    """F1 over α, for both read-outs; the ends are the single models."""
    rows: dict[str, dict[float, float]] = {BL_SEQ: {}, BL_SPAN: {}}
    for record in records:
        name, _, alpha = record["model"].partition(", α ")
        rows[{SEQ: BL_SEQ, SPAN: BL_SPAN}.get(name, name)][float(alpha)] = record["f1"]
    return lines(rows, "α, the weight of the sequence head", "F1", "The ends are the models alone.")


def _gap_plot(records: Sequence[Record]) -> Any:
    """What bundling gains over how far apart the two models are alone."""
    f1: dict[str, dict[str, float]] = {}
    for record in records:
        f1.setdefault(record["corpus"], {})[record["model"]] = record["f1"]
    whole = {corpus: own for corpus, own in f1.items() if {SEQ, BL_SEQ, SPAN, BL_SPAN} <= own.keys()}
    gains = {
        single: [(own[SPAN] - own[SEQ], own[bundled] - own[single], corpus) for corpus, own in whole.items()]
        for single, bundled in ((SEQ, BL_SEQ), (SPAN, BL_SPAN))
    }
    return points(gains, "SpanNER less SeqNER, in F1", "gain by bundling, in F1", "A point a corpus and model.")


def _variant_plot(records: Sequence[Record]) -> Any:
    """F1 of every model, a group of bars a corpus and a bar a variant."""
    rows: dict[str, dict[str, float]] = {}
    for record in records:
        model, _, variant = record["model"].partition(", ")
        rows.setdefault(f"{model}\n{record['corpus']}", {})[variant] = record["f1"]
    return bars(rows, "F1", "Strict F1 on dev.")


EXPERIMENTS = {
    "bundling": Experiment(
        "SeqNER, SpanNER and both bundled, on six corpora; what bundling gains over how far apart they are",
        "Bundling Learning, Table 3", _main, 300, PAPER, plot=_gap_plot,
    ),
    "bundling-small": Experiment(
        "the same on the three smallest corpora", "Bundling Learning, Table 3", _small, 60, PAPER, plot=_gap_plot
    ),
    "bundling-why": Experiment(
        "attributes and kinds of mistakes of the same models on dev, as pages", "Bundling Learning, Tables 6 and 7",
        _small, 60, part="dev", is_analysed=True,
    ),
    "bundling-alpha": Experiment(
        "α from 0 to 1 on CoNLL04, both read-outs, on dev", "Bundling Learning, Figure 5", _alphas, 60, part="dev",
        plot=_alpha_plot,
    ),
    "bundling-tagging": Experiment(
        "softmax and CRF tags on CoNLL04 and Weibo, on dev, with time", "Bundling Learning, Figure 6", _tagging, 50,
        part="dev", plot=_variant_plot,
    ),
    "bundling-features": Experiment(
        "boundary, pooling and hybrid spans on CoNLL04, on dev", "Bundling Learning, Figure 7", _features, 40,
        part="dev", plot=_variant_plot,
    ),
    "bundling-heads": Experiment(
        "a sequence head bundled with our other heads, on CoNLL04", "Bundling Learning, Table 8",
        lambda size, seed: list(_other_heads(size, seed)), 60,
    ),
}  # fmt: skip
