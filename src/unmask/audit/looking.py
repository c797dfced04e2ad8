"""What the checks on attention see and do: where a model looks, and rows with words moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unmask import distances, seeds
from unmask.audit.case import Case, some
from unmask.data.lexicon import alike
from unmask.data.vectors import nearest
from unmask.errors import InputError, UnmaskError
from unmask.masking import subsets
from unmask.models import Wrapped, attacking, attending, shown
from unmask.models.attending import Attentive, Shift, attentive, embedding_of, looked, sloping
from unmask.training import soft_cross_entropy
from unmask.types import rows_of

__all__ = [
    "ALIKE",
    "CONSTANTS",
    "Seen",
    "asked",
    "attacked",
    "in_place",
    "left_out",
    "on_constants",
    "pays_attention",
    "permuted",
    "replaced",
    "reshuffled",
    "reworded",
    "see",
    "shaken",
    "slopes",
    "swapped",
    "unweighted",
    "vocabulary",
]

CONSTANTS = 4  # words added to each row, as Bai et al. 2021 have it
STAND_INS = 8  # words tried in the place of another; attention to the middle one of them counts
MOST = 50_000  # rows with one unit left out that the model is asked about: a few minutes of a small network
BATCH = 64
TINY = 1e-12  # the lowest probability of which a logarithm is taken
ALIKE = 0.05  # change of an answer within which it counts as the same


@dataclass(frozen=True)
class Seen:
    """The audited rows as the model reads them, what it says and where it looks."""

    wrapped: Wrapped
    model: Attentive
    x: Tensor
    valid: Tensor
    w: Tensor  # (n, d)
    p: Tensor  # (n, classes)

    def probabilities(self, raw: Tensor) -> Tensor:
        return raw.softmax(1) if self.wrapped.outputs == "logits" else raw


def pays_attention(model: Any) -> bool:
    """Whether a model has attention to ask for: a torch module with attend and answer, or with a named part."""
    module = getattr(model, "module", None)
    return module is not None and (model.attention is not None or {"attend", "answer"} <= set(dir(module)))


def see(case: Case) -> Seen | str:
    """Where the model looks, or why that cannot be known."""
    model = case.model
    if not isinstance(model, Wrapped) or model.module is None or not pays_attention(model):
        return "the model has no attention that can be asked for"
    x = model.feed(case.x)
    try:
        found = attentive(model.module, x[:4], model.attention)
        raw, w = looked(found, x)
    except UnmaskError as error:
        return str(error)
    if w.shape != case.valid.shape:
        return f"attention has {w.shape[1]} weights for rows of up to {case.valid.shape[1]} units"
    return Seen(model, found, x, case.valid, w, raw.softmax(1) if model.outputs == "logits" else raw)


def permuted(w: Tensor, valid: Tensor, rng: torch.Generator) -> Tensor:
    """(n, d) the weights of each row in random order among its words."""
    key = torch.rand(w.shape, generator=rng).masked_fill(~valid, 2.0)
    places = (~valid).long().argsort(dim=1, stable=True)  # the words of the row first, then what is none
    return torch.zeros_like(w).scatter_(1, places, w.gather(1, key.argsort(1)))


def reshuffled(s: Seen, times: int, rng: torch.Generator) -> Tensor:
    """(times, n) how far the answer moves when the weights of each row are permuted."""
    found = []
    with torch.no_grad():
        for x, valid, w, p in zip(*(t.split(512) for t in (s.x, s.valid, s.w, s.p)), strict=True):
            states = s.model.attend(x)[1]
            drawn = (permuted(w, valid, rng).to(x.device) for _ in range(times))
            said = (s.probabilities(s.model.answer(states, other)).cpu() for other in drawn)
            found.append(torch.stack([distances.tvd(p, other) for other in said]))
    return torch.cat(found, 1)


def noise_of(s: Seen) -> float:
    """How far noise moves word vectors; a model that was trained on from another is moved as far as that one."""
    told = s.wrapped.details.get("noise")
    return float(told) if told is not None else attending.reach(embedding_of(s.model.module, x=s.x))


def shaken(case: Case, s: Seen) -> tuple[Tensor, Tensor]:
    """Answers and attention under uniform noise on word vectors, one draw."""

    def make() -> tuple[Tensor, Tensor]:
        raw, w = attending.shaken(s.model, s.x, case.seed, noise_of(s), s.valid)
        return s.probabilities(raw), w

    return case.once("attention under noise", make)


def attacked(case: Case, s: Seen) -> tuple[Tensor, Tensor]:
    """Answers and attention under a change of word vectors, no larger than the noise, sought to move the answer."""

    def logits(raw: Tensor) -> Tensor:
        return raw if s.wrapped.outputs == "logits" else raw.clamp(min=TINY).log()

    def harm(raw: Tensor, said: Tensor) -> Tensor:
        return soft_cross_entropy(logits(raw), logits(said).softmax(1))

    def make() -> tuple[Tensor, Tensor]:
        raw, w = attacking.attacked(s.model, (s.x, s.valid), harm, noise_of(s), case.seed)
        return s.probabilities(raw), w

    return case.once("attention under attack", make)


def replaced(case: Case, s: Seen, n: int = 1, synonyms: bool = False) -> Tensor:
    """The rows as the model reads them, `n` words of each replaced by their nearest neighbours in its own table.

    Nearest among the words of the judges' rows, so that no special token comes in. With `synonyms`, only words of the
    same part of speech and not of the opposite polarity replace each other; a word without any stays.
    """
    vectors, ids, spelling = vocabulary(case, s.wrapped, s.x)
    return swapped(vectors, s.x, s.valid, ids, case.seed, n, spelling if synonyms else None)


def reworded(case: Case, s: Seen, n: int, synonyms: bool) -> tuple[Tensor, Tensor]:
    """What the model says of such rows and where it looks, asked once."""
    return case.once(("words replaced", n, synonyms), lambda: looked(s.model, replaced(case, s, n, synonyms)))


def vocabulary(case: Case, model: Wrapped, x: Tensor) -> tuple[Tensor, Tensor, dict[int, str]]:
    """The model's word vectors, the ids of the judges' rows, how these and those of the audited rows `x` are spelled.

    An id that stands for many words is spelled once.
    """
    table = None if model.module is None else embedding_of(model.module, x=x)
    if not isinstance(table, nn.Embedding) or x.shape != case.valid.shape:
        raise InputError("words are replaced where a model reads one id for each word through an nn.Embedding")
    others = case.pools["train"].split.x
    known, first = np.unique(model.feed(others)[case.data.layout.valid(others)].cpu().numpy(), return_index=True)
    words = [word for row in others for word in row]
    audited = zip(x[case.valid].tolist(), (word for row in case.x for word in row), strict=True)
    spelling = {**dict(audited), **{i: words[at] for i, at in zip(known.tolist(), first.tolist(), strict=True)}}
    return table.weight.detach(), torch.from_numpy(known).to(x.device), spelling


def swapped(
    vectors: Tensor,
    x: Tensor,
    valid: Tensor,
    known: Tensor,
    seed: int,
    n: int = 1,
    spelling: Mapping[int, str] | None = None,
) -> Tensor:
    """Ids `x` in which `n` words of each row, drawn at random, are replaced by the nearest by cosine of those `known`.

    With `spelling`, of the ids, by the nearest that is alike (`unmask.data.lexicon`); a word without any stays.
    """
    chosen = subsets.uniform(valid, n, seeds.generator(seeds.derive(seed, "replaced words"))).to(x.device)
    old = x[chosen]
    allowed = None
    if spelling is not None:
        allowed = alike(*([spelling[i] for i in ids.tolist()] for ids in (old, known))).to(x.device)
    at = nearest(vectors[old], vectors[known], allowed)
    other = x.clone()
    other[chosen] = known[at].where(at >= 0, old)
    return other


def on_constants(case: Case, s: Seen) -> Tensor:
    """(n,) attention on the most frequent word of the training rows, added four times at the end of each row."""
    if case.data.kind != "words":
        raise InputError("constant words can be added to rows of words only")
    counts = Counter(word for row in case.data.train.x for word in row)
    word = min(counts, key=lambda w: (-counts[w], w))
    _, w = looked(s.model, s.wrapped.feed([[*row, *[word] * CONSTANTS] for row in case.x]))
    if w.shape[1] != s.valid.shape[1] + CONSTANTS:
        raise InputError("the model does not read words that are added at the end")
    place = torch.arange(w.shape[1]) - s.valid.sum(1, keepdim=True)
    return (w * ((place >= 0) & (place < CONSTANTS))).sum(1)


def asked(case: Case) -> Tensor:
    """The rows that are asked about with each of their units left out: at even distances, as many as are bearable."""
    units = case.valid.sum(1)
    bearable = (n for n in range(len(units), 1, -1) if int(units[some(case, n)].sum()) <= MOST)
    return case.once(("asked about", MOST), lambda: some(case, next(bearable, 1)))


def left_out(case: Case) -> Tensor:
    """(n, d) total variation of the answer when one unit is left out; nan in the rows that are not asked about."""

    def make() -> Tensor:
        found = torch.where(case.valid, torch.nan, 0.0)
        those = asked(case)
        for at in case.valid[those].nonzero().split(8192):
            rows, places = those[at[:, 0]], at[:, 1]
            kept = case.valid[rows]
            kept[torch.arange(len(at)), places] = False
            answers = shown(case.model, case.removal, rows_of(case.x, rows), kept)
            found[rows, places] = distances.tvd(case.full[rows], answers)
        return found

    return case.once("units left out", make)


def unweighted(s: Seen, place: Tensor) -> Tensor:
    """(n,) total variation of the answer when the weight of the word at `place` (n,) is given to the others."""
    found = []
    with torch.no_grad():
        for x, w, p, at in zip(*(t.split(512) for t in (s.x, s.w, s.p, place)), strict=True):
            others = w.scatter(1, at[:, None], 0.0)
            others = others / others.sum(1, keepdim=True).clamp(min=TINY)
            said = s.probabilities(s.model.answer(s.model.attend(x)[1], others.to(x.device))).cpu()
            found.append(distances.tvd(p, said))
    return torch.cat(found)


def in_place(case: Case, s: Seen, place: Tensor, rng: torch.Generator) -> Tensor:
    """(n,) attention that other words get at one `place` (n,) of each row: the median over words of training rows."""
    if not case.data.layout.is_text:
        raise InputError("only words and sentences can be put in the place of others")
    units = [unit for row in case.pools["train"].split.x for unit in row]
    found = []
    for _ in range(STAND_INS):
        drawn = torch.randint(len(units), place.shape, generator=rng).tolist()
        rows = [[*r[:t], units[u], *r[t + 1 :]] for r, t, u in zip(case.x, place.tolist(), drawn, strict=True)]
        found.append(looked(s.model, s.wrapped.feed(rows))[1].gather(1, place[:, None])[:, 0])
    return torch.stack(found).quantile(0.5, 0)


def slopes(case: Case, s: Seen) -> Tensor:
    """(n, d) |gradient x vector| of the probability of the class that is explained, attention held still."""
    rows = zip(s.x.split(BATCH), case.target.split(BATCH), strict=True)
    found = torch.cat([_slope(s, x, target) for x, target in rows])
    if found.shape != s.valid.shape:
        raise InputError("gradients of words need a model that has one vector for each word")
    return found


def _slope(s: Seen, x: Tensor, target: Tensor) -> Tensor:
    caught: list[tuple[Tensor, Tensor]] = []

    def still(vectors: Tensor) -> Tensor:
        caught.append((vectors.detach(), torch.zeros_like(vectors).requires_grad_()))
        return caught[-1][1]

    with sloping(s.model.module):
        with Shift(embedding_of(s.model.module, x=s.x), still):
            w, states = s.model.attend(x)
            said = s.probabilities(s.model.answer(states, w.detach()))
        picked = said.gather(1, target[:, None].to(said.device)).sum()
        found = torch.autograd.grad(picked, [zero for _, zero in caught], allow_unused=True)
    parts = [(g * v).flatten(2).sum(-1) for g, (v, _) in zip(found, caught, strict=True) if g is not None]
    return torch.stack(parts).sum(0).abs().cpu()
