"""The project's own JSON lines; docs/json-lines.md describes them.

Where a line has a `text`, all its offsets are characters of it; where it has none, they are words.
"""

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter

from nestling.data.files import UNION_TAGS, Source, written
from nestling.errors import InvalidValueError, nearest
from nestling.text import build, parse
from nestling.types import Document, Entity, Mention, Span, joined

Pair = Annotated[list[int], Field(min_length=2, max_length=2)]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Entity(_Record):
    fragments: list[Pair] = Field(min_length=1)
    label: str
    score: float = 1.0
    probabilities: dict[str, float] | None = None

    @property
    def spans(self) -> list[Span]:
        return [Span(start, end) for start, end in self.fragments]


class _Text(_Record):
    id: str | int | None = None
    text: str
    tokens: None = Field(default=None, description="words belong in `sentences`, as characters of the text")
    sentences: list[list[Pair]] | None = None
    entities: list[_Entity] = []
    annotated: list[str] | None = None


class _Words(_Record):
    id: str | int | None = None
    tokens: list[str] | None = None
    sentences: list[list[str]] | None = None
    entities: list[_Entity] = []
    annotated: list[str] | None = None


def _kind(item: Any) -> str:
    return UNION_TAGS[0 if isinstance(item, dict) and "text" in item else 1]


_SHAPE: TypeAdapter[_Text | _Words] = TypeAdapter(
    Annotated[Annotated[_Text, Tag(UNION_TAGS[0])] | Annotated[_Words, Tag(UNION_TAGS[1])], Discriminator(_kind)]
)
_KNOWN = {*_Text.model_fields, *_Words.model_fields}
_FOREIGN = {"spans", "label", "labels", "annotations"}  # where other tools have entities
_ALIKE = 0.85  # how near a key must be to a known one to be taken for a slip
_ENTITY_ALIKE = 0.8  # nobody has keys of their own there


def read(source: Source, *, language: str = "en", without_entities: bool = False) -> Iterator[Document]:
    """Documents, one a line; a text without sentences is split by the rules of its language."""
    for line, record in source.records(_SHAPE):
        if without_entities:
            record.entities = []
        for key, meant in _slips(record):
            source.error(f"unknown key {key!r}", line=line, fix=f"did you mean {meant!r}?")
        if not record.entities and (foreign := _FOREIGN & (record.model_extra or {}).keys()):
            message = f"no entities, and the key {min(foreign)!r} is not read"
            source.warning(message, line=line, fix="name them `entities`, as docs/json-lines.md says")
        name = source.id_at(line) if record.id is None else str(record.id)
        yield from source.made(line, _document, name, record, language)


def _slips(record: _Text | _Words) -> Iterator[tuple[str, str]]:
    """Keys that look like misspelt known ones, and what was meant."""
    for key in record.model_extra or ():
        unused = _KNOWN - record.model_fields_set
        if meant := nearest(key, unused, _ALIKE) or nearest(key, unused & {"entities"}, _ENTITY_ALIKE):
            yield key, meant
    for entity in record.entities:
        for key in entity.model_extra or ():
            if meant := nearest(key, _Entity.model_fields.keys() - entity.model_fields_set, _ENTITY_ALIKE):
                yield key, meant


def _document(name: str, record: _Text | _Words, language: str) -> Document:
    made = _of_text(name, record, language) if isinstance(record, _Text) else _of_words(name, record)
    return made if record.annotated is None else replace(made, annotated=frozenset(record.annotated))


def _of_text(name: str, record: _Text, language: str) -> Document:
    mentions = [Mention.of(record.text, e.spans, e.label, e.score, e.probabilities) for e in record.entities]
    if record.sentences is None:
        return parse(record.text, id=name, language=language, mentions=mentions)
    words = [(start, end) for sentence in record.sentences for start, end in sentence]
    return build(name, record.text, words, [sentence[0][0] for sentence in record.sentences if sentence], mentions)


def _of_words(name: str, record: _Words) -> Document:
    sentences = record.sentences
    if sentences is None:
        if record.tokens is None:
            raise InvalidValueError("a line needs a text, tokens or sentences")
        sentences = [record.tokens] if record.tokens else []
    borders = [0, *accumulate(len(words) for words in sentences)]
    entities: list[list[Entity]] = [[] for _ in sentences]
    for given in record.entities:
        fragments = joined(given.spans)
        start, end = fragments[0].start, fragments[-1].end
        number = bisect_left(borders, end) - 1
        if number == len(sentences) or start < borders[number]:
            where = "beyond the last word" if number == len(sentences) else "in two sentences"
            raise InvalidValueError(f"{given.label} at words {start}-{end} is {where}")
        own = tuple(Span(f.start - borders[number], f.end - borders[number]) for f in fragments)
        entities[number].append(Entity(own, given.label, given.score, given.probabilities))
    return Document.of_words(name, zip(sentences, entities, strict=True))


def write(documents: Iterable[Document], path: Path) -> None:
    """Documents, one a line, with text, words and sentences exactly as they are."""
    with written(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for document in documents:
            file.write(dumps(document) + "\n")


def dumps(document: Document, *, words: bool = True) -> str:
    """The line of a document; without words it is split anew when it is read."""
    entities = [_dumped(mention) for mention in document.mentions]
    record: dict[str, Any] = {"id": document.id, "text": document.text, "entities": entities}
    if document.annotated is not None:
        record["annotated"] = sorted(document.annotated)
    if words:
        record["sentences"] = [[[t.start, t.end] for t in sentence.tokens] for sentence in document.sentences]
    return json.dumps(record, ensure_ascii=False)


def _dumped(mention: Mention) -> dict[str, Any]:
    record: dict[str, Any] = {
        "fragments": [[f.start, f.end] for f in mention.fragments],
        "label": mention.label,
    }
    if mention.score != 1.0:
        record["score"] = mention.score
    if mention.probabilities is not None:
        record["probabilities"] = dict(mention.probabilities)
    return record
