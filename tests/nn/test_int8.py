"""Eight-bit linear layers, against the real ones."""

import pytest
import torch
import transformers
from torch import nn

from nestling.nn.int8 import (
    Int8Linear,
    Range,
    from_levels,
    is_supported,
    quantize,
    range_of,
    ranges_of,
    to_levels,
    transformer_ranges,
)

pytestmark = pytest.mark.skipif(not is_supported(), reason="this processor has no kernels for eight bits")


def test_levels_are_whole_numbers_of_seven_bits():
    weight = torch.tensor([[0.63, -0.31, 0.0], [-126.0, 2.0, 63.0]])
    levels, scale = to_levels(weight)
    assert levels.tolist() == [[63, -31, 0], [-63, 1, 32]]  # 31.5 is rounded to even
    assert torch.allclose(scale, torch.tensor([0.01, 2.0]))
    assert torch.allclose(from_levels(levels, scale), torch.tensor([[0.63, -0.31, 0.0], [-126.0, 2.0, 64.0]]))


def test_levels_of_levels_are_the_same():
    levels, scale = to_levels(torch.randn(7, 5))
    again, same = to_levels(from_levels(levels, scale))
    assert torch.equal(levels, again)
    assert torch.allclose(scale, same)


def test_a_layer_of_noughts():
    linear = nn.Linear(3, 2)
    nn.init.zeros_(linear.weight)
    assert torch.allclose(Int8Linear(linear, Range(0.0, 0.0))(torch.randn(4, 3)), linear.bias.expand(4, 2))


@pytest.mark.parametrize("has_bias", [True, False])
def test_near_the_real_layer(has_bias):
    torch.manual_seed(0)
    linear, inputs = nn.Linear(64, 32, bias=has_bias), torch.randn(50, 64)
    made = Int8Linear(linear, Range(inputs.min().item(), inputs.max().item()))
    with torch.inference_mode():
        assert (made(inputs) - linear(inputs)).abs().max() < 0.05


def test_sums_do_not_overflow():
    """The largest inputs and weights there are: on AVX2 products are added in pairs in 16 bits."""
    linear = nn.Linear(256, 4, bias=False)
    nn.init.ones_(linear.weight)
    made = Int8Linear(linear, Range(0.0, 1.0))
    assert torch.allclose(made(torch.ones(3, 256)), torch.full((3, 4), 256.0), rtol=1e-3)


def test_inputs_beyond_the_range_are_clamped():
    linear = nn.Linear(1, 1, bias=False)
    nn.init.ones_(linear.weight)
    assert torch.allclose(
        Int8Linear(linear, Range(-1.0, 2.0))(torch.tensor([[-9.0], [9.0]])), torch.tensor([[-1.0], [2.0]]), atol=0.02
    )


@pytest.mark.parametrize("shape", [(50, 64), (5, 10, 64)])
def test_inputs_apart_do_not_make_the_others_coarse(shape):
    torch.manual_seed(0)
    linear, inputs = nn.Linear(64, 32), torch.randn(shape)
    inputs[..., [3, 5]] *= 30
    found = ranges_of(nn.ModuleDict({"own": linear}), lambda: linear(inputs))["own"]
    assert set(found.apart) == {3, 5}
    assert -6 < found.low < 0 < found.high < 6
    with torch.inference_mode():
        assert (Int8Linear(linear, found)(inputs) - linear(inputs)).abs().max() < 0.06
        assert (Int8Linear(linear, Range(-90.0, 90.0))(inputs) - linear(inputs)).abs().max() > 0.2


def test_which_inputs_are_apart():
    low, high = torch.tensor([-1.0, -1.25, -9.0, 0.0]), torch.tensor([1.0, 1.25, 2.0, 8.0])
    assert range_of(low, high) == Range(-1.25, 1.25, (2, 3))
    assert range_of(low[:3], high[:3]) == Range(-1.25, 1.25, (2,))
    assert range_of(low[:1], high[:1]) == Range(-1.0, 1.0)


def test_inputs_that_are_not_there():
    with pytest.raises(ValueError, match="own has no such inputs"):
        quantize(nn.ModuleDict({"own": nn.Linear(4, 4)}), {"own": Range(0.0, 1.0, (4,))})


def test_a_row_does_not_depend_on_the_rows_beside_it():
    linear, inputs = nn.Linear(16, 8), torch.randn(20, 16)
    made = Int8Linear(linear, Range(-3.0, 3.0))
    assert torch.equal(made(inputs)[:5], made(inputs[:5]))


def test_what_nothing_goes_through_stays():
    model = nn.ModuleDict({"used": nn.Linear(4, 4), "idle": nn.Linear(4, 4)})
    found = ranges_of(model, lambda: [model["used"](torch.tensor([[0.0, n, 2.5, -n]])) for n in (1.0, 3.0)])
    assert found == {"used": Range(-3.0, 3.0)}
    quantize(model, found)
    assert isinstance(model["used"], Int8Linear)
    assert isinstance(model["idle"], nn.Linear)


def test_a_transformer():
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    )
    torch.manual_seed(0)
    model = transformers.BertModel(config, add_pooling_layer=False).eval()
    ids = torch.randint(50, (3, 9))
    with torch.inference_mode():
        before = model(input_ids=ids).last_hidden_state
        quantize(model, transformer_ranges(model))
        after = model(input_ids=ids).last_hidden_state
    assert not any(isinstance(module, nn.Linear) for module in model.modules())
    assert nn.functional.cosine_similarity(before, after, dim=-1).min() > 0.99
