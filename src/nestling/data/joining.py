"""Words → text as people write it, for corpora that come as words: a model learns from what it will meet."""

import re

from nestling.types import Document, Sentence, Token

_CLOSING = re.compile(r"[.,;:!?…%)\]}]+|['’](s|m|d|re|ve|ll|em)|n['’]t", re.IGNORECASE)
_OPENING = re.compile(r"[(\[{$£€]")
_SINGLE, _DOUBLE = "'‘’", '"“”„«»'  # open or close, by what stands before them, but for these:
_ALWAYS_OPEN, _ALWAYS_CLOSE = "‘„", "”"
_THREE_DIGITS = re.compile(r"\d{3}(?!\d)")


def written_out(document: Document, *, is_cut: bool = False) -> Document:
    """The document with blanks where people put them, between words and between sentences; entities are kept.

    `is_cut`: words are cut at every mark, as `L - dopa` and `0 . 05`, and are put together again.
    """
    position, sentences = 0, []
    texts: list[str] = []
    for sentence in document.sentences:
        tokens = []
        for word, is_near in zip(sentence.words, _nearness(sentence.words, is_cut=is_cut), strict=True):
            if texts and not is_near:
                texts.append(" ")
                position += 1
            tokens.append(Token(word, position))
            texts.append(word)
            position += len(word)
        sentences.append(Sentence(tuple(tokens), sentence.entities))
    return Document(document.id, "".join(texts), tuple(sentences), document.annotated)


def _nearness(words: tuple[str, ...], *, is_cut: bool) -> list[bool]:
    """Of each word, whether it touches the one before it; the first of a sentence does not."""
    near: list[bool] = []
    opened: set[str] = set()
    touches = False  # what comes next
    for n, word in enumerate(words):
        before, behind = words[n - 1] if n else "", words[n + 1] if n + 1 < len(words) else ""
        is_quote = word in _SINGLE + _DOUBLE
        closes = _CLOSING.fullmatch(word) is not None or (is_quote and _closes_quote(word, before, opened))
        joins = is_cut and bool(before and behind) and _joins(word, before, behind)
        near.append(bool(n) and (touches or closes or joins))
        touches = joins or _OPENING.fullmatch(word) is not None or (is_quote and not closes)
    return near


def _closes_quote(mark: str, before: str, opened: set[str]) -> bool:
    """Whether a mark closes; it opens where none of its kind is open, unless an apostrophe has a word before it."""
    kind = _SINGLE if mark in _SINGLE else _DOUBLE
    is_apostrophe = kind == _SINGLE and before[-1:].isalnum()
    if mark not in _ALWAYS_OPEN and (kind in opened or mark in _ALWAYS_CLOSE or is_apostrophe):
        opened.discard(kind)
        return True
    opened.add(kind)
    return False


def _joins(mark: str, before: str, behind: str) -> bool:
    """Whether a mark, where words are cut at every one, stood between these two without blanks."""
    if mark in ("-", "/"):
        return True
    if mark in ("'", "’"):
        return behind.lower() == "s"
    if mark == "." or (mark == "," and _THREE_DIGITS.match(behind)):
        return before[-1].isdigit() and behind[0].isdigit()
    return False
