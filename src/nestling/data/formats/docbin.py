"""spaCy's DocBin (`.spacy`): nested entities in a span group, with their scores, and flat ones in `doc.ents` too."""

import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from nestling.data.files import MAX_FILE_BYTES, Source, written
from nestling.errors import CannotHoldError, DataError
from nestling.text import build, parse, pipeline
from nestling.types import Document, Mention, Span

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

SPANS_KEY = "sc"  # the group that spaCy's spancat reads and writes


def read(source: Source, *, language: str = "en", spans_key: str = SPANS_KEY) -> Iterator[Document]:
    """Documents of a DocBin: the entities of the span group, or `doc.ents` where there is no such group."""
    from spacy.tokens import DocBin

    raw = source.content()
    try:
        if len(zlib.decompressobj().decompress(raw, MAX_FILE_BYTES)) == MAX_FILE_BYTES:
            source.fail(f"unpacks to more than {MAX_FILE_BYTES >> 30} GiB")
        docs = DocBin(store_user_data=True).from_bytes(raw).get_docs(pipeline(language).vocab)
        for number, doc in enumerate(docs):
            name = str(doc.user_data.get("id") or f"{source.path.stem}:{number}")
            yield from source.made(None, _document, name, doc, language, spans_key)
    except DataError:
        raise
    except Exception as error:  # whatever spaCy's parsers raise on a damaged file
        source.fail(f"not a DocBin: {error}", fix="is the file whole?")


def _document(id: str, doc: "Doc", language: str, spans_key: str) -> Document:
    words = [(token.idx, token.idx + len(token)) for token in doc if not token.is_space]
    group = doc.spans.get(spans_key)
    spans = list(doc.ents if group is None else group)
    scores = (group.attrs.get("scores") if group is not None else None) or [1.0] * len(spans)
    mentions = [
        Mention.of(doc.text, [Span(span.start_char, span.end_char)], span.label_, float(score))
        for span, score in zip(spans, scores, strict=True)
    ]
    if not doc.has_annotation("SENT_START"):
        return parse(doc.text, id=id, language=language, mentions=mentions, words=words)
    return build(id, doc.text, words, [token.idx for token in doc if token.is_sent_start], mentions)


def write(documents: Iterable[Document], path: Path, *, language: str = "en", spans_key: str = SPANS_KEY) -> None:
    """A DocBin: all entities in `doc.spans[spans_key]`, and in `doc.ents` where none overlap."""
    from spacy.tokens import DocBin

    store = DocBin(attrs=["ORTH", "SPACY", "SENT_START", "ENT_IOB", "ENT_TYPE"], store_user_data=True)
    for document in documents:
        store.add(to_doc(document, pipeline(language).vocab, spans_key))
    with written(path) as temporary:
        temporary.write_bytes(store.to_bytes())


def to_doc(document: Document, vocab: "Vocab", spans_key: str = SPANS_KEY) -> "Doc":
    """The spaCy Doc of a document, with exactly its text."""
    from spacy.tokens import Doc

    words, spaces = _words_and_spaces(document)
    doc = Doc(vocab, words=words, spaces=spaces, user_data={"id": document.id})
    openings = {sentence.tokens[0].start for sentence in document.sentences}
    for token in doc:
        token.is_sent_start = token.i == 0 or token.idx in openings
    for mention in document.mentions:
        if mention.is_discontinuous:
            entity = f"{mention.label} {mention.text!r} in document {document.id!r}"
            raise CannotHoldError(
                f"a DocBin cannot hold a discontinuous entity: {entity}",
                fix="write JSON lines or brat, or name with --drop what may be left out",
            )
    spans = [span for m in document.mentions if (span := doc.char_span(m.start, m.end, label=m.label)) is not None]
    doc.spans[spans_key] = spans
    doc.spans[spans_key].attrs["scores"] = [mention.score for mention in document.mentions]
    if all(left.end <= right.start for left, right in pairwise(spans)):
        doc.ents = spans
    return doc


def _words_and_spaces(document: Document) -> tuple[list[str], list[bool]]:
    """Words and whether a blank follows each; other white space becomes words of its own, as in spaCy."""
    words: list[str] = []
    spaces: list[bool] = []
    text, position = document.text, 0
    for token in [*document.tokens, None]:
        start, end = (token.start, token.end) if token else (len(text), len(text))
        gap = text[position:start]
        if words and gap.startswith(" "):
            spaces[-1], gap = True, gap[1:]
        for word in filter(None, (gap, text[start:end])):
            words.append(word)
            spaces.append(False)
        position = end
    return words, spaces
