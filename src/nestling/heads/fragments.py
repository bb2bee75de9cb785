"""SNG: a mention is read word by word. Span-level training (Qi, 2024), section 2, with what extraction needs added.

The words of a mention, its fragments joined, go through a BiLSTM; its outputs are weighed by their products with the
final state and summed; one linear layer gives the label. The paper labels mentions whose borders are given. With
negatives there is also a label for none, and every span of up to ε words is a candidate.

A span's forward states are the first states of a run from its first word, its backward states those of a run back from
its last word. So two runs of ε steps from every word read all spans, whatever their number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from nestling.heads.head import Given, Loss, Targets, labelled_spans
from nestling.nn.batch import Words
from nestling.nn.matching import drawn, paired
from nestling.nn.spans import mask_of, shifted, windows
from nestling.types import Entity, Labels


class FragmentsSettings(BaseModel):
    """Settings of the fragments head."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    widest: int | None = Field(
        default=None, ge=1, le=10_000, description="ε; by default the smallest that covers 99 % of train"
    )
    negatives: int = Field(
        default=100, ge=0, description="spans without a label, a sentence and epoch; 0 as in the paper"
    )
    size: int = Field(default=200, ge=1, le=65_536, description="of the LSTM's states, each way")
    context: int = Field(default=0, ge=0, le=1000, description="words before and behind the mention that count too")
    dropout: float = Field(default=0.0, ge=0, lt=1)


@dataclass(frozen=True, slots=True)
class Reading:
    """Words, and the means of the words before and behind each."""

    vectors: Tensor  # (B, T, D)
    before: Tensor | None  # (B, T, D) of the words before a word
    behind: Tensor | None  # (B, T, D) of the words behind a word
    mask: Tensor  # (B, T)


