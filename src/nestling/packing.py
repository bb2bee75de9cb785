"""Weights made small for passing on: in 16 or 8 bits, and without those that an installed package has anyway."""

from collections.abc import Iterable, Mapping
from typing import Literal

import torch
from torch import Tensor, nn

from nestling.errors import CheckpointError
from nestling.nn.encoders import Transformer
from nestling.nn.int8 import from_levels, to_levels

Precision = Literal["fp32", "fp16", "int8"]
_SCALE = ".scale"


def pack(model: nn.Module, precision: Precision, known: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """The weights of a model, smaller, and the names of those left out since they are `known`.

    With int8, linear layers of transformers have 8 bits a weight, as they are used; all else has 16.
    """
    weights = model.state_dict()
    borrowed = [name for name, weight in weights.items() if name in known and torch.equal(weight, known[name])]
    linear = set(_linear(model)) if precision == "int8" else set()
    packed: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if name in borrowed:
            continue
        if name in linear:
            packed[name], packed[name + _SCALE] = to_levels(weight)
        else:
            packed[name] = weight.half() if precision != "fp32" and weight.is_floating_point() else weight
    return packed, borrowed


def unpack(packed: Mapping[str, Tensor], borrowed: Iterable[str], known: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights in full."""
    weights = {}
    for name, weight in packed.items():
        if name + _SCALE in packed:
            scale = packed[name + _SCALE]
            if weight.dim() != 2 or scale.shape != weight.shape[:1]:
                raise CheckpointError(f"the scales of {name} do not fit it")
            weights[name] = from_levels(weight, scale)
        elif not (name.endswith(_SCALE) and name.removesuffix(_SCALE) in packed):
            weights[name] = weight.float() if weight.dtype == torch.float16 else weight
    missing = [name for name in borrowed if name not in known]
    if missing:
        raise CheckpointError(f"{missing[0]} is to be had from the embedded encoder, which does not have it")
    return weights | {name: known[name] for name in borrowed}


def _linear(model: nn.Module) -> Iterable[str]:
    """The names of the weights of linear layers in transformers."""
    for name, part in model.named_modules():
        if isinstance(part, Transformer):
            inner = part.named_modules(prefix=name)
            yield from (f"{own}.weight" for own, module in inner if isinstance(module, nn.Linear))
