"""Masks put on other rows: the same law of masks, with nothing left that pairs a mask with its row."""

from __future__ import annotations

import torch
from torch import Tensor

from unmask.masking import subsets

__all__ = ["permuted", "transplant"]

BIN = 32  # rows of similar length among which the masks of texts are exchanged


def transplant(kept: Tensor, valid: Tensor, onto: Tensor, rng: torch.Generator) -> Tensor:
    """Masks `kept` of rows with units `valid`, laid row by row onto rows with units `onto` (valid units stand first).

    Rows of equal length take the mask as it is; others take it by relative position, with the same number kept.
    """
    have, want = valid.sum(1, keepdim=True), onto.sum(1, keepdim=True)
    at = torch.arange(onto.shape[1], device=onto.device)
    source = torch.where(have == want, at, ((at + 0.5) * have / want.clamp(min=1)).long())
    source = source.clamp(max=kept.shape[1] - 1).expand(len(kept), -1)
    wished = kept.gather(1, source).float()
    tie = torch.rand(wished.shape, generator=rng, device=rng.device).to(wished.device)
    return subsets.topk(wished + tie / 2, kept.sum(1), onto)


def permuted(kept: Tensor, valid: Tensor, rng: torch.Generator) -> Tensor:
    """The same masks on other rows: a fixed permutation, for texts among rows of similar length."""
    lengths = valid.sum(1)
    order = torch.argsort(lengths.double() + 0.5 * torch.rand(len(kept), generator=rng).double())
    alike = bool((lengths == lengths[0]).all())
    blocks = [order] if alike else list(order.chunk(max(1, len(order) // BIN)))
    if len(blocks) > 1 and len(blocks[-1]) == 1:  # a block of one would keep its own mask
        blocks[-2:] = [torch.cat(blocks[-2:])]
    donor = torch.arange(len(kept))
    for block in blocks:  # a cycle through the block in random order: no row keeps its own mask
        shuffled = block[torch.randperm(len(block), generator=rng)]
        donor[shuffled] = shuffled.roll(1)
    return transplant(kept[donor], valid[donor], valid, rng)
