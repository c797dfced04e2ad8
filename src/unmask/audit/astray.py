"""Another attention under which a model says the same (Jain & Wallace 2019)."""

from __future__ import annotations

from itertools import combinations

import torch
from torch import Tensor

from unmask import distances
from unmask.audit.looking import ALIKE, BATCH, Seen
from unmask.nets.attention import masked_softmax

__all__ = ["led_astray"]

CANDIDATES = 5  # adversarial attentions for each row, as published
STEPS, RATE = 100, 0.05  # of the search for them; the paper's 500 steps of .01 find as much in five times the time
SPREAD = 3.0  # of the logits they start from, as published
PENALTY = 500.0  # of a change of the answer, as published
STAY = 0.01  # change of the answer that is not punished


def led_astray(s: Seen, rng: torch.Generator) -> Tensor:
    """(n,) the largest JSD to an attention under which the answer is the same; 0 where no candidate keeps it."""
    parts = (t.split(BATCH) for t in (s.x, s.valid, s.w, s.p))
    found = [_led_astray(s, x, valid, w, p, rng) for x, valid, w, p in zip(*parts, strict=True)]
    return torch.cat(found)


def _led_astray(s: Seen, x: Tensor, valid: Tensor, w: Tensor, p: Tensor, rng: torch.Generator) -> Tensor:
    """Adam on the logits of all candidates of some rows at once."""
    there, old, said = (t.to(x.device).repeat(CANDIDATES, 1) for t in (valid, w, p))
    with torch.no_grad():
        states = s.model.attend(x.repeat(CANDIDATES, *[1] * (x.ndim - 1)))[1]
    logits = (SPREAD * torch.randn(there.shape, generator=rng)).to(x.device).requires_grad_()
    stepper = torch.optim.Adam([logits], lr=RATE, amsgrad=True)

    def now() -> tuple[Tensor, Tensor, Tensor]:
        weights = masked_softmax(logits, there)
        moved = distances.tvd(s.probabilities(s.model.answer(states, weights)), said)
        return weights, distances.jsd(weights, old, there), moved

    for _ in range(STEPS):
        weights, far, moved = now()
        loss = (PENALTY * (moved - STAY).relu() - far).sum() - _apart(weights, valid.to(x.device)).sum()
        logits.grad = torch.autograd.grad(loss, logits)[0]
        stepper.step()
    with torch.no_grad():
        _, far, moved = now()
    return torch.where(moved <= ALIKE, far, 0.0).view(CANDIDATES, -1).amax(0).cpu()


def _apart(weights: Tensor, valid: Tensor) -> Tensor:
    """(n,) mean JSD between the candidates of a row."""
    each = weights.view(CANDIDATES, *valid.shape)
    pairs = combinations(range(CANDIDATES), 2)
    return torch.stack([distances.jsd(each[i], each[j], valid) for i, j in pairs]).mean(0)
