"""Other tools, trained on what our models are trained on and judged by the same scorer, by characters.

    python benchmarks/peers.py spancat genia [--sentences 2087] [--set epochs=40]

Each runs in an environment of its own, made under runs/peers/environments. A text is a sentence: of raw corpora one
that nestling cut, of others as it is given. Tools that cannot nest learn the outermost entities and are judged by all.
What a tool finds is kept in benchmarks/found, as places and labels: the same command later compares another model with
it and trains nothing. To train again, delete that file.
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
from hashlib import sha256
from pathlib import Path
from typing import Any

from records import ROOT, add

from nestling.checkpoint import load, load_model, model_folders
from nestling.config import embedded
from nestling.data import corpora
from nestling.data.files import written as complete
from nestling.evaluation.scores import Scores, lead, score
from nestling.run import load_corpus
from nestling.settings import DataSettings
from nestling.text import parse
from nestling.types import Document, Mention, Span

FOLDER = ROOT / "runs" / "peers"
FOUND = ROOT / "benchmarks" / "found"
Place = tuple[int, int, str]  # where it starts and ends in the characters of its document, and its label
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
    gold = corpora.load(given.corpus, "test")
    inputs = inputs_of(gold, given.corpus)
    kept = kept_or_found(given, inputs)
    scores = score(gold, with_mentions(inputs, kept["found"], given.corpus))
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
            **kept["made"],
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


def name_of(given: argparse.Namespace) -> str:
    """The name of a tool's model: all that it depends on."""
    sentences = [str(given.sentences)] if given.sentences else []
    return "-".join([given.peer.replace(" ", "_"), given.corpus, *sentences, str(given.seed), *given.set])


def kept_or_found(given: argparse.Namespace, inputs: list[Document]) -> dict[str, Any]:
    """What a tool finds in test, as it was kept, or else by training the tool; and how it was made."""
    path = FOUND / f"{name_of(given)}.json"
    digest = sha256("\n".join(document.text for document in inputs).encode()).hexdigest()
    if path.exists():
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if kept["texts"] != digest:
            sys.exit(f"{path}: was found in other texts; delete it to train {given.peer} again")
        return kept
    folder = trained(given)
    found = predicted(given.peer, folder, inputs)
    kept = {"texts": digest, "made": json.loads((folder.parent / READY).read_text(encoding="utf-8")), "found": found}
    FOUND.mkdir(exist_ok=True)
    with complete(path) as temporary:
        temporary.write_text(json.dumps(kept, separators=(",", ":")) + "\n", encoding="utf-8")
    return kept


def trained(given: argparse.Namespace) -> Path:
    """The folder of a tool's model, trained if it is not there."""
    peer, folder = given.peer, FOLDER / "models" / name_of(given)
    if not (folder / READY).exists():
        folder.mkdir(parents=True, exist_ok=True)
        parts = load_corpus(DataSettings(corpus=given.corpus, sentences=given.sentences))
        own = dict(PEERS[peer][2]) | {"seed": str(given.seed), "language": corpora.find(given.corpus).language}
        own |= dict(option.split("=") for option in given.set)
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


def inputs_of(gold: list[Document], corpus: str) -> list[Document]:
    """Documents as a tool sees them."""
    entry = corpora.find(corpus)
    return [parse(d.text, id=d.id, language=entry.language) for d in gold] if entry.is_raw else gold


def predicted(peer: str, model: Path, inputs: list[Document]) -> dict[str, list[Place]]:
    """What a tool finds in each document."""
    texts, found = model.parent / "test.jsonl", model.parent / "found.jsonl"
    run(peer, "predict", str(model), written(texts, inputs), str(found))
    places: dict[str, list[Place]] = {document.id: [] for document in inputs}
    for row in map(json.loads, found.read_text(encoding="utf-8").splitlines()):
        for own in row["entities"]:
            places[row["document"]].append((row["start"] + own["start"], row["start"] + own["end"], own["label"]))
    return places


def with_mentions(inputs: list[Document], found: dict[str, list[Place]], corpus: str) -> list[Document]:
    """Documents with what was found in them."""
    made, language = [], corpora.find(corpus).language
    for document in inputs:
        mentions = [Mention.of(document.text, [Span(start, end)], label) for start, end, label in found[document.id]]
        made.append(parse(document.text, mentions=mentions, id=document.id, language=language))
    return made


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
