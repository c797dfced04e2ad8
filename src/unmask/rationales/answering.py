"""What a fitted rationale model does: answer, explain itself, and stand for audit like any other model."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from unmask.errors import NotFittedError
from unmask.models import Wrapped, wrap
from unmask.rationales.networks import Asked, RationaleNet
from unmask.task import Task, as_inputs, settings_of, targets
from unmask.training import evaluate
from unmask.types import Explanation, Inputs

__all__ = ["approximated", "asked", "explain", "model", "predict", "told"]


def _fitted(own: Any) -> tuple[RationaleNet, Task]:
    if getattr(own, "net_", None) is None or getattr(own, "task_", None) is None:
        raise NotFittedError(f"call fit(data) first: this {type(own).__name__} has learned nothing yet")
    return own.net_, own.task_


def predict(own: Any, x: Inputs) -> Tensor:
    """(n, classes) probabilities, told from the rationales alone."""
    net, task = _fitted(own)
    return net.answers(task.reader.prepare(as_inputs(x, task)))[0].softmax(1)


def told(own: Any, x: Inputs, kept: Tensor) -> Tensor:
    """(n, classes) probabilities that the predictor alone tells from the units kept, (n, d)."""
    net, task = _fitted(own)
    prepared = task.reader.prepare(as_inputs(x, task))
    return evaluate(net.teller, prepared, kept.float(), steady=True).softmax(1)


def approximated(own: Any, x: Inputs, kept: Tensor) -> Tensor:
    """(n,) the class told from the units kept: what other explainers ask their approximator for."""
    return told(own, x, kept).argmax(1)


def asked(own: Any, x: Inputs, ask: Callable[[RationaleNet, Tensor], Tensor]) -> Tensor:
    """(n, classes) probabilities that the network gives when it is asked in another way."""
    net, task = _fitted(own)
    return evaluate(Asked(net, ask), task.reader.prepare(as_inputs(x, task)), batch=256).softmax(1)


def model(own: Any) -> Wrapped:
    """The same answers as a model to audit: `audit(rnp.model(), data, {"rnp": rnp})`."""
    net, task = _fitted(own)
    return wrap(net, removal=task.removal.name)


def explain(own: Any, x: Inputs, target: Tensor | None = None) -> Explanation:
    """The rationales that the answers were told from; they are the same whatever `target` is named."""
    net, task = _fitted(own)
    started = time.perf_counter()
    x = as_inputs(x, task)
    logits, scores, amount = net.answers(task.reader.prepare(x))
    valid, told = task.reader.layout.valid(x), logits.argmax(1)
    width = valid.shape[1]
    seconds = time.perf_counter() - started
    origin = {**settings_of(own), "method": own.method, "seconds": seconds, "removal": task.removal.name}
    return Explanation(
        scores=_raised(scores[:, :width], valid),
        kept=(amount[:, :width] > 0) & valid,
        valid=valid,
        target=told if target is None else targets(target, len(x), len(task.classes)),
        origin={**origin, **own.readings_},
        x=x,
        layout=task.reader.layout,
        classes=task.classes,
    )


def _raised(scores: Tensor, valid: Tensor) -> Tensor:
    """Scores counted from the lowest of the row where that is negative: a unit not chosen speaks against no class."""
    low = scores.masked_fill(~valid, torch.inf).amin(1, keepdim=True).clamp(max=0.0)
    return (scores - low).masked_fill(~valid, 0.0)
