"""Which mistakes a prediction makes: boundary and type errors (Bundling Learning, equations 24a and 24b), and the rest.

Every wrong prediction and every gold entity that was not found takes part in one mistake at most, so that

    FP + FN = 2 × type errors + 2 × boundary errors + missed + spurious.

* A **type error** is a pair with the same borders and different labels.
* A **boundary error** is a pair of what is left that shares characters; its labels may differ. Pairs with the largest
  share of common characters are taken first, at a tie those with the same label, then by place.
* What has no partner is **missed** or **spurious**. A wrong prediction over a gold entity that was found is spurious.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nestling.evaluation.comparison import Comparison, Found, Key, Place

Kind = Literal["type", "boundary", "missed", "spurious"]
_Pairing = Callable[[Sequence[Found], Sequence[Found]], Iterator[tuple[Found, Found]]]
KINDS: tuple[Kind, ...] = ("type", "boundary", "missed", "spurious")


@dataclass(frozen=True, slots=True)
class Mistake:
    """A gold entity, a prediction, or a pair of them that does not agree."""

    kind: Kind
    gold: Found | None
    predicted: Found | None

    @property
    def unit(self) -> int:
        """The gold sentence it is in."""
        found = self.gold or self.predicted
        assert found is not None
        return found.unit


@dataclass(frozen=True, slots=True)
class Mistakes:
    """All mistakes of one prediction."""

    all: tuple[Mistake, ...]

    @property
    def wrong(self) -> int:
        """FP + FN."""
        return sum((mistake.gold is not None) + (mistake.predicted is not None) for mistake in self.all)

    def count(self, kind: Kind) -> int:
        """How many of a kind there are."""
        return sum(mistake.kind == kind for mistake in self.all)

    def rate(self, kind: Kind) -> float:
        """The number of a kind over FP + FN, in per cent."""
        return 100 * self.count(kind) / self.wrong if self.wrong else 0.0

    @property
    def confusions(self) -> list[tuple[tuple[str, str], list[Mistake]]]:
        """Gold and predicted labels of type errors, the most frequent first."""
        found: dict[tuple[str, str], list[Mistake]] = defaultdict(list)
        for mistake in self.all:
            if mistake.kind == "type" and mistake.gold and mistake.predicted:
                found[mistake.gold.label, mistake.predicted.label].append(mistake)
        return sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))

    def as_json(self) -> dict[str, Any]:
        """Counts and rates under their names."""
        kinds: dict[str, Any] = {kind: {"count": self.count(kind), "rate": round(self.rate(kind), 4)} for kind in KINDS}
        same = sum(m.gold.label == m.predicted.label for m in self.all if m.gold and m.predicted)
        confusions = [{"gold": gold, "predicted": guess, "count": len(own)} for (gold, guess), own in self.confusions]
        return {"wrong": self.wrong, **kinds, "boundary_with_same_label": same, "confusions": confusions}


def mistakes_of(comparison: Comparison) -> Mistakes:
    """The mistakes in the order of their places."""
    gold: dict[int, list[Found]] = defaultdict(list)
    predicted: dict[int, list[Found]] = defaultdict(list)
    for found in comparison.wanted:
        if not found.is_right:
            gold[_document(comparison, found)].append(found)
    for found in comparison.given:
        if not found.is_right:
            predicted[_document(comparison, found)].append(found)
    made = [
        mistake
        for document in sorted(gold.keys() | predicted.keys())
        for mistake in _of_document(sorted(gold[document], key=_order), sorted(predicted[document], key=_order))
    ]
    return Mistakes(tuple(sorted(made, key=lambda mistake: (mistake.unit, _order(mistake.gold or mistake.predicted)))))


def confusion(comparison: Comparison, mistakes: Mistakes) -> Counter[tuple[str, str]]:
    """How often gold's label and the predicted one meet on the same borders; "" where the other side has none."""
    met: Counter[tuple[str, str]] = Counter((found.label, found.label) for found in comparison.given if found.is_right)
    for mistake in mistakes.all:
        if mistake.kind == "type" and mistake.gold and mistake.predicted:
            met[mistake.gold.label, mistake.predicted.label] += 1
            continue
        if mistake.gold:
            met[mistake.gold.label, ""] += 1
        if mistake.predicted:
            met["", mistake.predicted.label] += 1
    return met


def _of_document(gold: Sequence[Found], predicted: Sequence[Found]) -> Iterator[Mistake]:
    """The mistakes of one document; both sides in the order of places."""
    steps: tuple[tuple[Kind, _Pairing], ...] = (("type", _on_one_place), ("boundary", _nearest))
    for kind, pairs in steps:
        found = list(pairs(gold, predicted))
        yield from (Mistake(kind, truth, guess) for truth, guess in found)
        gold = _without(gold, (truth for truth, _ in found))
        predicted = _without(predicted, (guess for _, guess in found))
    yield from (Mistake("missed", truth, None) for truth in gold)
    yield from (Mistake("spurious", None, guess) for guess in predicted)


def _on_one_place(gold: Sequence[Found], predicted: Sequence[Found]) -> Iterator[tuple[Found, Found]]:
    """Pairs with the same borders, one to one, in the order of their labels."""
    by_place: dict[Place, list[Found]] = defaultdict(list)
    for guess in predicted:
        by_place[guess.place].append(guess)
    for truth in gold:
        if by_place[truth.place]:
            yield truth, by_place[truth.place].pop(0)


def _nearest(gold: Sequence[Found], predicted: Sequence[Found]) -> Iterator[tuple[Found, Found]]:
    """Pairs that share characters, one to one, those that share the largest part first."""
    pairs = []
    for truth, guess in _meeting(gold, predicted):
        overlap = _iou(truth.place, guess.place)
        if overlap:
            pairs.append((-overlap, truth.label != guess.label, _order(truth), _order(guess), truth, guess))
    taken: set[tuple[str, Key]] = set()
    for *_, truth, guess in sorted(pairs, key=lambda pair: pair[:4]):
        both = {("gold", _order(truth)), ("predicted", _order(guess))}
        if not taken & both:
            taken |= both
            yield truth, guess


def _meeting(gold: Sequence[Found], predicted: Sequence[Found]) -> Iterator[tuple[Found, Found]]:
    """Pairs whose hulls share characters; both sides in the order of places."""
    active: list[Found] = []
    behind = 0
    for truth in gold:
        start, end = truth.place[0][0], truth.place[-1][1]
        while behind < len(predicted) and predicted[behind].place[0][0] < end:
            active.append(predicted[behind])
            behind += 1
        # a later gold entity starts no earlier, so what ends before this start meets none of them
        active = [guess for guess in active if guess.place[-1][1] > start]
        yield from ((truth, guess) for guess in active if guess.place[0][0] < end)


def _without(found: Sequence[Found], taken: Iterable[Found]) -> list[Found]:
    keys = {_order(own) for own in taken}
    return [own for own in found if _order(own) not in keys]


def _iou(first: Place, second: Place) -> float:
    if first[-1][1] <= second[0][0] or second[-1][1] <= first[0][0]:
        return 0.0
    shared = sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in first for b in second)
    return shared / (_size(first) + _size(second) - shared)


def _size(place: Iterable[tuple[int, int]]) -> int:
    return sum(end - start for start, end in place)


def _order(found: Found | None) -> Key:
    assert found is not None
    return found.place, found.label


def _document(comparison: Comparison, found: Found) -> int:
    """A number for the document that an entity is in: that of its first sentence."""
    return comparison.units[found.unit].first
