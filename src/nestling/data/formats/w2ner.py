"""W2NER's JSON: `sentence` as tokens, and `ner` as lists of word positions (`index`, with gaps) and a `type`."""

from collections.abc import Iterator

from pydantic import BaseModel, Field, TypeAdapter

from nestling.data.files import Source
from nestling.types import Document, Entity, Span, joined


class _Mention(BaseModel, strict=True):
    index: list[int] = Field(min_length=1)
    type: str


class _Sentence(BaseModel, strict=True):
    sentence: list[str]
    ner: list[_Mention] = []


_SHAPE = TypeAdapter(_Sentence)


def read(source: Source) -> Iterator[Document]:
    """Documents of one sentence each."""
    for number, (line, record) in enumerate(source.records(_SHAPE)):
        yield from source.made(line, _document, f"{source.path.stem}:{number}", record)


def _document(id: str, record: _Sentence) -> Document:
    entities = [Entity(joined(Span(i, i + 1) for i in mention.index), mention.type) for mention in record.ner]
    return Document.of_words(id, [(record.sentence, entities)])
