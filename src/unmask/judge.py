"""The judge: a maskable network that estimates p(target | the shown values).

Trained on random masks it is stage one of random-mask pretraining, the critic of REAL-X and the neutral examiner of
the audit (EVAL-X); trained on an explanation's own masks it tells what the choice of the units adds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from scipy.optimize import minimize_scalar
from torch import Tensor, nn

from unmask import seeds
from unmask.masking import subsets
from unmask.nets import Reader, SentenceSet, TableNet, WordSet, default
from unmask.training import Recipe, evaluate, minimize, soft_cross_entropy

__all__ = ["RECIPE", "Draw", "Judge", "Rows", "half_any_size", "judge_net", "mixed_sizes", "of_texts", "train_judge"]

Draw = Callable[[Tensor, torch.Generator], Tensor]
"""`draw(valid, rng) -> kept`: a law over masks, independent of the rows."""

RECIPE = Recipe(epochs=60, batch=256, rate=2e-3, decay=1e-5, patience=5)
COUNTED = 64  # numbers of kept units that a judge tells apart; more than that are one
BRISK = 4.0  # how much faster that is learned than all else: few rows are few steps
SPREAD = 0.25  # of the log temperature, believed beforehand: a few dozen rows cannot show that a judge never errs


@dataclass(frozen=True)
class Rows:
    """What a judge learns from: prepared rows, their targets, their valid units and, where paired, their masks."""

    x: Tensor
    target: Tensor  # (n,) class numbers or (n, classes) probabilities
    valid: Tensor
    kept: Tensor | None = None  # (n, d); None: masks are drawn afresh at each step

    def at(self, index: Tensor) -> Rows:
        """The rows at `index`."""
        kept = None if self.kept is None else self.kept[index]
        return Rows(self.x[index], self.target[index], self.valid[index], kept)

    def joined(self, other: Rows | None) -> Rows:
        """These rows and the other's; texts are padded to the longer width."""
        if other is None or self.kept is None or other.kept is None:
            return self
        tensors = (_stacked(getattr(self, name), getattr(other, name)) for name in ("x", "target", "valid", "kept"))
        return Rows(*tensors)


def _stacked(a: Tensor, b: Tensor) -> Tensor:
    if a.ndim > 1 and a.shape[1:] != b.shape[1:]:  # ids (n, words) or (n, sentences, words), and masks
        size = [max(pair) for pair in zip(a.shape[1:], b.shape[1:], strict=True)]
        a, b = (_widened(t, size) for t in (a, b))
    return torch.cat([a, b])


def _widened(t: Tensor, size: list[int]) -> Tensor:
    pads = [p for have, want in zip(reversed(t.shape[1:]), reversed(size), strict=True) for p in (0, want - have)]
    return nn.functional.pad(t, pads)


@dataclass(frozen=True)
class Judge:
    """A trained network and the temperature that calibrates it on held-out rows."""

    net: nn.Module
    temperature: float

    def log_probabilities(self, x: Tensor, kept: Tensor) -> Tensor:
        """(n, classes) for prepared rows of which only the kept units are shown."""
        return (evaluate(self.net, x, kept.float()) / self.temperature).log_softmax(1)


def of_texts(recipe: Recipe, *, knows: bool = False) -> Recipe:
    """The recipe of a judge of texts, which has yet to learn what words mean or already `knows` it.

    In batches of 256 a thousand texts are four steps an epoch: judges were stopped before they had begun.
    """
    return replace(recipe, batch=64) if knows else replace(recipe, batch=32, patience=8)


def mixed_sizes(k: int) -> Draw:
    """Half uniform k-subsets, half uniform subsets of any size: the law of EVAL-X for a selection of k units."""

    def draw(valid: Tensor, rng: torch.Generator) -> Tensor:
        half = torch.rand(len(valid), 1, generator=rng, device=rng.device).to(valid.device) < 0.5
        return torch.where(half, subsets.uniform(valid, k, rng), subsets.any_size(valid, rng))

    return draw


