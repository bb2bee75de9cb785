"""How fast every head predicts and trains, beside the bare transformer and other tools; all in one interleaved run.

    python benchmarks/speed.py [--quick] [--heads span two_stage] [--peers spancat] [--threads 1]

Contestants are processes of their own that take turns; other tools run in environments of their own and are left out
with a reason where they do not install. Speeds are words a CPU second, medians over rounds with the lowest and highest;
what is compared is ratios within a round. Models are trained first, for a moment, so that heads find a likely number of
entities; GENIA must be there.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from peers import CONTESTANTS, PEERS, environment, trained
from records import ROOT, add

from nestling.checkpoint import export
from nestling.data import corpora
from nestling.data.formats import write
from nestling.run import Run
from nestling.settings import Settings, load_settings, settings_of
from nestling.types import Sentence

FOLDER = ROOT / "runs" / "speed"
HEADS = ("sequence", "span", "two_stage", "fragments", "grid")
FLOOR = "bare encoder"
LATENCIES = (20, 200, 2000)  # words of one text
LONGEST_TEXT = {"token classification": 200, "span_marker": 20}  # words; more is cut off, and not read at all
LENGTHS = (100, 1000, 10_000, 100_000)  # words of one document
READ = 20_000  # words that all these documents have together, at least
LABELS = (1, 10, 100)
WIDEST = (5, 10, 20, 40)
GROWING = ("span", "two_stage", "light span")  # over the length of a document
SLOW = {"span_marker": 10}  # so many times fewer sentences
STEPS = 3  # of training, a round
ENGINES = ("int8", "onnx", "onnx int8", "openvino")
ENGINE_PACKAGES = ["onnx", "onnxruntime", "onnxscript", "openvino", "torch==2.13.0"]
_MOMENT = {"epochs": 4}  # of training
Rows = dict[str, dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer sentences, rounds and contestants: two minutes")
    parser.add_argument("--heads", nargs="*", choices=HEADS)
    parser.add_argument("--peers", nargs="*", choices=PEERS)
    parser.add_argument("--engines", nargs="*", choices=ENGINES, default=[], help="run the bare encoder on these too")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    heads = given.heads if given.heads is not None else ["span", "two_stage"] if given.quick else list(HEADS)
    peers = given.peers if given.peers is not None else ["spancat"] if given.quick else list(PEERS)
    sentences = [s for d in corpora.load("genia", "test") for s in d.sentences]
    contestants = ours(heads, given.threads) | others(peers, given.threads) | engines(given.engines, given.threads)
    try:
        rows = throughput(contestants, sentences, *((3, 100) if given.quick else (5, 200)))
        merge(rows, stages(contestants, sentences, 100 if given.quick else 500))
        merge(rows, latency(contestants, sentences, 20 if given.quick else 300))
        merge(rows, by_length(contestants, sentences, LENGTHS[: 2 if given.quick else 4]))
    finally:
        for contestant in contestants.values():
            contestant.close()
    if not given.quick:
        merge(rows, growth(sentences, given.threads))
        merge(rows, training(heads, given.threads))
    told = " ".join(["python", "benchmarks/speed.py", *sys.argv[1:]])
    for name, row in rows.items():
        known = {"experiment": "speed", "corpus": "genia", "part": "test", "model": name, "seed": 0}
        known["encoder"] = encoder_of(name)
        record = known | row | {"threads": given.threads, "command": told}
        if given.quick:
            print(json.dumps(record), flush=True)
        else:
            add(record)


def merge(rows: Rows, more: Rows) -> None:
    for name, row in more.items():
        rows.setdefault(name, {}).update(row)


def encoder_of(name: str) -> str:
    if name in PEERS:
        return PEERS[name][3]
    if name.startswith(FLOOR):
        return "transformer"
    return "embeddings + affixes + convolutions" if name.startswith("light") else "transformer + affixes"


# Contestants


class Contestant:
    """A process that answers."""

    def __init__(self, python: str, script: str, setup: dict[str, Any], threads: int) -> None:
        started = time.monotonic()
        self.process = subprocess.Popen(
            [python, str(CONTESTANTS / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"},
        )
        self.ask(setup | {"threads": threads})
        self.ready = time.monotonic() - started  # imports and all

    def ask(self, command: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("{"):  # libraries print what they like
                return json.loads(line)  # type: ignore[no-any-return]
        raise RuntimeError("a contestant ended before it answered")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def of_model(folder: Path, threads: int) -> Contestant:
    return Contestant(sys.executable, "ours.py", {"model": str(folder)}, threads)


def ours(heads: list[str], threads: int) -> dict[str, Contestant]:
    """The bare transformer, our heads over it, one of them in eight bits, and the light encoder."""
    made = {FLOOR: Contestant(sys.executable, "bare.py", {}, threads)}
    made |= {head: of_model(model_of(settings_for(head), head), threads) for head in heads}
    if "span" in heads:
        small = FOLDER / "models" / "span-int8"
        if not small.exists():
            export(FOLDER / "models" / "span", small, "int8")
        made["span, int8"] = of_model(small, threads)
    made["light span"] = of_model(model_of(settings_for("span", is_light=True), "light-span"), threads)
    return made


def settings_for(head: str, *, is_light: bool = False, **own: Any) -> Settings:
    """A head over the transformer or the light encoder, on some sentences of GENIA."""
    count = 1500 if head == "two_stage" and not is_light else 600  # a filter that has seen little keeps too much
    base = load_settings(
        "genia-light" if is_light else "two-stage-genia-laptop", [f"data.sentences={count}", "data.dev_sentences=20"]
    )
    heads = {head: base.heads.get(head, {}) | own}
    changed = {"heads": heads, "answer": head, "training": base.training.model_dump() | _MOMENT}
    return settings_of(base.model_dump() | changed, head)


def model_of(settings: Settings, name: str) -> Path:
    """The folder of a model that is trained for a moment."""
    folder = FOLDER / "models" / name
    for _ in Run(settings, folder, resume=True).steps():
        pass
    return folder


def others(peers: list[str], threads: int) -> dict[str, Contestant]:
    """Other tools; those that cannot be had are left out, with the reason."""
    made = {}
    for name in peers:
        script, packages, *_ = PEERS[name]
        few, epochs = (60, 1) if name == "span_marker" else (600, 10) if name.startswith("spa") else (200, 3)
        try:
            model = trained(name, "genia", few, told=[f"epochs={epochs}"])
            made[name] = Contestant(environment(name, packages), script, {"model": str(model)}, threads)
        except (RuntimeError, subprocess.CalledProcessError, OSError) as error:
            print(f"{name} is left out: {error}", flush=True)
    return made


def engines(names: list[str], threads: int) -> dict[str, Contestant]:
    """The bare encoder as other libraries run it."""
    made = {}
    for name in names:
        packages = [] if name == "int8" else ENGINE_PACKAGES
        try:
            python = environment("engines", packages and [*packages, str(ROOT)])
            made[f"{FLOOR}, {name}"] = Contestant(python, "bare.py", {"engine": name}, threads)
        except (RuntimeError, subprocess.CalledProcessError, OSError) as error:
            print(f"{name} is left out: {error}", flush=True)
    return made


# What is measured


def throughput(contestants: dict[str, Contestant], sentences: list[Sentence], rounds: int, size: int) -> Rows:
    """Words a CPU second from words and from raw texts, as shares of the bare encoder in the same round.

    Every round has other sentences, in their order.
    """
    rows: Rows = {name: {"ready_seconds": round(c.ready, 2)} for name, c in contestants.items()}
    speeds: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds + 1):  # the first is to get warm
        own = [sentences[n % len(sentences)] for n in range(number * size, (number + 1) * size)]
        inputs = {"words": [[list(s.words)] for s in own], "texts": [" ".join(s.words) for s in own]}
        for name, contestant in contestants.items():
            if name.startswith(FLOOR):
                contestant.ask({"run": "prepare", "texts": inputs["words"]})
            few = size // SLOW.get(name, 1)
            for what in ways(name):
                answer = contestant.ask({"run": what, "texts": inputs[what][:few]})
                if number:
                    speeds.setdefault((name, what), []).append(sum(map(len, own[:few])) / answer["cpu"])
                    rows[name]["found"] = rows[name].get("found", 0) + answer["found"]
                rows[name]["megabytes"] = round(answer["megabytes"])
    for (name, what), mine in speeds.items():
        shares = [speed / base for speed, base in zip(mine, speeds[FLOOR, "words"], strict=True)]
        rows[name] |= {
            f"words_per_cpu_second_from_{what}": round(statistics.median(mine), 1),
            f"share_of_bare_encoder_from_{what}": round(statistics.median(shares), 3),
            f"share_from_{what}_lowest_and_highest": [round(min(shares), 3), round(max(shares), 3)],
        }
    return rows


def ways(name: str) -> list[str]:
    if name.startswith(FLOOR):
        return ["words"]
    return ["texts"] if name in PEERS else ["words", "texts"]


def stages(contestants: dict[str, Contestant], sentences: list[Sentence], size: int) -> Rows:
    """The shares of CPU time that our stages take from raw texts: the profile."""
    rows: Rows = {}
    texts = [" ".join(s.words) for s in sentences[:size]]
    for name, contestant in contestants.items():
        if name not in PEERS and not name.startswith(FLOOR):
            taken = contestant.ask({"run": "stages", "texts": texts})["found"]
            whole = sum(taken.values())
            rows[name] = {f"share_of_time_{stage}": round(100 * own / whole, 1) for stage, own in taken.items()}
    return rows


def latency(contestants: dict[str, Contestant], sentences: list[Sentence], times: int) -> Rows:
    """Milliseconds for one text of so many words: the middle one, and all but one in a hundred.

    And how many times the bare encoder's, text by text, as the machine is not the same from second to second.
    """
    rows: Rows = {name: {} for name in contestants}
    for size in LATENCIES:
        taken: dict[str, list[float]] = {n: [] for n in contestants if size <= LONGEST_TEXT.get(n, size)}
        for start in range(max(times * LATENCIES[0] // size, 1)):
            text = joined(sentences, size, start)
            for name, own in taken.items():
                given: list[Any] = [text] if name.startswith(FLOOR) else [" ".join(w for words in text for w in words)]
                if name.startswith(FLOOR):
                    contestants[name].ask({"run": "prepare", "texts": given})
                own.append(1000 * contestants[name].ask({"run": "alone", "texts": given})["wall"])
        for name, own in taken.items():
            ratios = [mine / bare for mine, bare in zip(own, taken[FLOOR], strict=True)]
            rows[name] |= {
                f"milliseconds_{size}_words_p50": round(statistics.median(own), 2),
                f"milliseconds_{size}_words_p99": round(sorted(own)[round(0.99 * (len(own) - 1))], 2),
                f"times_bare_encoder_{size}_words": round(statistics.median(ratios), 3),
            }
    return rows


def by_length(contestants: dict[str, Contestant], sentences: list[Sentence], sizes: tuple[int, ...]) -> Rows:
    """Words a CPU second over the length of a document, the same text cut at other places, each document alone.

    Ours alone, as others cut or crash.
    """
    rows: Rows = {}
    for name in (name for name in contestants if name in GROWING):
        rows[name] = {}
        for size in sizes:
            words = [word for own in joined(sentences, max(size, READ), 0) for word in own]
            texts = [" ".join(words[start : start + size]) for start in range(0, len(words), size)]
            answer = contestants[name].ask({"run": "alone", "texts": texts})
            rows[name][f"words_per_cpu_second_of_{size}_words"] = round(len(words) / answer["cpu"], 1)
            rows[name][f"megabytes_of_{size}_words"] = round(answer["megabytes"])
    return rows


def growth(sentences: list[Sentence], threads: int) -> Rows:
    """Words a CPU second with more labels and wider spans, over the light encoder, where heads weigh most."""
    models: dict[tuple[str, str], Path] = {}
    for head in ("span", "two_stage"):
        for count in LABELS:
            data = {"train": str(relabelled(count)), "dev": str(relabelled(count)), "sentences": 600}
            settings = settings_for(head, is_light=True)
            data = settings.data.model_dump() | data | {"corpus": None}
            settings = settings_of(settings.model_dump() | {"data": data}, head)
            models[f"light {head}", f"{count}_labels"] = model_of(settings, f"light-{head}-{count}-labels")
    for widest in WIDEST:
        settings = settings_for("span", is_light=True, widest=widest)
        models["light span", f"widest_{widest}"] = model_of(settings, f"light-span-widest-{widest}")
    rows: Rows = {}
    texts = [[list(s.words)] for s in sentences]
    words = sum(map(len, sentences))
    contestants = {key: of_model(folder, threads) for key, folder in models.items()}
    seconds: dict[tuple[str, str], list[float]] = {key: [] for key in models}
    for _ in range(3):
        for key, contestant in contestants.items():
            seconds[key].append(contestant.ask({"run": "words", "texts": texts})["cpu"])
    for (name, what), own in seconds.items():
        contestants[name, what].close()
        rows.setdefault(name, {})[f"words_per_cpu_second_with_{what}"] = round(words / statistics.median(own), 1)
    return rows


def relabelled(count: int) -> Path:
    """Train of GENIA with so many labels, which depend on an entity's first letters."""
    path = FOLDER / f"{count}-labels.jsonl"
    if not path.exists():
        documents = corpora.first_sentences(corpora.load("genia", "train"), 0, 600)
        write([d.with_entities([renamed(s, count) for s in d.sentences]) for d in documents], path)
    return path


