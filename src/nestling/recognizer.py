"""Texts or documents → documents with entities: the one road that every app takes."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal, get_args

import torch

from nestling.data.batches import Batcher, Passage, by_words, passages
from nestling.data.features import PieceIndexer
from nestling.decoding import Rule, keep_best, soft_nms
from nestling.errors import InvalidValueError, UnknownNameError
from nestling.evaluation.given import Labelled
from nestling.memory import Budget, peak, release, resident
from nestling.model import Model
from nestling.nn.batch import Batch
from nestling.text import parse
from nestling.types import Document, Entity, Labels

_FIRST_WORDS, _POOL_WORDS = 5_000, 20_000  # read ahead, so that sentences of like length are encoded together
_RELEASED = 4  # batches, behind which what is free is given back: they have many sizes
_CHARACTERS = 5  # of a word and the blank behind it, few rather than many


@dataclass(frozen=True, slots=True)
class Decoder:
    """How candidates become entities, and what their scores say.

    Scores of heads are surer than they are right. `scale` and `shift` of their log-odds, which are fitted on dev, make
    them the share of entities with such a score that is right; thresholds are of these.
    """

    rule: Rule = "nested"
    method: Literal["best", "soft_nms"] = "best"
    threshold: float = 0.0
    thresholds: Mapping[str, float] = field(default_factory=dict)  # by label, instead of `threshold`
    decay: float = 0.9
    overlap: float = 0.6
    scale: float = 1.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        for threshold in (self.threshold, *self.thresholds.values()):
            if not 0 <= threshold <= 1:
                raise InvalidValueError(f"a threshold lies between 0 and 1, not {threshold}")
        if self.rule not in get_args(Rule):
            raise UnknownNameError("rule", self.rule, get_args(Rule))
        if not (0 < self.scale < math.inf and math.isfinite(self.shift)):
            raise InvalidValueError(f"scores cannot be scaled by {self.scale} and shifted by {self.shift}")

    def __call__(self, candidates: Iterable[Entity]) -> list[Entity]:
        """The entities of one sentence, best first."""
        kept = [e for e in candidates if self._is_likely(e)]
        if self.method == "soft_nms":
            lowered = soft_nms(kept, decay=self.decay, overlap=self.overlap, threshold=0.0)
            kept = [e for e in lowered if self._is_likely(e)]
        chosen = keep_best(kept, self.rule)
        return chosen if self._is_plain else [replace(e, score=self.calibrated(e.score)) for e in chosen]

    def _is_likely(self, entity: Entity) -> bool:
        return self.calibrated(entity.score) >= self.thresholds.get(entity.label, self.threshold)

    @property
    def _is_plain(self) -> bool:
        return self.scale == 1.0 and self.shift == 0.0

    def calibrated(self, score: float) -> float:
        """What is said of a candidate with this score."""
        if self._is_plain:
            return score
        return 1 / (1 + math.exp(-min(max(self.scale * log_odds(score) + self.shift, -30.0), 30.0)))


def log_odds(score: float) -> float:
    """The logarithm of right against wrong; none is surer than one in a million."""
    score = min(max(score, 1e-6), 1 - 1e-6)
    return math.log(score / (1 - score))


def _characters(text: object) -> int:
    return len(text) if isinstance(text, str) else len(text.text) if isinstance(text, Document) else 0


class Recognizer:
    """A trained model in use. Safe to share between threads."""

    def __init__(
        self,
        model: Model,
        batcher: Batcher,
        *,
        decoder: Decoder,
        language: str = "en",
        room: int = 0,
        from_raw_text: bool = False,
        is_of_several: bool = False,
        budget: Budget | None = None,
    ) -> None:
        self.model, self.batcher, self.decoder, self.language = model, batcher, decoder, language
        self.budget = budget or Budget()
        self.from_raw_text = from_raw_text  # it learnt so, and is to be judged so
        self.is_of_several = is_of_several  # corpora, each with labels of its own: by those it is judged
        indexers = [indexer for indexer in batcher.indexers.values() if isinstance(indexer, PieceIndexer)]
        self.room = min([room, *(indexer.room for indexer in indexers)])  # a sentence is whole before it has context
        self.size: Callable[[tuple[str, ...]], int] = indexers[0].size if indexers else len  # of a sentence, in pieces

    def __call__(self, text: str | Document) -> Document:
        """The text, or the document whatever entities it had, with the entities that the model finds."""
        return next(self._found([self._split(0, text)]))

    def pipe(self, texts: Iterable[str | Document]) -> Iterator[Document]:
        """The same for many, in order and as they come; memory does not grow with their number.

        They are taken in the caller's thread, and split in another while the model reads those before. An error is
        raised behind the texts that came before it.
        """
        if isinstance(texts, str):
            raise InvalidValueError("pipe takes many texts, and this is one: call the recogniser itself")
        worker = ThreadPoolExecutor(1)
        pools, failure = self._pools(texts), None
        coming: list[Future[Document]] = []
        try:
            while True:
                try:
                    own = next(pools, [])
                except Exception as error:  # whatever the caller's source raises
                    own, failure = [], error
                before, coming = coming, [worker.submit(self._split, *numbered) for numbered in own]
                yield from self._read(before)
                if not own:
                    break
        finally:
            worker.shutdown(cancel_futures=True)
        if failure is not None:
            raise failure

    def _pools(self, texts: Iterable[str | Document]) -> Iterator[list[tuple[int, str | Document]]]:
        """Numbered texts, as many at a time as are worth sorting by length; fewer at first, for an early answer."""
        held: list[tuple[int, str | Document]] = []
        words, most = 0.0, _FIRST_WORDS
        try:
            for number, text in enumerate(texts):
                held.append((number, text))
                words += 1 + _characters(text) / _CHARACTERS  # empty ones are held too
                if words >= min(most, 10 * self.budget.words):
                    yield held
                    held, words, most = [], 0.0, min(2 * most, _POOL_WORDS)
        except Exception:  # the next one could not be had
            if held:
                yield held
            raise
        if held:
            yield held

    def _split(self, number: int, text: str | Document) -> Document:
        if isinstance(text, Document):
            return text
        if not isinstance(text, str):  # as an empty cell of a table
            raise InvalidValueError(f"text {number} is neither a text nor a Document but {text!r:.60}")
        try:
            return parse(text, id=str(number), language=self.language)
        except InvalidValueError as error:
            raise InvalidValueError(f"text {number}: {error}") from None

    def _read(self, coming: Iterable[Future[Document]]) -> Iterator[Document]:
        """What the model finds in texts as they were split, up to the first that could not be."""
        documents, failure = [], None
        try:
            for future in coming:
                documents.append(future.result())  # noqa: PERF401
        except Exception as error:
            failure = error
        yield from self._found(documents)
        if failure is not None:
            raise failure

    def judged_by(self, gold: Iterable[Document], labels: Iterable[str] = ()) -> list[Document]:
        """Gold that says which labels were looked for, where a model is of several corpora: these, or those it has."""
        documents = list(gold)
        if not self.is_of_several:
            return documents
        known = frozenset(labels) or frozenset(Labels.of(documents))
        return [replace(own, annotated=known if own.annotated is None else own.annotated) for own in documents]

    def inputs(self, gold: Iterable[Document], *, is_raw: bool = False) -> list[Document]:
        """What the model is given of gold: raw text is met without gold's words, and so is all where it learnt so."""
        if not (is_raw or self.from_raw_text):
            return list(gold)
        return [parse(document.text, id=document.id, language=self.language) for document in gold]

    def label_given(self, documents: Iterable[Document]) -> Iterator[Labelled]:
        """The labels that the model gives to the entities that documents have, borders untouched; in their order."""
        found: dict[int, list[Labelled]] = {}  # by the number of the passage
        for numbers, own, inputs in self._batches(documents):
            labelled = iter(self._labelled(own, inputs))
            for n, passage in zip(numbers, own, strict=True):
                found[n] = list(islice(labelled, sum(len(sentence.entities) for sentence in passage.sentences)))
        yield from (labelled for n in range(len(found)) for labelled in found[n])

    def _labelled(self, own: list[Passage], inputs: Batch) -> list[Labelled]:
        """Entities of a batch with the probabilities of labels: whole, and each fragment alone."""
        sentences = [sentence for passage in own for sentence in passage.sentences]
        entities = [(row, entity) for row, sentence in enumerate(sentences) for entity in sentence.entities]
        parts = [(row, (part,)) for row, entity in entities for part in entity.fragments]
        with torch.inference_mode():
            asked = [(row, entity.fragments) for row, entity in entities] + parts
            rows = self.model.given_labels(inputs, asked).tolist()
        named = [dict(zip(self.batcher.labels, row, strict=True)) for row in rows]
        fragments = iter(named[len(entities) :])
        return [
            Labelled(entity.label, whole, tuple(islice(fragments, len(entity.fragments))))
            for (_, entity), whole in zip(entities, named, strict=False)
        ]

    def inspect(self, documents: Iterable[Document]) -> dict[str, float]:
        """Where the model loses the entities that documents have, if its head can tell; each figure is a mean."""
        known = [
            d.with_entities([e for e in s.entities if e.label in self.batcher.labels] for s in d.sentences)
            for d in documents
        ]
        sums: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        for _, own, inputs in self._batches(known):
            with torch.inference_mode():
                targets = self.batcher.targets(own).to(inputs.mask.device)
                for name, (total, count) in self.model.inspect(inputs, targets).items():
                    sums[name] += total  # type: ignore[assignment]
                    counts[name] += count  # type: ignore[assignment]
        return {name: round(sums[name] / max(counts[name], 1), 4) for name in counts}

    def _found(self, documents: list[Document]) -> Iterator[Document]:
        found: dict[int, list[list[Entity]]] = {}  # by the number of the passage
        for numbers, own, inputs in self._batches(documents):
            with torch.inference_mode():
                candidates = iter(self.model.candidates(inputs))
            for n, passage in zip(numbers, own, strict=True):
                found[n] = [self.decoder(own) for own in islice(candidates, len(passage.sentences))]
        sentences = iter([entities for n in range(len(found)) for entities in found[n]])
        for document in documents:
            found_all = replace(document, annotated=None)  # a model looks for all that it knows
            yield found_all.with_entities(list(islice(sentences, len(document.sentences))))

    def _batches(self, documents: Iterable[Document]) -> Iterator[tuple[list[int], list[Passage], Batch]]:
        """Passages of like length together: their numbers, they themselves, and the model's input."""
        made = list(passages(documents, room=self.room, size=self.size))
        device = next(self.model.parameters()).device
        is_limited = self.budget.limit is not None
        before, highest = (resident(), peak()) if is_limited else (0.0, 0.0)
        largest = 0
        for count, numbers in enumerate(by_words(made, self.budget.words), 1):
            own = [made[n] for n in numbers]
            largest = max(largest, len(own) * max(passage.bulk for passage in own))
            yield numbers, own, self.batcher.batch(own).to(device)
            if count % _RELEASED == 0:
                release()
        self.budget.learn(largest, before, highest)
