import pytest

from nestling.evaluation.given import GivenSpans, Labelled, given_spans

A, B = {"A": 0.9, "B": 0.1}, {"A": 0.2, "B": 0.8}


def test_counts_by_hand():
    found = given_spans(
        [
            Labelled("A", A, (A,)),
            Labelled("A", B, (B,)),
            Labelled("B", B, (B,)),
            Labelled("A", A, (A, B)),  # right as a whole, wrong by fragments
            Labelled("A", B, (A, A)),
        ]
    )
    assert found == GivenSpans(3, 2, 2, 1, 1)
    assert found.accuracy == 60
    assert found.paper_precision == pytest.approx(200 / 3)
    assert found.paper_recall == pytest.approx(200 / 3)  # 2 right and 1 discontinuous mention missed


def test_the_figures_of_the_paper():
    """91.76 % accuracy and no discontinuous mentions: 95.70."""
    assert GivenSpans(10000, 9176, 0, 0, 0).paper_f1 == pytest.approx(95.70, abs=0.01)
    assert GivenSpans(10000, 9176, 0, 0, 0).paper_recall == 100


def test_nothing_given():
    empty = given_spans([])
    assert (empty.accuracy, empty.paper_f1) == (0, 0)
