"""Other tools, trained on what our models are trained on and judged by the same scorer, by characters.

    python benchmarks/peers.py spancat genia [--sentences 2087] [--set epochs=40]

Each runs in an environment of its own, made under runs/peers/environments. A text is a sentence: of raw corpora one
that nestling cut, of others as it is given. Tools that cannot nest learn the outermost entities and are judged by all.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
import venv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from records import ROOT, add

from nestling.checkpoint import load, load_model, model_folders
from nestling.config import embedded
from nestling.data import corpora
from nestling.evaluation.scores import Scores, lead, score
from nestling.run import load_corpus
from nestling.settings import DataSettings
from nestling.text import parse
from nestling.types import Document, Mention, Span

FOLDER = ROOT / "runs" / "peers"
READY = "ready.json"  # of a model: what it was told and how long it took
CONTESTANTS = ROOT / "benchmarks" / "contestants"
PEERS: dict[str, tuple[str, list[str], dict[str, str], str]] = {  # script, what is installed, what it is told, encoder
    "spancat": ("spacy_model.py", [], {"kind": "spancat"}, "convolutions"),
    "spacy ner": ("spacy_model.py", [], {"kind": "ner"}, "convolutions"),
    "spacy-transformers": (
        "spacy_model.py",
        ["spacy==3.8.18", "spacy-transformers==1.4.0", "transformers==4.53.2", "torch==2.13.0"],
        {"kind": "spancat"},
        "transformer",
    ),
    "token classification": ("token_classifier.py", [], {}, "transformer"),
    "span_marker": (
        "span_marker_model.py",
        ["span-marker==1.8.1", "transformers==4.57.6", "torch==2.13.0"],
        {},
        "transformer",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("corpus")
    parser.add_argument("--sentences", type=int, help="of train")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="what the tool is told besides")
    given = parser.parse_args()
    folder = trained(given.peer, given.corpus, given.sentences, given.seed, given.set)
    gold = corpora.load(given.corpus, "test")
    scores = score(gold, predicted(given.peer, folder, gold, given.corpus))
    interval = scores.interval()
    shipped = None if given.sentences else model_for(given.corpus)
    add(
        {
            "experiment": "peers",
            "corpus": given.corpus,
            "part": "test",
            "model": given.peer,
            "encoder": PEERS[given.peer][3],
            "seed": given.seed,
            "precision": round(scores.strict.precision, 2),
            "recall": round(scores.strict.recall, 2),
            "f1": round(scores.strict.f1, 2),
            "f1_low": round(interval.low, 2),
            "f1_high": round(interval.high, 2),
            "sentences": given.sentences,
            **(lead_of(shipped, gold, given.corpus, scores) if shipped else {}),
            **json.loads((folder.parent / READY).read_text(encoding="utf-8")),
            "command": shlex.join(["python", "benchmarks/peers.py", *sys.argv[1:]]),
        }
    )


def model_for(corpus: str) -> str | None:
    """The shipped model whose corpus it is, if any."""
    learnt = {load_model(folder).settings.data.corpus: folder.name for folder in model_folders()}
    return learnt.get(corpus)


def lead_of(name: str, gold: list[Document], corpus: str, peer: Scores) -> dict[str, Any]:
    """How far a shipped model is ahead of a peer on the same texts."""
    recognizer, entry = load(name), corpora.find(corpus)
    found = recognizer.pipe(recognizer.inputs(gold, is_raw=entry.is_raw))
    ours = score(recognizer.judged_by(gold, entry.labels), found)
    interval = lead(ours, peer)
    return {
        "shipped": name,
        "shipped_f1": round(ours.strict.f1, 2),
        "lead": round(ours.strict.f1 - peer.strict.f1, 2),
        "lead_low": round(interval.low, 2),
        "lead_high": round(interval.high, 2),
    }


def trained(peer: str, corpus: str, sentences: int | None, seed: int = 0, told: Iterable[str] = ()) -> Path:
    """The folder of a tool's model, trained if it is not there."""
    name = "-".join([peer.replace(" ", "_"), corpus, *([str(sentences)] if sentences else []), str(seed), *told])
    folder = FOLDER / "models" / name
    if not (folder / READY).exists():
        folder.mkdir(parents=True, exist_ok=True)
        parts = load_corpus(DataSettings(corpus=corpus, sentences=sentences))
        own = dict(PEERS[peer][2]) | {"seed": str(seed), "language": corpora.find(corpus).language}
        own |= dict(option.split("=") for option in told)
        files = [
            written(folder / "train.jsonl", parts.train),
            written(folder / "dev.jsonl", parts.dev, parts.dev_inputs),
        ]
        environment(peer, PEERS[peer][1])
        started = time.monotonic()
        encoder = [f"encoder={embedded()}"] if PEERS[peer][3] == "transformer" else []
        options = [f"{key}={value}" for key, value in own.items()]
        run(peer, "train", *files, str(folder / "model"), *options, *encoder)
        made = {"train_seconds": round(time.monotonic() - started, 1), "told": own}
        (folder / READY).write_text(json.dumps(made), encoding="utf-8")
    return folder / "model"


