"""GENIA's XML: terms are `<cons sem="G#...">` elements inside the raw text of `<sentence>` elements of `<article>`s.

A document is an article; its text is its sentences, a line each. Words are cut at blanks and at the borders of all
terms, and nowhere else, as in the published five-type data (which leaks the borders: a full stop is a word of its
own only where a term ends). Coordinations with an expression for `sem` have no single type and are left out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from nestling.data.files import Source
from nestling.data.xml import Event, events
from nestling.text import build, cut
from nestling.types import Document, Mention, Span

_FIVE = {"protein": "protein", "DNA": "DNA", "RNA": "RNA", "cell_line": "cell_line", "cell_type": "cell_type"}


def five_types(sem: str) -> str | None:
    """The published label of a semantic class, or None for those that the published data drops."""
    name = sem.removeprefix("G#")
    return _FIVE.get(name) or _FIVE.get(name.split("_", 1)[0])


@dataclass(slots=True)
class _Article:
    id: str = ""
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    starts: list[int] = field(default_factory=list)
    borders: set[int] = field(default_factory=set)
    terms: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.pieces.append(text)
        self.size += len(text)


def read(source: Source, *, all_types: bool = False, one_label: bool = True) -> Iterator[Document]:
    """Articles as documents.

    `all_types` keeps GENIA's own classes instead of the five published types; `one_label` keeps one label a span, as
    the published data does: the type protein where there is one, else the outer.
    """
    article, open_terms, inside = _Article(), list[tuple[int, str]](), ""
    for event in events(source):
        if event.kind == "start" and event.name in ("article", "bibliomisc", "sentence"):
            inside = event.name
            if inside == "article":
                article = _Article()
            elif inside == "sentence":
                article.add("\n" if article.size else "")
                article.starts.append(article.size)
        elif event.kind == "end" and event.name == "article":
            yield from source.made(event.line, _document, article, all_types, one_label)
        elif event.kind == "end" and event.name in ("bibliomisc", "sentence"):
            inside = ""
        elif inside == "bibliomisc" and event.kind == "text":
            article.id += event.name.strip()
        elif inside == "sentence":
            _in_sentence(event, article, open_terms)


def _in_sentence(event: Event, article: _Article, open_terms: list[tuple[int, str]]) -> None:
    position = article.size
    if event.kind == "text":
        article.add(event.name.replace("\n", " "))
    elif event.name == "cons":
        article.borders.add(position)
        if event.kind == "start":
            open_terms.append((position, event.attributes.get("sem", "")))
        else:
            start, sem = open_terms.pop()
            article.terms.append((start, position, sem))


def _document(article: _Article, all_types: bool, one_label: bool) -> Document:
    text = "".join(article.pieces)
    labels: dict[tuple[int, int], list[str]] = {}
    for start, end, sem in article.terms:  # inner before outer
        label = sem.removeprefix("G#") if all_types else five_types(sem)
        if label and sem.startswith("G#") and start < end:
            labels.setdefault((start, end), []).append(label)
    mentions = [
        Mention.of(text, [Span(*place)], label)
        for place, found in labels.items()
        for label in ([_one(found)] if one_label else dict.fromkeys(found))
    ]
    words = cut((match.span() for match in re.finditer(r"\S+", text)), article.borders)
    return build(article.id, text, words, article.starts, mentions)


def _one(labels: list[str]) -> str:
    return "protein" if "protein" in labels else labels[-1]
