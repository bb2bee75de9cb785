"""How fast every head predicts and trains, beside the bare transformer and other tools; all in one interleaved run.

    python benchmarks/speed.py [--quick] [--heads span two_stage] [--peers pipeline spacy span_marker] [--threads 1]

Contestants are processes of their own that take turns; other tools run in environments that are made under
runs/speed/environments, and are left out with a reason where they do not install. Speeds are words a CPU second,
medians over rounds with the lowest and highest; what is compared is ratios within a round. Models are trained first,
for a moment, so that heads find a likely number of entities; GENIA must be there.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

from records import ROOT, add

from nestling.config import embedded
from nestling.data import corpora
from nestling.run import Run
from nestling.settings import load_settings, settings_of
from nestling.types import Document, Sentence

FOLDER = ROOT / "runs" / "speed"
CONTESTANTS = ROOT / "benchmarks" / "contestants"
HEADS = ("sequence", "span", "two_stage", "fragments", "grid")
PEERS = {  # script, what is installed, what it is told
    "pipeline": ("pipeline.py", [], {"encoder": True}),
    "spacy ner": ("spacy_model.py", [], {"kind": "ner", "training": True}),
    "spacy spancat": ("spacy_model.py", [], {"kind": "spancat", "training": True}),
    "span_marker": ("span_marker_model.py", ["span-marker", "torch==2.13.0"], {"encoder": True}),
}
LATENCIES = (20, 200, 2000)
GROWTH = (100, 1000, 10_000, 100_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer sentences and rounds: two minutes")
    parser.add_argument("--heads", nargs="*", choices=HEADS, default=list(HEADS))
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    sentences = [s for d in corpora.load("genia", "test") for s in d.sentences][: 300 if given.quick else 1200]
    rounds = 3 if given.quick else 7
    told = " ".join(["python", "benchmarks/speed.py", *sys.argv[1:]])
    contestants = ours(given.heads, given.threads) | others(given.peers, sentences, given.threads)
    try:
        rows = throughput(contestants, sentences, rounds)
        for name, row in latency(contestants, sentences, 10 if given.quick else 40).items():
            rows[name] |= row
        for name, row in growth(contestants, sentences, GROWTH[: 2 if given.quick else 4]).items():
            rows[name] |= row
    finally:
        for contestant in contestants.values():
            contestant.close()
    for name, row in rows.items():
        encoder = "transformer" if not name.startswith(("light", "spacy")) else name
        known = {"experiment": "speed", "corpus": "genia", "part": "test", "model": name, "encoder": encoder, "seed": 0}
        add(known | row | {"threads": given.threads, "quick": given.quick, "command": told})


class Contestant:
    """A process that answers."""

    def __init__(self, python: str, script: str, setup: dict[str, Any], threads: int) -> None:
        self.process = subprocess.Popen(
            [python, str(CONTESTANTS / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"},
        )
        self.ready = float(self.ask(setup | {"threads": threads})["ready"])

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


def ours(heads: list[str], threads: int) -> dict[str, Contestant]:
    """The bare transformer, our heads over it, and the light encoder."""
    made = {"bare encoder": Contestant(sys.executable, "bare.py", {}, threads)}
    for head in heads:
        made[head] = Contestant(sys.executable, "ours.py", {"model": str(model_of(head))}, threads)
    made["light span"] = Contestant(sys.executable, "ours.py", {"model": str(model_of("span", is_light=True))}, threads)
    return made


def model_of(head: str, *, is_light: bool = False) -> Path:
    """A model that is trained for a moment, on 600 sentences of GENIA."""
    folder = FOLDER / "models" / (f"light-{head}" if is_light else head)
    base = load_settings(
        "genia-light" if is_light else "two-stage-genia-laptop", ["data.sentences=600", "data.dev_sentences=50"]
    )
    table = base.model_dump() | {"heads": {head: base.heads.get(head, {})}, "answer": head}
    settings = settings_of(table | {"training": base.training.model_dump() | {"epochs": 2}}, head)
    for _ in Run(settings, folder, resume=True).steps():
        pass
    return folder


def others(peers: list[str], sentences: list[Sentence], threads: int) -> dict[str, Contestant]:
    """Other tools; those that cannot be had are left out, with the reason."""
    made = {}
    training = [
        {"text": " ".join(s.words), "spans": [[f.start, f.end] for f in flat(s)]} for s in sentences[:64] if s.entities
    ]
    for name in peers:
        script, packages, setup = PEERS[name]
        told: dict[str, Any] = dict(setup)
        if "encoder" in told:
            told["encoder"] = str(embedded())
        if "training" in told:
            told["training"] = training
        try:
            made[name] = Contestant(environment(name, packages), script, told, threads)
        except (RuntimeError, subprocess.CalledProcessError, OSError) as error:
            print(f"{name} is left out: {error}", flush=True)
    return made


def environment(name: str, packages: list[str]) -> str:
    """The python of an environment with these packages; ours, where none are needed."""
    if not packages:
        return sys.executable
    folder = FOLDER / "environments" / name
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        (folder / ".ready").touch()
    return str(python)


def flat(sentence: Sentence) -> list[Any]:
    """Entities that do not overlap, in characters of the words joined by blanks."""
    document = Document.of_words("d", [(sentence.words, sentence.entities)])
    kept: list[Any] = []
    for mention in document.mentions:
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention.hull)
    return kept


def throughput(contestants: dict[str, Contestant], sentences: list[Sentence], rounds: int) -> dict[str, dict[str, Any]]:
    """Words a CPU second from words and from raw texts, as shares of the bare encoder in the same round."""
    words = sum(map(len, sentences))
    inputs = {"words": [[list(s.words)] for s in sentences], "texts": [" ".join(s.words) for s in sentences]}
    contestants["bare encoder"].ask({"run": "prepare", "texts": inputs["words"]})
    seconds: dict[tuple[str, str], list[float]] = {}
    rows: dict[str, dict[str, Any]] = {name: {"ready_seconds": round(c.ready, 2)} for name, c in contestants.items()}
    for number in range(rounds + 1):  # the first is to get warm
        for name, contestant in contestants.items():
            for what in ways(name):
                answer = contestant.ask({"run": what, "texts": inputs[what]})
                if number:
                    seconds.setdefault((name, what), []).append(answer["cpu"])
                rows[name]["megabytes"] = round(answer["megabytes"])
    floor = seconds["bare encoder", "words"]
    for (name, what), own in seconds.items():
        shares = [base / mine for base, mine in zip(floor, own, strict=True)]
        rows[name] |= {
            f"words_per_cpu_second_from_{what}": round(words / statistics.median(own), 1),
            f"share_of_bare_encoder_from_{what}": round(statistics.median(shares), 3),
            f"share_from_{what}_lowest_and_highest": [round(min(shares), 3), round(max(shares), 3)],
        }
    return rows


def ways(name: str) -> list[str]:
    if name == "bare encoder":
        return ["words"]
    return ["texts"] if name in PEERS else ["words", "texts"]


def latency(contestants: dict[str, Contestant], sentences: list[Sentence], times: int) -> dict[str, dict[str, Any]]:
    """Milliseconds for one text of so many words: the middle one, and all but one in a hundred."""
    rows: dict[str, dict[str, Any]] = {name: {} for name in contestants}
    for size in LATENCIES:
        lists = [joined(sentences, size, start) for start in range(times)]
        taken: dict[str, list[float]] = {name: [] for name in contestants}
        for text in lists:
            for name, contestant in contestants.items():
                given = [text] if name == "bare encoder" else [" ".join(w for own in text for w in own)]
                if name == "bare encoder":
                    contestant.ask({"run": "prepare", "texts": given})
                taken[name].append(1000 * contestant.ask({"run": "alone", "texts": given})["wall"])
        for name, own in taken.items():
            rows[name][f"milliseconds_{size}_words_p50"] = round(statistics.median(own), 2)
            rows[name][f"milliseconds_{size}_words_p99"] = round(sorted(own)[int(0.99 * (len(own) - 1))], 2)
    return rows


def growth(
    contestants: dict[str, Contestant], sentences: list[Sentence], sizes: tuple[int, ...]
) -> dict[str, dict[str, Any]]:
    """Words a CPU second of one document, as it grows; ours alone, as others cut or crash."""
    rows: dict[str, dict[str, Any]] = {name: {} for name in contestants}
    for name, contestant in contestants.items():
        if name in PEERS or name == "bare encoder":
            continue
        for size in sizes:
            text = " ".join(word for own in joined(sentences, size, 0) for word in own)
            answer = contestant.ask({"run": "texts", "texts": [text]})
            rows[name][f"words_per_cpu_second_of_{size}_words"] = round(size / answer["cpu"], 1)
            rows[name]["megabytes"] = round(answer["megabytes"])
    return rows


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
