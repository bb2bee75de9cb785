import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nestling.decoding import keep_best, soft_nms
from nestling.errors import InvalidValueError, UnknownNameError
from nestling.types import Entity, Span
from tests.strategies import entities


def at(start, end, label, score):
    return Entity.at(start, end, label, score)


CANDIDATES = [at(0, 4, "A", 0.9), at(1, 3, "B", 0.8), at(3, 6, "A", 0.7), at(1, 3, "A", 0.6), at(6, 8, "B", 0.5)]


@pytest.mark.parametrize(
    ("rule", "kept"),
    [("flat", [0, 4]), ("nested", [0, 1, 4]), ("any", [0, 1, 2, 3, 4])],
)
def test_keep_best_by_hand(rule, kept):
    assert keep_best(CANDIDATES, rule) == [CANDIDATES[n] for n in kept]


def test_threshold_and_duplicates():
    assert keep_best(CANDIDATES, "any", threshold=0.7) == CANDIDATES[:3]
    assert keep_best([at(0, 1, "A", 0.2), at(0, 1, "A", 0.4)], "any") == [at(0, 1, "A", 0.4)]
    assert keep_best([], "flat") == soft_nms([]) == []


def test_discontinuous_entities_conflict_by_words_when_flat_and_by_hulls_when_nested():
    arms = Entity((Span(0, 1), Span(3, 4)), "A", 0.9)
    between, shared = at(1, 3, "B", 0.8), at(2, 4, "B", 0.7)
    assert keep_best([arms, between, shared], "flat") == [arms, between]
    assert keep_best([arms, between, shared], "nested") == [arms, between]  # between and shared cross
    assert keep_best([arms, shared], "nested") == [arms, shared]


def test_unknown_rule_and_values_out_of_range():
    with pytest.raises(UnknownNameError, match="did you mean 'nested'"):
        keep_best(CANDIDATES[:1], "nestd")
    with pytest.raises(InvalidValueError, match="decay lies between 0 and 1, not 1.5"):
        soft_nms(CANDIDATES, decay=1.5)


def test_soft_nms_takes_repetitions_for_one():
    twice = [at(0, 4, "A", 0.9), at(0, 4, "A", 0.89), at(0, 5, "A", 0.65)]
    assert soft_nms(twice, decay=0.9, overlap=0.6, threshold=0.55) == [twice[0], at(0, 5, "A", 0.65 * 0.9)]


@given(st.lists(entities(), max_size=12), st.sampled_from(["flat", "nested"]), st.randoms(use_true_random=False))
def test_keep_best_is_free_of_conflicts_maximal_and_blind_to_order(candidates, rule, chance):
    def conflict(left, right):
        if rule == "flat":
            return left.overlaps(right)
        return left.crosses(right) or left.fragments == right.fragments

    kept = keep_best(candidates, rule)
    assert not any(conflict(a, b) for n, a in enumerate(kept) for b in kept[:n])
    for entity in candidates:
        assert entity in kept or any(conflict(entity, k) and k.score >= entity.score for k in kept)
    shuffled = candidates[:]
    chance.shuffle(shuffled)
    assert keep_best(shuffled, rule) == kept


def test_soft_nms_by_hand():
    # IoU of the first two is 3/4, of the others 0. u = 0.5, k = 0.6: the second falls from 0.8 to 0.4, behind the third.
    candidates = [at(0, 4, "A", 0.9), at(0, 3, "A", 0.8), at(5, 6, "A", 0.6)]
    assert soft_nms(candidates, decay=0.5, overlap=0.6, threshold=0.3) == [
        candidates[0],
        candidates[2],
        at(0, 3, "A", 0.4),
    ]
    assert soft_nms(candidates, decay=0.5, overlap=0.75, threshold=0.3)[2].score == 0.4  # the threshold k is included
    assert soft_nms(candidates, decay=0.5, overlap=0.76, threshold=0.3)[1].score == 0.8
    assert soft_nms(candidates, decay=0.5, overlap=0.6, threshold=0.4) == [candidates[0], candidates[2]]  # above δ only


def test_soft_nms_decays_once_for_every_better_neighbour():
    kept = soft_nms([at(0, 4, "A", 0.9), at(0, 5, "A", 0.8), at(0, 6, "A", 0.7)], decay=0.9, overlap=0.6, threshold=0.1)
    assert [round(e.score, 6) for e in kept] == [0.9, round(0.8 * 0.9, 6), round(0.7 * 0.81, 6)]


def plain_soft_nms(candidates, decay, overlap, threshold):
    """Algorithm 1, line by line."""
    waiting = [(e, e.score) for e in sorted(candidates, key=lambda e: (-e.score, e.order))]
    output = []
    while waiting:
        best, score = waiting.pop(0)
        output.append((best, score))
        waiting = [(e, s * decay if best.iou(e) >= overlap else s) for e, s in waiting]
        waiting.sort(key=lambda pair: (-pair[1], -pair[0].score, pair[0].order))
    return [(e.key, s) for e, s in output if s > threshold]


@given(
    st.lists(entities(), max_size=12, unique_by=lambda e: e.key),
    st.sampled_from([0.3, 0.5, 0.9]),
    st.sampled_from([0.2, 0.5, 0.6]),
    st.randoms(use_true_random=False),
)
def test_soft_nms_equals_the_plain_algorithm_in_any_order(candidates, decay, overlap, chance):
    expected = plain_soft_nms(candidates, decay, overlap, 0.25)
    shuffled = candidates[:]
    chance.shuffle(shuffled)
    kept = soft_nms(shuffled, decay=decay, overlap=overlap, threshold=0.25)
    assert [e.key for e in kept] == [key for key, _ in expected]
    assert [e.score for e in kept] == pytest.approx([score for _, score in expected])


def test_many_candidates_are_fast():
    import time

    chance = random.Random(0)
    many = [at(s := chance.randrange(2000), s + chance.randint(1, 9), "A", chance.random()) for _ in range(10_000)]
    start = time.process_time()
    keep_best(many, "flat")
    keep_best(many, "nested")
    soft_nms(many)
    assert time.process_time() - start < 5
