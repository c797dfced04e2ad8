"""Figures of the papers by paper and number: files with their pictures, of what was measured or computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from unmask import seeds
from unmask.errors import InputError, unknown
from unmask.reproduce import landscape, pictures
from unmask.reproduce.running import Request, seeds_apart, tables_so_far, warm_start

__all__ = ["FIGURES", "drawn", "narrowed"]

GRID = 101
PAIRS, WORDS, TOP = 400, 30, 7  # attention vectors that SEAT's loss is drawn for


def _front(request: Request) -> dict[str, str]:
    """Tables of rivals; the many forms of the ablation would hide each other."""
    result = tables_so_far(request)
    rivals = {part: [x for x in result[part] if x["table"].startswith("front")] for part in ("rows", "controls")}
    read = any(line["metric"] == "reading" for line in rivals["rows"])
    return {"front.svg": pictures.front(rivals)} if read else {}


def _warm_start(request: Request) -> dict[str, str]:
    curve = warm_start(request)
    title = "MEED on imdb with and without the gradient prior"
    return {"warm-start.svg": pictures.curves(curve, title)} if len(curve) > 1 else {}


def _violins(request: Request) -> dict[str, str]:
    return {
        f"seeds-{dataset.replace(':', '-')}.svg": pictures.violins(points, f"attention across seeds, {dataset}")
        for dataset, points in seeds_apart(request).items()
    }


def _surrogate(request: Request) -> dict[str, str]:
    """Attention of random scores, and the same with other scores mixed in, from none to all."""
    rng = seeds.generator(seeds.derive(0, "pairs of attention vectors"))
    own, other = 2 * torch.randn(2, PAIRS, WORDS, generator=rng)
    mixed = torch.lerp(own, other, torch.rand(PAIRS, 1, generator=rng))
    valid = torch.ones(PAIRS, WORDS, dtype=torch.bool)
    return {"surrogate.svg": pictures.surrogate(own.softmax(1), mixed.softmax(1), TOP, valid)}


def _game(request: Request) -> dict[str, str]:
    return {"interlocking-game.svg": pictures.game(landscape.PAYOFF, landscape.equilibria())}


def _sensitivity(request: Request) -> dict[str, str]:
    result = tables_so_far(narrowed(request, "5"))
    found: dict[str, dict[str, Any]] = {}
    for line in result["rows"]:
        if line["here"] is not None and line["metric"] in ("f1", "x1"):
            found.setdefault(line["row"], {})[line["metric"]] = line
    named = {"1" if row == "a2r" else row.partition("lam=")[2] or "0 to 1": pair for row, pair in found.items()}
    numbers = sorted((name for name in named if name != "0 to 1"), key=float)
    if len(numbers) < 2:
        return {}
    order = [*numbers, *(name for name in named if name == "0 to 1")]
    points = {name: named[name] for name in order}
    return {"lambda.svg": pictures.sensitivity(points, "A2R on reviews with a planted cue (bias 0.8)")}


def narrowed(request: Request, figure: str) -> Request:
    """The same request for the one table that a figure is drawn from, where there is one."""
    return replace(request, table=FROM.get((request.paper, figure), request.table))


def _landscape(request: Request) -> dict[str, str]:
    first = np.linspace(0, 1, GRID)
    hard, soft = landscape.rationale_loss(first), landscape.attention_loss(first)
    lines = {
        "rationale loss": hard,
        "attention loss + disagreement": soft + landscape.agreement(first),
        "attention loss": soft,
    }
    return {
        "interlocking-landscape.svg": pictures.landscape(
            first.tolist(), {name: line.tolist() for name, line in lines.items()}
        )
    }


FROM = {("a2r", "5"): "lambda", ("meed", "3"): "2", ("seat", "2"): "seeds"}  # figure -> the table it shows
FIGURES: dict[tuple[str, str], Callable[[Request], dict[str, str]]] = {
    ("a2r", "1"): _game,
    ("a2r", "2"): _landscape,
    ("a2r", "5"): _sensitivity,
    ("meed", "3"): _warm_start,
    ("mimic", "front"): _front,
    ("seat", "2"): _violins,
    ("seat", "5"): _surrogate,
}


def drawn(request: Request, figure: str) -> dict[str, str]:
    """Files and pictures of one figure; none where nothing was measured for it yet."""
    known = [number for paper, number in FIGURES if paper == request.paper]
    if not known:
        raise InputError(f"{request.paper} has no figure here; leave --figure out")
    if figure not in known:
        raise unknown(f"figure of {request.paper}", figure, known)
    return FIGURES[request.paper, figure](request)
