"""Differentiable draws: scores over units -> masks that gradients can pass through."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from unmask.masking import subsets
from unmask.masking.highest import gumbel, highest_share

__all__ = [
    "DRAWS",
    "bernoulli",
    "gumbel_topk",
    "k_hot",
    "log_bernoulli",
    "log_softmax",
    "noisy_logit_max",
    "rebar",
    "soft_topk",
]

BISECTIONS = 40  # halvings of the range in which the threshold of a soft top-k lies
LARGE = 1e9  # far below any score: a unit so marked is never drawn, and differences stay finite


def log_softmax(scores: Tensor, valid: Tensor) -> Tensor:
    """log softmax over the valid units of each row; the others have no share."""
    return scores.float().masked_fill(~valid, -LARGE).log_softmax(1)


def k_hot(scores: Tensor, k: int, tau: float, rng: torch.Generator, valid: Tensor) -> Tensor:
    """Relaxed k-hot of L2X: v_j = max over k draws of softmax_j((s_j + gumbel) / tau), in (0, 1).

    The draws are independent, that is with replacement: rows sum to at most k. Rows with at most k valid units get all
    of them. Chen et al. 2018, "Learning to Explain".
    """
    s = scores.float().masked_fill(~valid, -LARGE)
    v = highest_share(s, k, tau, rng)
    full = valid.sum(1, keepdim=True) <= k
    return torch.where(full, torch.ones_like(v), v) * valid


def noisy_logit_max(scores: Tensor, k: int, tau: float, rng: torch.Generator, valid: Tensor) -> Tensor:
    """The relaxation of MEED's released image code: the maximum over k draws of (s + gumbel) / tau, not of its softmax.

    Unbounded: a kept unit may count many times over and its complement be negative. Published results on images come
    from it; Eq. 5 of the paper is `k_hot`.
    """
    s = scores.float()
    noise = gumbel((len(s), k, s.shape[1]), rng).to(s.device)
    return (s + noise.amax(1)) / tau * valid


def soft_topk(scores: Tensor, k: int, tau: float, rng: torch.Generator, valid: Tensor) -> Tensor:
    """k units drawn without replacement, relaxed: v_j = sigmoid((s_j + gumbel - t) / tau), t such that rows sum to k.

    The k highest of v are the k highest of s + gumbel: what is relaxed is the draw that is made hard, where `k_hot`
    shows the fewer units the surer the scores are. The derivative of t is the exact one (implicit function).
    """
    noisy = _noisy(scores, rng, valid)
    k_row = subsets.counts(valid, k)[:, None].to(noisy)
    with torch.no_grad():
        low = noisy.masked_fill(~valid, torch.inf).amin(1, keepdim=True).clamp(max=LARGE) - 40 * tau
        high = noisy.amax(1, keepdim=True) + 40 * tau
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            above = (torch.sigmoid((noisy - middle) / tau) * valid).sum(1, keepdim=True) > k_row
            low, high = torch.where(above, middle, low), torch.where(above, high, middle)
        t = (low + high) / 2
        v = torch.sigmoid((noisy - t) / tau) * valid
        slope = (v * (1 - v)).sum(1, keepdim=True) / tau
    excess = (torch.sigmoid((noisy - t) / tau) * valid).sum(1, keepdim=True) - k_row  # zero but for its derivative
    t = t + excess / slope.clamp(min=1e-6)
    v = torch.sigmoid((noisy - t) / tau) * valid
    full = valid.sum(1, keepdim=True) <= k
    return torch.where(full, torch.ones_like(v), v) * valid


def gumbel_topk(scores: Tensor, k: int, tau: float, rng: torch.Generator, valid: Tensor) -> Tensor:
    """Exactly k units drawn without replacement, hard forward, relaxed backward (straight-through).

    Forward: the k highest of s + gumbel. Backward: k successive softmaxes, each lowering what was taken before
    (Xie & Ermon 2019).
    """
    noisy = _noisy(scores, rng, valid)
    hard = subsets.topk(noisy.detach(), k, valid).to(noisy)
    left, soft = noisy, torch.zeros_like(noisy)
    for _ in range(min(k, noisy.shape[1])):
        taken = torch.softmax(left / tau, dim=-1)
        soft = soft + taken
        left = left + torch.log1p(-taken.clamp(max=1 - 1e-6))
    soft = soft * valid
    return hard - soft.detach() + soft


def _noisy(scores: Tensor, rng: torch.Generator, valid: Tensor) -> Tensor:
    s = scores.float().masked_fill(~valid, -LARGE)
    return s + gumbel(s.shape, rng).to(s.device)


def bernoulli(logits: Tensor, tau: float, rng: torch.Generator, valid: Tensor, hard: bool = False) -> Tensor:
    """Concrete Bernoulli for each unit: sigmoid((logit + logistic noise) / tau); `hard` is straight-through."""
    u = torch.rand(logits.shape, generator=rng, device=rng.device).clamp(1e-6, 1 - 1e-6).to(logits.device)
    soft = torch.sigmoid((logits.float() + torch.log(u) - torch.log1p(-u)) / tau) * valid
    return (soft > 0.5).to(soft) - soft.detach() + soft if hard else soft


def log_bernoulli(logits: Tensor, s: Tensor, valid: Tensor, offset: float = 0.0) -> Tensor:
    """(n,) log q(s) = sum_j s_j log(pi_j + offset) + (1 - s_j) log(1 - pi_j + offset), pi = sigmoid(logits)."""
    least = torch.tensor(offset, device=logits.device).log()
    on, off = (torch.logaddexp(nn.functional.logsigmoid(sign * logits.float()), least) for sign in (1, -1))
    return (torch.where(s > 0.5, on, off) * valid).sum(1)


def rebar(logits: Tensor, tau: float, rng: torch.Generator, valid: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """z, s, z~ of REBAR from one noise: z a relaxed Bernoulli for each unit, s = [z > 1/2] hard, z~ relaxed given s.

    For any f that reads relaxed masks too, the gradient of

        (f(s) - f(z~)).detach() log q(s) + f(z) - f(z~)

    is that of E[f(s)] in the mean. z~ is drawn from its law given s by the same noise u: in value it equals z, but it
    moves with the logits so that s stays what it is. Tucker et al. 2017.
    """
    u = torch.rand(logits.shape, generator=rng, device=rng.device).clamp(1e-6, 1 - 1e-6).to(logits.device)
    logits = logits.float()
    log_u, log_not_u = torch.log(u), torch.log1p(-u)
    s = logits + log_u - log_not_u > 0  # that is, u > 1 - pi
    log_on, log_off = nn.functional.logsigmoid(logits), nn.functional.logsigmoid(-logits)
    above = ((log_not_u - log_on).detach() + log_on).clamp(max=-1e-7)  # log(1 - u) at a fixed share of (1 - pi, 1)
    below = ((log_u - log_off).detach() + log_off).clamp(max=-1e-7)  # log u at a fixed share of (0, 1 - pi)
    given = torch.where(s, torch.log1p(-above.exp()) - above, below - torch.log1p(-below.exp()))
    z, z_tilde = (torch.sigmoid((logits + noise) / tau) * valid for noise in (log_u - log_not_u, given))
    return z, s.to(z) * valid, z_tilde


DRAWS = {
    "k-hot": k_hot,
    "soft-topk": soft_topk,
    "gumbel-topk": gumbel_topk,
    "noisy-logit-max": noisy_logit_max,
}
"""Draws of k units by name, `draw(scores, k, tau, rng, valid) -> mask`."""
