"""Named entity recognition for flat, nested and discontinuous entities.

>>> import nestling
>>> document = nestling.parse("IL-2 gene expression needs CD28.")
>>> [len(sentence) for sentence in document.sentences]
[6]
"""

from nestling.data.formats import read, write
from nestling.decoding import keep_best, soft_nms
from nestling.errors import DataError, InvalidValueError, NestlingError
from nestling.evaluation.scores import Scores, score
from nestling.text import parse
from nestling.types import Document, Entity, Labels, Mention, Sentence, Span, Token

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "Document",
    "Entity",
    "InvalidValueError",
    "Labels",
    "Mention",
    "NestlingError",
    "Scores",
    "Sentence",
    "Span",
    "Token",
    "keep_best",
    "parse",
    "read",
    "score",
    "soft_nms",
    "write",
]
