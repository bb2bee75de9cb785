"""spaCy's DocBin (`.spacy`): nested entities in a span group, with their scores, and flat ones in `doc.ents` too."""

import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from nestling.data.files import MAX_FILE_BYTES, Source, written
from nestling.errors import CannotHoldError, DataError
from nestling.text import blank, build, parse
from nestling.types import Document, Mention, Span

if TYPE_CHECKING:
    from spacy.tokens import Doc
    from spacy.tokens import Span as SpacySpan
    from spacy.vocab import Vocab

SPANS_KEY = "sc"  # the group that spaCy's spancat reads and writes


def read(source: Source, *, language: str = "en", spans_key: str = SPANS_KEY) -> Iterator[Document]:
    """Documents of a DocBin: the entities of the span group, or `doc.ents` where there is no such group."""
    from spacy.tokens import DocBin

    raw = source.content()
    try:
        if _unpacked_size(raw) > MAX_FILE_BYTES:
            source.fail(f"unpacks to more than {MAX_FILE_BYTES >> 30} GiB")
        docs = DocBin(store_user_data=True).from_bytes(raw).get_docs(blank(language).vocab)
        for number, doc in enumerate(docs):
            name = str(doc.user_data.get("id", f"{source.path.stem}:{number}"))
            yield from source.made(None, _document, name, doc, language, spans_key)
    except DataError:
        raise
    except Exception as error:  # whatever spaCy's parsers raise on a damaged file
        source.fail(f"not a DocBin: {error}", fix="is the file whole?")


def _unpacked_size(raw: bytes) -> int:
    """How large a file unpacks, found out a piece at a time; no further than the limit."""
    unpacker, size = zlib.decompressobj(), 0
    for start in range(0, len(raw), 2**16):
        rest = raw[start : start + 2**16]
        while rest and not unpacker.eof and size <= MAX_FILE_BYTES:
            size += len(unpacker.decompress(rest, 2**20))
            rest = unpacker.unconsumed_tail
    return size


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
    vocab = blank(language).vocab  # not the tokenizer's, which forgets words while documents still come
    for document in documents:
        store.add(to_doc(document, vocab, spans_key))
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
    spans = [_span(doc, mention) for mention in document.mentions]
    doc.spans[spans_key] = spans
    doc.spans[spans_key].attrs["scores"] = [mention.score for mention in document.mentions]
    if all(left.end <= right.start for left, right in pairwise(spans)):
        doc.ents = spans
    return doc


def _span(doc: "Doc", mention: Mention) -> "SpacySpan":
    span = doc.char_span(mention.start, mention.end, label=mention.label)
    if span is None:
        raise CannotHoldError(f"spaCy has no words for {mention.label} {mention.text!r} at {mention.start}")
    return span


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
