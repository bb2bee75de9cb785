"""Weights made small for passing on: in 16 or 8 bits, and without those that an installed package has anyway."""

from collections.abc import Iterable, Mapping
from typing import Literal

import torch
from torch import Tensor, nn

from nestling.errors import CheckpointError
from nestling.nn.int8 import from_levels, to_levels

Precision = Literal["fp32", "fp16", "int8"]
_SCALE, _ROWS = ".scale", ".rows"
_HARDLY, _HARDLY_OF_A_PIECE = 0.02, 0.04  # of a row's largest weight; a piece has a row, the rest works together
_PIECES = "word_embeddings.weight"


def pack(model: nn.Module, precision: Precision, known: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """The weights of a model, smaller, and the names of those that are borrowed: `known`, or `known` but for some rows.

    With int8, matrices have 8 bits a weight, and so has what training added to the rows of known ones, unless it is
    next to nothing; all else has 16.
    """
    borrowed: list[str] = []
    packed: dict[str, Tensor] = {}
    for name, weight in model.state_dict().items():
        if name in known and torch.equal(weight, known[name]):
            borrowed.append(name)
            continue
        is_matrix = weight.dim() == 2 and weight.is_floating_point()
        bits: Precision = "fp16" if precision == "int8" and not is_matrix else precision
        least = _HARDLY_OF_A_PIECE if name.endswith(_PIECES) else _HARDLY
        of_known = name in known and is_matrix
        rows = _changed(weight, known[name], least if precision == "int8" else 0.0) if of_known else None
        if rows is None or len(rows) == len(weight) or precision == "fp32":
            packed |= _smaller(name, weight, bits)
        else:
            borrowed.append(name)
            packed |= _smaller(name, (weight - known[name])[rows], bits) | {name + _ROWS: rows.int()}
    return packed, borrowed


def _changed(weight: Tensor, known: Tensor, least: float) -> Tensor:
    """The rows of a matrix that changed by more than this share of their largest weight."""
    return ((weight - known).abs().amax(dim=1) > least * known.abs().amax(dim=1)).nonzero().squeeze(1)


def _smaller(name: str, weight: Tensor, precision: Precision) -> dict[str, Tensor]:
    if precision == "int8":
        levels, scale = to_levels(weight)
        return {name: levels, name + _SCALE: scale}
    return {name: weight.half() if precision == "fp16" and weight.is_floating_point() else weight}


def unpack(packed: Mapping[str, Tensor], borrowed: Iterable[str], known: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights in full."""
    weights = {}
    for name, weight in packed.items():
        if name + _SCALE in packed:
            scale = packed[name + _SCALE]
            if weight.dim() != 2 or scale.shape != weight.shape[:1]:
                raise CheckpointError(f"the scales of {name} do not fit it")
            weights[name] = from_levels(weight, scale)
        elif weight.dtype == torch.int8:
            raise CheckpointError(f"the scales of {name} are missing")
        elif not any(name.endswith(end) and name.removesuffix(end) in packed for end in (_SCALE, _ROWS)):
            weights[name] = weight.float() if weight.dtype == torch.float16 else weight
    for name in borrowed:
        if name not in known:
            raise CheckpointError(f"{name} is to be had from the embedded encoder, which does not have it")
        rows = packed.get(name + _ROWS)
        weights[name] = known[name] if rows is None else _with_rows(name, known[name], rows, weights.get(name))
    return weights


def _with_rows(name: str, weight: Tensor, rows: Tensor, added: Tensor | None) -> Tensor:
    """Weights (V, D) with what is `added` (N, D) to these rows (N,)."""
    fits = added is not None and weight.dim() == 2 and added.shape == (*rows.shape, weight.shape[1])
    if added is None or not fits or rows.dtype != torch.int32 or not bool(((rows >= 0) & (rows < len(weight))).all()):
        raise CheckpointError(f"the rows of {name} do not fit it")
    return weight.index_add(0, rows, added)
