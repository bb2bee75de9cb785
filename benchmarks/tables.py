"""docs/results.md, its pictures, and the tables of docs/performance.md from the records: python benchmarks/tables.py.

A figure that has no record is in no table.
"""

import statistics
import tomllib
from collections.abc import Callable, Sequence
from typing import Any

from records import RESULTS, ROOT, records

from nestling.apps.reproduce import means
from nestling.evaluation.plots import save
from nestling.experiments import EXPERIMENTS
from nestling.experiments.experiment import gain

Record = dict[str, Any]
HEAD = """# Results

Made by `python benchmarks/tables.py` from `benchmarks/results/*.json`; every record has the command and the commit that
it comes from. F1 is strict: all borders and the label. Test is looked at once a configuration; what was chosen was
chosen on dev. The transformer is all-MiniLM-L6-v2 (22 million parameters, uncased); the papers use BERT-large and the
like. Several seeds: the mean ± the standard deviation.
"""
SCORES = {"precision": "precision", "recall": "recall", "f1": "F1"}
INTERVAL = {"f1_low": "F1 from", "f1_high": "to"}
LEAD = {"shipped_f1": "F1 of the shipped model", "lead": "its lead", "lead_low": "from", "lead_high": "to"}
SHIPPED = (
    INTERVAL | {"calibration_error": "scores off by, %"} | {"words_per_cpu_second": "words/CPU-s", "megabytes": "MB"}
)
GROUPS = {"f1_1_4": "1–4 words", "f1_5_9": "5–9", "f1_10_up": "10 or more", "f1_never_enumerated": "never enumerated"}
GAPS = {"f1_discontinuous": "discontinuous only", "f1_beside_discontinuous": "in sentences with one"}
TOOK = {"train_seconds": "seconds of training"}
GIVEN = {"given_spans_accuracy": "accuracy, borders given"} | TOOK
BESIDE = {"given_spans_accuracy": "accuracy, borders given"}
SPEED = {
    "words_per_cpu_second_from_words": "words/CPU-s from words",
    "words_per_cpu_second_from_texts": "from raw text",
    "share_of_bare_encoder_from_words": "share of the bare encoder, from words",
    "share_of_bare_encoder_from_texts": "from raw text",
    "training_share_of_bare_encoder": "training, share of the bare encoder's",
    "ready_seconds": "seconds to the first entity",
    "megabytes": "MB",
}
STAGES = {
    "share_of_time_text": "splitting text",
    "share_of_time_numbers": "words to numbers",
    "share_of_time_encoder": "encoder",
    "share_of_time_head": "head",
    "share_of_time_decoding": "decoding",
    "share_of_time_rest": "rest",
}
LATENCY = {
    f"milliseconds_{words}_words_p{which}": f"{words:,} words, p{which}"
    for words in (20, 200, 2000)
    for which in (50, 99)
}
LATENCY |= {"times_bare_encoder_20_words": "20 words, times the bare encoder's"}
LENGTHS = {f"words_per_cpu_second_of_{words}_words": f"{words:,} words" for words in (100, 1000, 10_000, 100_000)}
LENGTHS |= {"megabytes_of_100000_words": "MB for 100,000"}
GROWTH = {f"words_per_cpu_second_with_{labels}_labels": f"{labels} labels" for labels in (1, 10, 100)}
GROWTH |= {f"words_per_cpu_second_with_widest_{widest}": f"ε = {widest}" for widest in (5, 10, 20, 40)}
PACE = {
    "share_of_bare_encoder": "share of the bare encoder",
    "words_per_cpu_second": "words/CPU-s",
    "bare_words_per_cpu_second": "bare",
}
INT8 = {
    "f1_before": "F1 in fp32",
    "f1": "F1 in int8",
    "agreement": "% of entities that agree",
    "times_as_fast": "times as fast",
    "megabytes": "MB",
}
LEARNT = {
    "mentions_per_cpu_second": "mentions/CPU-s in batches",
    "one_by_one_per_cpu_second": "one by one",
    "times_one_by_one": "ratio",
}
MEMORY = {
    "max_memory": "limit",
    "megabytes_of_a_megabyte": "one text of a megabyte",
    "megabytes_of_100000_texts": "100,000 texts",
}
SECTIONS: Sequence[tuple[str, str, dict[str, str]]] = (  # experiment, what is said of it, columns
    ("two-stage", "Decoding tuned on dev.", SCORES),
    ("two-stage-lengths", "Split by book. Decoding tuned on dev.", SCORES | GROUPS),
    ("two-stage-windows", "", SCORES | GROUPS),
    ("two-stage-ablation", "", SCORES | GROUPS),
    ("two-stage-german", "", SCORES | GROUPS),
    ("sng-given", "Labels of mentions whose borders are given: an accuracy, and no NER score.", GIVEN),
    ("sng-extraction", "Beside it the accuracy where borders are given.", SCORES | BESIDE),
    ("discontinuous", "", SCORES | GAPS),
    ("bundling", "", SCORES),
    ("bundling-why", "On dev; `--plots` writes the page.", SCORES),
    ("bundling-heads", "", SCORES),
    ("bundling-alpha", "On dev.", SCORES),
    ("bundling-tagging", "On dev.", SCORES | {"epoch_seconds": "seconds of the fastest epoch"}),
    ("bundling-features", "On dev.", SCORES),
    ("affixes", "What stands beside the transformer, CoNLL04.", SCORES),
    ("light", "Without the layers of a transformer.", SCORES),
    ("models", "The models that come along, as they are shipped, from raw text.", SCORES | SHIPPED),
    (
        "tuning",
        "Shipped models: ways to decode, fitted to all of dev, and F1 on documents that they were not fitted to.",
        {"f1": "F1 on all of dev", "f1_unseen": "F1 unseen"},
    ),
    ("ingredients", "What en-general is made with, on dev; 2,500 sentences, 5 epochs.", SCORES),
    ("heads", "Our heads alone from raw text, with the encoder and the epochs of en-medicine.", SCORES | TOOK),
    (
        "peers",
        "Other tools, trained on the same sentences; leads with their 95 % intervals.",
        SCORES | INTERVAL | LEAD | TOOK,
    ),
)
FIGURES: Sequence[tuple[str, str, str, dict[str, str]]] = (  # of speed: title, experiment, what is said, columns
    ("Words a CPU second", "speed", "GENIA's test part.", SPEED),
    ("Where the time goes", "speed", "From raw text, in % of CPU time.", STAGES),
    ("Milliseconds for one text", "speed", "Tools that cut longer texts off are left out.", LATENCY),
    ("Over the length of a document", "speed", "Words a CPU second of documents of so many words.", LENGTHS),
    ("Over labels and ε", "speed", "Words a CPU second over the light encoder, where heads weigh most.", GROWTH),
    ("Eight bits", "int8", "Beside the same model in fp32, on dev.", INT8),
    (
        "Memory",
        "memory",
        "The most a process took under a limit, in megabytes, libraries and weights included.",
        MEMORY,
    ),
    (
        "The two-stage identifier",
        "two_stage_speed",
        "A model that was trained to the end, beside our own BERT, which computes no padding.",
        PACE,
    ),
    ("SNG's network in training", "sng_speed", "In batches, and one by one as published.", LEARNT),
)
MARK = "<!-- Below: benchmarks/tables.py -->"
READINGS: dict[str, str] = tomllib.loads((ROOT / "benchmarks" / "readings.toml").read_text(encoding="utf-8"))