class Counting(nn.Module):
    """What a network says, and beside it what the number of kept units says: a code of few or many, of odd or even."""

    def __init__(self, net: nn.Module, classes: int) -> None:
        super().__init__()
        self.net = net
        self.told = nn.Linear(COUNTED, classes, bias=False)
        nn.init.zeros_(self.told.weight)

    def forward(self, x: Tensor, kept: Tensor) -> Tensor:
        count = kept.sum(1, keepdim=True).clamp(max=COUNTED - 1)
        which = (1 - (count - torch.arange(COUNTED, device=count.device)).abs()).relu()
        return self.net(x, kept) + self.told(BRISK * which)  # type: ignore[no-any-return]


def judge_net(reader: Reader, classes: int, seed: int) -> nn.Module:
    """The judge's network: it sees which units are kept. Small images are read as columns, texts as sets."""
    with seeds.seeded(seed):
        return Counting(_reading_net(reader, classes, seed), classes)


def _reading_net(reader: Reader, classes: int, seed: int) -> nn.Module:
    kind = reader.layout.kind
    with seeds.seeded(seed):
        if kind == "image" and reader.centre.numel() <= 4096:
            return TableNet(reader, classes, (256, 256), sees_mask=True)
        if kind in ("words", "sentences"):
            return WordSet(reader, classes) if kind == "words" else SentenceSet(reader, classes)
    return default(reader, classes, "small", sees_mask=True, seed=seed)


def half_any_size(mask: Tensor, valid: Tensor, rng: torch.Generator) -> Tensor:
    """Every other row, by chance, shows a random part of any size instead of `mask`."""
    half = torch.rand(len(valid), 1, generator=rng, device=rng.device).to(valid.device) < 0.5
    return torch.where(half, subsets.any_size(valid, rng).to(mask), mask)


def train_judge(
    net: nn.Module,
    rows: Rows,
    held_out: Rows,
    draw: Draw | None,
    recipe: Recipe = RECIPE,
    *,
    parts_of_texts: bool = True,
) -> Judge:
    """Train on masks drawn afresh by `draw`, or on the rows' own masks where `draw` is None.

    Unless told otherwise (`parts_of_texts`), rows of words show a random part of any size every other time: what a word
    means is learned from texts, not from the few words that masks of other rows happen to show.

    The epoch is chosen on held-out log-likelihood, under masks fixed once; the temperature is fitted there too.
    """
    rng = seeds.generator(seeds.derive(recipe.seed, "judge"))
    words = parts_of_texts and rows.x.ndim == 2 and not rows.x.is_floating_point()  # ids
    fixed = held_out.kept if draw is None else draw(held_out.valid, rng)
    if fixed is None or (draw is None and rows.kept is None):
        raise TypeError("a judge needs a law over masks, or rows that carry their own")
    if words:
        fixed = half_any_size(fixed, held_out.valid, rng)

    def loss(x: Tensor, target: Tensor, valid: Tensor, kept: Tensor, rng: torch.Generator) -> Tensor:
        mask = kept if draw is None else draw(valid, rng)
        if words and bool(
            torch.rand((), generator=rng, device=rng.device) < 0.5
        ):  # a whole batch: short ones are cheap
            mask = subsets.any_size(valid, rng)
        return soft_cross_entropy(net(x, mask.float()), target).mean()

    def score() -> float:
        return -float(soft_cross_entropy(evaluate(net, held_out.x, fixed.float()), held_out.target).mean())

    own = rows.valid if rows.kept is None else rows.kept
    minimize({"judge": (net, loss)}, (rows.x, rows.target, rows.valid, own), recipe, score=score, title="judge")
    return Judge(net, _temperature(evaluate(net, held_out.x, fixed.float()), held_out.target))


def _temperature(logits: Tensor, target: Tensor) -> float:
    """The divisor of the logits with the lowest log-loss, held near 1 where the rows are few.

    Fitted to forty rows that a judge gets right it would run to its bound, and the judge would stake all on each of the
    others: a single error then outweighs what all of them tell.
    """

    def loss(log_t: float) -> float:
        lost = soft_cross_entropy(logits / float(torch.tensor(log_t).exp()), target).sum()
        return float(lost) + (log_t / SPREAD) ** 2 / 2

    best = minimize_scalar(loss, bounds=(-1.5, 2.5), method="bounded")
    return float(torch.tensor(best.x).exp())
