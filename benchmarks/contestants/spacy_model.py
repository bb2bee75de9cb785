"""spaCy's ner or spancat over its own convolutions, with the defaults of the two."""

import sys
from pathlib import Path
from typing import Any

import spacy
from serving import Row, Runs, batches, f1, flat, main, widest
from spacy.training import Example

KEY = "sc"


def make(command: dict[str, Any]) -> Runs:
    nlp = spacy.load(command["model"])

    def of_texts(texts: list[str]) -> int:
        return sum(len(own) for own in found(nlp, texts))

    def alone(texts: list[str]) -> int:
        return sum(len(entities(nlp(text))) for text in texts)

    return {"texts": of_texts, "alone": alone}


def train(rows: list[Row], dev: list[Row], folder: Path, told: dict[str, Any]) -> None:
    """Epochs until dev is no better four times in a row."""
    spacy.util.fix_random_seed(int(told.get("seed", 0)))
    nlp = spacy.blank(told.get("language", "en"))
    kind = told.get("kind", "spancat")
    examples = [example(nlp, row, kind) for row in rows]
    if kind == "spancat":
        lengths = [len(span) for own in examples for span in own.reference.spans[KEY]]
        suggester = {"@misc": "spacy.ngram_range_suggester.v1", "min_size": 1, "max_size": widest(lengths)}
        pipe = nlp.add_pipe("spancat", config={"suggester": suggester, "spans_key": KEY})
    else:
        pipe = nlp.add_pipe("ner")
    for label in sorted({e["label"] for row in rows for e in row["entities"]}):
        pipe.add_label(label)
    optimizer = nlp.initialize(lambda: examples[:500])
    best, waited = -1.0, 0
    for epoch in range(int(told.get("epochs", 40))):
        for batch in batches(examples, 32, epoch):
            nlp.update(batch, drop=0.1, sgd=optimizer)
        score = f1(dev, found(nlp, [row["text"] for row in dev]))
        print(f"epoch {epoch + 1}: dev F1 {score:.2f}", file=sys.stderr, flush=True)
        waited = 0 if score > best else waited + 1
        if score > best:
            best = score
            nlp.to_disk(folder)
        if waited == 4:
            break


def predict(folder: Path, texts: list[str]) -> list[list[Row]]:
    return found(spacy.load(folder), texts)


def found(nlp: Any, texts: list[str]) -> list[list[Row]]:
    return [entities(doc) for doc in nlp.pipe(texts)]


def entities(doc: Any) -> list[Row]:
    spans = doc.spans.get(KEY, doc.ents)
    return [{"start": span.start_char, "end": span.end_char, "label": span.label_} for span in spans]


def example(nlp: Any, row: Row, kind: str) -> Any:
    """A text, and the same with its entities; borders inside words are moved out."""
    doc = nlp.make_doc(row["text"])
    truth = doc.copy()
    chosen = row["entities"] if kind == "spancat" else flat(row["entities"])
    spans = [truth.char_span(e["start"], e["end"], e["label"], alignment_mode="expand") for e in chosen]
    if kind == "spancat":
        truth.spans[KEY] = spans
    else:
        truth.set_ents(spacy.util.filter_spans(spans))
    return Example(doc, truth)


if __name__ == "__main__":
    main(make, train, predict)