def main() -> None:
    parts = [HEAD, *filter(None, (section(*given) for given in SECTIONS))]
    (ROOT / "docs" / "results.md").write_text("\n".join(parts), encoding="utf-8")
    page = ROOT / "docs" / "performance.md"
    written = page.read_text(encoding="utf-8").partition(MARK)[0]
    tables = filter(None, (section(name, about, columns, title) for title, name, about, columns in FIGURES))
    page.write_text("\n".join([written + MARK, "", *tables]), encoding="utf-8")
    told = {name for name, _, _ in SECTIONS} | {name for _, name, _, _ in FIGURES}
    for path in sorted(RESULTS.glob("*.json")):
        if path.stem not in told:
            print(f"{path.name} is in no table")


def _sentence(about: str) -> str:
    """With a capital, where it begins with an ordinary letter: α stays."""
    return about[0].upper() + about[1:] if about[0].isascii() else about


def section(name: str, about: str, columns: dict[str, str], title: str | None = None) -> str:
    own = [record for record in records(name) if any(record.get(key) is not None for key in columns)]
    if not own:
        return ""
    if name == "sng-extraction":
        given = {record["corpus"]: record["given_spans_accuracy"] for record in records("sng-given")}
        own = [record | {"given_spans_accuracy": given.get(record["corpus"])} for record in own]
    places = list(dict.fromkeys(record["corpus"] for record in own))
    own.sort(key=lambda record: places.index(record["corpus"]))
    experiment = EXPERIMENTS.get(name)
    paper = experiment.paper if experiment else {}
    said = f"{_sentence(experiment.about)} ({experiment.source})." if experiment else ""
    rows = {key: [r for r in own if key_of(r) == key] for key in dict.fromkeys(map(key_of, own))}
    shown = {key: head for key, head in columns.items() if any(r.get(key) is not None for r in own)}
    has_paper = any((corpus, model) in paper for corpus, model, *_ in rows)
    header = ["corpus", "model", "encoder", *shown.values(), *(["paper"] if has_paper else [])]
    lines = [f"## {title or name}", "", " ".join(filter(None, [said, about])), ""]
    lines += ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for (corpus, model, encoder, sentences), same in rows.items():
        where = f"{corpus}, {sentences:,} sentences" if sentences else corpus
        arrow = gain(own, same[0]["corpus"], model)
        cells = [
            where,
            model,
            encoder,
            *(f"{mean(same, key)} {arrow if key == 'f1' else ''}".rstrip() for key in shown),
        ]
        if has_paper:
            cells.append(str(paper.get((corpus, model), "–")))
        lines.append("| " + " | ".join(cells) + " |")
    if experiment and experiment.plot is not None:
        save(experiment.plot(means(own)), ROOT / "docs" / "pictures" / f"{name}.svg")
        lines += ["", f"![{name}](pictures/{name}.svg)"]
    reading = READINGS.get(title or name)
    return "\n".join([*lines, *(["", reading.strip()] if reading else []), ""])


def key_of(record: Record) -> tuple[str, str, str, int | None]:
    where = record["corpus"] if record["part"] == "test" else f"{record['corpus']}, {record['part']}"
    return where, record["model"], record["encoder"], record.get("sentences")


def mean(same: list[Record], key: str) -> str:
    values = [r[key] for r in same if r.get(key) is not None and _has_gold(r, key)]
    if not values:
        return "–"
    shape: Callable[[float], str] = "{:.2f}".format if max(values) < 1000 else "{:,.0f}".format
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 and max(values) < 1000 else ""
    return shape(statistics.mean(values)) + spread


def _has_gold(record: Record, key: str) -> bool:
    """Whether an F1 of a group is one of something."""
    return not key.startswith("f1_") or record.get(key.replace("f1_", "gold_", 1), 1) != 0


if __name__ == "__main__":
    main()
