"""Who chooses, who tells from what was chosen, and both together as one model: choose, then tell."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from unmask import seeds
from unmask.errors import InputError
from unmask.nets import Reader, Vocabulary
from unmask.nets.bodies import Body, Nets, body
from unmask.training import evaluate

__all__ = ["Asked", "Choose", "Chooser", "RationaleNet", "Teller", "built", "folded"]

Choose = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class Chooser(nn.Module):
    """One score for each unit (or several), from its state, and its place and sentence where `nets` asks for these."""

    def __init__(self, body: Body, nets: Nets, outputs: int = 1) -> None:
        super().__init__()
        self.body, self.outputs, self.places = body, outputs, nets.places
        self.score = nn.Linear(body.width + 2 * nets.places, outputs, bias=outputs > 1)
        self.ends: Tensor
        self.register_buffer("ends", _ends(body.reader) if nets.sentences else torch.empty(0).long(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        states, valid = self.body.states(x), self.body.reader.valid(x)
        if self.places:
            states = torch.cat([states, _places(valid)], -1)
        found: Tensor = self.score(states)
        if len(self.ends):
            found = (found + _by_sentence(found, torch.isin(x, self.ends), valid)) / 2
        return found[..., 0] if self.outputs == 1 else found


def _places(valid: Tensor) -> Tensor:
    """(n, d, 2) where in the row a unit stands: from 0 to 1, and the logarithm of how far the end is."""
    before = valid.cumsum(1) - 1
    after = valid.sum(1, keepdim=True) - 1 - before
    share = before / (before + after).clamp(min=1)
    return torch.stack([share, after.clamp(min=0).float().log1p() / 5], -1) * valid[..., None]


def _by_sentence(scores: Tensor, ends: Tensor, valid: Tensor) -> Tensor:
    """(n, d, outputs) the mean score of the sentence that a word stands in."""
    sentence = (ends.cumsum(1) - ends.long())[..., None].expand_as(scores)  # a sentence holds the mark that ends it
    there = valid[..., None].expand_as(scores).to(scores)
    sums, counts = (torch.zeros_like(t).scatter_add(1, sentence, t) for t in (scores * there, there))
    return (sums / counts.clamp(min=1)).gather(1, sentence)


def _ends(reader: Reader) -> Tensor:
    """The ids of words that end a sentence."""
    if reader.layout.kind != "words" or not isinstance(reader.vocabulary, Vocabulary):
        raise InputError("sentences=True is for rows of words, read by a vocabulary and not by a transformer")
    known = reader.vocabulary.ids
    found = [known[mark] for mark in (".", "!", "?") if mark in known]
    if not found:
        raise InputError("sentences=True needs marks that end sentences (. ! ?) among the words; there are none")
    return torch.tensor(found, dtype=torch.long)


class Teller(nn.Module):
    """Classes from what is kept and nothing else; with `attends`, from all units by weights as well (A2R)."""

    def __init__(self, body: Body, classes: int, attends: bool = False) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(body.width, classes)
        self.soft = nn.Linear(body.width, classes) if attends else None

    def forward(self, x: Tensor, kept: Tensor) -> Tensor:
        return self.head(self.body.read(x, kept))  # type: ignore[no-any-return]

    def attended(self, x: Tensor, weights: Tensor) -> Tensor:
        """The answer to the whole row, its units weighted."""
        assert self.soft is not None
        return self.soft(self.body.weighted(x, weights))  # type: ignore[no-any-return]


class RationaleNet(nn.Module):
    """The model that users get: rows in, logits out, told from the rationale alone.

    `choose(what the chooser says, valid)` gives scores of the units and how much of each is kept, (n, d) both.
    """

    def __init__(self, chooser: Chooser, teller: Teller, choose: Choose) -> None:
        super().__init__()
        self.chooser, self.teller, self.choose = chooser, teller, choose
        self.reader: Reader = teller.body.reader

    def whole(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits, scores of the units, and how much of each is kept."""
        scores, kept = self.choose(self.chooser(x), self.reader.valid(x))
        kept = kept.to(scores)
        return self.teller(x, kept), scores, kept

    def forward(self, x: Tensor) -> Tensor:
        return self.whole(x)[0]

    def answers(self, x: Tensor, batch: int = 256) -> tuple[Tensor, Tensor, Tensor]:
        """The same in evaluation mode, without slopes, batch by batch."""
        found = evaluate(Asked(self, lambda net, x: torch.cat(net.whole(x), 1)), x, batch=batch)
        d = x.shape[1] if self.reader.layout.is_text else self.reader.layout.d
        logits, scores, kept = found.split([found.shape[1] - 2 * d, d, d], 1)
        return logits, scores, kept


class Asked(nn.Module):
    """A rationale model asked in another way than for its answer: `ask(net, x)`."""

    def __init__(self, net: RationaleNet, ask: Callable[[RationaleNet, Tensor], Tensor]) -> None:
        super().__init__()
        self.net, self.ask = net, ask

    def forward(self, x: Tensor) -> Tensor:
        return self.ask(self.net, x)


def built(
    reader: Reader,
    classes: int,
    nets: Nets,
    seed: int,
    *,
    outputs: int = 1,
    attends: bool = False,
) -> tuple[Chooser, Teller]:
    """A chooser and a teller, each with a body of its own; their weights drawn from the seed."""
    with seeds.seeded(seed):
        chooser = Chooser(body(reader, nets), nets, outputs)
        return chooser, Teller(body(reader, nets), classes, attends)


def folded(reader: Reader, classes: int, nets: Nets, seed: int) -> tuple[Chooser, Teller]:
    """A chooser and a teller with one body."""
    with seeds.seeded(seed):
        chooser = Chooser(body(reader, nets), nets)
        return chooser, Teller(chooser.body, classes)
