"""Column files: a word a line with one or more tags, a blank line between sentences, -DOCSTART- between documents.

Several tag columns are layers, in either order; a cell such as `B-PER|I-ORG` is a set of tags, read once a label.
Without -DOCSTART- lines every sentence is a document. The format keeps words, not the spacing of the text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nestling.data import tags
from nestling.data.files import Source, written
from nestling.errors import CannotHoldError, InvalidValueError
from nestling.types import Document, Entity

DOCSTART = "-DOCSTART-"
FILLERS = ("", "-X-", "O", "_")  # what stands behind -DOCSTART- where documents have no ids
_BLANKS = re.compile(" +")
Row = tuple[int, list[str]]  # line number, cells
Words = tuple[list[str], list[Entity]]


@dataclass(frozen=True, slots=True)
class Layout:
    """What the columns of a file mean."""

    word: int = 0  # the column of words, from 0
    columns: tuple[int, ...] | None = None  # the columns of tags; None: all but the word's
    joiner: str = " "  # what stands between words in the text
    is_one_document: bool = False  # the whole file is one document
    sentence_end: str = ""  # a word of these characters ends a sentence, as a blank line does
    clean: Callable[[str], str] | None = None  # the word of a cell
    skip_broken: bool = False  # leave out, with a warning, lines without a word or with other columns than the first


PLAIN = Layout()


def read(source: Source, *, layout: Layout = PLAIN) -> Iterator[Document]:
    """Documents of a column file."""
    reader = _Reader(source, layout)
    id = source.path.stem if layout.is_one_document else None
    sentences: list[Words] = []
    started = 1
    for rows in _groups(source):
        line, cells = rows[0]
        if cells[0] == DOCSTART:
            if id is not None:
                yield from source.made(started, Document.of_words, id, sentences, joiner=layout.joiner)
            id, sentences, started = _document_id(source, line, cells), [], line
            continue
        for number, sentence in reader.sentences(rows):
            if id is not None:
                sentences.append(sentence)
            else:
                yield from source.made(
                    number, Document.of_words, source.id_at(number), [sentence], joiner=layout.joiner
                )
    if id is not None:
        yield from source.made(started, Document.of_words, id, sentences, joiner=layout.joiner)


def _document_id(source: Source, line: int, cells: list[str]) -> str:
    """The second cell of a -DOCSTART- line, unless it is a filler."""
    name = cells[1].strip() if len(cells) > 1 else ""
    return source.id_at(line) if name in FILLERS else name


def _groups(source: Source) -> Iterator[list[Row]]:
    """The rows between blank lines, or a -DOCSTART- row alone."""
    rows: list[Row] = []
    for number, line in source.lines():
        cells = (line.split("\t") if "\t" in line else _BLANKS.split(line)) if line.strip() else []
        is_start = line.startswith(DOCSTART)
        if rows and (is_start or not cells):
            yield rows
            rows = []
        if is_start:
            yield [(number, cells)]
        elif cells:
            rows.append((number, cells[:-1] if len(cells) > 2 and not cells[-1] else cells))
    if rows:
        yield rows


class _Reader:
    """Turns rows into words and entities; the first row that has tags sets how many columns there are."""

    def __init__(self, source: Source, layout: Layout) -> None:
        self.source, self.layout = source, layout
        self.width: int | None = None

    def sentences(self, rows: Sequence[Row]) -> Iterator[tuple[int, Words]]:
        """The words and entities of the rows that can be read, with the line that each sentence starts at."""
        sentence: list[Row] = []
        for row in rows:
            if self._is_whole(*row):
                sentence.append(row)
                if self.layout.sentence_end and not self._word(row[1]).strip(self.layout.sentence_end):
                    yield sentence[0][0], self._read(sentence)
                    sentence = []
        if sentence:
            yield sentence[0][0], self._read(sentence)

    def _read(self, rows: Sequence[Row]) -> Words:
        lines = [line for line, _ in rows]
        columns = self.layout.columns or [n for n in range(len(rows[0][1])) if n != self.layout.word]
        entities = [e for column in columns for e in self._decoded(lines, [cells[column] for _, cells in rows])]
        return [self._word(cells) for _, cells in rows], entities

    def _word(self, cells: list[str]) -> str:
        cell = cells[self.layout.word]
        return self.layout.clean(cell) if self.layout.clean else cell

    def _is_whole(self, line: int, cells: list[str]) -> bool:
        needed = max(1, self.layout.word, *(self.layout.columns or ())) + 1
        if self.width is None and len(cells) >= needed:
            self.width = len(cells)
        if len(cells) < needed or len(cells) != self.width:
            message = f"{len(cells)} columns instead of {max(needed, self.width or 0)}"
        elif not self._word(cells).strip():
            message = "no word"
        else:
            return True
        if self.layout.skip_broken:
            self.source.warning(message, line=line, fix="the line was left out")
        else:
            self.source.error(message, line=line, fix="give every line a word and its tags, separated by tabs")
        return False

    def _decoded(self, lines: list[int], cells: list[str]) -> list[Entity]:
        sets = [cell.split("|") for cell in cells]
        for line, names in zip(lines, sets, strict=True):
            for tag in names:
                if not tags.is_tag(tag):
                    fix = "a tag is O, or B- I- E- S- L- U- M- and a label; --columns says which columns hold tags"
                    self.source.error(f"{tag!r} is not a tag", line=line, fix=fix)
                    return []
        try:
            entities, strays = tags.decode_sets(sets) if any(len(s) > 1 for s in sets) else tags.decode(cells)
        except InvalidValueError as error:
            self.source.error(str(error), line=lines[0])
            return []
        for stray in strays:
            fix = "it was read as the start of an entity"
            self.source.warning(f"{cells[stray]} goes on from nothing", line=lines[stray], fix=fix)
        return entities


def write(
    documents: Iterable[Document], path: Path, *, scheme: tags.Scheme = "BIO", order: tags.Order = "innermost"
) -> None:
    """One word a line, its tags in layers; the number of layers is that of the deepest sentence."""
    documents = list(documents)
    layered = [[_layers(document, s.entities, order) for s in document.sentences] for document in documents]
    depth = max((len(layers) for sentences in layered for layers in sentences), default=1) or 1
    with written(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for document, sentences in zip(documents, layered, strict=True):
            if document.id.strip() in FILLERS or document.id != document.id.strip():
                raise CannotHoldError(f"column files cannot hold the id {document.id!r}")
            file.write(f"{DOCSTART}\t{_cell(document, document.id)}\n\n")
            for sentence, layers in zip(document.sentences, sentences, strict=True):
                rows = [tags.encode(layer, len(sentence), scheme) for layer in layers]
                rows += [[tags.OUTSIDE] * len(sentence)] * (depth - len(layers))
                for word, *cells in zip(sentence.words, *rows, strict=True):
                    file.write("\t".join([_cell(document, word), *cells]) + "\n")
                file.write("\n")


def _layers(document: Document, entities: Sequence[Entity], order: tags.Order) -> list[list[Entity]]:
    for entity in entities:
        if entity.is_discontinuous:
            _refuse(document, entity, "a discontinuous entity")
        if entity.score != 1.0:
            _refuse(document, entity, "a score")
        if any(character in "\t\n\r|" for character in entity.label):
            _refuse(document, entity, "a label with a tab, a line break or |")
    if len(set(entities)) < len(entities):
        twice = next(entity for entity in entities if entities.count(entity) > 1)
        _refuse(document, twice, "the same entity twice")
    return tags.layers(entities, order)


def _refuse(document: Document, entity: Entity, what: str) -> None:
    fragments = " and ".join(f"{f.start}-{f.end}" for f in entity.fragments)
    raise CannotHoldError(
        f"column files cannot hold {what}: {entity.label} at words {fragments} of document {document.id!r}",
        fix="write JSON lines, or name with --drop what may be left out",
    )


def _cell(document: Document, text: str) -> str:
    if any(character in "\t\n\r" for character in text) or text.startswith(DOCSTART):
        raise CannotHoldError(f"column files cannot hold the word {text!r} of document {document.id!r}")
    return text
