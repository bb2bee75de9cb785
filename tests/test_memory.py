"""Batches that a limit of memory allows."""

import pytest

from nestling import memory
from nestling.errors import InvalidValueError
from nestling.memory import MOST_WORDS, Budget, peak, resident


def test_what_this_process_has():
    held = bytearray(50_000_000)
    assert 0 < resident() <= peak()
    assert peak() > len(held) / 1e6 / 2


def test_without_a_limit_batches_are_as_fast_as_can_be():
    budget = Budget()
    budget.learn(10, 0.0, 0.0)
    assert budget.words == MOST_WORDS


def test_a_limit_below_what_is_taken_already():
    with pytest.raises(InvalidValueError, match="before any text is read"):
        Budget(1)
    with pytest.raises(InvalidValueError, match="not a number"):
        Budget(float("nan"))


def test_batches_grow_while_there_is_room_and_shrink_when_there_is_not(monkeypatch):
    held, highest = [500.0], [500.0]
    monkeypatch.setattr(memory, "resident", lambda: held[0])
    monkeypatch.setattr(memory, "peak", lambda: highest[0])
    budget = Budget(1000)
    first = budget.words
    for words in (0, 10, first // 2):  # of small batches nothing is learnt of large ones
        budget.learn(words, 500.0, 500.0)
        assert budget.words == first
    budget.learn(first, 500.0, 500.0)  # nothing was taken that was not there
    assert budget.words == 2 * first
    highest[0] = 500.0 + budget.words * 0.5  # half a megabyte a word
    budget.learn(budget.words, 500.0, 500.0)
    assert budget.words == int(0.7 * 500 / 0.5)
    held[0] = 999.9  # whoever uses the recogniser keeps things
    budget.learn(10, 999.9, highest[0])
    assert budget.words == 1
    held[0] = 500.0
    for _ in range(20):
        budget.learn(budget.words, 500.0, highest[0])
    assert budget.words == int(0.7 * 500 / 0.5)
