"""JSON with character offsets: `text`, and `entities` with `start`, `end` (not included) and `label`."""

from collections.abc import Iterator

from pydantic import AliasChoices, BaseModel, Field, TypeAdapter

from nestling.data.files import Source
from nestling.text import parse
from nestling.types import Document, Mention, Span


class _Entity(BaseModel, strict=True):
    start: int = Field(validation_alias=AliasChoices("start", "start_offset"))
    end: int = Field(validation_alias=AliasChoices("end", "end_offset"))
    label: str = Field(validation_alias=AliasChoices("label", "type"))
    text: str | None = None
    score: float = 1.0


class _Document(BaseModel, strict=True):
    id: str | int | None = Field(default=None, validation_alias=AliasChoices("id", "doc_id"))
    text: str = Field(validation_alias=AliasChoices("text", "doc_text"))
    entities: list[_Entity]


_SHAPE = TypeAdapter(_Document)


def read(source: Source, *, language: str = "en") -> Iterator[Document]:
    """Documents of raw text."""
    for line, record in source.records(_SHAPE):
        for entity in record.entities:
            covered = record.text[entity.start : entity.end]
            if entity.text is not None and entity.text != covered:
                message = f"says {entity.text[:60]!r}, but the text there is {covered[:60]!r}"
                source.warning(message, line=line, fix="offsets were believed")
        yield from source.made(
            line, _document, str(source.id_at(line) if record.id is None else record.id), record, language
        )


def _document(id: str, record: _Document, language: str) -> Document:
    mentions = [Mention.of(record.text, [Span(e.start, e.end)], e.label, e.score) for e in record.entities]
    return parse(record.text, id=id, language=language, mentions=mentions)
