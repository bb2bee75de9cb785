"""SpanMarker with the same weights, trained by its own trainer."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from serving import Row, Runs, flat, main, widest
from span_marker import SpanMarkerModel, Trainer
from span_marker.data_collator import SpanMarkerDataCollator
from transformers import TrainingArguments

WORD = re.compile(r"\w+|[^\w\s]")


class Trimmed(SpanMarkerDataCollator):
    """Batches without what nobody looks at: SpanMarker's own are always as long as the longest that are allowed."""

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        batch: dict[str, torch.Tensor] = super().__call__(features)
        longest = int((batch["start_marker_indices"] + 2 * batch["num_marker_pairs"]).max())  # P, even
        for name in ("input_ids", "position_ids"):  # (B, P)
            batch[name] = batch[name][:, :longest]
        batch["attention_mask"] = batch["attention_mask"][:, :longest, :longest]  # (B, P, P)
        if "labels" in batch:
            batch["labels"] = batch["labels"][:, : longest // 2].contiguous()  # (B, P / 2)
        return batch


class LikeLengths(Trainer):
    """A trainer whose steps are made of random texts, the small batches of a step of such that are about as long."""

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> "Steps":
        rows = train_dataset if train_dataset is not None else self.train_dataset
        return Steps(rows["num_spans"], self.args.train_batch_size * self.args.gradient_accumulation_steps)


class Steps(torch.utils.data.Sampler[int]):
    """Numbers of texts in random order, so many at a time by length."""

    def __init__(self, lengths: list[int], size: int) -> None:
        self.lengths, self.size = list(lengths), size

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        for step in torch.randperm(len(self.lengths)).split(self.size):
            yield from sorted(step.tolist(), key=self.lengths.__getitem__)


def trimmed(model: SpanMarkerModel) -> SpanMarkerModel:
    """The model, faster, with the same results."""
    model.data_collator = Trimmed(model.tokenizer, model.config.marker_max_length)
    return model


def make(command: dict[str, Any]) -> Runs:
    torch.set_num_threads(command.get("threads", 1))
    model = SpanMarkerModel.from_pretrained(command["model"]).eval()

    def of_texts(texts: list[str]) -> int:
        return sum(len(own) for own in model.predict(texts, batch_size=32))

    def alone(texts: list[str]) -> int:
        return sum(len(model.predict(text)) for text in texts)

    return {"texts": of_texts, "alone": alone}


def train(rows: list[Row], dev: list[Row], folder: Path, told: dict[str, Any]) -> None:
    """As many epochs as are told; the last one is kept, as dev takes it too long."""
    labels = sorted({e["label"] for row in rows for e in row["entities"]})
    tags = ["O", *(f"{mark}-{label}" for label in labels for mark in "BI")]
    lengths = [len(WORD.findall(row["text"][e["start"] : e["end"]])) for row in rows for e in flat(row["entities"])]
    model = SpanMarkerModel.from_pretrained(
        told["encoder"], labels=tags, model_max_length=256, entity_max_length=widest(lengths)
    )
    trimmed(model)
    arguments = TrainingArguments(
        output_dir=str(folder.parent / "states"),
        learning_rate=float(told.get("rate", 2e-4)),
        num_train_epochs=float(told.get("epochs", 3)),
        per_device_train_batch_size=4,  # with more, gigabytes
        gradient_accumulation_steps=8,
        warmup_ratio=0.1,
        seed=int(told.get("seed", 0)),
        save_strategy="epoch",
        save_total_limit=1,
        logging_steps=20,
        report_to=[],
        use_cpu=True,
    )
    data = Dataset.from_list([tagged(row, tags) for row in rows])
    trainer = LikeLengths(model=model, args=arguments, train_dataset=data)
    trainer.model_accepts_loss_kwargs = False  # it says that it does, and then does not average over small batches
    states = folder.parent / "states"
    trainer.train(resume_from_checkpoint=states.exists() and any(states.iterdir()))
    model.save_pretrained(folder)


def tagged(row: Row, tags: list[str]) -> dict[str, Any]:
    """Words and the numbers of their tags."""
    words, numbers = [], []
    entities = flat(row["entities"])
    for match in WORD.finditer(row["text"]):
        inside = next((e for e in entities if e["start"] <= match.start() < e["end"]), None)
        mark = "B" if inside and inside["start"] == match.start() else "I"
        words.append(match.group())
        numbers.append(tags.index(f"{mark}-{inside['label']}") if inside else 0)
    return {"tokens": words, "ner_tags": numbers}


def predict(folder: Path, texts: list[str]) -> list[list[Row]]:
    model = trimmed(SpanMarkerModel.from_pretrained(folder).eval())
    return [
        [{"start": e["char_start_index"], "end": e["char_end_index"], "label": e["label"]} for e in own]
        for own in model.predict(texts, batch_size=32)
    ]


if __name__ == "__main__":
    main(make, train, predict)
