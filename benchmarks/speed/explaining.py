"""Explaining: a fitted selector against methods that ask the model about every row many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from peers import quietly
from speed import grounds
from speed.measuring import Times, bar, in_turns, seconds
from unmask.explainers.smoothgrad import SmoothGrad
from unmask.models import Wrapped
from unmask.nets.vocabulary import END, HIDDEN
from unmask.types import Dataset, Inputs

Perturbing = dict[str, Callable[[int], object]]
"""Method -> a function that explains row i."""

SAMPLED = (
    "lime",
    "shap",
    "captum's kernelshap, 200",
)  # beginnings of the names that the learned explainers are held against


def images(small: bool) -> dict[str, Any]:
    """A thousand digits of MNIST explained by fitted selectors, against methods that are at work for each row anew.

    The unit is one pass of the explained network over the same rows. `on top` leaves out the one model call that names
    the class to explain; the last two columns compare with the slowest selector, without that call and with it. The
    others are measured on a few rows, of texts on those of mean length, and scaled. LIME, SHAP and captum's integrated
    gradients have their default settings, captum's KernelSHAP 200 samples: by default it takes 25, fewer than there are
    pixels.
    """
    model, data = grounds.mnist(100 if small else 1000, 64 if small else 1000)
    return _compared(model, data, 25, _image_peers(model, data, small), "images", small)


def words(small: bool) -> dict[str, Any]:
    """The same for a thousand reviews of IMDB and a convolutional network over words."""
    model, data = grounds.imdb(200 if small else 2000, 32 if small else 1000)
    return _compared(model, data, 10, _word_peers(model, data, small), "words", small)


def _compared(model: Wrapped, data: Dataset, k: int, others: Perturbing, kind: str, small: bool) -> dict[str, Any]:
    x, n = data.test.x, len(data.test)
    fitted = {name: grounds.fitted(name, model, data, k) for name in grounds.LEARNED}
    works = {"one pass": lambda: model(x)}
    works |= {name: lambda e=e: e.explain(x) for name, e in fitted.items()}
    times = in_turns(works, 2 if small else 5)
    few = _usual(x, 2 if small else 4)
    single = {name: _few(work, few) for name, work in others.items()}
    unit = times["one pass"].median / n
    top = {name: times[name].over(times["one pass"]) - 1 for name in fitted}
    rows = [
        {"method": name, **t.columns(n), "passes": f"{t.median / n / unit:.3g}", "on top": f"{top.get(name, 0):.2f}"}
        for name, t in times.items()
    ]
    slowest = max(top, key=top.__getitem__)
    alone, whole = unit * top[slowest], times[slowest].median / n
    rows += [
        {
            "method": name,
            **t.columns(),
            "passes": f"{t.median / unit:.0f}",
            "on top": "",
            "selector, times faster": f"{t.median / alone:.0f}",
            "whole call, times faster": f"{t.median / whole:.0f}",
        }
        for name, t in single.items()
    ]
    bars = [bar(1, f"{kind}, {name}: passes on top of the model call", top[name], most=1.5) for name in fitted]
    for rival in (name for name in single if name.lower().startswith(SAMPLED)):
        for what, taken in (("selector alone", alone), ("whole call", whole)):
            gain = single[rival].median / taken
            bars.append(bar(1, f"{kind}, slowest {what}: times faster than {rival}", gain, least=500))
    return {"bars": bars, "tables": {f"{n} rows, milliseconds for each": rows}}


def _usual(x: Inputs, many: int) -> list[int]:
    """Some rows; of texts those whose lengths are nearest to the mean."""
    if isinstance(x, Tensor):
        return list(range(many))
    lengths = np.array([len(row) for row in x])
    return np.abs(lengths - lengths.mean()).argsort(kind="stable")[:many].tolist()


def _few(work: Callable[[int], object], rows: list[int]) -> Times:
    """Seconds for each of a few rows but the first, which warms up."""
    first, *others = rows
    work(first)
    return Times(tuple(seconds(lambda i=i: work(i)) for i in others))


def _image_peers(model: Wrapped, data: Dataset, small: bool) -> Perturbing:
    import shap
    from captum.attr import IntegratedGradients, KernelShap, NoiseTunnel, Saliency
    from lime.lime_image import LimeImageExplainer

    net, x = model.module, data.test.x
    with torch.no_grad():
        target = net(x).argmax(1)
    lime, tries = LimeImageExplainer(random_state=0), 20 if small else 1000
    kernel = shap.KernelExplainer(lambda rows: _says(model, rows.reshape(-1, 1, 28, 28)), np.zeros((1, 784)))

    def pictures(rows: np.ndarray) -> np.ndarray:
        return _says(model, rows[..., :1].transpose(0, 3, 1, 2))

    def one(method: Any, settings: dict[str, Any]) -> Callable[[int], object]:
        return lambda i: method.attribute(x[i : i + 1], target=target[i : i + 1], **settings)

    return {
        f"LIME, {tries} samples": lambda i: quietly(
            lambda: lime.explain_instance(x[i, 0].double().numpy(), pictures, num_samples=tries)
        ),
        "SHAP's KernelExplainer": lambda i: kernel.shap_values(
            x[i].flatten().numpy(), nsamples=50 if small else "auto", silent=True
        ),
        "captum's KernelSHAP, 200 samples": one(KernelShap(net), {"n_samples": 20 if small else 200}),
        "captum's KernelSHAP by default (25 samples)": one(KernelShap(net), {}),
        "integrated gradients of captum, 50 steps": one(IntegratedGradients(net), {}),
        "SmoothGrad of captum, 50 draws": one(NoiseTunnel(Saliency(net)), {"nt_samples": 50, "stdevs": 0.15}),
    }


def _word_peers(model: Wrapped, data: Dataset, small: bool) -> Perturbing:
    import shap
    from captum.attr import KernelShap, LayerIntegratedGradients
    from lime.lime_text import LimeTextExplainer
    from torch import nn

    net, x = model.module, data.test.x
    lime, tries = LimeTextExplainer(random_state=0, split_expression=" "), 50 if small else 5000
    layer = next(part for part in net.modules() if isinstance(part, nn.Embedding))
    path = LayerIntegratedGradients(net, layer)

    def shap_one(i: int) -> object:
        hidden = shap.KernelExplainer(_presence(model, x[i]), np.zeros((1, len(x[i]))))
        return hidden.shap_values(np.ones(len(x[i])), nsamples=50 if small else "auto", silent=True)

    smooth = SmoothGrad(10, draws=50).fit(model, data)

    def captum_one(i: int, samples: int = 20 if small else 200) -> object:
        forward = _presence(model, x[i])
        method = KernelShap(lambda kept: torch.as_tensor(forward(kept.numpy())))
        return method.attribute(torch.ones(1, len(x[i])), target=1, n_samples=samples)

    def path_one(i: int) -> object:
        ids = model.feed(x[i : i + 1])
        return path.attribute(ids, torch.where(ids == END, END, HIDDEN), target=1)

    return {
        f"LIME, {tries} samples": lambda i: lime.explain_instance(
            " ".join(x[i]), lambda texts: model([t.split() or [""] for t in texts]).numpy(), num_samples=tries
        ),
        "SHAP's KernelExplainer": shap_one,
        "captum's KernelSHAP, 200 samples": captum_one,
        "captum's KernelSHAP by default (25 samples)": lambda i: captum_one(i, 25),
        "integrated gradients of captum, 50 steps": path_one,
        "SmoothGrad of unmask, 50 draws": lambda i: smooth.explain(x[i : i + 1]),
    }


def _presence(model: Wrapped, row: list[str]) -> Callable[[np.ndarray], np.ndarray]:
    """The model as a function of which words of `row` are there."""

    def says(kept: np.ndarray) -> np.ndarray:
        return model([[word if there else "<pad>" for word, there in zip(row, k, strict=True)] for k in kept]).numpy()

    return says


def _says(model: Wrapped, rows: np.ndarray) -> np.ndarray:
    pixels: Tensor = torch.as_tensor(rows, dtype=torch.float32)
    return model(pixels).numpy()
