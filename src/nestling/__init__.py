"""Named entity recognition for flat, nested and discontinuous entities.

>>> import nestling
>>> document = nestling.parse("IL-2 gene expression needs CD28.")
>>> [len(sentence) for sentence in document.sentences]
[6]
"""

from typing import TYPE_CHECKING, Any

from nestling.data.formats import read, write
from nestling.decoding import keep_best, soft_nms
from nestling.errors import DataError, InvalidValueError, NestlingError
from nestling.evaluation.scores import Scores, score
from nestling.text import parse
from nestling.types import Document, Entity, Labels, Mention, Sentence, Span, Token

if TYPE_CHECKING:
    from nestling.checkpoint import load
    from nestling.recognizer import Recognizer

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "Document",
    "Entity",
    "InvalidValueError",
    "Labels",
    "Mention",
    "NestlingError",
    "Recognizer",
    "Scores",
    "Sentence",
    "Span",
    "Token",
    "keep_best",
    "load",
    "parse",
    "read",
    "score",
    "soft_nms",
    "write",
]


def __getattr__(name: str) -> Any:
    """`load` and `Recognizer`, which need torch, are imported when they are first asked for."""
    if name == "load":
        from nestling.checkpoint import load

        return load
    if name == "Recognizer":
        from nestling.recognizer import Recognizer

        return Recognizer
    raise AttributeError(f"module 'nestling' has no attribute {name!r}")
