"""Words → candidates: one paper's head, one file.

To add a head: write `heads/<name>.py` with its settings and a module that has `forward`, `loss` and `candidates`
(see `head.py`), and name both here.
"""

from collections.abc import Callable

from pydantic import BaseModel
from torch import nn

from nestling.heads.fragments import FragmentsHead, FragmentsSettings
from nestling.heads.grid import GridHead, GridSettings
from nestling.heads.sequence import SequenceHead, SequenceSettings
from nestling.heads.span import SpanHead, SpanSettings
from nestling.heads.two_stage import TwoStageHead, TwoStageSettings

HEADS: dict[str, tuple[Callable[..., nn.Module], type[BaseModel]]] = {
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
