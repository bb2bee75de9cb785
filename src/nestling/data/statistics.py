"""What a corpus holds: the figures of Locate and Label's Table 5 and those that decide how a model must be set.

Entities are counted once a sentence however often they are annotated. Nesting and crossing are reckoned on hulls;
pairs on the very same span are neither. `nested` counts every entity inside or around another, `inner` those inside.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from nestling.types import Document, Entity, Sentence, Span, overlapped

Unit = Literal["sentence", "document"]


@dataclass(slots=True)
class Statistics:
    """The figures of one part. A unit is a sentence, its length in words; or a raw document, in characters."""

    split: str
    unit: Unit
    documents: int | None = None  # None where the file does not say where documents end
    units: int = 0
    mean_length: float = 0.0
    max_length: int = 0
    entities: int = 0
    types: int = 0
    nested: int = 0
    inner: int = 0
    units_with_nesting: int = 0
    crossing_pairs: int = 0
    spans_with_several_labels: int = 0
    discontinuous: int = 0
    exact_duplicate_entities: int = 0
    repeated_units: int = 0
    distinct_units_also_in_train: int | None = None
    type_counts: dict[str, int] = field(default_factory=dict)
    sentences: int = 0
    words: int = 0
    sentences_with_nesting: int = 0
    max_depth: int = 0
    entity_lengths: dict[int, int] = field(default_factory=dict)
    epsilon: int = 0

    @property
    def nested_percent(self) -> float:
        """The share of entities inside or around another."""
        return 100 * self.nested / self.entities if self.entities else 0.0

    @property
    def mean_words(self) -> float:
        """The mean length of a sentence in words."""
        return self.words / self.sentences if self.sentences else 0.0

    def as_json(self) -> dict[str, Any]:
        """All figures under their names."""
        return asdict(self) | {
            "nested_percent": round(self.nested_percent, 2),
            "mean_words": round(self.mean_words, 2),
        }


@dataclass(frozen=True, slots=True)
class Nesting:
    """How the entities of one sentence lie to each other."""

    nested: int
    inner: int
    crossing: int
    depth: int


def nesting(entities: Iterable[Entity]) -> Nesting:
    """Counts the relations between different hulls; entities on one hull stand or fall together."""
    hulls = Counter(entity.hull for entity in entities)
    inner: set[Span] = set()
    outer: set[Span] = set()
    depths: dict[Span, int] = {}
    crossing = 0
    for hull, before in overlapped(hulls):
        around = [other for other in before if other.contains(hull)]
        crossing += sum(hulls[other] * hulls[hull] for other in before if other not in around)
        if around:
            inner.add(hull)
            outer.update(around)
        depths[hull] = 1 + max((depths[other] for other in around), default=0)
    return Nesting(
        nested=sum(hulls[hull] for hull in inner | outer),
        inner=sum(hulls[hull] for hull in inner),
        crossing=crossing,
        depth=max(depths.values(), default=0),
    )


def smallest_epsilon(lengths: dict[int, int], share: float = 0.99) -> int:
    """The smallest length that at least this share of entities does not exceed; 0 where there are none."""
    needed, covered = share * sum(lengths.values()), 0
    for length in sorted(lengths):
        covered += lengths[length]
        if covered >= needed:
            return length
    return 0


def describe(
    split: str,
    documents: Sequence[Document],
    unit: Unit = "sentence",
    train: Sequence[Document] | None = None,
) -> Statistics:
    """The figures of a part; with the train part also how many of its distinct units stand there too."""
    stats = Statistics(split, unit)
    types: Counter[str] = Counter()
    lengths: Counter[int] = Counter()
    for document in documents:
        has_nesting = [_count(stats, sentence, types, lengths) for sentence in document.sentences]
        stats.units_with_nesting += any(has_nesting) if unit == "document" else sum(has_nesting)
    sizes = [len(content) for content in _units(documents, unit)]
    stats.documents = len(documents) if unit == "document" or any(len(d.sentences) > 1 for d in documents) else None
    stats.units = len(sizes)
    stats.mean_length = round(sum(sizes) / len(sizes), 2) if sizes else 0.0
    stats.max_length = max(sizes, default=0)
    stats.types, stats.type_counts = len(types), dict(types.most_common())
    stats.entity_lengths = dict(sorted(lengths.items()))
    stats.epsilon = smallest_epsilon(lengths)
    distinct = set(_units(documents, unit))
    stats.repeated_units = stats.units - len(distinct)
    if train is not None:
        stats.distinct_units_also_in_train = len(distinct & set(_units(train, unit)))
    return stats


def _units(documents: Iterable[Document], unit: Unit) -> Iterable[Any]:
    """The texts of documents, or the words of sentences."""
    if unit == "document":
        return (document.text for document in documents)
    return (sentence.words for document in documents for sentence in document.sentences)


def _count(stats: Statistics, sentence: Sentence, types: Counter[str], lengths: Counter[int]) -> bool:
    """Adds a sentence to the figures; tells whether it has nesting."""
    entities = {entity.key: entity for entity in sentence.entities}
    relations = nesting(entities.values())
    labels: Counter[Hashable] = Counter(fragments for fragments, _ in entities)
    stats.sentences += 1
    stats.words += len(sentence)
    stats.entities += len(entities)
    stats.exact_duplicate_entities += len(sentence.entities) - len(entities)
    stats.nested += relations.nested
    stats.inner += relations.inner
    stats.crossing_pairs += relations.crossing
    stats.max_depth = max(stats.max_depth, relations.depth)
    stats.sentences_with_nesting += relations.nested > 0
    stats.spans_with_several_labels += sum(count > 1 for count in labels.values())
    stats.discontinuous += sum(entity.is_discontinuous for entity in entities.values())
    types.update(label for _, label in entities)
    lengths.update(len(entity.hull) for entity in entities.values())
    return relations.nested > 0
