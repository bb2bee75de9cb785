"""DyGIE's and SciERC's JSON: `sentences` of tokens, and `ner` as [first, last, label] in words of the document."""

from collections.abc import Iterator

from pydantic import BaseModel, StrictInt, TypeAdapter

from nestling.data.files import Source
from nestling.errors import InvalidValueError
from nestling.types import Document, Entity


class _Document(BaseModel):
    doc_key: str | int | None = None
    sentences: list[list[str]]
    ner: list[list[tuple[StrictInt, StrictInt, str]]]


_SHAPE = TypeAdapter(_Document)


def read(source: Source) -> Iterator[Document]:
    """Documents of several sentences."""
    for line, record in source.records(_SHAPE):
        yield from source.made(
            line, _document, str(source.id_at(line) if record.doc_key is None else record.doc_key), record
        )


def _document(id: str, record: _Document) -> Document:
    if len(record.ner) != len(record.sentences):
        raise InvalidValueError(f"ner has {len(record.ner)} lists for {len(record.sentences)} sentences")
    offset, sentences = 0, []
    for words, mentions in zip(record.sentences, record.ner, strict=True):
        entities = [Entity.at(first - offset, last + 1 - offset, label) for first, last, label in mentions]
        sentences.append((words, entities))
        offset += len(words)
    return Document.of_words(id, sentences)
