import math

import pytest
import torch

from nestling.nn.losses import focal, offset_loss, overlap_loss, soft_weights


def test_soft_weights_by_hand():
    """Equation 11."""
    overlap = torch.tensor([1.0, 0.8, 0.7, 0.6, 0.0])
    assert torch.allclose(soft_weights(overlap, 0.7, 1.0), torch.tensor([1.0, 0.8, 0.7, 0.4, 1.0]))
    assert torch.allclose(soft_weights(overlap, 0.7, 2.0), torch.tensor([1.0, 0.64, 0.49, 0.16, 1.0]))
    assert soft_weights(overlap, 0.7, 0.0).tolist() == [1, 1, 1, 1, 1]


def test_focal_by_hand():
    """Equation 12."""
    logits = torch.tensor([0.0, math.log(3), math.log(3)])  # p = 1/2, 3/4, 3/4
    loss = focal(logits, torch.tensor([True, True, False]), 2.0)
    expected = [0.25 * math.log(2), (1 / 16) * -math.log(3 / 4), (9 / 16) * math.log(4)]
    assert loss.tolist() == pytest.approx(expected, abs=1e-6)
    assert torch.isfinite(focal(torch.tensor([500.0, -500.0]), torch.tensor([False, True]), 2.0)).all()


def test_focal_without_focus_is_cross_entropy():
    logits, wanted = torch.tensor([0.3, -2.0]), torch.tensor([True, False])
    plain = torch.nn.functional.binary_cross_entropy_with_logits(logits, wanted.float(), reduction="none")
    assert torch.allclose(focal(logits, wanted, 0.0), plain)


def test_offset_loss_by_hand():
    """Equation 14: half the square up to one word, then linear."""
    loss = offset_loss(torch.tensor([[0.5, 0.0], [3.0, -1.0]]), torch.tensor([[0, 0], [0, 1]]))
    assert loss.tolist() == pytest.approx([0.125, 2.5 + 1.5])


def test_overlap_loss_by_hand():
    """Equation 15 on half-open borders."""
    starts, ends = torch.tensor([1.0, 1.0, 5.0, 2.0]), torch.tensor([2.0, 3.0, 6.0, 2.5])
    loss = overlap_loss(starts, ends, torch.tensor([1, 2, 1, 2]), torch.tensor([2, 5, 3, 3]))
    # equal one-word spans; 1 of 4 shared; two words apart in a hull of 5; half of a word
    assert loss.tolist() == pytest.approx([0, 0.75, 1 + 2 / 5, 0.5])
