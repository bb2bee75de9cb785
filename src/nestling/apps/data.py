"""`nestling data`: look at corpora, check them, convert them."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from nestling.apps.sources import Named, Reading, named
from nestling.apps.tables import statistics_tables
from nestling.apps.terminal import Painter, err, out, visible
from nestling.data import corpora
from nestling.data.files import Problem, written_folder
from nestling.data.formats import FORMATS, jsonl, writable, write
from nestling.data.statistics import describe, nesting
from nestling.data.tags import Order, Scheme
from nestling.errors import DataError, NestlingError
from nestling.text import LANGUAGES, parse
from nestling.types import Document, Entity, Sentence

app = typer.Typer(no_args_is_help=True, help="Look at corpora, check them, convert them.")

Source = Annotated[
    str,
    typer.Argument(metavar="CORPUS_OR_PATH", help="A corpus (genia), a part of one (genia:test), a file or a folder."),
]
Format = Annotated[str | None, typer.Option("--format", "-f", help=f"One of {', '.join(FORMATS)}. Default: guessed.")]
Root = Annotated[Path | None, typer.Option(help="Folder that holds the corpora. Default: $NESTLING_DATA.")]
Language = Annotated[str | None, typer.Option(help=f"Language of raw text: {', '.join(LANGUAGES)}.")]
Columns = Annotated[
    str | None, typer.Option(help="Columns of a column file that hold tags, from 0: 3, or 1,2. Default: all.")
]
PredictedFormat = Annotated[str | None, typer.Option(help="Format of predictions, if it is not gold's.")]
PredictedColumns = Annotated[str | None, typer.Option(help="Columns of predictions, if they are not gold's.")]
Part = Annotated[str | None, typer.Option(help="One part only, such as dev.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Only = Literal["nested", "discontinuous", "crossing"]


class Drop(StrEnum):
    """What `convert` may leave out."""

    SCORES = "scores"
    DISCONTINUOUS = "discontinuous"
    DUPLICATES = "duplicates"


@app.command("list")
def list_corpora(root: Root = None, as_json: Json = False) -> None:
    """List the corpora that nestling knows; a tick marks those that are there."""
    rows = [
        {
            "name": name,
            "language": c.language,
            "labels": list(c.labels),
            "about": c.about,
            "is_there": _is_there(name, root),
        }
        for name, c in corpora.CORPORA.items()
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        out.print(f"{'✓' if row['is_there'] else ' '} {row['name']:15} {row['language']}  {row['about']}")


def _is_there(name: str, root: Path | None) -> bool:
    try:
        return corpora.folder_of(name, root).is_dir()
    except NestlingError:
        return False


@app.command()
def stats(
    source: Source,
    format: Format = None,
    root: Root = None,
    language: Language = None,
    columns: Columns = None,
    part: Part = None,
    cut: Annotated[bool, typer.Option("--cut", help="The parts to train and test on, not those shipped.")] = False,
    as_json: Json = False,
) -> None:
    """Count sentences, entities, nesting, labels, lengths and leakage, part by part."""
    corpus = named(source, Reading(format, root, language, columns, shipped=not cut)).only(part)
    documents = corpus.read()
    train = documents.get("train")
    figures = [describe(name, own, corpus.unit, None if name == "train" else train) for name, own in documents.items()]
    say_problems(corpus)
    if as_json:
        print_json([one.as_json() for one in figures])
        return
    published = corpora.CORPORA[source].published if source in corpora.CORPORA and not cut else {}
    for table in statistics_tables(figures, published):
        out.print(table, "")


@app.command()
def show(
    source: Source,
    format: Format = None,
    root: Root = None,
    language: Language = None,
    columns: Columns = None,
    part: Part = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many sentences; 0 for all.")] = 10,
    only: Annotated[Only | None, typer.Option(help="Only sentences with such entities.")] = None,
    label: Annotated[str | None, typer.Option(help="Only sentences with this label.")] = None,
    as_json: Json = False,
) -> None:
    """Print sentences with nested brackets around their entities."""
    painter = Painter()
    shown = 0
    corpus = named(source, Reading(format, root, language, columns)).only(part)
    for document, number in _sentences(corpus):
        sentence = document.sentences[number]
        if not _is_wanted(sentence, only, label):
            continue
        if as_json:
            typer.echo(jsonl.dumps(document.excerpt(number, number + 1)))
        else:
            out.print(painter.draw(sentence))
        shown += 1
        if shown == limit:
            break
    if not shown:
        err.print("there are no such sentences", markup=False)


def _sentences(corpus: Named) -> Iterator[tuple[Document, int]]:
    """The sentences of all parts, as documents and positions in them."""
    for part in corpus.parts:
        for document in corpus.stream(part):
            for number in range(len(document.sentences)):
                yield document, number


def _is_wanted(sentence: Sentence, only: Only | None, label: str | None) -> bool:
    if label is not None and all(entity.label != label for entity in sentence.entities):
        return False
    if only == "discontinuous":
        return any(entity.is_discontinuous for entity in sentence.entities)
    relations = nesting(sentence.entities)
    return only is None or bool(relations.nested if only == "nested" else relations.crossing)


@app.command()
def check(
    source: Source,
    format: Format = None,
    root: Root = None,
    language: Language = None,
    columns: Columns = None,
    part: Part = None,
    as_json: Json = False,
) -> None:
    """Find what is wrong in a file: place, problem, fix. Exit code 2 where something cannot be read."""
    corpus = named(source, Reading(format, root, language, columns, shipped=True)).only(part)
    documents: dict[str, list[Document]] = {}
    for name in corpus.parts:
        try:
            documents[name] = list(corpus.stream(name, report=lambda _: None))
        except DataError as error:  # nothing further could be read
            corpus.problems.append(Problem(str(error.path or name), error.line, error.message, error.fix, "error"))
    corpus.problems.extend(_across(source, documents))
    if corpus.is_raw:
        corpus.problems.extend(_inside_words(source, documents, corpus.language))
    errors = sum(problem.severity == "error" for problem in corpus.problems)
    if as_json:
        print_json([asdict(problem) for problem in corpus.problems])
    else:
        for problem in corpus.problems:
            out.print(visible(str(problem)), style="red" if problem.severity == "error" else None, markup=False)
        count = sum(len(sentence.entities) for own in documents.values() for d in own for sentence in d.sentences)
        read = sum(map(len, documents.values()))
        warnings = len(corpus.problems) - errors
        out.print(f"{errors} errors, {warnings} warnings; {read} documents and {count} entities can be read")
    if errors:
        raise typer.Exit(2)


def _inside_words(source: str, documents: dict[str, list[Document]], language: str) -> Iterator[Problem]:
    """Mentions of raw text whose borders no word has, a problem a part: offsets may be off by one."""
    for part, own in documents.items():
        found = []
        for document in own:
            words = list(parse(document.text, language=language).tokens)
            starts, ends = {word.start for word in words}, {word.end for word in words}
            found += [
                f"{mention.label} {mention.text[:40]!r} at {mention.start} in {document.id!r}"
                for mention in document.mentions
                if any(f.start not in starts or f.end not in ends for f in mention.fragments)
            ]
        if found:
            message = f"{len(found)} mentions of {part} begin or end inside a word, such as {', '.join(found[:3])}"
            fix = "are offsets off by one? they count characters from 0, ends not included"
            yield Problem(source, None, message, fix, "warning")


def _across(source: str, documents: dict[str, list[Document]]) -> Iterator[Problem]:
    """What is odd about the parts as a whole."""
    labels = Counter(entity.label for own in documents.values() for document in own for entity in document.entities)
    by_folded: dict[str, list[str]] = {}
    for label in sorted(labels):
        by_folded.setdefault(label.casefold(), []).append(label)
    for names in by_folded.values():
        if len(names) > 1:
            counts = ", ".join(f"{name} ({labels[name]})" for name in names)
            yield Problem(source, None, f"labels that differ only in case: {counts}", "write one of them", "warning")
    for part, own in documents.items():
        for name, count in Counter(document.id for document in own).items():
            if count > 1:
                fix = "give each its own id; scores pair documents by id"
                yield Problem(source, None, f"{count} documents of {part} have the id {name!r}", fix, "warning")
        texts = {document.text for document in documents.get("train", ())} if part != "train" else set()
        if leaked := len(texts & {document.text for document in own}):
            fix = "take them out of train, or scores will be too good"
            yield Problem(source, None, f"{leaked} texts of {part} are also in train", fix, "warning")


@app.command()
def convert(
    source: Source,
    target: Annotated[
        Path, typer.Argument(metavar="TARGET", help="File to write, or folder where there are several parts.")
    ],
    to: Annotated[
        str | None, typer.Option(help=f"One of {', '.join(writable())}. Default: by the name of the file.")
    ] = None,
    format: Format = None,
    root: Root = None,
    language: Language = None,
    columns: Columns = None,
    part: Part = None,
    shipped: Annotated[
        bool, typer.Option("--shipped", help="A corpus's parts as shipped, not those to train and test on.")
    ] = False,
    scheme: Annotated[Scheme | None, typer.Option(help="Tags of a column file: BIO, BIOES or BILOU.")] = None,
    order: Annotated[Order | None, typer.Option(help="First layer of a column file: innermost or outermost.")] = None,
    drop: Annotated[
        list[Drop] | None, typer.Option(help="What may be left out where the format cannot hold it.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a corpus in another format; what the format cannot hold is refused, or dropped where you say so."""
    corpus = named(source, Reading(format, root, language, columns, shipped)).only(part)
    options = {"scheme": scheme, "order": order, "language": language if to == "docbin" else None}
    droppers = {name: _Dropper(drop or []) for name in corpus.parts}
    if len(corpus.parts) == 1:
        (name,) = corpus.parts
        paths = {name: target}
        write(droppers[name](corpus.stream(name)), target, to, **options)
    else:
        if to is None:
            parts = ", ".join(corpus.parts)
            raise DataError(f"{source} has several parts: {parts}", fix="name one with --part, or a format with --to")
        paths = {name: target / f"{name}{_SUFFIXES.get(to, '')}" for name in corpus.parts}
        with written_folder(target) as folder:
            for name, path in paths.items():
                write(droppers[name](corpus.stream(name)), folder / path.name, to, **options)
    say_problems(corpus)
    _say_written(paths, droppers, to, as_json)


