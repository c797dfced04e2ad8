"""FastSHAP: values add up, come close to exact Shapley values, and every row has its own value of nothing."""

from __future__ import annotations

from copy import deepcopy
from itertools import combinations
from math import comb
from typing import Any

import pytest
import torch
from torch import Tensor

from explainers.samples import KINDS, SHORT, K, fitted, model, task
from nets.samples import dataset
from unmask.errors import InputError
from unmask.explainers import fastshap
from unmask.explainers.fastshap import FastSHAP
from unmask.explainers.shapley import misfit, pairs
from unmask.methods import make
from unmask.models import counted, shown, wrap
from unmask.seeds import derive, generator
from unmask.training import Recipe, evaluate
from unmask.types import Layout

pytestmark = pytest.mark.slow  # many small fits

COLUMNS = Layout("table", (5,), tuple(range(5)), tuple(f"column {j}" for j in range(5)))
WEIGHT = torch.randn(5, 3, generator=torch.Generator().manual_seed(2))
LONGER = Recipe(epochs=20, batch=64, rate=4e-3, patience=8, fade=0.85)


def additive(x: Any) -> Tensor:
    """Three classes, their logits sums over five columns."""
    return (torch.as_tensor(x) @ WEIGHT / 2).softmax(1)


def phi_of(explainer: FastSHAP, kind: str) -> Tensor:
    """(n, d, classes) of the test rows."""
    x = task(kind).test.x
    asked = [torch.full((len(x),), c) for c in range(3)]
    return torch.stack([explainer.explain(x, target=target).scores for target in asked], 2)


def v_of(explainer: FastSHAP, kind: str, kept: Tensor) -> Tensor:
    prepared = explainer.task_.reader.prepare(task(kind).test.x)
    return evaluate(explainer.surrogate_, prepared, kept.float()).softmax(1)


