"""The models and data that the cases stand on; how well a model answers does not matter to how long it takes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from unmask import api, seeds
from unmask.data import load
from unmask.data.own import dataset
from unmask.explainers.l2x import L2X
from unmask.explainers.meed import MEED
from unmask.explainers.mimic import Mimic
from unmask.models import Wrapped, bind, wrap
from unmask.reproduce.references import RECIPES
from unmask.training import Recipe, fit_classifier
from unmask.types import Dataset

SHORT = Recipe(epochs=2)
LEARNED = {"l2x": L2X, "meed": MEED, "mimic": Mimic}
MODEL_ONLY = (
    *("fs-m", "fu-m", "sufficiency", "comprehensiveness"),
    *("aopc-sufficiency", "aopc-comprehensiveness", "insertion", "deletion"),
    *("infidelity", "infidelity-raw", "counterfactual", "counterfactual-size"),
)  # checks that ask the model and do nothing else


def network(data: Dataset) -> nn.Sequential:
    """The network of the papers for images, as users of torch write it and have it: none of ours, which are faster."""
    channels, height, width = data.layout.shape
    body = [nn.Conv2d(channels, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25)]
    flat = 64 * ((height - 4) // 2) * ((width - 4) // 2)
    head = [nn.Linear(flat, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, len(data.classes))]
    with seeds.seeded(0):
        return nn.Sequential(*body, nn.Flatten(), *head)


def linear(data: Dataset) -> Wrapped:
    """A linear model that is asked about as many rows at once as any."""
    net = nn.Sequential(nn.Flatten(), nn.Linear(math.prod(data.layout.shape), len(data.classes)))
    fit_classifier(net, (data.train.x, data.train.y), (data.validation.x, data.validation.y), SHORT)
    return replace(bind(wrap(net, outputs="logits"), data), values=None)


def trained(data: Dataset, recipe: Recipe) -> Wrapped:
    """That network, trained."""
    net = network(data)
    fit_classifier(net, (data.train.x, data.train.y), (data.validation.x, data.validation.y), recipe)
    return bind(wrap(net, outputs="logits"), data)


def mnist(train: int, test: int) -> tuple[Wrapped, Dataset]:
    """That network on ten digits of 28 by 28 pixels, trained for an epoch."""
    data = load("mnist", seed=0, rows=(train, max(100, train // 4), test))
    return trained(data, one_epoch(RECIPES["image"])), data


def imdb(train: int, test: int) -> tuple[Wrapped, Dataset]:
    """The network of the papers on reviews of up to 400 words, trained for an epoch."""
    data = load("imdb", seed=0, rows=(train, max(100, train // 4), test))
    return api.train_model(data, recipe=one_epoch(RECIPES["words"])), data


def fitted(name: str, model: Wrapped, data: Dataset, k: int) -> Any:
    """A learned explainer after one epoch: its networks are those of a finished one."""
    explainer: Any = LEARNED[name](k=k)
    return replace(explainer, recipe=one_epoch(explainer.recipe)).fit(model, data)


def one_epoch(recipe: Recipe) -> Recipe:
    return replace(recipe, epochs=1)


def drawn(n: int, height: int, width: int, classes: int) -> tuple[Wrapped, Dataset]:
    """Pixels and classes at random, and a network that has seen a few of them; n rows to learn from, 200 others."""
    x = torch.rand(n + 200, 1, height, width, generator=torch.Generator().manual_seed(0))
    y = torch.arange(n + 200) % classes
    parts = {"train": range(n), "validation": range(n, n + 100), "test": range(n + 100, n + 200)}
    data = dataset(x, y, kind="image", split=parts)
    few = replace(data, train=data.train.rows(torch.arange(64)))
    return trained(few, Recipe(epochs=1)), data
