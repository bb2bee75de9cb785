"""Linear layers in eight bits: a quarter of the size, and about half of the time, on a CPU.

Inputs have 8 bits and weights 7: the sum of two products then fits the 16 bits that AVX2 adds them in. Weights have a
scale for each output. Inputs have one range a layer, found beforehand, so that what a sentence gets does not depend on
the sentences beside it.
"""

import warnings
from collections.abc import Callable
from math import isfinite

import torch
from torch import Tensor, nn

ENGINE = "fbgemm"
_WEIGHT_LEVELS, _INPUT_LEVELS = 63, 255
_SEQUENCES, _PIECES = 16, 128
Ranges = dict[str, tuple[float, float]]  # of what goes into linear layers, by their names


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
    """A linear layer for use, not for training; inputs beyond the range are clamped to it."""

    def __init__(self, linear: nn.Linear, low: float, high: float) -> None:
        super().__init__()
        bias = None if linear.bias is None else linear.bias.detach().float()
        self.packed = _packed(*to_levels(linear.weight.detach().float()), bias)
        self.scale = max(max(high, 0.0) - min(low, 0.0), 1e-6) / _INPUT_LEVELS
        self.zero = round(-min(low, 0.0) / self.scale)

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(  # type: ignore[no-any-return]
            inputs, self.scale, self.zero, self.packed
        )


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
        low, high = ranges[name]
        if not (isfinite(low) and isfinite(high)):
            raise ValueError(f"what goes into {name} is not finite")
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, Int8Linear(linears[name], low, high))


def ranges_of(model: nn.Module, run: Callable[[], object]) -> Ranges:
    """The least and the largest that `run` sends into each linear layer; a layer that it does not reach has none."""
    found: Ranges = {}

    def watch(name: str) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        def note(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            low, high = (bound.item() for bound in torch.aminmax(inputs[0]))
            before = found.get(name, (low, high))
            found[name] = (min(low, before[0]), max(high, before[1]))

        return note

    linears = [(name, module) for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    hooks = [linear.register_forward_pre_hook(watch(name)) for name, linear in linears]
    with torch.inference_mode():
        run()
    for hook in hooks:
        hook.remove()
    return found


def transformer_ranges(model: nn.Module) -> Ranges:
    """The same of a pretrained transformer, by pieces drawn at random: ranges hardly depend on text."""
    config = model.config
    length = min(_PIECES, int(config.max_position_embeddings) // 2)  # type: ignore[union-attr, arg-type]
    random = torch.Generator().manual_seed(0)
    drawn = torch.randint(int(config.vocab_size), (_SEQUENCES, length), generator=random)  # type: ignore[union-attr, arg-type]
    return ranges_of(model, lambda: model(input_ids=drawn, attention_mask=torch.ones_like(drawn)))
