"""Linear layers in eight bits: a quarter of the size, and about half of the time, on a CPU.

Inputs have 8 bits and weights 7: the sum of two products then fits the 16 bits that AVX2 adds them in. Weights have a
scale for each output. Inputs have one range a layer, found beforehand, so that what a sentence gets does not depend on
the sentences beside it. Most layers of a transformer have one or two inputs that are many times larger than all others,
for which the range would be too coarse: what these have beyond it is added in fp32.
"""

import warnings
from collections.abc import Callable
from math import isfinite
from typing import NamedTuple

import torch
from torch import Tensor, nn

ENGINE = "fbgemm"
_WEIGHT_LEVELS, _INPUT_LEVELS = 63, 255
_SEQUENCES, _PIECES = 16, 128
_MOST_APART, _TIMES = 2, 1.5  # inputs of a layer that are so many times as large as the next one


class Range(NamedTuple):
    """The least and the largest that goes into a linear layer, but for inputs that are `apart`."""

    low: float
    high: float
    apart: tuple[int, ...] = ()


Ranges = dict[str, Range]  # by the names of layers


def is_supported() -> bool:
    """Whether this processor, and this torch, have the kernels."""
    names = ("linear_prepack", "linear_with_input_q_dq_qweight_dq_output_fp32")
    return ENGINE in torch.backends.quantized.supported_engines and all(
        hasattr(torch.ops.quantized, name) for name in names
    )


def to_levels(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Weights (O, I) as whole numbers of 7 bits, and the scale of each output (O,)."""
    scale = weight.abs().amax(dim=1).clamp(min=1e-12) / _WEIGHT_LEVELS
    return (weight / scale.unsqueeze(1)).round().to(torch.int8), scale


def from_levels(levels: Tensor, scale: Tensor) -> Tensor:
    """The weights (O, I) that levels stand for."""
    return levels.float() * scale.float().unsqueeze(1)


class Int8Linear(nn.Module):
    """A linear layer for use, not for training; inputs beyond the range, if not apart, are clamped to it."""

    def __init__(self, linear: nn.Linear, range: Range) -> None:
        super().__init__()
        bias = None if linear.bias is None else linear.bias.detach().float()
        weight = linear.weight.detach().float()
        self.packed = _packed(*to_levels(weight), bias)
        low, high = min(range.low, 0.0), max(range.high, 0.0)
        self.scale = max(high - low, 1e-6) / _INPUT_LEVELS
        self.zero = round(-low / self.scale)
        self.low, self.high = -self.zero * self.scale, (_INPUT_LEVELS - self.zero) * self.scale
        self.apart = {column: weight[:, column].contiguous() for column in range.apart}  # each (O,)

    def forward(self, inputs: Tensor) -> Tensor:
        made: Tensor = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
            inputs, self.scale, self.zero, self.packed
        )
        for column, weight in self.apart.items():
            own = inputs[..., column]
            made.addcmul_((own - own.clamp(self.low, self.high)).unsqueeze(-1), weight)
        return made


def _packed(levels: Tensor, scale: Tensor, bias: Tensor | None) -> object:
    """A layer as its kernel wants it."""
    zeros = torch.zeros(len(scale), dtype=torch.long)
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = ENGINE
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # torch means to give up such tensors; then fp32 is left
            weight = torch._make_per_channel_quantized_tensor(levels, scale.double(), zeros, 0)
            return torch.ops.quantized.linear_prepack(weight, bias)
    finally:
        torch.backends.quantized.engine = before


def quantize(model: nn.Module, ranges: Ranges) -> None:
    """Puts eight bits in place of the linear layers whose inputs have a range."""
    linears = {name: module for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    for name in linears.keys() & ranges.keys():
        low, high, apart = ranges[name]
        if not (isfinite(low) and isfinite(high)):
            raise ValueError(f"what goes into {name} is not finite")
        if not all(0 <= column < linears[name].in_features for column in apart):
            raise ValueError(f"{name} has no such inputs")
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, Int8Linear(linears[name], ranges[name]))


def ranges_of(model: nn.Module, run: Callable[[], object]) -> Ranges:
    """Of what `run` sends into each linear layer; a layer that it does not reach has none."""
    found: dict[str, tuple[Tensor, Tensor]] = {}  # the least and the largest of each input (I,)

    def watch(name: str) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        def note(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            low, high = torch.aminmax(inputs[0].flatten(0, -2), dim=0)
            before = found.get(name, (low, high))
            found[name] = (torch.minimum(low, before[0]), torch.maximum(high, before[1]))

        return note

    linears = [(name, module) for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    hooks = [linear.register_forward_pre_hook(watch(name)) for name, linear in linears]
    with torch.inference_mode():
        run()
    for hook in hooks:
        hook.remove()
    return {name: range_of(*bounds) for name, bounds in found.items()}


def range_of(low: Tensor, high: Tensor) -> Range:
    """Of inputs by the least and the largest of each (I,)."""
    sizes, order = torch.maximum(high, -low).sort(descending=True)
    counts = range(min(_MOST_APART, len(sizes) - 1), 0, -1)
    count = next((n for n in counts if sizes[n - 1] >= _TIMES * sizes[n]), 0)
    rest = order[count:]
    return Range(low[rest].min().item(), high[rest].max().item(), tuple(order[:count].tolist()))


def transformer_ranges(model: nn.Module) -> Ranges:
    """The same of a pretrained transformer, by pieces drawn at random: ranges hardly depend on text."""
    config = model.config
    length = min(_PIECES, int(config.max_position_embeddings) // 2)  # type: ignore[union-attr, arg-type]
    random = torch.Generator().manual_seed(0)
    drawn = torch.randint(int(config.vocab_size), (_SEQUENCES, length), generator=random)  # type: ignore[union-attr, arg-type]
    return ranges_of(model, lambda: model(input_ids=drawn, attention_mask=torch.ones_like(drawn)))
