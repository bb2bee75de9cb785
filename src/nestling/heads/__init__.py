"""Words → candidates: one paper's head, one file.

To add a head: write `heads/<name>.py` with its settings and a module that has `forward`, `loss` and `candidates` and
says what it finds (see `head.py`), and name both here.
"""

from pydantic import BaseModel

from nestling.heads.fragments import FragmentsHead, FragmentsSettings
from nestling.heads.grid import GridHead, GridSettings
from nestling.heads.head import Kind
from nestling.heads.sequence import SequenceHead, SequenceSettings
from nestling.heads.span import SpanHead, SpanSettings
from nestling.heads.two_stage import TwoStageHead, TwoStageSettings

HEADS: dict[str, tuple[Kind, type[BaseModel]]] = {
    "sequence": (SequenceHead, SequenceSettings),
    "span": (SpanHead, SpanSettings),
    "two_stage": (TwoStageHead, TwoStageSettings),
    "fragments": (FragmentsHead, FragmentsSettings),
    "grid": (GridHead, GridSettings),
}

__all__ = [
    "HEADS",
    "FragmentsHead",
    "FragmentsSettings",
    "GridHead",
    "GridSettings",
    "SequenceHead",
    "SequenceSettings",
    "SpanHead",
    "SpanSettings",
    "TwoStageHead",
    "TwoStageSettings",
]
