"""brat standoff: `name.txt` beside `name.ann`, whose T lines are mentions, discontinuous ones with several fragments.

Relations, events, attributes and links are left alone. A score is kept as a note: `#1<TAB>Score T1<TAB>0.97`.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote, unquote

from nestling.data.files import Source, written_folder
from nestling.errors import CannotHoldError, InvalidValueError
from nestling.text import Word, build, parse
from nestling.types import Document, Mention, Span

_MENTION = re.compile(r"(T\S+)\t(\S+) (\d+ \d+(?:;\d+ \d+)*)(?:\t(.*))?")
_SCORE = re.compile(r"#\S*\tScore (T\S+)\t(\S+)")
_OTHER = re.compile(r"[REAMNF#]\S*\t|\*\t")


def read(source: Source, *, language: str = "en", is_tokenised: bool = False) -> Iterator[Document]:
    """Documents of a folder, or of one .ann or .txt file.

    `is_tokenised` takes the words between blanks and the lines as they stand, instead of splitting the text anew.
    """
    for path in _texts(source):
        own = source.at(path)
        text = own.text()
        annotations = source.at(path.with_suffix(".ann"))
        mentions = list(_mentions(annotations, text)) if annotations.path.exists() else []
        name = unquote(path.stem)
        if is_tokenised:
            yield from own.made(None, _of_lines, name, text, mentions)
        else:
            yield from own.made(None, parse, text, id=name, language=language, mentions=mentions)


def _texts(source: Source) -> list[Path]:
    if not source.path.is_dir():
        text = source.path.with_suffix(".txt")
        if source.path.exists() and not text.exists():
            source.fail("has no .txt file beside it", fix="brat keeps the text in a file of the same name")
        return [text]
    paths = sorted(path for path in source.path.iterdir() if path.suffix in (".txt", ".ann"))
    texts = [path for path in paths if path.suffix == ".txt"]
    for path in paths:
        if path.suffix == ".ann" and path.with_suffix(".txt") not in texts:
            source.at(path).error("has no .txt file beside it", fix="brat keeps the text in a file of the same name")
    if not texts:
        folders = sorted(path.name for path in source.path.iterdir() if path.is_dir())
        source.fail("holds no .txt files", fix=f"name one of its folders: {', '.join(folders)}" if folders else "")
    return texts


def _mentions(source: Source, text: str) -> Iterator[Mention]:
    found: dict[str, tuple[int, list[Span], str]] = {}
    scores: dict[str, float] = {}
    for line, content in source.lines():
        if match := _MENTION.fullmatch(content):
            name, label, offsets, shown = match.groups()
            if name in found:
                source.error(f"a second {name}", line=line, fix="give every annotation a name of its own")
            elif spans := _spans(source, line, text, offsets, shown):
                found[name] = line, spans, label
        elif match := _SCORE.fullmatch(content):
            scores[match[1]] = _score(source, line, match[2])
        elif content.startswith("T"):
            source.error(f"not a mention: {content[:60]!r}", line=line, fix="write T1<TAB>LABEL start end<TAB>text")
        elif content.strip() and not _OTHER.match(content):
            source.warning(f"not an annotation, left alone: {content[:60]!r}", line=line)
    for name, (line, spans, label) in found.items():
        yield from source.made(line, Mention.of, text, spans, label, scores.get(name, 1.0))


def _spans(source: Source, line: int, text: str, offsets: str, shown: str | None) -> list[Span]:
    """The fragments, or none where they do not lie in the text."""
    try:
        spans = [Span(*map(int, pair.split())) for pair in offsets.split(";")]
        if max(span.end for span in spans) > len(text):
            raise InvalidValueError(f"{offsets} ends beyond the text, which has {len(text)} characters")
        if any(text[span.start : span.end].isspace() for span in spans):
            raise InvalidValueError(f"{offsets} is blank in the text")
    except ValueError as error:
        source.error(str(error), line=line, fix="offsets count characters of the .txt file, the end not included")
        return []
    covered = " ".join(text[span.start : span.end] for span in spans)
    if shown is not None and shown.split() != covered.split():
        source.warning(
            f"says {shown[:60]!r}, but the text there is {covered[:60]!r}",
            line=line,
            fix="offsets were believed",
        )
    return spans


def _score(source: Source, line: int, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        source.error(f"{value!r} is not a score", line=line)
        return 1.0


def _of_lines(name: str, text: str, mentions: Iterable[Mention]) -> Document:
    words: list[Word] = []
    starts = []
    for line in re.finditer(r"[^\n]+", text):
        own = [match.span() for match in re.finditer(r"\S+", line[0])]
        starts += [line.start() + own[0][0]] if own else []
        words += [(line.start() + start, line.start() + end) for start, end in own]
    return build(name, text, words, starts, mentions)


def write(documents: Iterable[Document], path: Path) -> None:
    """A folder with a .txt and an .ann file a document; it holds texts and mentions, not words."""
    with written_folder(path) as folder:
        for document in documents:
            text = folder / f"{quote(document.id, safe=' ')}.txt"
            if text.exists():
                raise CannotHoldError(f"two documents have the id {document.id!r}")
            text.write_text(document.text, encoding="utf-8", newline="")
            lines = [line for n, mention in enumerate(document.mentions, 1) for line in _lines(n, document, mention)]
            text.with_suffix(".ann").write_text("".join(lines), encoding="utf-8", newline="")


def _lines(number: int, document: Document, mention: Mention) -> Iterator[str]:
    if len(mention.label.split()) != 1:
        raise CannotHoldError(
            f"brat cannot hold a label with blanks: {mention.label!r} on {mention.text!r} in document {document.id!r}"
        )
    offsets = ";".join(f"{f.start} {f.end}" for f in mention.fragments)
    yield f"T{number}\t{mention.label} {offsets}\t{' '.join(mention.text.split())}\n"
    if mention.score != 1.0:
        yield f"#{number}\tScore T{number}\t{mention.score!r}\n"
