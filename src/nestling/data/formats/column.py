"""Column files: a word a line with one or more tags, a blank line between sentences, -DOCSTART- between documents.

Several tag columns are layers, in either order; a cell such as `B-PER|I-ORG` is a set of tags, read once a label.
Without -DOCSTART- lines every sentence is a document. The format keeps words, not the spacing of the text.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nestling.data import tags
from nestling.data.files import Source, written
from nestling.errors import CannotHoldError, InvalidValueError
from nestling.types import Document, Entity

DOCSTART = "-DOCSTART-"
Row = tuple[int, list[str]]  # line number, cells
Words = tuple[list[str], list[Entity]]


def read(
    source: Source, *, word: int = 0, columns: Sequence[int] | None = None, joiner: str = " ", skip_broken: bool = False
) -> Iterator[Document]:
    """Documents of a column file.

    `word` and `columns` number the columns of words and tags from 0; without `columns` all behind the word are tags.
    `skip_broken` leaves out, with a warning, lines that have no word or another number of columns.
    """
    layout = _Layout(source, word, columns, skip_broken)
    id, sentences, is_marked = "", list[Words](), False
    for rows in _groups(source):
        line, cells = rows[0]
        if cells[0] == DOCSTART:
            if is_marked:
                yield from source.made(line, Document.of_words, id or source.id_at(line), sentences, joiner=joiner)
            is_marked, sentences, rows = True, [], rows[1:]
            id = cells[1] if len(cells) > 1 and not set(cells[1:]) <= {"-X-", "O", "", "_"} else source.id_at(line)
        if not (sentence := layout.sentence(rows)):
            continue
        if is_marked:
            sentences.append(sentence)
        else:
            yield from source.made(rows[0][0], Document.of_words, source.id_at(line), [sentence], joiner=joiner)
    if is_marked:
        yield from source.made(None, Document.of_words, id, sentences, joiner=joiner)


def _groups(source: Source) -> Iterator[list[Row]]:
    """The rows between blank lines; a -DOCSTART- line opens a group."""
    rows: list[Row] = []
    for number, line in source.lines():
        separator = "\t" if "\t" in line else " "
        is_start = line.startswith(DOCSTART)
        if rows and (is_start or not line.strip()):
            yield rows
            rows = []
        if line.strip():
            cells = line.split(separator)
            rows.append((number, cells[:-1] if len(cells) > 2 and not cells[-1] else cells))
    if rows:
        yield rows


class _Layout:
    """Which cells are words and which are tags."""

    def __init__(self, source: Source, word: int, columns: Sequence[int] | None, skip_broken: bool) -> None:
        self.source, self.word, self.columns, self.skip_broken = source, word, columns, skip_broken
        self.width: int | None = None

    def sentence(self, rows: Sequence[Row]) -> Words | None:
        """The words and entities of a group of rows; None where it has none that can be read."""
        good = [row for row in rows if self._is_whole(*row)]
        if not good:
            return None
        columns = self.columns or [n for n in range(len(good[0][1])) if n != self.word]
        entities: list[Entity] = []
        for column in columns:
            entities += self._decoded([line for line, _ in good], [cells[column] for _, cells in good])
        return [cells[self.word] for _, cells in good], entities

    def _is_whole(self, line: int, cells: list[str]) -> bool:
        if self.width is None and (self.columns or len(cells) > 1):
            self.width = len(cells)
        needed = max([self.word, *(self.columns or ())]) + 1
        if (len(cells) == self.width or (self.columns and len(cells) >= needed)) and cells[self.word].strip():
            return True
        message = f"{len(cells)} columns instead of {self.width}" if cells[self.word : self.word + 1] != [""] else "no word"
        if self.skip_broken:
            self.source.warning(f"{message}; the line was left out", line=line)
        else:
            self.source.error(message, line=line, fix="give every line a word and its tags, separated by tabs")
        return False

    def _decoded(self, lines: list[int], cells: list[str]) -> list[Entity]:
        sets = [cell.split("|") for cell in cells]
        for line, cell in zip(lines, sets, strict=True):
            if bad := next((tag for tag in cell if not tags.is_tag(tag)), None):
                fix = "tags are O, or B- I- E- S- L- U- M- and a label; --columns says which columns hold tags"
                self.source.error(f"{bad!r} is not a tag", line=line, fix=fix)
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
    if any(character in "\t\n\r" for character in text):
        raise CannotHoldError(f"column files cannot hold a tab or line break: {text!r} in document {document.id!r}")
    return text