class FragmentsHead(nn.Module):
    """An LSTM each way, attention, and one linear layer."""

    finds_nested, finds_gaps = True, False

    def __init__(self, size: int, labels: Labels, settings: FragmentsSettings) -> None:
        super().__init__()
        if settings.widest is None:
            raise ValueError("widest must be known when the head is made")
        self.labels, self.widest, self.settings = labels, settings.widest, settings
        self.widths = frozenset(range(1, self.widest + 1))
        self.forwards = nn.LSTM(size, settings.size, batch_first=True)
        self.backwards = nn.LSTM(size, settings.size, batch_first=True)
        self.dropout = nn.Dropout(settings.dropout)
        self._inputs = [settings.size] * 2 + ([size] * 2 if settings.context else [])  # each way; before, behind
        self.out = nn.Linear(sum(self._inputs), 1 + len(labels))

    def forward(self, words: Words) -> Reading:
        vectors = self.dropout(words.vectors)
        if not self.settings.context:
            return Reading(vectors, None, None, words.mask)
        real = vectors * words.mask.unsqueeze(-1)
        return Reading(
            vectors,
            _means(real, words.mask, -self.settings.context),
            _means(real, words.mask, self.settings.context),
            words.mask,
        )

    # Mentions of any sort, one by one

    def mention_logits(self, reading: Reading, mentions: Sequence[Given]) -> Tensor:
        """Scores of labels (S, 1 + L); label 0 is none."""
        if not mentions:
            return self._no_logits(reading)
        places = [[n for span in fragments for n in range(span.start, span.end)] for _, fragments in mentions]
        lengths = torch.tensor([len(place) for place in places])
        table = torch.zeros(len(places), int(lengths.max()), dtype=torch.long)  # (S, M)
        turned = table.clone()
        for n, place in enumerate(places):
            table[n, : len(place)] = torch.tensor(place)
            turned[n, : len(place)] = torch.tensor(place[::-1])
        device = reading.vectors.device
        sentence = torch.tensor([row for row, _ in mentions], device=device)
        return self._logits(reading, sentence, table.to(device), turned.to(device), lengths)

    def span_logits(self, reading: Reading, spans: Tensor) -> Tensor:
        """The same for a flat list of spans (S, 3); where they have many words, all spans of up to ε are reckoned."""
        if not len(spans):
            return self._no_logits(reading)
        lengths = spans[:, 2] - spans[:, 1]
        is_long = lengths > self.widest
        short = spans[~is_long]
        if int(lengths[~is_long].sum()) <= reading.mask.numel() * min(self.widest, reading.mask.shape[1]):
            return self._each(reading, spans)
        found = self.all_logits(reading)[short[:, 0], lengths[~is_long] - 1, short[:, 1]]
        if not is_long.any():
            return found
        places = torch.cat([(~is_long).nonzero(), is_long.nonzero()]).squeeze(1)  # (S,)
        return torch.cat([found, self._each(reading, spans[is_long])])[places.argsort()]

    def _each(self, reading: Reading, spans: Tensor) -> Tensor:
        sentence, start, end = spans.unbind(1)
        lengths = end - start
        steps = torch.arange(int(lengths.max()), device=spans.device)  # (M,)
        table = torch.minimum(start.unsqueeze(1) + steps, (end - 1).unsqueeze(1))  # (S, M)
        turned = torch.maximum((end - 1).unsqueeze(1) - steps, start.unsqueeze(1))
        return self._logits(reading, sentence, table, turned, lengths.cpu())

    def _logits(self, reading: Reading, sentence: Tensor, table: Tensor, turned: Tensor, lengths: Tensor) -> Tensor:
        width = reading.vectors.shape[1]
        ahead, back = (
            _run(lstm, reading.vectors, sentence.unsqueeze(1) * width + places, lengths)
            for lstm, places in ((self.forwards, table), (self.backwards, turned))
        )  # (S, M, H)
        last = lengths.to(table.device) - 1  # (S,)
        steps, numbers = (torch.arange(count, device=table.device) for count in (table.shape[1], len(table)))
        order = (last.unsqueeze(1) - steps).clamp(min=0)  # (S, M)
        back = back.gather(1, order.unsqueeze(-1).expand_as(back))  # in the order of words
        mask = steps <= last.unsqueeze(1)  # (S, M)
        attended = _attended(ahead, back, ahead[numbers, last], back[:, 0], mask)  # (S, 2 H)
        first, end = table[:, 0], table[numbers, last]
        return self.out(self._with_context(reading, attended, sentence, first, end))  # type: ignore[no-any-return]

    def _no_logits(self, reading: Reading) -> Tensor:
        """Those of no mention (0, 1 + L): nothing is learnt from them, but a step can be made."""
        return self.out(reading.vectors.new_zeros(0, self.out.in_features))  # type: ignore[no-any-return]

    def _with_context(
        self, reading: Reading, attended: Tensor, sentence: Tensor, first: Tensor, last: Tensor
    ) -> Tensor:
        if reading.before is None or reading.behind is None:
            return attended
        return torch.cat([attended, reading.before[sentence, first], reading.behind[sentence, last]], dim=-1)

    # Learning

    def loss(self, output: Reading, targets: Targets) -> dict[str, Loss]:
        """The cross-entropy of gold mentions, joined where they are discontinuous, and of drawn spans."""
        spans, labels = targets.spans[:, :3], 1 + targets.spans[:, 3]
        if self.settings.negatives:
            every = windows(output.mask, range(1, self.widest + 1))
            _, overlap = paired(every, spans)
            every = every[overlap < 1]
            none = torch.zeros(len(every), dtype=torch.bool, device=every.device)
            others = every[drawn(every, none, targets.seeds, ratio=0, least=self.settings.negatives)]
            spans = torch.cat([spans, others])
            labels = torch.cat([labels, labels.new_zeros(len(others))])
        logits = self.span_logits(output, spans)
        joined = self.mention_logits(output, [(row, entity.fragments) for row, entity in targets.discontinuous])
        theirs = [1 + self.labels.index(entity.label) for _, entity in targets.discontinuous]
        gold = torch.cat([labels, labels.new_tensor(theirs)])
        sentence = torch.cat([spans[:, 0], labels.new_tensor([row for row, _ in targets.discontinuous])])
        every_logit = targets.without_unknown(torch.cat([logits, joined]), sentence)
        if not self.settings.negatives:
            return {"fragments": _labels_only(every_logit, gold)}
        wrong = nn.functional.cross_entropy(every_logit, gold, reduction="sum")
        return {"fragments": Loss(wrong, torch.tensor(len(gold), device=gold.device))}

    # Use

    def candidates(self, output: Reading) -> list[list[Entity]]:
        """Every span of up to ε words whose best label is not none."""
        logits = self.all_logits(output)
        return labelled_spans(logits, mask_of(output.mask, logits.shape[1]), self.labels)

    def all_logits(self, output: Reading) -> Tensor:
        """Scores of labels for all spans of up to ε words: (B, W, T, 1 + L).

        The last layer is linear, so states are mapped to labels before they are weighed and summed: a few numbers
        instead of a state. Products of states with final ones are those among the states of a run.
        """
        vectors = output.vectors
        size, words = vectors.shape[:2]
        widest = min(self.widest, words)
        ahead = _runs(self.forwards, vectors, widest)  # (B, T, W, H) from a word on
        back = _runs(self.backwards, vectors.flip(1), widest).flip(1)  # (B, T, W, H) back from a word
        of_ahead, of_back, *of_context = torch.split(self.out.weight, self._inputs, dim=1)  # each (1 + L, …)
        said, told = ahead @ of_ahead.T, back @ of_back.T  # (B, T, W, 1 + L)
        near, far = ahead @ ahead.transpose(2, 3), back @ back.transpose(2, 3)  # (B, T, W, W)
        before = output.before @ of_context[0].T if output.before is not None else None  # (B, T, 1 + L)
        behind = output.behind @ of_context[1].T if output.behind is not None else None
        logits = self.out.bias.expand(size, widest, words, -1).clone()
        for width in range(1, widest + 1):
            starts, last = words - width + 1, width - 1
            scores = near[:, :starts, last, :width] + far[:, last:, last, :width].flip(-1)  # (B, T - last, width)
            values = said[:, :starts, :width] + told[:, last:, :width].flip(2)  # (B, T - last, width, 1 + L)
            logits[:, last, :starts] += (scores.softmax(dim=-1).unsqueeze(-1) * values).sum(dim=2)
            if before is not None and behind is not None:
                logits[:, last, :starts] += before[:, :starts] + behind[:, last:]
        return logits

    def given_labels(self, output: Reading, mentions: Sequence[Given]) -> Tensor:
        """Probabilities of the labels of mentions whose borders are given, none left out: (S, L)."""
        return self.mention_logits(output, mentions)[:, 1:].float().softmax(dim=1)


