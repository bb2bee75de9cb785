"""The JSON of event-extraction corpora (ACE and its like): `tokens` and `entity_mentions`, ends not included."""

from collections.abc import Iterator

from pydantic import BaseModel, TypeAdapter

from nestling.data.files import Source
from nestling.types import Document, Entity


class _Mention(BaseModel, strict=True):
    start: int
    end: int
    entity_type: str


class _Sentence(BaseModel, strict=True):
    sent_id: str | None = None
    tokens: list[str]
    entity_mentions: list[_Mention] = []


_SHAPE = TypeAdapter(_Sentence)


def read(source: Source) -> Iterator[Document]:
    """Documents of one sentence each."""
    for line, record in source.records(_SHAPE):
        yield from source.made(line, _document, record.sent_id or source.id_at(line), record)


def _document(id: str, record: _Sentence) -> Document:
    entities = [Entity.at(mention.start, mention.end, mention.entity_type) for mention in record.entity_mentions]
    return Document.of_words(id, [(record.tokens, entities)])