def renamed(sentence: Sentence, count: int) -> list[Any]:
    words = sentence.words
    return [replace(e, label=f"L{sum(map(ord, words[e.start][:3])) % count}") for e in sentence.entities]


def training(heads: list[str], threads: int) -> Rows:
    """Words a CPU second while training, beside the bare encoder forward and back on the same batches, in turns."""
    configs = {head: {"config": "two-stage-genia-laptop", "head": head} for head in heads}
    configs["light span"] = {"config": "genia-light", "head": "span"}
    contestants = {name: Contestant(sys.executable, "ours.py", told, threads) for name, told in configs.items()}
    contestants[FLOOR] = Contestant(sys.executable, "bare.py", {"config": "two-stage-genia-laptop"}, threads)
    speeds: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(5):
        for name, contestant in contestants.items():
            answer = contestant.ask({"run": "train", "texts": [None] * STEPS})
            if number:
                speeds[name].append(answer["found"] / answer["cpu"])
    for contestant in contestants.values():
        contestant.close()
    return {
        name: {
            "training_words_per_cpu_second": round(statistics.median(own), 1),
            "training_share_of_bare_encoder": round(
                statistics.median(mine / base for mine, base in zip(own, speeds[FLOOR], strict=True)), 3
            ),
        }
        for name, own in speeds.items()
    }


def joined(sentences: list[Sentence], size: int, start: int) -> list[list[str]]:
    """Sentences one after the other, from some place on and around, with so many words."""
    made: list[list[str]] = []
    count, n = 0, start
    while count < size:
        words = list(sentences[n % len(sentences)].words)[: size - count]
        made.append(words)
        count += len(words)
        n += 1
    return made


if __name__ == "__main__":
    main()
