"""SpanMarker with the same weights."""

from typing import Any

import torch
from serving import Runs, serve
from span_marker import SpanMarkerModel


def make(command: dict[str, Any]) -> Runs:
    torch.set_num_threads(command.get("threads", 1))
    labels = ["O", "A", "B", "C", "D"]
    model = SpanMarkerModel.from_pretrained(
        command["encoder"], labels=labels, model_max_length=256, entity_max_length=8
    ).eval()

    def of_texts(texts: list[str]) -> int:
        return sum(len(found) for found in model.predict(texts, batch_size=32))

    def alone(texts: list[str]) -> int:
        return sum(len(model.predict(text)) for text in texts)

    return {"texts": of_texts, "alone": alone}


if __name__ == "__main__":
    serve(make)
