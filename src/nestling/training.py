"""Training: a generator over steps.

Everything that happens depends on the settings and on where training stands (`Progress`), so that a run that is killed
and resumed ends with the weights of one that was not.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from accelerate import Accelerator
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from nestling.data.batches import Batcher, Passage, shuffled
from nestling.errors import TrainingError
from nestling.heads.head import Loss
from nestling.masking import MaskedWords
from nestling.model import Model
from nestling.nn.encoders import Transformer


class TrainingSettings(BaseModel):
    """Settings of training."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epochs: int = Field(default=20, ge=1)
    batch_size: int = Field(default=16, ge=1, description="sentences a step, over all processes")
    batch_words: int | None = Field(
        default=None, ge=1, description="words a step at most, padding counted: long sentences take less memory"
    )
    encoder_rate: float = Field(default=1e-4, gt=0, description="of pretrained transformers")
    head_rate: float = Field(default=1e-3, gt=0, description="of everything else")
    warm_up: float = Field(default=0.1, ge=0, lt=1, description="share of steps")
    decay: float = Field(default=0.01, ge=0, allow_inf_nan=False)
    clip: float = Field(default=1.0, gt=0)
    measure: Literal["f1", "given_spans"] = Field(
        default="f1", description="of dev, picks the best epoch: strict F1, or the accuracy of labels of given spans"
    )
    average: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="what the mean of weights keeps of itself at each step, which is what is judged and saved; 0: none",
    )
    patience: int | None = Field(default=None, ge=1, description="epochs without a better dev score before it stops")
    seed: int = Field(default=0, ge=0, lt=2**32)
    order: int | None = Field(
        default=None, ge=0, lt=2**32, description="seed of order and draws, if not `seed`: begins with the same weights"
    )
    precision: Literal["no", "fp16", "bf16"] = "no"

    @property
    def draws(self) -> int:
        """The seed of everything that happens behind the beginning."""
        return self.seed if self.order is None else self.order


