"""What pictures show, worked out by hand; and that they can be drawn."""

import numpy as np
import pytest

from nestling.errors import InvalidValueError
from nestling.evaluation.given import Labelled
from nestling.evaluation.plots import (
    discrepancies,
    loss_curve,
    pca,
    principal_components,
    save,
    table_of,
    violin,
    volcano,
)


def mention(label, **probabilities):
    return Labelled(label, probabilities, (probabilities,))


MENTIONS = [
    mention("A", A=0.9, B=0.1, C=0.0),
    mention("A", A=0.25, B=0.5, C=0.25),
    mention("B", A=0.1, B=0.8, C=0.1),
    mention("C", A=1.0, B=0.0, C=0.0),
]


def test_principal_components_keep_distances_and_order():
    rng = np.random.default_rng(0)
    flat = (
        rng.normal(size=(50, 2)) * [3, 1] @ np.linalg.qr(rng.normal(size=(4, 4)))[0][:2]
    )  # a plane in four dimensions
    points, explained = principal_components(flat)
    assert explained.sum() == pytest.approx(1)
    assert explained[0] > explained[1]
    distance = np.linalg.norm(flat[:, None] - flat, axis=2)
    assert np.allclose(np.linalg.norm(points[:, None] - points, axis=2), distance)
    with pytest.raises(InvalidValueError):
        principal_components(flat[:1])


def test_discrepancies_by_hand():
    sure, wrong, right, hopeless = discrepancies(MENTIONS)
    assert (sure.change, sure.log_ratio) == ("Stable", 0)
    assert (wrong.change, wrong.log_ratio) == ("Up", 1)
    assert wrong.d_value == pytest.approx(np.var([0.25, 0.5, 0.25]) / 0.25)
    assert right.d_value == pytest.approx(np.var([0.1, 0.8, 0.1]) / 0.8)
    assert np.isfinite(hopeless.log_ratio)
    assert hopeless.log_ratio > 30


def test_table():
    assert table_of(MENTIONS).shape == (4, 3)


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_pictures_are_drawn(tmp_path, suffix):
    pytest.importorskip("matplotlib", reason="matplotlib is an extra")
    figures = {"pca": pca(MENTIONS), "violin": violin(MENTIONS), "volcano": volcano(MENTIONS)}
    figures["loss"] = loss_curve({"GENIA": [3.0, 2.0, 1.0]})
    for name, figure in figures.items():
        save(figure, tmp_path / f"{name}{suffix}")
        assert (tmp_path / f"{name}{suffix}").stat().st_size > 1000
    axes = figures["volcano"].axes[0]
    assert [len(points.get_offsets()) for points in axes.collections] == [2, 2, 0]
    with pytest.raises(InvalidValueError, match=r"\.png, \.svg or \.pdf"):
        save(figures["pca"], tmp_path / "x.exe")
