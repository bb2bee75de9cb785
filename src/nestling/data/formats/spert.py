"""SpERT's JSON: `tokens` with `entities` (`type`, `start`, `end` not included) or with one row of BILOU `tags`.

The form in which ACE and KBP are commonly passed on. Sentences in a row with the same `org_id` (or `orig_id`) are one
document, so that they are context for each other; `relations`, `pos`, `ltokens` and `rtokens` are left out.
"""

from collections.abc import Iterator
from itertools import groupby

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
    orig_id: str | int | None = None
    org_id: str | int | None = None


_SHAPE = TypeAdapter(_Sentence)


def read(source: Source) -> Iterator[Document]:
    """Documents of one sentence each, or of the sentences in a row that one `orig_id` holds together."""
    numbered = enumerate(source.records(_SHAPE))

    def owner(item: tuple[int, tuple[int, _Sentence]]) -> object:
        number, (_, record) = item
        id = record.org_id if record.org_id is not None else record.orig_id
        return (id,) if id is not None else number

    for _, group in groupby(numbered, owner):
        items = list(group)
        number, (line, _) = items[0]
        yield from source.made(line, _document, f"{source.path.stem}:{number}", [record for _, (_, record) in items])


def _document(id: str, records: list[_Sentence]) -> Document:
    return Document.of_words(id, [(record.tokens, _entities(record)) for record in records])


def _entities(record: _Sentence) -> list[Entity]:
    if record.entities is not None:
        return [Entity.at(entity.start, entity.end, entity.type) for entity in record.entities]
    if record.tags is None:
        raise InvalidValueError("a sentence needs entities or tags")
    if len(record.tags) != len(record.tokens):
        raise InvalidValueError(f"{len(record.tags)} tags for {len(record.tokens)} tokens")
    return decode(record.tags)[0]
