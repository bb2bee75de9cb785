"""A linear-chain conditional random field in log space: Bundling Learning, equations 8 to 11.

A path's score is the sum of its emissions and of the transitions between neighbouring tags, with scores of its own for
the first and the last tag. Sentences are padded on the right.
"""

import torch
from torch import Tensor, nn


class CRF(nn.Module):
    """Transition scores between tags."""

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(tags, tags))  # (L, L) from, to
        self.starts = nn.Parameter(torch.zeros(tags))
        self.ends = nn.Parameter(torch.zeros(tags))

    def path_score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """The score of one path a sentence: (B,), from emissions (B, T, L) and tags (B, T)."""
        emitted = emissions.gather(2, tags.unsqueeze(2)).squeeze(2)  # (B, T)
        moved = self.transitions[tags[:, :-1], tags[:, 1:]]  # (B, T - 1)
        last = tags.gather(1, mask.sum(dim=1, keepdim=True) - 1).squeeze(1)  # (B,)
        return (emitted * mask).sum(1) + (moved * mask[:, 1:]).sum(1) + self.starts[tags[:, 0]] + self.ends[last]

    def log_partition(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The log of the sum over all paths: (B,)."""
        return torch.logsumexp(self._forward(emissions, mask)[:, -1] + self.ends, dim=1)

    def loss(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """The negative log-likelihood of the gold paths (equation 10): (B,)."""
        return self.log_partition(emissions, mask) - self.path_score(emissions, tags, mask)

    def marginals(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The probability of every tag at every word, over all paths: (B, T, L)."""
        forward, backward = self._forward(emissions, mask), self._backward(emissions, mask)
        return torch.softmax(forward + backward, dim=2)

    def best_paths(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The best path of every sentence by the Viterbi algorithm (equation 11): (B, T), 0 where padded."""
        score = self.starts + emissions[:, 0]  # (B, L)
        pointers = []
        for t in range(1, emissions.shape[1]):
            best, pointer = (score.unsqueeze(2) + self.transitions).max(dim=1)  # each (B, L)
            real = mask[:, t].unsqueeze(1)
            pointers.append(torch.where(real, pointer, torch.arange(score.shape[1], device=score.device)))
            score = torch.where(real, best + emissions[:, t], score)
        path = [(score + self.ends).argmax(dim=1)]  # (B,)
        for pointer in reversed(pointers):
            path.append(pointer.gather(1, path[-1].unsqueeze(1)).squeeze(1))
        return torch.stack(path[::-1], dim=1) * mask

    def _forward(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The log of the sum over paths up to each word, that word included; padding repeats the last: (B, T, L)."""
        sums = [self.starts + emissions[:, 0]]  # each (B, L)
        for t in range(1, emissions.shape[1]):
            moved = torch.logsumexp(sums[-1].unsqueeze(2) + self.transitions, dim=1) + emissions[:, t]
            sums.append(torch.where(mask[:, t].unsqueeze(1), moved, sums[-1]))
        return torch.stack(sums, dim=1)

    def _backward(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The log of the sum over paths behind each word: (B, T, L)."""
        sums = [self.ends.expand(emissions.shape[0], -1)]
        for t in range(emissions.shape[1] - 1, 0, -1):
            moved = torch.logsumexp(self.transitions + (emissions[:, t] + sums[-1]).unsqueeze(1), dim=2)  # (B, L)
            sums.append(torch.where(mask[:, t].unsqueeze(1), moved, sums[-1]))
        return torch.stack(sums[::-1], dim=1)
