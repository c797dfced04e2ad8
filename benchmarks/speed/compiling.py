"""Does torch.compile pay?"""

from __future__ import annotations

import time
from typing import Any

import torch
import torch._inductor.config
from torch import Tensor, nn

from speed.measuring import Work, in_turns
from unmask.data import load
from unmask.nets import default, read

BATCH = 128


def pays(small: bool) -> dict[str, Any]:
    """The default network for digits of MNIST, compiled by torch (inductor) and as it is, batches of 128 rows.

    Compiling is done once for each network, and again for each size of a batch: `seconds to compile` is the first step,
    by the clock. It needs a compiler of C++. Nothing in the package is compiled: a step of training is slower so, and
    what a pass gains is lost again where audits ask batches of many sizes. Who asks the same size over and over can
    give the audit a compiled network: `wrap(torch.compile(net))`.
    """
    data = load("digits" if small else "mnist", seed=0, **({} if small else {"rows": (BATCH, 100, 100)}))
    reader = read(data)
    x, y = reader.prepare(data.train.x)[:BATCH], data.train.y[:BATCH]
    net = default(reader, len(data.classes), "small", seed=0)
    torch._inductor.config.force_disable_caches = True
    compiled = torch.compile(net, dynamic=False)
    rows = []
    for job in (_step, _pass):
        started = time.perf_counter()
        job(compiled, x, y)()
        first = time.perf_counter() - started
        times = in_turns({"plain": job(net, x, y), "compiled": job(compiled, x, y)}, 3 if small else 15)
        ms = {f"{name}, ms": f"{1000 * t.median:.3g}" for name, t in times.items()}
        over = times["compiled"].over(times["plain"])
        rows.append({"job": job.__name__[1:], **ms, "over": f"{over:.2f}", "seconds to compile": f"{first:.0f}"})
    return {"bars": [], "tables": {"Compiled and plain": rows}}


def _step(net: nn.Module, x: Tensor, y: Tensor) -> Work:
    """A loss and its slopes."""
    kept, weights = torch.ones(len(x), x[0].numel()), list(net.parameters())
    return lambda: torch.autograd.grad(nn.functional.cross_entropy(net(x, kept), y), weights)


def _pass(net: nn.Module, x: Tensor, y: Tensor) -> Work:
    kept = torch.ones(len(x), x[0].numel())

    def work() -> object:
        with torch.no_grad():
            return net(x, kept)

    return work