def _say_written(paths: dict[str, Path], droppers: dict[str, "_Dropper"], to: str | None, as_json: bool) -> None:
    rows = [
        {"part": name, "path": str(path), "documents": droppers[name].documents, "dropped": droppers[name].dropped}
        for name, path in paths.items()
    ]
    if as_json:
        print_json(rows)
        return
    for name, path in paths.items():
        dropped = "".join(f"; left out {count} {what}" for what, count in droppers[name].dropped.items())
        out.print(visible(f"{path}: {droppers[name].documents} documents{dropped}"), markup=False)
    if to in FORMATS and FORMATS[to].loses:
        err.print(f"{to} files do not keep {FORMATS[to].loses}", style="yellow")


_SUFFIXES = {"jsonl": ".jsonl", "column": ".conll", "docbin": ".spacy"}


class _Dropper:
    """Passes documents on without what may be left out, and counts both."""

    def __init__(self, what: Iterable[Drop]) -> None:
        self.what = set(what)
        self.documents = 0
        self.dropped: Counter[str] = Counter()

    def __call__(self, documents: Iterable[Document]) -> Iterator[Document]:
        for document in documents:
            self.documents += 1
            yield (
                document.with_entities(self._kept(s.entities) for s in document.sentences) if self.what else document
            )

    def _kept(self, entities: Iterable[Entity]) -> list[Entity]:
        kept: list[Entity] = []
        for entity in entities:
            own = entity
            if "scores" in self.what and own.score != 1.0:
                self.dropped["scores"] += 1
                own = replace(own, score=1.0)
            if "discontinuous" in self.what and own.is_discontinuous:
                self.dropped["discontinuous"] += 1
            elif "duplicates" in self.what and own in kept:
                self.dropped["duplicates"] += 1
            else:
                kept.append(own)
        return kept


def print_json(value: object) -> None:
    """A value as JSON on the standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=1))


def say_problems(corpus: Named) -> None:
    """A line on the error stream where something was mended in reading."""
    if corpus.problems:
        err.print(
            f"{len(corpus.problems)} oddities in {corpus.name}; `nestling data check` lists them",
            style="yellow",
            markup=False,
        )