@pytest.mark.parametrize("kind", KINDS)
def test_values_add_up_for_every_class(kind: str) -> None:
    explainer, valid = fitted("fastshap", kind), task(kind).test.valid
    gain = v_of(explainer, kind, valid) - v_of(explainer, kind, torch.zeros_like(valid))
    torch.testing.assert_close(phi_of(explainer, kind).sum(1), gain, atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", ["table", "words"])
def test_values_add_up_to_what_the_model_itself_says(kind: str) -> None:
    settings = {"surrogate": "model", "recipe": SHORT, "samples": 4}
    explainer = make("fastshap", K, settings=settings).fit(model(kind), task(kind))
    assert not hasattr(explainer, "surrogate_")
    x, valid, ready = task(kind).test.x, task(kind).test.valid, explainer.task_
    none = shown(model(kind), ready.removal, x, torch.zeros_like(valid))
    torch.testing.assert_close(phi_of(explainer, kind).sum(1), model(kind)(x) - none, atol=1e-4, rtol=0)


def test_without_efficiency_values_are_what_the_network_says() -> None:
    explainer = FastSHAP(K, efficiency=False, recipe=SHORT).fit(model("words"), task("words"))
    raw = evaluate(explainer.phi_, explainer.task_.reader.prepare(task("words").test.x))
    assert torch.equal(phi_of(explainer, "words"), raw * task("words").test.valid[..., None])


def test_nothing_is_worth_something_else_in_every_row() -> None:
    """Padded words that count: v(none) depends on the length of the row, not on the first training row."""
    told = lambda rows: torch.tensor([[1.0 + len(row), 2.0, 1.0] for row in rows]).log().softmax(1)  # noqa: E731
    speaker = wrap(told, takes="ids", tokenizer=lambda rows: rows, removal="pad")
    explainer = FastSHAP(K, surrogate="model", samples=4, recipe=SHORT).fit(speaker, task("words"))
    assert explainer.task_.removal.name == "pad"
    x = task("words").test.x
    e = explainer.explain(x)
    assert len({len(row) for row in x}) > 2
    torch.testing.assert_close(e.scores.sum(1), torch.zeros(len(x)), atol=1e-5, rtol=0)  # removal changes nothing


@pytest.mark.parametrize("efficiency", [True, False])
@pytest.mark.parametrize("surrogate", ["network", "model"])
def test_the_loss_is_the_formula(surrogate: Any, efficiency: bool) -> None:
    explainer = FastSHAP(K, surrogate=surrogate, efficiency=efficiency, samples=4, recipe=SHORT)
    explainer.fit(model("words"), task("words"))
    x = task("words").test.x
    ready, prepared, valid = explainer.task_, explainer.task_.reader.prepare(x), task("words").test.valid
    v = explainer._value(ready, x, prepared)
    index = torch.arange(len(x))
    none, full = v(index, torch.zeros_like(valid)), v(index, valid)
    with torch.no_grad():
        got = explainer._loss(v)(prepared, none, full, valid, index, generator(9))
    phi, s = phi_of(explainer, "words"), pairs(valid, 4, generator(9))
    total = 0.0
    for m in range(4):
        worth = v(index, s[m])
        for i in range(len(x)):
            for c in range(3):
                told = sum(float(phi[i, j, c]) for j in range(valid.shape[1]) if s[m, i, j])
                gap = float(worth[i, c] - none[i, c]) - told
                total += int(valid[i].sum()) * gap**2 / (4 * 3 * len(x))
    assert float(got) == pytest.approx(total, rel=1e-4)


def test_the_surrogate_is_left_alone_while_the_values_are_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    explainer, before, real = FastSHAP(K, samples=4, recipe=SHORT), {}, fastshap.minimize

    def look(players: Any, *given: Any, **options: Any) -> Any:
        assert list(players) == ["phi"]
        before.update({name: deepcopy(getattr(explainer, name).state_dict()) for name in ("surrogate_", "phi_")})
        return real(players, *given, **options)

    monkeypatch.setattr(fastshap, "minimize", look)
    explainer.fit(model("image"), task("image"))
    for name, frozen in (("surrogate_", True), ("phi_", False)):
        state = getattr(explainer, name).state_dict()
        assert all(torch.equal(state[key], before[name][key]) for key in state) == frozen


def test_the_epoch_with_the_lowest_validation_loss_is_kept() -> None:
    explainer = FastSHAP(2, samples=4, recipe=Recipe(epochs=12, batch=8, rate=0.05)).fit(model("table"), task("table"))
    scores = explainer.history_.scores
    assert explainer.history_.best == scores.index(max(scores)) < 11
    held, ready = task("table").validation, explainer.task_
    rng = generator(derive(0, "fastshap validation"))
    index = torch.randperm(len(held.x), generator=rng).sort().values
    valid, v = held.valid[index], explainer._value(ready, held.x, held.x)
    s = pairs(valid, 4, rng)
    none, full = v(index, torch.zeros_like(valid)), v(index, valid)
    gain = torch.stack([v(index, mask) for mask in s]) - none
    phi = explainer._phi(evaluate(explainer.phi_, held.x[index]), full - none, valid)
    assert -float(misfit(phi, s, gain, valid).mean()) == pytest.approx(max(scores), rel=1e-5)
    alike = ((full - none) / 5)[:, None].expand(-1, 5, -1)
    want = -max(scores) / float(misfit(alike, s, gain, valid).mean())
    assert explainer.explain(held.x).origin["unexplained"] == pytest.approx(want, abs=1e-3)


def test_explaining_costs_one_call_with_a_surrogate_and_two_more_with_the_model() -> None:
    x = task("table").test.x
    for surrogate, efficiency, calls in (("network", True, 1), ("model", True, 3), ("model", False, 1)):
        explainer = FastSHAP(K, surrogate=surrogate, efficiency=efficiency, samples=4, recipe=SHORT)  # type: ignore[arg-type]
        explainer.fit(model("table"), task("table"))
        with counted() as tally:
            explainer.explain(x)
        assert tally.rows == calls * len(x)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"surrogate": "tree"}, "surrogate must be network or model, got 'tree'"),
        ({"samples": 3}, "samples must be an even number of at least 2, got 3"),
        ({"samples": 0}, "samples must be an even number of at least 2, got 0"),
        ({"samples": True}, "samples must be an even number of at least 2, got True"),
    ],
)
def test_settings_that_do_not_exist_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        FastSHAP(2, **settings)
    assert str(refused.value) == said


def exact(v: Any, x: Tensor) -> Tensor:
    """(n, 5, classes) phi_j = sum over S without j of (v(S + j) - v(S)) / (d C(d - 1, |S|)); v(rows, kept)."""
    worth = {}
    for size in range(6):
        for s in combinations(range(5), size):
            kept = torch.zeros(len(x), 5, dtype=torch.bool)
            kept[:, list(s)] = True
            worth[s] = v(x, kept)
    phi = torch.zeros(len(x), 5, 3)
    for s, value in worth.items():
        for j in set(range(5)) - set(s):
            phi[:, j] += (worth[tuple(sorted((*s, j)))] - value) / (5 * comb(4, len(s)))
    return phi


@pytest.mark.slow
@pytest.mark.parametrize("surrogate", ["network", "model"])
def test_values_are_close_to_exact_shapley_values(surrogate: Any) -> None:
    """Of the same v, on new rows: the mean error is under a tenth of the mean size of a value."""
    data = dataset(COLUMNS, 2 * torch.randn(2000, 5, generator=generator(7)), classes=3)
    explainer = FastSHAP(2, surrogate=surrogate, removal="zero", recipe=LONGER).fit(additive, data)
    x = 2 * torch.randn(300, 5, generator=generator(8))
    phi = torch.stack([explainer.explain(x, target=torch.full((300,), c)).scores for c in range(3)], 2)

    def v(rows: Tensor, kept: Tensor) -> Tensor:
        if surrogate == "model":
            return additive(torch.where(kept, rows, 0.0))
        return evaluate(explainer.surrogate_, rows, kept.float()).softmax(1)

    want = exact(v, x)
    assert float((phi - want).abs().mean() / want.abs().mean()) < 0.1
    assert explainer.readings_["unexplained"] < 0.2
