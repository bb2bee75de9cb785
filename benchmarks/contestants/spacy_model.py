"""spaCy's ner or spancat over its own convolutions, with its defaults, or over a transformer if one is told."""

import sys
from pathlib import Path
from typing import Any

import spacy
from serving import Row, Runs, batches, f1, flat, main, widest
from spacy.training import Example
from thinc.api import Adam, NumpyOps, set_current_ops, warmup_linear

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
    set_current_ops(NumpyOps(use_blis=False))  # numpy's products are the same, several times faster
    nlp = spacy.blank(told.get("language", "en"))
    kind, epochs = told.get("kind", "spancat"), int(told.get("epochs", 40))
    examples = [example(nlp, row, kind) for row in rows]
    encoder = over_transformer(nlp, told["encoder"]) if "encoder" in told else {}
    pipe = nlp.add_pipe(kind, config=encoder | (spans_of(examples) if kind == "spancat" else {}))
    for label in sorted({e["label"] for row in rows for e in row["entities"]}):
        pipe.add_label(label)
    optimizer = nlp.initialize(lambda: examples[:500])
    if encoder:
        steps = epochs * -(-len(rows) // 32)
        optimizer = Adam(warmup_linear(float(told.get("rate", 2e-4)), steps // 10, steps), L2=0.01, grad_clip=1.0)
    best, waited = -1.0, 0
    for epoch in range(epochs):
        for batch in batches(examples, 32, epoch):
            for few in like_lengths(batch, 8):  # losses are sums: the step is the same, with less padding
                nlp.update(few, drop=0.1, sgd=False)
            for _, own in nlp.pipeline:
                own.finish_update(optimizer)
            optimizer.step_schedules()
        score = f1(dev, found(nlp, [row["text"] for row in dev]))
        print(f"epoch {epoch + 1}: dev F1 {score:.2f}", file=sys.stderr, flush=True)
        waited = 0 if score > best else waited + 1
        if score > best:
            best = score
            nlp.to_disk(folder)
        if waited == 4:
            break


def like_lengths(batch: list[Any], size: int) -> list[list[Any]]:
    """A batch in parts of texts that are about as long."""
    ordered = sorted(batch, key=lambda own: len(own.reference))
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]


def over_transformer(nlp: Any, encoder: str) -> dict[str, Any]:
    """A transformer in the pipeline, of sentences alone, and what a component is told that listens to it."""
    nlp.batch_size = 64  # a thousand texts at once are padded to the longest: fifteen gigabytes
    whole = {"@span_getters": "spacy-transformers.doc_spans.v1"}
    own = {"@architectures": "spacy-transformers.TransformerModel.v3", "name": encoder, "get_spans": whole}
    nlp.add_pipe("transformer", config={"model": own})
    listener = {
        "@architectures": "spacy-transformers.TransformerListener.v1",
        "grad_factor": 1.0,
        "pooling": {"@layers": "reduce_mean.v1"},
    }
    return {"model": {"tok2vec": listener}}


def spans_of(examples: list[Any]) -> dict[str, Any]:
    """What spancat is told: to judge spans of as many words as most entities have at most."""
    most = widest(len(span) for own in examples for span in own.reference.spans[KEY])
    suggester = {"@misc": "spacy.ngram_range_suggester.v1", "min_size": 1, "max_size": most}
    return {"suggester": suggester, "spans_key": KEY}


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
