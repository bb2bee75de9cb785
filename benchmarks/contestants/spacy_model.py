"""spaCy's ner or spancat: a small convolutional model, with labels made up and a few steps of training."""

from typing import Any

import spacy
from serving import Runs, serve
from spacy.training import Example

LABELS = ("A", "B", "C", "D")


def make(command: dict[str, Any]) -> Runs:
    nlp = spacy.blank("en")
    kind = command["kind"]
    pipe = nlp.add_pipe(kind)
    if kind == "spancat":
        nlp.add_pipe("sentencizer", first=True)
    for label in LABELS:
        pipe.add_label(label)
    examples = [example(nlp, text, kind) for text in command["training"]]
    nlp.initialize(lambda: examples)
    for _ in range(command.get("steps", 3)):
        nlp.update(examples)

    def of_texts(texts: list[str]) -> int:
        return sum(len(doc.spans["sc"]) if kind == "spancat" else len(doc.ents) for doc in nlp.pipe(texts))

    def alone(texts: list[str]) -> int:
        return sum(len(nlp(text).ents) for text in texts)

    return {"texts": of_texts, "alone": alone}


def example(nlp: Any, row: dict[str, Any], kind: str) -> Any:
    """A text with entities as [start, end, label] in characters."""
    spans = [(start, end, LABELS[n % len(LABELS)]) for n, (start, end) in enumerate(row["spans"])]
    annotations = {"spans": {"sc": spans}} if kind == "spancat" else {"entities": spans}
    return Example.from_dict(nlp.make_doc(row["text"]), annotations)


if __name__ == "__main__":
    serve(make)
