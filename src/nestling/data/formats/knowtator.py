"""Knowtator's XML, as in CRAFT: annotations with one or more character spans, apart from the text they speak of.

`<folder>/<id>.txt.knowtator.xml`, in folders one a set of annotations; the texts beside them or in another folder.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from nestling.data.files import Source
from nestling.data.xml import events
from nestling.errors import InvalidValueError
from nestling.text import parse
from nestling.types import Document, Mention, Span

SUFFIX = ".knowtator.xml"


def read(
    source: Source,
    *,
    language: str = "en",
    texts: Path | None = None,
    ids: Sequence[str] | None = None,
    labels: Literal["folder", "class"] = "folder",
) -> Iterator[Document]:
    """Documents of a folder (and of the folders in it), or of one file.

    `texts` is the folder of the .txt files, `ids` the documents wanted and their order. A label is the name of the
    annotation's folder, or its ontology class.
    """
    found: dict[str, list[Path]] = {}
    paths = [source.path] if source.path.is_file() else sorted(source.path.rglob(f"*{SUFFIX}"))
    for path in paths:
        found.setdefault(path.name.removesuffix(SUFFIX), []).append(path)
    if not found:
        source.fail(f"holds no *{SUFFIX} files")
    for name in [f"{id}.txt" for id in ids] if ids is not None else sorted(found):
        own = source.at((texts or found[name][0].parent) / name)
        text = own.text()
        mentions = [m for path in found.get(name, ()) for m in _mentions(source.at(path), text, labels)]
        yield from own.made(None, parse, text, id=own.path.stem, language=language, mentions=mentions)


def _mentions(source: Source, text: str, labels: str) -> Iterator[Mention]:
    found: list[tuple[int, str, list[Span]]] = []
    classes: dict[str, str] = {}
    mention, class_mention = "", ""
    for event in events(source):
        if event.kind != "start":
            continue
        if event.name == "annotation":
            found.append((event.line, "", []))
        elif event.name == "mention" and found:
            mention = event.attributes.get("id", "")
            found[-1] = (found[-1][0], mention, found[-1][2])
        elif event.name == "span" and found:
            found[-1][2].extend(source.made(event.line, _span, event.attributes))
        elif event.name == "classMention":
            class_mention = event.attributes.get("id", "")
        elif event.name == "mentionClass":
            classes[class_mention] = event.attributes.get("id", "")
    for line, name, spans in found:
        label = source.path.resolve().parent.name if labels == "folder" else classes.get(name, "")
        if spans:
            yield from source.made(line, Mention.of, text, spans, label)
        else:
            source.error("an annotation without a span", line=line)


def _span(attributes: dict[str, str]) -> Span:
    try:
        return Span(int(attributes["start"]), int(attributes["end"]))
    except (KeyError, ValueError):
        raise InvalidValueError(f"not a span: {attributes}") from None
