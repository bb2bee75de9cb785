"""Token classification with transformers alone: a linear layer, BIO tags of the first piece of each word."""

import re
import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from serving import Row, Runs, batches, f1, flat, main

transformers.logging.set_verbosity_error()
WORD = re.compile(r"\w+|[^\w\s]")


def make(command: dict[str, Any]) -> Runs:
    """The pipeline that most people use."""
    torch.set_num_threads(command.get("threads", 1))
    tokenizer = transformers.AutoTokenizer.from_pretrained(command["model"])
    model = transformers.AutoModelForTokenClassification.from_pretrained(command["model"])
    made = transformers.pipeline("token-classification", model=model, tokenizer=tokenizer, aggregation_strategy="first")

    def of_texts(texts: list[str]) -> int:
        return sum(len(found) for found in made(texts, batch_size=32))

    def alone(texts: list[str]) -> int:
        return sum(len(made(text)) for text in texts)

    return {"texts": of_texts, "alone": alone}


def train(rows: list[Row], dev: list[Row], folder: Path, told: dict[str, Any]) -> None:
    """As many epochs as are told, at a rate that falls; the epoch that is best on dev is kept."""
    transformers.set_seed(int(told.get("seed", 0)))
    labels = sorted({e["label"] for row in rows for e in row["entities"]})
    tags = ["O", *(f"{mark}-{label}" for label in labels for mark in "BI")]
    tokenizer = transformers.AutoTokenizer.from_pretrained(told["encoder"])
    model = transformers.AutoModelForTokenClassification.from_pretrained(
        told["encoder"], num_labels=len(tags), id2label=dict(enumerate(tags))
    )
    epochs = int(told.get("epochs", 5))
    steps = epochs * -(-len(rows) // 32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=float(told.get("rate", 2e-4)), fused=True)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
    best = -1.0
    for epoch in range(epochs):
        model.train()
        for batch in batches(rows, 32, epoch):
            pieces = tokenizer([row["text"] for row in batch], padding=True, truncation=True, return_tensors="pt")
            loss = model(**pieces, labels=targets(pieces, batch, tags)).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        score = f1(dev, found(model, tokenizer, [row["text"] for row in dev]))
        print(f"epoch {epoch + 1}: dev F1 {score:.2f}", file=sys.stderr, flush=True)
        if score > best:
            best = score
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)


def targets(pieces: Any, rows: list[Row], tags: list[str]) -> torch.Tensor:
    """Tags (B, P) of first pieces; others do not count."""
    made = torch.full(pieces["input_ids"].shape, -100)
    for n, row in enumerate(rows):
        entities = flat(row["entities"])
        for match in WORD.finditer(row["text"]):
            piece = pieces.char_to_token(n, match.start())
            if piece is None:
                continue
            inside = [e for e in entities if e["start"] <= match.start() < e["end"]]
            mark = ("B-" if not inside or match.start() == inside[0]["start"] else "I-") if inside else ""
            made[n, piece] = tags.index(mark + inside[0]["label"]) if inside else 0
    return made


def predict(folder: Path, texts: list[str]) -> list[list[Row]]:
    model = transformers.AutoModelForTokenClassification.from_pretrained(folder)
    return found(model, transformers.AutoTokenizer.from_pretrained(folder), texts)


def found(model: Any, tokenizer: Any, texts: list[str]) -> list[list[Row]]:
    """The entities that the tags of words make."""
    model.eval()
    made: list[list[Row]] = []
    for start in range(0, len(texts), 32):
        batch = texts[start : start + 32]
        pieces = tokenizer(batch, padding=True, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            best = model(**pieces).logits.argmax(dim=-1)  # (B, P)
        names = [[model.config.id2label[n] for n in row] for row in best.tolist()]
        made += [entities(text, pieces, n, names[n]) for n, text in enumerate(batch)]
    return made


def entities(text: str, pieces: Any, n: int, names: list[str]) -> list[Row]:
    """What the tags of a text's first pieces make; text behind the last piece has none."""
    rows: list[Row] = []
    is_open = False
    for match in WORD.finditer(text):
        piece = pieces.char_to_token(n, match.start())
        mark, _, label = ("O" if piece is None else names[piece]).partition("-")
        if mark == "I" and is_open and rows[-1]["label"] == label:
            rows[-1]["end"] = match.end()
        elif mark != "O":
            rows.append({"start": match.start(), "end": match.end(), "label": label})
        is_open = mark != "O"
    return rows


if __name__ == "__main__":
    main(make, train, predict)
