"""XML from anybody, as a stream of events with line numbers: no entities, no deep nesting, nothing fetched."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from xml.parsers import expat

from nestling.data.files import Source

MAX_DEPTH = 200
_CHUNK_BYTES = 2**16


@dataclass(frozen=True, slots=True)
class Event:
    """The start or end of an element, or a stretch of text; `name` is the element's name or the text."""

    kind: Literal["start", "end", "text"]
    name: str
    attributes: dict[str, str]
    line: int


class _RefusedError(Exception):
    """Raised inside expat's callbacks."""


def events(source: Source) -> Iterator[Event]:
    """The events of a file, in order."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    found: list[Event] = []
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise _RefusedError(f"elements nested more than {MAX_DEPTH} deep")
        found.append(Event("start", name, attributes, parser.CurrentLineNumber))

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        found.append(Event("end", name, {}, parser.CurrentLineNumber))

    def text(content: str) -> None:
        found.append(Event("text", content, {}, parser.CurrentLineNumber))

    def entity(*_: object) -> None:
        raise _RefusedError("declares XML entities, which are refused")

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.EntityDeclHandler = entity
    with source.open() as file:
        is_last = False
        while not is_last:
            chunk = file.read(_CHUNK_BYTES)
            is_last = not chunk
            source.watch.advance(len(chunk))
            try:
                parser.Parse(chunk, is_last)
            except expat.ExpatError as error:
                source.fail(f"not XML: {expat.ErrorString(error.code)}", line=error.lineno, fix="is the file whole?")
            except (ValueError, LookupError) as error:
                source.fail(f"not XML: {error}", line=1, fix="convert it to UTF-8")
            except _RefusedError as error:
                source.fail(str(error), line=parser.CurrentLineNumber)
            yield from found
            found.clear()
