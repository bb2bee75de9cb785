"""The floor: the transformer alone, on pieces that are tokenised beforehand, in batches of like length."""

from typing import Any

import torch
import transformers
from serving import Runs, serve

from nestling.config import embedded
from nestling.data.features import PieceIndexer

BATCH_WORDS = 2048


def make(command: dict[str, Any]) -> Runs:
    torch.set_num_threads(command.get("threads", 1))
    transformers.logging.set_verbosity_error()
    folder = str(embedded())
    config = transformers.AutoConfig.from_pretrained(folder, attention_probs_dropout_prob=0.0)
    model = transformers.AutoModel.from_pretrained(folder, config=config)
    indexer = PieceIndexer(transformers.AutoTokenizer.from_pretrained(folder), config.max_position_embeddings)
    ready: dict[int, list[Any]] = {}  # batches by the identity of what was asked for: tokenising is not counted

    def batches(texts: list[Any]) -> list[Any]:
        key = hash(str(texts[:1]) + str(len(texts)))
        if key not in ready:
            ready[key] = [indexer([[tuple(words)] for words in batch]) for batch in by_length(texts)]
        return ready[key]

    def prepare(texts: list[Any]) -> int:
        return len(batches(texts))

    def forward(texts: list[Any]) -> int:
        model.eval()
        with torch.inference_mode():
            for pieces in batches(texts):
                model(input_ids=pieces.ids, attention_mask=pieces.mask)
        return 0

    def train(texts: list[Any]) -> int:
        model.train()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
        words = 0
        for start in range(0, len(texts), 32):
            batch = sorted(texts, key=lambda text: sum(map(len, text)))[start : start + 32]
            pieces = indexer([[tuple(words)] for text in batch for words in text])
            model(input_ids=pieces.ids, attention_mask=pieces.mask).last_hidden_state.square().mean().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            words += sum(len(own) for text in batch for own in text)
        return words

    return {"prepare": prepare, "words": forward, "alone": forward, "train": train}


def by_length(texts: list[Any]) -> list[list[list[str]]]:
    """Sentences, longest first, at most so many words a batch, padding counted."""
    batches: list[list[list[str]]] = []
    for words in sorted((words for text in texts for words in text), key=len, reverse=True):
        if not batches or len(batches[-1][0]) * (len(batches[-1]) + 1) > BATCH_WORDS:
            batches.append([])
        batches[-1].append(words)
    return batches


if __name__ == "__main__":
    serve(make)
