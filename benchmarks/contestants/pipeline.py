"""The token-classification pipeline of transformers with the same weights; needs nestling for nothing."""

from typing import Any

import torch
import transformers
from serving import Runs, serve


def make(command: dict[str, Any]) -> Runs:
    torch.set_num_threads(command.get("threads", 1))
    transformers.logging.set_verbosity_error()
    tokenizer = transformers.AutoTokenizer.from_pretrained(command["encoder"])
    model = transformers.AutoModelForTokenClassification.from_pretrained(command["encoder"], num_labels=9)
    made = transformers.pipeline(
        "token-classification", model=model, tokenizer=tokenizer, aggregation_strategy="simple"
    )

    def of_texts(texts: list[str]) -> int:
        return sum(len(found) for found in made(texts, batch_size=32))

    def alone(texts: list[str]) -> int:
        return sum(len(made(text)) for text in texts)

    return {"texts": of_texts, "alone": alone}


if __name__ == "__main__":
    serve(make)
