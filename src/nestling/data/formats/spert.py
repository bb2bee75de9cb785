"""SpERT's JSON: `tokens` with `entities` (`type`, `start`, `end` not included) or with one row of BILOU `tags`."""

from collections.abc import Iterator

from pydantic import BaseModel, TypeAdapter

from nestling.data.files import Source
from nestling.data.tags import decode
from nestling.errors import InvalidValueError
from nestling.types import Document, Entity


class _Entity(BaseModel, strict=True):
    type: str
    start: int
    end: int


class _Sentence(BaseModel, strict=True):
    tokens: list[str]
    entities: list[_Entity] | None = None
    tags: list[str] | None = None


_SHAPE = TypeAdapter(_Sentence)


def read(source: Source) -> Iterator[Document]:
    """Documents of one sentence each."""
    for number, (line, record) in enumerate(source.records(_SHAPE)):
        yield from source.made(line, _document, f"{source.path.stem}:{number}", record)


def _document(id: str, record: _Sentence) -> Document:
    return Document.of_words(id, [(record.tokens, _entities(record))])


def _entities(record: _Sentence) -> list[Entity]:
    if record.entities is not None:
        return [Entity.at(entity.start, entity.end, entity.type) for entity in record.entities]
    if record.tags is None:
        raise InvalidValueError("a sentence needs entities or tags")
    if len(record.tags) != len(record.tokens):
        raise InvalidValueError(f"{len(record.tags)} tags for {len(record.tokens)} tokens")
    return decode(record.tags)[0]
