"""What rationale models are built of, and how they draw: the same for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from unmask import devices
from unmask.data.vectors import glove
from unmask.nets import Vocabulary
from unmask.nets.pretrained import PieceEmbedding
from unmask.nets.words import WordEmbedding
from unmask.rationales.choosing import best
from unmask.rationales.draws import Drawn, draw, draw_runs, gates
from unmask.rationales.networks import Choose, RationaleNet
from unmask.training import soft_cross_entropy

__all__ = ["Batch", "budget", "drawn", "gated", "placed", "told_twice", "worded"]


@dataclass(frozen=True)
class Batch:
    """Some training rows at one step."""

    x: Tensor
    y: Tensor
    valid: Tensor
    rng: torch.Generator


def budget(own: Any) -> Choose:
    """What the model itself and its explanations keep: the best units of the budget, or those whose gate is open."""
    if getattr(own, "free", False):
        return gated
    return lambda scores, valid: (scores, best(scores, valid, own.k, own.nets.smooth, own.nets.spans))


def gated(scores: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
    """Each unit on its own: those more likely kept than not."""
    return scores, (scores > 0) & valid


def placed(own: Any, net: RationaleNet) -> RationaleNet:
    """The model on its device, its word vectors frozen where that is asked for."""
    for module in _embeddings(net):
        module.table.weight.requires_grad_(not own.nets.frozen)
    for vectors in (module.table for module in net.modules() if isinstance(module, PieceEmbedding)):
        if own.nets.frozen:
            vectors.requires_grad_(False)
    return net.to(devices.pick(own.device))


def worded(own: Any, net: RationaleNet) -> RationaleNet:
    """The model about to learn, with the word vectors asked for."""
    known = net.reader.vocabulary
    if own.nets.vectors == "glove" and isinstance(known, Vocabulary):
        for module in _embeddings(net):
            module.set_vectors(glove(known, own.recipe.seed))
    return net


def _embeddings(net: nn.Module) -> list[WordEmbedding]:
    return [module for module in net.modules() if isinstance(module, WordEmbedding)]


def drawn(own: Any, chooser: nn.Module, batch: Batch, rate: float, tau: float = 1.0) -> Drawn:
    """A draw by the chooser's scores: of the budget, in runs where scores are smoothed, or (`free`) of each unit."""
    return drawn_by(own, chooser(batch.x), batch, rate, tau)


def drawn_by(own: Any, scores: Tensor, batch: Batch, rate: float, tau: float = 1.0) -> Drawn:
    """The same by scores that are known."""
    free, width = getattr(own, "free", False), own.nets.smooth
    if not free and width > 1:
        return draw_runs(scores, batch.valid, own.k, width, rate, batch.rng, tau)
    return (gates if free else draw)(scores, batch.valid, own.k, rate, batch.rng, tau)


def told_twice(net: RationaleNet, batch: Batch, kept: Tensor, read: Tensor | None = None) -> Tensor:
    """(n,) cross-entropy of the teller on a draw with slopes, and for words on what will be `read` of it, dropped.

    The mean of both; without `read`, the draw itself.
    """
    loss = soft_cross_entropy(net.teller(batch.x, kept), batch.y)
    if net.reader.layout.kind != "words":
        return loss
    later = kept.detach() if read is None else read
    return (loss + soft_cross_entropy(net.teller(batch.x, later), batch.y)) / 2
