"""Does it depend on the model, on the data? The explainer is fitted again, to a model that knows nothing of the task.

An explanation of what the model does must change with it; what stays is owed to the input or to the method. The level
to expect by chance is that of the random control: k of the valid units.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor, nn

from unmask import seeds
from unmask.audit.case import Case, Subject, Values, missing
from unmask.audit.fresh import anew
from unmask.audit.locked import explains_itself
from unmask.errors import TrainingError, UnmaskError
from unmask.models import Wrapped
from unmask.training import Recipe, minimize, soft_cross_entropy
from unmask.types import Explainer, Inputs, rows_of

__all__ = [
    "GROUPS",
    "REFITS",
    "cascading",
    "cosine",
    "independent",
    "layers",
    "permuted_labels",
    "randomized_model",
]

REFITS = 3  # networks with random weights: one alone may point at the same units by luck
GROUPS = 5  # of layers, at most, that are drawn anew one after the other: the explainer is fitted again for each
FITTED = 0.95  # share of the shuffled labels that a copy of the model is trained to know by heart
ROUNDS = 20  # of ROUND's epochs, at most
ROUND = Recipe(epochs=10, batch=64, rate=1e-3)


def randomized_model(case: Case, subject: Subject) -> Values:
    """Mean cosine of the masks with those for the same architecture with random weights. Adebayo et al. 2018.

    The explainer is cloned and fitted again each time, and asked about the same classes; lower is better.
    """
    models = case.once("randomized", lambda: _randomized(case))
    if not models:
        return missing(case, "the weights of this model cannot be drawn anew")
    return _survival(case, subject, models)


def permuted_labels(case: Case, subject: Subject) -> Values:
    """Cosine of the masks with those for the same model trained on permuted labels. Adebayo et al. 2018.

    The copy learns from the judges' training rows until it knows their shuffled labels by heart; lower is better.
    """
    model, note = case.once("permuted", lambda: _permuted(case))
    if model is None:
        return missing(case, note)
    found = _survival(case, subject, [model])
    return replace(found, note=found.note or note)


def cascading(case: Case, subject: Subject) -> Values:
    """Cosine of the masks with those for the model whose layers are random from the last to the first; lower is better.

    The curve is over the share of the layers drawn anew, the output's first; the number is that of all of them. The
    explainer is cloned and fitted again each time. By chance k/d. Adebayo et al. 2018.
    """
    found = _curve(case, subject, _by_layers(case, cumulative=True))
    return replace(found, values=list(found.curve.values())[-1]) if found.curve else found


def independent(case: Case, subject: Subject) -> Values:
    """The same with one group of layers drawn anew and all others as they were, a mean over groups; lower is better.

    A layer that matters little may change little: the curve, from the output to the input, says which. By chance k/d.
    Adebayo et al. 2018.
    """
    return _curve(case, subject, _by_layers(case, cumulative=False))


def layers(module: nn.Module, ran: Sequence[str] = ()) -> list[list[str]]:
    """Names of the submodules that own parameters, from the output to the input, in GROUPS groups at most.

    `ran` are submodules in the order in which they were done with a row; without it that of the registration counts.
    """
    names = [name for name, m in module.named_modules() if any(True for _ in m.parameters(recurse=False))]
    names = sorted(names, key=lambda name: ran.index(name) if name in ran else -1)[::-1]
    size = min(GROUPS, len(names))
    edges = [round(i * len(names) / size) for i in range(size + 1)]
    return [names[a:b] for a, b in pairwise(edges)]


def _ran(model: Wrapped, module: nn.Module, x: Inputs) -> list[str]:
    """Names of the submodules in the order in which they are done with a row, the output last."""
    done: list[str] = []
    parts = list(module.named_modules())
    hooks = [part.register_forward_hook(lambda *_, name=name: done.append(name)) for name, part in parts]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return list(dict.fromkeys(reversed(done)))[::-1]


def _by_layers(case: Case, cumulative: bool) -> Iterator[tuple[float, Wrapped]]:
    """Share of the groups of layers, and the model with this group drawn anew, or all up to it: one copy at a time."""
    model, whole = case.model, anew(case.model, seeds.derive(case.seed, "layers"))
    if whole is None or whole.module is None or not isinstance(model, Wrapped) or model.module is None:
        return
    ran = _ran(model, model.module, rows_of(case.x, torch.arange(1)))
    groups, drawn = layers(model.module, ran), whole.module.state_dict()
    for i in range(len(groups)):
        taken = {name for group in (groups[: i + 1] if cumulative else groups[i : i + 1]) for name in group}
        copy = deepcopy(model.module)
        state = copy.state_dict()
        copy.load_state_dict(state | {key: drawn[key] for key in state if key.rpartition(".")[0] in taken})
        how = "up to" if cumulative else "only"
        name = f"{model.name}, layers {how} {i + 1} of {len(groups)} with random weights"
        yield (i + 1) / len(groups), replace(model, module=copy, call=copy, name=name)


def _curve(case: Case, subject: Subject, models: Iterator[tuple[float, Wrapped]]) -> Values:
    curve = {}
    for at, model in models:
        found = _survival(case, subject, [model])
        if bool(found.values.isnan().all()):
            return found
        curve[at] = found.values
    if not curve:
        return missing(case, "the weights of this model cannot be drawn anew")
    return Values(torch.stack(list(curve.values())).mean(0), curve=curve)


def cosine(kept: Tensor, again: Tensor) -> Tensor:
    """(n,) units in both masks / sqrt(k k'); nan where a mask is empty."""
    size = (kept.sum(1) * again.sum(1)).double().sqrt()
    both = (kept & again).sum(1).double()
    return torch.where(size > 0, both / size, torch.nan).float()


def _survival(case: Case, subject: Subject, models: list[Wrapped]) -> Values:
    """The mean over `models` of each row's cosine."""
    if subject.explainer is None:
        return missing(case, "came ready-made: it cannot be fitted again")
    if explains_itself(subject.explainer):
        return missing(case, "a model that explains itself has no other model to be fitted to")
    try:
        found = [cosine(subject.kept, _masks(case, subject.explainer, model)) for model in models]
    except UnmaskError as error:
        return missing(case, f"could not be fitted again: {error}")
    return Values(torch.stack(found).mean(0))


def _masks(case: Case, explainer: Explainer, model: Wrapped) -> Tensor:
    again = explainer.clone().fit(model, case.data).explain(case.x, case.target)
    return again.kept[:, : case.valid.shape[1]]


def _randomized(case: Case) -> list[Wrapped]:
    found = []
    for i in range(REFITS):
        copy = anew(case.model, seeds.derive(case.seed, "randomized", i))
        if copy is not None:
            found.append(replace(copy, name=f"{copy.name} with random weights {i + 1}"))
    return found


def _permuted(case: Case) -> tuple[Wrapped | None, str]:
    """A copy trained on shuffled labels, and how well it knows them; or None, and why."""
    rows, seed = case.pools["train"].split, seeds.derive(case.seed, "permuted")
    y = rows.y[torch.randperm(len(rows.y), generator=seeds.generator(seed))]
    name = f"{case.model.name} trained on shuffled labels"
    copy = anew(case.model, seed)
    try:
        if copy is not None and isinstance(copy.feed(case.x[:1]), Tensor):
            copy = _by_heart(replace(copy, name=name), rows.x, y, seed)
        elif isinstance(case.model, Wrapped) and hasattr(case.model.estimator, "fit"):
            copy = _fitted(replace(case.model, name=name), case.data.classes, rows.x, y)
        else:
            return None, "this model cannot be trained anew"
    except (TrainingError, ValueError) as error:
        return None, f"a copy of the model could not be trained: {error}"
    right = float((copy(rows.x).argmax(1) == y).float().mean())
    return copy, f"the copy of the model knows {right:.0%} of the shuffled labels"


def _by_heart(model: Wrapped, x: Inputs, y: Tensor, seed: int) -> Wrapped:
    module = model.module
    if module is None:
        raise TypeError("only a torch module learns by heart")
    prepared = model.feed(x).cpu()

    def loss(rows: Tensor, label: Tensor, rng: torch.Generator) -> Tensor:
        return soft_cross_entropy(model.log_probabilities(rows), label).mean()

    for turn in range(ROUNDS):
        recipe = replace(ROUND, seed=seeds.derive(seed, turn), batch=min(ROUND.batch, model.batch))
        minimize({"copy": (module, loss)}, (prepared, y), recipe, title="learning shuffled labels")
        if float((model(x).argmax(1) == y).float().mean()) >= FITTED:
            break
    return model


def _fitted(model: Wrapped, names: tuple[str, ...], x: Inputs, y: Tensor) -> Wrapped:
    """The estimator fitted anew, to labels as it knows them; `names` are the classes of y."""
    known = np.asarray(model.estimator.classes_)
    texts = [str(label) for label in known]
    place = np.array([texts.index(name) for name in names] if set(texts) == set(names) else range(len(names)))
    estimator = clone(model.estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # there is nothing to converge to
        estimator.fit(model.feed(x), known[place[y.numpy()]])

    def call(rows: Any) -> Any:
        said = estimator.predict_proba(rows)
        whole = np.zeros((len(said), len(known)))
        whole[:, np.searchsorted(known, estimator.classes_)] = said  # a class may be missing from these rows
        return whole

    return replace(model, estimator=estimator, call=call)
