"""The floor: the transformer of transformers alone, on pieces that are there beforehand, in batches of like length."""

import tempfile
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import torch
import transformers
from serving import Runs, main
from torch import Tensor

from nestling.config import embedded
from nestling.data import corpora
from nestling.data.batches import passages, shuffled
from nestling.data.features import PieceIndexer
from nestling.nn.int8 import quantize, transformer_ranges
from nestling.pretrained import FolderTokenizer
from nestling.settings import load_settings

BATCH_PIECES = 3000
Forward = Callable[[Tensor, Tensor], object]


def make(command: dict[str, Any]) -> Runs:
    torch.set_num_threads(command.get("threads", 1))
    transformers.logging.set_verbosity_error()
    folder = str(embedded())
    config = transformers.AutoConfig.from_pretrained(folder, attention_probs_dropout_prob=0.0)
    model = transformers.AutoModel.from_pretrained(folder, config=config, add_pooling_layer=False).eval()
    indexer = PieceIndexer(FolderTokenizer(embedded()), config.max_position_embeddings)
    run = ENGINES[command.get("engine", "torch")](model, command.get("threads", 1))
    ready: dict[int, list[Any]] = {}  # batches by the identity of what was asked for: tokenising is not counted

    def batches(texts: list[Any]) -> list[Any]:
        key = hash(str(texts[:1]) + str(len(texts)))
        if key not in ready:
            ready[key] = [indexer([[words] for words in batch]) for batch in by_length(texts, indexer.size)]
        return ready[key]

    def prepare(texts: list[Any]) -> int:
        return len(batches(texts))

    def forward(texts: list[Any]) -> int:
        with torch.inference_mode():
            for pieces in batches(texts):
                run(pieces.ids, pieces.mask)
        return 0

    steps = trained(model, indexer, command["config"]) if "config" in command else iter([])

    def train(texts: list[Any]) -> int:
        return sum(next(steps) for _ in texts)

    return {"prepare": prepare, "words": forward, "alone": forward, "train": train}


def trained(model: Any, indexer: PieceIndexer, config: str) -> Iterator[int]:
    """Steps of training on the batches that our models get, epoch by epoch; gives the words of each."""
    settings = load_settings(config, ["data.sentences=2000"])
    made = list(passages(corpora.first_sentences(corpora.load("genia", "train"), 0, 2000)))
    model.train()
    model.embeddings.requires_grad_(False)  # as in the configuration
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5, fused=True)
    size, seed = settings.training.batch_size, settings.training.seed
    for epoch in count():
        for batch in shuffled(made, sentences=size, seed=seed, epoch=epoch):
            pieces = indexer([[sentence.words for sentence in passage.sentences] for passage in batch])
            model(input_ids=pieces.ids, attention_mask=pieces.mask).last_hidden_state.square().mean().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            yield sum(passage.words for passage in batch)


def by_length(texts: list[Any], size: Callable[[tuple[str, ...]], int]) -> list[list[tuple[str, ...]]]:
    """Sentences, those of most pieces first, at most so many pieces a batch, padding counted."""
    batches: list[list[tuple[str, ...]]] = []
    for words in sorted((tuple(words) for text in texts for words in text), key=size, reverse=True):
        if not batches or size(batches[-1][0]) * (len(batches[-1]) + 1) > BATCH_PIECES:
            batches.append([])
        batches[-1].append(words)
    return batches


# Engines: the same transformer, run by other means


def of_torch(model: Any, _: int) -> Forward:
    return lambda ids, mask: model(input_ids=ids, attention_mask=mask)


def of_int8(model: Any, _: int) -> Forward:
    quantize(model, transformer_ranges(model))
    return of_torch(model, 0)


def of_onnx(model: Any, threads: int, *, is_int8: bool = False) -> Forward:
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    path = exported(model)
    if is_int8:
        small = path.with_name("int8.onnx")
        quantize_dynamic(path, small, weight_type=QuantType.QInt8, reduce_range=True, per_channel=True)
        path = small
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda ids, mask: session.run(None, {"ids": ids.numpy(), "mask": mask.long().numpy()})


def of_openvino(model: Any, threads: int) -> Forward:
    import openvino

    made = openvino.Core().compile_model(exported(model), "CPU", {"INFERENCE_NUM_THREADS": threads})
    request = made.create_infer_request()
    return lambda ids, mask: request.infer({"ids": ids.numpy(), "mask": mask.long().numpy()})


def exported(model: Any) -> Path:
    """The transformer as an ONNX file."""

    class Hidden(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
            return self.model(input_ids=ids, attention_mask=mask).last_hidden_state  # type: ignore[no-any-return]

    path = Path(tempfile.mkdtemp()) / "model.onnx"
    ids = torch.randint(1000, (2, 16))
    axes = {name: {0: "rows", 1: "pieces"} for name in ("ids", "mask", "hidden")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Hidden().eval(),
            (ids, torch.ones_like(ids)),
            str(path),
            input_names=["ids", "mask"],
            output_names=["hidden"],
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )
    return path


ENGINES: dict[str, Callable[[Any, int], Forward]] = {
    "torch": of_torch,
    "int8": of_int8,
    "onnx": of_onnx,
    "onnx int8": lambda model, threads: of_onnx(model, threads, is_int8=True),
    "openvino": of_openvino,
}

if __name__ == "__main__":
    main(make)