def predicted(peer: str, model: Path, gold: list[Document], corpus: str) -> list[Document]:
    """Documents as a tool sees them, with what it finds."""
    entry = corpora.find(corpus)
    inputs = gold
    if entry.is_raw:
        inputs = [parse(document.text, id=document.id, language=entry.language) for document in gold]
    texts, found = model.parent / "test.jsonl", model.parent / "found.jsonl"
    run(peer, "predict", str(model), written(texts, inputs), str(found))
    mentions: dict[str, list[Mention]] = {document.id: [] for document in inputs}
    texts_of = {document.id: document.text for document in inputs}
    for row in map(json.loads, found.read_text(encoding="utf-8").splitlines()):
        for entity in row["entities"]:
            place = Span(row["start"] + entity["start"], row["start"] + entity["end"])
            mentions[row["document"]].append(Mention.of(texts_of[row["document"]], [place], entity["label"]))
    return [parse(d.text, mentions=mentions[d.id], id=d.id, language=entry.language) for d in inputs]


def rows_of(documents: Iterable[Document], inputs: Iterable[Document] | None = None) -> Iterator[dict[str, Any]]:
    """A row a sentence of what a tool is given, with gold's entities that lie inside it."""
    documents = list(documents)
    for document, given in zip(documents, inputs or documents, strict=True):
        mentions = [m for m in document.mentions if not m.is_discontinuous]
        for n, sentence in enumerate(given.sentences):
            start, end = sentence.tokens[0].start, sentence.tokens[-1].end
            inside = [m for m in mentions if start <= m.start and m.end <= end]
            yield {
                "id": f"{document.id}#{n}",
                "document": document.id,
                "start": start,
                "text": given.text[start:end],
                "entities": [{"start": m.start - start, "end": m.end - start, "label": m.label} for m in inside],
            }


def written(path: Path, documents: list[Document], inputs: list[Document] | None = None) -> str:
    path.write_text("\n".join(json.dumps(row) for row in rows_of(documents, inputs)) + "\n", encoding="utf-8")
    return str(path)


def run(peer: str, *words: str) -> None:
    """Runs a tool's script in the tool's environment."""
    script, packages, *_ = PEERS[peer]
    subprocess.run([environment(peer, packages), str(CONTESTANTS / script), *words], check=True, env=os.environ)


def environment(name: str, packages: list[str]) -> str:
    """The python of an environment with these packages; ours, where none are needed."""
    if not packages:
        return sys.executable
    folder = FOLDER / "environments" / name.replace(" ", "_")
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        (folder / ".ready").touch()
    return str(python)


if __name__ == "__main__":
    main()
