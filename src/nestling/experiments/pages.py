"""Analyses of what experiments predicted, as pages."""

from collections.abc import Iterator, Sequence

from nestling.data import corpora
from nestling.data.formats import read
from nestling.evaluation.analysis import analyze
from nestling.evaluation.report import page
from nestling.experiments.experiment import Part, Training
from nestling.experiments.running import Store


def pages(store: Store, trainings: Sequence[Training], part: Part) -> Iterator[tuple[str, str]]:
    """A page a corpus, with all rows of one seed side by side; only rows that were measured."""
    for corpus in dict.fromkeys(training.corpus for training in trainings):
        own = [t for t in trainings if t.corpus == corpus and t.settings.training.seed == 0]
        files = {
            model: store.predictions_of(training.settings, part, head)
            for training in own
            for model, head in training.answers.items()
        }
        predicted = {model: list(read(file)) for model, file in files.items() if file.exists()}
        if predicted:
            gold, train = corpora.load(corpus, part), corpora.load(corpus, "train")
            found = analyze(gold, predicted, train=train, reference="SpanNER" if "SpanNER" in predicted else None)
            is_given = all(training.settings.training.measure == "given_spans" for training in own)
            warning = ". Borders are given: what stands here as F1 is accuracy, no NER score." if is_given else ""
            yield corpus, page(found, title=f"{corpus}, {part}{warning}")
