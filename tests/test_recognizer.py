from nestling.recognizer import Decoder
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


def test_soft_nms_then_the_rule():
    found = Decoder(rule="any", method="soft_nms", threshold=0.3, decay=0.5, overlap=0.7)(CANDIDATES)
    assert [(e.start, e.end) for e in found] == [(0, 4), (1, 3), (3, 6)]  # the third falls to 0.225


def test_thresholds_by_label_hold_with_soft_nms_too():
    decode = Decoder(method="soft_nms", rule="any", threshold=0.5, thresholds={"A": 0.1, "B": 0.85}, decay=0.5)
    candidates = [Entity.at(0, 1, "A", 0.3), Entity.at(3, 6, "C", 0.95), Entity.at(3, 5, "B", 0.9)]
    assert [e.label for e in decode(candidates)] == ["C", "A"]  # B falls to 0.45