@dataclass(frozen=True, slots=True)
class Progress:
    """Where training stands: what must be saved, beside weights and optimiser, to go on exactly."""

    epoch: int = 0
    batch: int = 0  # the next one of the epoch
    step: int = 0  # done so far
    best: float = -1.0
    best_epoch: int = -1


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the optimiser; `score` is that of dev where an epoch ends."""

    progress: Progress  # behind this step
    share: float  # of the phase that is done
    losses: dict[str, float] = field(default_factory=dict)
    words: int = 0
    score: float | None = None
    is_best: bool = False
    phase: Literal["pretraining", "training"] = "training"


def optimizer_of(model: nn.Module, settings: TrainingSettings) -> torch.optim.AdamW:
    """AdamW with a rate for pretrained transformers and one for the rest; biases and norms do not decay.

    Pretrained embeddings do not decay either: those of pieces that training never meets stay what they are.
    """
    transformers = [part for part in model.modules() if isinstance(part, Transformer)]
    pretrained = {id(p) for part in transformers for p in part.parameters()}
    embeddings = {id(own.weight) for part in transformers for own in part.modules() if isinstance(own, nn.Embedding)}
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            rate = settings.encoder_rate if id(parameter) in pretrained else settings.head_rate
            is_kept = parameter.ndim == 1 or name.endswith("bias") or id(parameter) in embeddings
            decay = 0.0 if is_kept else settings.decay
            groups.setdefault((rate, decay), []).append(parameter)
    return torch.optim.AdamW(
        [{"params": own, "lr": rate, "rate": rate, "weight_decay": decay} for (rate, decay), own in groups.items()],
        fused=True,  # one pass over the weights, not a dozen
    )


class Average:
    """The running mean of the weights that are trained (Polyak averaging); the last ones count most."""

    def __init__(self, model: nn.Module, keeps: float) -> None:
        self.model, self.keeps = model, keeps
        self.weights = {name: p.detach().clone() for name, p in model.named_parameters() if p.requires_grad and keeps}

    def add(self, step: int) -> None:
        """Counts the weights as they are behind a step; those of the first steps are soon forgotten."""
        keeps = min(self.keeps, step / (step + 10))
        for name, parameter in self.model.named_parameters():
            if name in self.weights:
                self.weights[name].lerp_(parameter.detach(), 1 - keeps)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The model has the mean while the block runs."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for name, parameter in self.model.named_parameters():
            if name in self.weights:
                parameter.data, self.weights[name] = self.weights[name], parameter.data


def rate_at(share: float, warm_up: float) -> float:
    """What rates are multiplied by when this share of training is done: up to 1, then down to 0, both linearly."""
    if share < warm_up:
        return share / warm_up
    return (1 - share) / (1 - warm_up)


class Trainer:
    """A model, what it learns from in each epoch, and where it stands."""

    def __init__(
        self,
        model: Model | MaskedWords,
        passages: Callable[[int], Sequence[Passage]],
        batcher: Batcher,
        settings: TrainingSettings,
        accelerator: Accelerator | None = None,
    ) -> None:
        self.model, self.passages, self.batcher, self.settings = model, passages, batcher, settings
        self.accelerator = accelerator or Accelerator(cpu=True)
        self.optimizer = optimizer_of(model, settings)
        self.average = Average(model, settings.average)
        self.progress = Progress()

    def steps(self, evaluate: Callable[[], float]) -> Iterator[Step]:
        """Trains, giving every step; at the end of an epoch dev is scored. The caller saves what it wants to keep."""
        wrapped, optimizer = self.accelerator.prepare(self.model, self.optimizer)
        while self.progress.epoch < self.settings.epochs and not self._is_patience_over():
            own = self.settings
            batches = shuffled(
                self.passages(self.progress.epoch),
                sentences=own.batch_size,
                words=own.batch_words,
                seed=own.draws,
                epoch=self.progress.epoch,
            )
            self.model.train()
            for batch in batches[self.progress.batch :]:
                self._set_rates(len(batches))
                losses = self._learn(wrapped, optimizer, batch)
                self.progress = replace(self.progress, batch=self.progress.batch + 1, step=self.progress.step + 1)
                self.average.add(self.progress.step)
                yield Step(
                    self.progress,
                    (self.progress.epoch + self.progress.batch / len(batches)) / own.epochs,
                    losses,
                    sum(passage.words for passage in batch),
                )
            self.model.eval()
            with self.average.in_place():
                score = evaluate()
            yield self._scored(score)

    def _learn(
        self, wrapped: nn.Module, optimizer: torch.optim.Optimizer, batch: Sequence[Passage]
    ) -> dict[str, float]:
        """One step of the optimiser on this process's share of a batch; gives the mean losses over all processes."""
        process, processes = self.accelerator.process_index, self.accelerator.num_processes
        own = batch[process::processes]
        seed, epoch = self.settings.draws, self.progress.epoch
        torch.manual_seed(hash((seed, self.progress.step, process)) % 2**63)  # of dropout: nothing to save
        device = self.accelerator.device
        inputs = self.batcher.batch(own or batch[:1]).to(device)
        targets = self.batcher.targets(own or batch[:1], seed=seed, epoch=epoch).to(device)
        with self.accelerator.autocast():
            losses = wrapped(inputs, targets)
        means = self._means(losses, 1.0 if own else 0.0)
        total = self.model.total(means)
        self._require_finite("loss", total)
        self.accelerator.backward(total * processes)
        norm = self.accelerator.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        if norm is not None and self.accelerator.scaler is None:  # a scaler leaves such a step out by itself
            self._require_finite("gradient", norm)  # before the weights are touched
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        whole = {name: self.accelerator.reduce(mean.detach(), "sum") for name, mean in means.items()}
        return {name: float(mean) for name, mean in whole.items()} | {"total": float(self.model.total(whole))}

    def _require_finite(self, name: str, value: Tensor) -> None:
        if not torch.isfinite(value):
            raise TrainingError(
                f"the {name} is {value.item()} in epoch {self.progress.epoch + 1}, step {self.progress.step + 1}; "
                "go on from the last save with --resume and a lower training.encoder_rate or training.head_rate"
            )

    def _means(self, losses: Mapping[str, Loss], share: float) -> dict[str, Tensor]:
        """This process's part of the means over all processes."""
        means = {}
        for name, loss in losses.items():
            count = self.accelerator.reduce(loss.terms * share, "sum")
            means[name] = share * loss.total / count.clamp(min=1)
        return means

    def _set_rates(self, batches: int) -> None:
        share = (self.progress.epoch + (self.progress.batch + 1) / (batches + 1)) / self.settings.epochs
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * rate_at(share, self.settings.warm_up)

    def _scored(self, score: float) -> Step:
        is_best = score > self.progress.best
        best = {"best": score, "best_epoch": self.progress.epoch} if is_best else {}
        self.progress = replace(self.progress, epoch=self.progress.epoch + 1, batch=0, **best)  # type: ignore[arg-type]
        return Step(self.progress, self.progress.epoch / self.settings.epochs, score=score, is_best=is_best)

    def _is_patience_over(self) -> bool:
        patience = self.settings.patience
        return patience is not None and self.progress.epoch - 1 - self.progress.best_epoch >= patience
