import multiprocessing
import os
import warnings
from threading import active_count, get_ident

import pytest

from nestling.data.formats import read, write
from nestling.errors import InvalidValueError, NestlingError
from nestling.memory import Budget
from nestling.recognizer import Decoder, Recognizer
from nestling.text import parse
from nestling.types import Entity

CANDIDATES = [
    Entity.at(0, 4, "A", 0.9),
    Entity.at(1, 3, "B", 0.5),
    Entity.at(0, 3, "A", 0.45),
    Entity.at(3, 6, "B", 0.4),
]


def test_rules_and_thresholds():
    assert Decoder(rule="flat")(CANDIDATES) == [CANDIDATES[0]]
    assert Decoder(rule="nested")(CANDIDATES) == CANDIDATES[:3]
    assert Decoder(rule="any", threshold=0.45)(CANDIDATES) == CANDIDATES[:3]
    assert Decoder(rule="any", threshold=0.6, thresholds={"B": 0.45})(CANDIDATES) == CANDIDATES[:2]


@pytest.mark.parametrize("wrong", [{"threshold": 7}, {"thresholds": {"A": float("nan")}}, {"rule": "flatt"}])
def test_what_cannot_be_meant_is_refused(wrong):
    with pytest.raises(NestlingError, match="between 0 and 1|flatt"):
        Decoder(**wrong)


def test_one_text_is_not_many():
    with pytest.raises(InvalidValueError, match="pipe takes many texts"):
        next(Recognizer.pipe(None, "Ann"))


def test_soft_nms_then_the_rule():
    found = Decoder(rule="any", method="soft_nms", threshold=0.3, decay=0.5, overlap=0.7)(CANDIDATES)
    assert [(e.start, e.end) for e in found] == [(0, 4), (1, 3), (3, 6)]  # the third falls to 0.225


def test_thresholds_by_label_hold_with_soft_nms_too():
    decode = Decoder(method="soft_nms", rule="any", threshold=0.5, thresholds={"A": 0.1, "B": 0.85}, decay=0.5)
    candidates = [Entity.at(0, 1, "A", 0.3), Entity.at(3, 6, "C", 0.95), Entity.at(3, 5, "B", 0.9)]
    assert [e.label for e in decode(candidates)] == ["C", "A"]  # B falls to 0.45


class _Reader(Recognizer):
    """A recogniser that finds nothing."""

    def __init__(self) -> None:
        self.budget, self.language = Budget(), "en"

    def _found(self, documents):
        yield from documents


def test_texts_are_taken_in_the_callers_thread_and_come_in_order(monkeypatch):
    monkeypatch.setattr("nestling.recognizer._FIRST_WORDS", 5)
    taken, made = set(), set()

    def texts():
        for n in range(20):
            taken.add(get_ident())
            yield f"text {n}"

    def noted(text, **options):
        made.add(get_ident())
        return parse(text, **options)

    monkeypatch.setattr("nestling.recognizer.parse", noted)
    found = list(_Reader().pipe(texts()))
    assert [(d.id, d.text) for d in found] == [(str(n), f"text {n}") for n in range(20)]
    assert taken == {get_ident()}
    assert get_ident() not in made


def _broken():
    yield from ["zero", "one"]
    raise OSError("the cable is out")


@pytest.mark.parametrize("pool", [1, 4, 1000])
@pytest.mark.parametrize(
    ("texts", "error", "told"),
    [
        (_broken, OSError, "the cable is out"),
        (lambda: ["zero", "one", "\ud800", "three"], InvalidValueError, "text 2: .*surrogate"),
        (lambda: ["zero", "one", float("nan")], InvalidValueError, "text 2 is neither a text nor a Document but nan"),
    ],
)
def test_an_error_is_told_behind_what_came_before_it(monkeypatch, pool, texts, error, told):
    monkeypatch.setattr("nestling.recognizer._FIRST_WORDS", pool)
    found = _Reader().pipe(texts())
    assert [next(found).text, next(found).text] == ["zero", "one"]
    with pytest.raises(error, match=told):
        next(found)


def test_the_first_answers_come_early():
    taken = []
    found = _Reader().pipe(taken.append(n) or "one two three four five" for n in range(100_000))
    next(found)
    assert len(taken) < 4000  # the first pool, and the one that is split meanwhile


def test_a_single_text_that_is_none_is_named():
    with pytest.raises(InvalidValueError, match="text 0 is neither a text nor a Document but None"):
        _Reader()(None)


def test_a_stream_is_written_for_spacy_while_it_is_split(tmp_path):
    texts = [" ".join(f"word{n}x{m}" for m in range(50)) for n in range(1200)]
    write(_Reader().pipe(texts), tmp_path / "all.spacy")
    assert [d.text for d in read(tmp_path / "all.spacy")] == texts


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_process_that_is_forked_while_texts_are_split_can_split_too():
    texts = (f"new{n} words{n} of{n} text{n} " * 300 for n in range(200))
    for n, _ in enumerate(_Reader().pipe(texts)):
        if n % 20 == 0:
            child = multiprocessing.get_context("fork").Process(target=parse, args=(f"again{n} other{n}",))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # forks and threads do not go well together
                child.start()
            child.join(20)
            is_done = child.exitcode == 0
            child.kill()
            assert is_done


def test_a_stream_that_is_left_early_leaves_no_thread():
    before = active_count()
    found = _Reader().pipe(f"text {n}" for n in range(100_000))
    assert next(found).text == "text 0"
    found.close()
    assert active_count() == before
