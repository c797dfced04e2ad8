"""Explaining: a fitted selector against methods that ask the model about every row many times."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from peers import quietly
from speed import grounds
from speed.measuring import Times, bar, in_turns
from unmask import api
from unmask.explainers.smoothgrad import SmoothGrad
from unmask.models import Wrapped
from unmask.nets.vocabulary import END, HIDDEN
from unmask.reproduce.references import RECIPES
from unmask.types import Dataset, Inputs

Perturbing = dict[str, Callable[[int], object]]
"""Method -> a function that explains row i."""

SAMPLED = ("lime", "shap's kernel", "captum's kernelshap by default")  # beginnings of the names of what is held against
ROWS = 2  # explained by each of the others in a round
ROUNDS = 5


def images(small: bool) -> dict[str, Any]:
    """A thousand digits of MNIST explained by fitted selectors, against methods that are at work for each row anew.

    The unit is one pass of the explained network, a plain one of torch as users have it, over the same rows. `on top`
    leaves out the one model call that names the class to explain; the last two columns compare with the slowest
    selector, without that call and with it. All run in turns; in a round the others explain two rows, each time other
    ones, of texts those of about the mean length. LIME, SHAP's KernelExplainer and captum's integrated gradients have
    their default settings; captum's KernelSHAP has 25 samples by default, fewer than there are pixels, so it is also
    shown with 200 samples, 50 rows in a call. With 25 it asks the model for 25 answers, so that to be 500 times faster
    is to be done in a twentieth of a pass: no network that reads the row is, and this bar is not met. The others
    explain one row in a call, which for the quick ones, such as a plain slope, is most of their time. The networks that
    unmask trains answer faster than the plain one; explaining them takes more of their passes (second table).
    """
    model, data = grounds.mnist(100 if small else 1000, 64 if small else 1000)
    found = _compared(model, data, 25, _image_peers(model, data, small), "images", small)
    own = api.train_model(data, recipe=grounds.one_epoch(RECIPES["image"]))
    more = _compared(own, data, 25, {}, "images, a network of unmask", small)
    title = next(iter(more["tables"]))
    return {
        "bars": [*found["bars"], *more["bars"]],
        "tables": found["tables"] | {f"A network of unmask: {title}": more["tables"][title]},
    }


def words(small: bool) -> dict[str, Any]:
    """The same for a thousand reviews of IMDB and a convolutional network over words."""
    model, data = grounds.imdb(200 if small else 2000, 32 if small else 1000)
    return _compared(model, data, 10, _word_peers(model, data, small), "words", small)


def _compared(model: Wrapped, data: Dataset, k: int, others: Perturbing, kind: str, small: bool) -> dict[str, Any]:
    x, n = data.test.x, len(data.test)
    fitted = {name: grounds.fitted(name, model, data, k) for name in grounds.LEARNED}
    works = {"one pass": lambda: model(x)}
    works |= {name: lambda e=e: e.explain(x) for name, e in fitted.items()}
    rounds = 1 if small else ROUNDS
    rows_of_round = [iter(_usual(x, ROWS * (rounds + 1))) for _ in others]
    works |= {
        name: lambda work=work, rows=rows: [work(next(rows)) for _ in range(ROWS)]
        for (name, work), rows in zip(others.items(), rows_of_round, strict=True)
    }
    times = in_turns(works, rounds)
    each = {name: Times(tuple(t / (ROWS if name in others else n) for t in times[name].each)) for name in works}
    top = {name: each[name].over(each["one pass"]) - 1 for name in fitted}
    slowest = max(top, key=top.__getitem__)
    alone = each[slowest].minus(each["one pass"])
    rows = [_row(name, t, each["one pass"], top.get(name)) for name, t in each.items() if name not in others]
    rows += [
        {
            **_row(name, each[name], each["one pass"], None),
            "selector, times faster": f"{each[name].over(alone):.0f}",
            "whole call, times faster": f"{each[name].over(each[slowest]):.0f}",
        }
        for name in others
    ]
    bars = [bar(1, f"{kind}, {name}: passes on top of the model call", top[name], most=1.5) for name in fitted]
    for rival in (name for name in others if name.lower().startswith(SAMPLED)):
        for what, taken in (("selector alone", alone), ("whole call", each[slowest])):
            gain = each[rival].over(taken)
            bars.append(bar(1, f"{kind}, slowest {what}: times faster than {rival}", gain, least=500))
    return {"bars": bars, "tables": {f"{n} rows, milliseconds for each": rows}}


def _row(name: str, t: Times, unit: Times, top: float | None) -> dict[str, str]:
    return {
        "method": name,
        **t.columns(),
        "passes": f"{t.over(unit):.3g}",
        "on top": "" if top is None else f"{top:.2f}",
    }


def _usual(x: Inputs, many: int) -> list[int]:
    """Some rows; of texts those whose lengths are nearest to the mean."""
    if isinstance(x, Tensor):
        return list(range(many))
    lengths = np.array([len(row) for row in x])
    return np.abs(lengths - lengths.mean()).argsort(kind="stable")[:many].tolist()


def _image_peers(model: Wrapped, data: Dataset, small: bool) -> Perturbing:
    import shap
    from captum.attr import DeepLift, IntegratedGradients, KernelShap, NoiseTunnel, Saliency
    from lime.lime_image import LimeImageExplainer

    net, x = model.module, data.test.x
    with torch.no_grad():
        target = net(x).argmax(1)
    twice = deepcopy(net)  # DeepLift hangs hooks on it
    lime, tries = LimeImageExplainer(random_state=0), 20 if small else 1000
    kernel = shap.KernelExplainer(lambda rows: _says(model, rows.reshape(-1, 1, 28, 28)), np.zeros((1, 784)))

    def pictures(rows: np.ndarray) -> np.ndarray:
        return _says(model, rows[..., :1].transpose(0, 3, 1, 2))

    partition = shap.Explainer(pictures, shap.maskers.Image(np.zeros((28, 28, 1)), (28, 28, 1)), algorithm="partition")

    def one(method: Any, settings: dict[str, Any]) -> Callable[[int], object]:
        return lambda i: method.attribute(x[i : i + 1], target=target[i : i + 1], **settings)

    return {
        f"LIME, {tries} samples": lambda i: quietly(
            lambda: lime.explain_instance(x[i, 0].double().numpy(), pictures, num_samples=tries)
        ),
        "SHAP's KernelExplainer": lambda i: kernel.shap_values(
            x[i].flatten().numpy(), nsamples=50 if small else "auto", silent=True
        ),
        "captum's KernelSHAP, 200 samples": one(
            KernelShap(net), {"n_samples": 20 if small else 200, "perturbations_per_eval": 50}
        ),
        "captum's KernelSHAP by default (25 samples)": one(KernelShap(net), {}),
        "SHAP's PartitionExplainer, 500 answers": lambda i: partition(
            x[i : i + 1].numpy().transpose(0, 2, 3, 1), max_evals=50 if small else 500, silent=True
        ),
        "slope (captum's Saliency)": one(Saliency(net), {}),
        "DeepLift of captum": one(DeepLift(twice), {}),
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

    def captum_one(i: int, samples: int = 20 if small else 200, at_once: int = 50) -> object:
        forward = _presence(model, x[i])
        method = KernelShap(lambda kept: torch.as_tensor(forward(kept.numpy())))
        asked = {"n_samples": samples, "perturbations_per_eval": at_once}
        return method.attribute(torch.ones(1, len(x[i])), target=1, **asked)

    def path_one(i: int) -> object:
        ids = model.feed(x[i : i + 1])
        return path.attribute(ids, torch.where(ids == END, END, HIDDEN), target=1)

    return {
        f"LIME, {tries} samples": lambda i: lime.explain_instance(
            " ".join(x[i]), lambda texts: model([t.split() or [""] for t in texts]).numpy(), num_samples=tries
        ),
        "SHAP's KernelExplainer": shap_one,
        "captum's KernelSHAP, 200 samples": captum_one,
        "captum's KernelSHAP by default (25 samples)": lambda i: captum_one(i, 25, 1),
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
