"""How far answers and attention vectors are apart, one value for each example.

Attention vectors have `valid`, which positions are words; the others weigh nothing and are not looked at.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from unmask.errors import InputError
from unmask.masking import subsets

__all__ = [
    "conicity",
    "entropy",
    "js_logits",
    "jsd",
    "kendall",
    "kl",
    "kl_logits",
    "overlap",
    "ranks",
    "spearman",
    "standard_ranks",
    "tvd",
    "tvd_legacy",
    "two_way_kl_logits",
]


def tvd(p: Tensor, q: Tensor) -> Tensor:
    """(n,) total variation of two answers (n, classes): half the sum over all classes, from 0 to 1."""
    return (p - q).abs().sum(1) / 2


def tvd_legacy(p: Tensor, q: Tensor, form: Literal["batch-sum", "bce"], batch: int = 32) -> Tensor:
    """(n,) the published scale of SEAT's Table 1, for two classes: the sum over a batch, as each example counts in it.

    The mean over examples is that of full batches. `batch-sum` is of |p - q| / 2 of the second class. `bce`, which made
    the vanilla rows, is no distance: it feeds q as a logit into binary cross-entropy against p, so that it is never
    near 0.
    """
    if p.shape[1] != 2:
        raise InputError(f"the published TVD is for two classes, got {p.shape[1]}; use tvd")
    if form not in ("batch-sum", "bce"):
        raise InputError(f"form must be batch-sum or bce, got {form!r}")
    a, b = p[:, 1], q[:, 1]
    each = (a - b).abs() / 2 if form == "batch-sum" else b.exp().log1p() - a * b
    return each * batch


def jsd(a: Tensor, b: Tensor, valid: Tensor) -> Tensor:
    """(n,) Jensen-Shannon divergence of two weight vectors in natural units, from 0 to log 2."""
    a, b = a * valid, b * valid
    middle = (a + b) / 2
    return ((_kl_terms(a, middle) + _kl_terms(b, middle)).sum(1) / 2).clamp(min=0.0)


def kl(a: Tensor, b: Tensor, valid: Tensor) -> Tensor:
    """(n,) KL(a || b) of two weight vectors in natural units, finite also where b has no weight left."""
    return _kl_terms(a * valid, b * valid).sum(1)


def kl_logits(a: Tensor, b: Tensor) -> Tensor:
    """(n,) KL(p || q) of two answers given as logits."""
    p, q = a.log_softmax(1), b.log_softmax(1)
    return (p.exp() * (p - q)).sum(1)


def js_logits(a: Tensor, b: Tensor) -> Tensor:
    """(n,) Jensen-Shannon divergence of two answers given as logits, from 0 to log 2; slopes exist everywhere."""
    p, q = a.log_softmax(1), b.log_softmax(1)
    middle = torch.logaddexp(p, q) - math.log(2)
    return ((p.exp() * (p - middle)).sum(1) + (q.exp() * (q - middle)).sum(1)) / 2


def two_way_kl_logits(a: Tensor, b: Tensor) -> Tensor:
    """(n,) KL(p || q) + KL(q || p) of two answers given as logits."""
    return kl_logits(a, b) + kl_logits(b, a)


def entropy(a: Tensor, valid: Tensor) -> Tensor:
    """(n,) entropy of a weight vector over log of its length: 1 is uniform, 0 all on one word; a single word has 0."""
    a = a * valid
    return -torch.xlogy(a, a).sum(1) / valid.sum(1).clamp(min=2).to(a).log()


def overlap(a: Tensor, b: Tensor, k: int, valid: Tensor) -> Tensor:
    """(n,) share of the k heaviest words of `a` that are among those of `b`; of all words where a row has fewer."""
    both = subsets.topk(a, k, valid) & subsets.topk(b, k, valid)
    return both.sum(1) / subsets.counts(valid, k).clamp(min=1)


def ranks(a: Tensor, valid: Tensor, dense: bool = False) -> Tensor:
    """(n, d) ranks of the valid units from 1, the lowest; equals share their mean rank.

    `dense`: equals share one rank and the next value has the next one, as OpenXAI counts. 0 where not valid.
    """
    value, order = a.double().masked_fill(~valid, torch.inf).sort(dim=1)
    new = torch.ones_like(value, dtype=torch.bool)
    new[:, 1:] = value[:, 1:] != value[:, :-1]
    group = new.long().cumsum(1)  # (n, d), from 1
    place = torch.arange(1.0, a.shape[1] + 1, dtype=torch.double, device=a.device).expand_as(value)
    total, size = (torch.zeros_like(value).scatter_add_(1, group - 1, t) for t in (place, torch.ones_like(value)))
    mean = (total / size.clamp(min=1)).gather(1, group - 1)
    rank = torch.zeros_like(value).scatter_(1, order, group.double() if dense else mean)
    return rank.masked_fill(~valid, 0.0)


def standard_ranks(a: Tensor, valid: Tensor, dense: bool = False) -> Tensor:
    """(n, d) the ranks of the valid units around their mean, of length 1; nan in a row that has nothing but ties."""
    rank = ranks(a, valid, dense)
    mean = rank.sum(1, keepdim=True) / valid.sum(1, keepdim=True).clamp(min=1)
    centred = (rank - mean) * valid
    length = centred.norm(dim=1, keepdim=True)
    return centred / torch.where(length > 0, length, torch.nan)


def spearman(a: Tensor, b: Tensor, valid: Tensor, dense: bool = False) -> Tensor:
    """(n,) Pearson correlation of the ranks of the valid units; nan where one side has nothing but ties."""
    return (standard_ranks(a, valid, dense) * standard_ranks(b, valid, dense)).sum(1).float()


def conicity(states: Tensor, valid: Tensor) -> Tensor:
    """(n,) mean of |cos| between the states (n, d, h) of a row and their mean: 1 where all words say the same.

    In a narrow cone any weights give much the same answer, and attention means little (Mohankumar et al. 2020).
    """
    shown = valid[..., None].to(states)
    mean = (states * shown).sum(1, keepdim=True)  # as good as the mean: a cosine does not see its length
    cosine = torch.nn.functional.cosine_similarity(states, mean, dim=-1).abs() * valid
    return cosine.sum(1) / valid.sum(1).clamp(min=1)


def _kl_terms(p: Tensor, q: Tensor) -> Tensor:
    tiny = torch.finfo(p.dtype).tiny
    return torch.xlogy(p, p.clamp(min=tiny)) - torch.xlogy(p, q.clamp(min=tiny))


def kendall(a: Tensor, b: Tensor, valid: Tensor, batch: int = 64) -> Tensor:
    """(n,) Kendall's tau-b over the valid units of each row; nan where one side has nothing but ties."""
    found = []
    for left, right, there in zip(a.split(batch), b.split(batch), valid.split(batch), strict=True):
        pair = (there[:, :, None] & there[:, None]).triu(1)
        signs = [(t[:, :, None] - t[:, None]).sign() * pair for t in (left, right)]
        untied = [(sign != 0).sum((1, 2)).double() for sign in signs]
        found.append((signs[0] * signs[1]).double().sum((1, 2)) / (untied[0] * untied[1]).sqrt())
    return torch.cat(found).float()