def _attended(ahead: Tensor, back: Tensor, last: Tensor, first: Tensor, mask: Tensor | None = None) -> Tensor:
    """Outputs (…, M, H) each way, weighed by their products with the final states (…, H): (…, 2 H)."""
    scores = (ahead @ last.unsqueeze(-1) + back @ first.unsqueeze(-1)).squeeze(-1)  # (…, M)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1).unsqueeze(-2)  # (…, 1, M)
    return torch.cat([weights @ ahead, weights @ back], dim=-1).squeeze(-2)


def _run(lstm: nn.LSTM, vectors: Tensor, places: Tensor, lengths: Tensor) -> Tensor:
    """The outputs (S, M, H) of mentions, whose words are at `places` (S, M) of the flattened `vectors` (B, T, D).

    What is longer costs more, nothing is padded. What a word brings in is reckoned once, however many mentions have it.
    """
    words = vectors.flatten(0, 1)  # (B T, D)
    packed = pack_padded_sequence(places, lengths, batch_first=True, enforce_sorted=False)
    if len(packed.data) > len(words):
        brought = _brought(lstm, words).index_select(0, packed.data)  # (N, 4 H)
    else:
        brought = _brought(lstm, words.index_select(0, packed.data))
    state = cell = vectors.new_zeros(len(places), lstm.hidden_size)
    states = []
    for own in torch.split(brought, packed.batch_sizes.tolist()):  # a step of all mentions that are long enough
        state, cell = _step(lstm, own, state[: len(own)], cell[: len(own)])
        states.append(state)
    outputs = PackedSequence(torch.cat(states), packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
    return pad_packed_sequence(outputs, batch_first=True, total_length=places.shape[1])[0]


def _runs(lstm: nn.LSTM, vectors: Tensor, steps: int) -> Tensor:
    """The states of runs of so many steps from every word on (B, T, W, H); what a word brings in is reckoned once."""
    brought = _brought(lstm, vectors)  # (B, T, 4 H)
    state = cell = vectors.new_zeros(*vectors.shape[:2], lstm.hidden_size)
    states = []
    for by in range(steps):
        state, cell = _step(lstm, shifted(brought, by), state, cell)
        states.append(state)
    return torch.stack(states, dim=2)


def _brought(lstm: nn.LSTM, vectors: Tensor) -> Tensor:
    """What words (…, D) bring into the gates: (…, 4 H)."""
    of_word, _, *biases = lstm.parameters()  # (4 H, D), two of (4 H,)
    return nn.functional.linear(vectors, of_word, biases[0] + biases[1])


def _step(lstm: nn.LSTM, brought: Tensor, state: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """The next state and cell (…, H)."""
    _, of_state, *_ = lstm.parameters()  # (4 H, H)
    gates = brought + nn.functional.linear(state, of_state)
    into, keep, new, out = gates.chunk(4, dim=-1)
    cell = keep.sigmoid() * cell + into.sigmoid() * new.tanh()
    return out.sigmoid() * cell.tanh(), cell


def _means(vectors: Tensor, mask: Tensor, reach: int) -> Tensor:
    """The means of up to `reach` words behind each word, or before it where that is negative: (B, T, D)."""
    steps = range(1, min(abs(reach), vectors.shape[1]) + 1)
    real = mask.unsqueeze(-1).to(vectors.dtype)  # (B, T, 1)

    def moved(source: Tensor, by: int) -> Tensor:
        return shifted(source, by) if reach > 0 else shifted(source.flip(1), by).flip(1)

    total = torch.stack([moved(vectors, by) for by in steps]).sum(dim=0)
    count = torch.stack([moved(real, by) for by in steps]).sum(dim=0)
    return total / count.clamp(min=1)


def _labels_only(logits: Tensor, gold: Tensor) -> Loss:
    """The loss of the paper: labels alone, there is no none."""
    wrong = nn.functional.cross_entropy(logits[:, 1:], gold - 1, reduction="sum")
    return Loss(wrong, torch.tensor(len(gold), device=gold.device))
