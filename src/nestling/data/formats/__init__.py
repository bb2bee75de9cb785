"""Files ⇄ documents. One format, one file, named in FORMATS.

A reader is `read(source, **options) -> Iterator[Document]`, a writer `write(documents, path, **options)`. To add a
format, write a file with one or both and name it here.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from nestling.data.files import QUIET, Source, Watch
from nestling.data.formats import (
    brat,
    column,
    docbin,
    dygie,
    genia,
    jsonl,
    knowtator,
    mentions,
    offsets,
    spert,
    w2ner,
)
from nestling.errors import DataError, UnknownNameError
from nestling.types import Document


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: how it is read and written, and whether it gives raw text, without words and sentences."""

    about: str
    read: Callable[..., Iterator[Document]]
    write: Callable[..., None] | None = None
    is_raw: bool = False
    loses: str = ""  # what writing leaves out of every document

    @property
    def takes_language(self) -> bool:
        """Whether reading may have to split text."""
        return "language" in inspect.signature(self.read).parameters


FORMATS: dict[str, Format] = {
    "jsonl": Format("nestling's JSON lines", jsonl.read, jsonl.write),
    "column": Format(
        "a word a line with BIO, BIOES or BILOU tags, also layered",
        column.read,
        column.write,
        loses="the spacing of texts",
    ),
    "brat": Format("brat standoff: .txt and .ann", brat.read, brat.write, True, loses="words and sentences"),
    "docbin": Format("spaCy's DocBin", docbin.read, docbin.write),
    "spert": Format("SpERT's JSON: tokens and entities or tags", spert.read),
    "dygie": Format("DyGIE's and SciERC's JSON: sentences and ner", dygie.read),
    "w2ner": Format("W2NER's JSON: sentence and ner with word positions", w2ner.read),
    "mentions": Format("tokens and entity_mentions, as for ACE", mentions.read),
    "offsets": Format("JSON with character offsets", offsets.read, is_raw=True),
    "genia": Format("GENIA's XML", genia.read, is_raw=True),
    "knowtator": Format("Knowtator's XML, as in CRAFT", knowtator.read, is_raw=True),
}

JSON_SUFFIXES = (".json", ".jsonl", ".jsonlines", ".ndjson")
_SUFFIXES = {
    ".ann": "brat",
    ".jsonl": "jsonl",
    ".jsonlines": "jsonl",
    ".ndjson": "jsonl",
    ".spacy": "docbin",
    ".xml": "genia",
}
_COLUMN_SUFFIXES = {".tsv", ".conll", ".bio", ".iob", ".iob2", ".iobes", ".bioes", ".bilou"}
_KEYS = {  # the first format all of whose keys the first object has
    "mentions": {"tokens", "entity_mentions"},
    "dygie": {"sentences", "ner"},
    "w2ner": {"sentence", "ner"},
}


def read(path: Path | str, format: str | None = None, *, watch: Watch = QUIET, **options: Any) -> Iterator[Document]:
    """The documents of a file or folder, one by one; without a format it is guessed."""
    path = Path(path)
    name = format or guess(path)
    reader = _entry(name).read
    source = Source(path, watch)
    return _not_empty(source, reader(source, **_known(name, reader, options)))


def write(documents: Iterable[Document], path: Path | str, format: str | None = None, **options: Any) -> None:
    """Writes documents whole or not at all; without a format the name of the file tells it."""
    path = Path(path)
    name = format or _by_suffix(path) or ("column" if path.suffix in _COLUMN_SUFFIXES else "")
    if not name:
        raise DataError("the name does not tell a format", path=path, fix=f"name one of: {', '.join(writable())}")
    writer = _entry(name).write
    if writer is None:
        raise DataError(f"the format {name!r} is only read", path=path, fix=f"write one of: {', '.join(writable())}")
    writer(documents, path, **_known(name, writer, options))


def writable() -> list[str]:
    """The formats that can be written."""
    return [name for name, entry in FORMATS.items() if entry.write]


def guess(path: Path) -> str:
    """The format of a file or folder, by its name and its first object."""
    if path.is_dir():
        has_knowtator = next(path.rglob(f"*{knowtator.SUFFIX}"), None) is not None
        return "knowtator" if has_knowtator else "brat"
    if path.name.endswith(knowtator.SUFFIX):
        return "knowtator"
    if path.suffix == ".txt" and path.with_suffix(".ann").exists():
        return "brat"
    if path.is_file() and path.suffix in JSON_SUFFIXES:  # a pipe is read only once
        return _json_kind(Source(path))
    return "jsonl" if path.suffix == ".json" else _by_suffix(path) or "column"


def is_raw(path: Path | str, format: str) -> bool:
    """Whether a file gives texts without words: they are then to be split without a look at their mentions."""
    if format != "jsonl" or not Path(path).is_file():  # a pipe can be read once only
        return _entry(format).is_raw
    first = next((item for _, item in Source(Path(path)).json_items()), None)
    return isinstance(first, dict) and "text" in first and first.get("sentences") is None


def _by_suffix(path: Path) -> str | None:
    return _SUFFIXES.get(path.suffix)


def _json_kind(source: Source) -> str:
    try:
        items = [item for _, item in islice(source.json_items(), 100) if isinstance(item, dict)]
    except DataError:  # reading will say what is wrong
        return "jsonl"
    if not items:
        return "jsonl"
    first = next((item for item in items if item.get("entities")), items[0])
    for name, keys in _KEYS.items():
        if keys <= first.keys():
            return name
    entities = first.get("entities")
    entity = entities[0] if isinstance(entities, list) and entities else None
    has_starts = isinstance(entity, dict) and any(key.startswith("start") for key in entity)
    if "doc_text" in first or ("text" in first and has_starts):
        return "offsets"
    is_spert = "tags" in first or "orig_id" in first or (isinstance(entity, dict) and "type" in entity)
    return "spert" if "tokens" in first and is_spert else "jsonl"


def _entry(name: str) -> Format:
    if name not in FORMATS:
        raise UnknownNameError("format", name, FORMATS)
    return FORMATS[name]


def _known(name: str, function: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, all of which the reader or writer must know."""
    given = {key: value for key, value in options.items() if value is not None}
    known = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for key in given:
        if key not in known:
            raise UnknownNameError(f"option of the format {name!r}", key, known or ["none"])
    return given


def _not_empty(source: Source, documents: Iterator[Document]) -> Iterator[Document]:
    is_empty = True
    for document in documents:
        is_empty = False
        yield document
    if is_empty:
        source.error("holds no documents", fix="is it the right file, in the right format?")
