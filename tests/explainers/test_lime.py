"""LIME against scikit-learn's ridge on the masks it was seen to use, closed forms, and the reference package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import Tensor

from explainers.samples import K, model, task
from nets.samples import GROUPED, PLAIN, TEXTS, dataset, values
from unmask.errors import InputError
from unmask.explainers.lime import LIME, answers, by_length, least_squares
from unmask.masking.removals import MASK
from unmask.methods import make
from unmask.models import Wrapped, wrap
from unmask.types import Layout

POINTS = {"good": 1.2, "kind": 0.6, "bad": -1.5, "cold": -0.7, "warm": 0.4}
SLOPES = torch.tensor([0.03, -0.02, 0.01, 0.04, -0.05])


def line(x: Any) -> Tensor:
    """p(class 0) is a line in the columns."""
    p = 0.5 + torch.as_tensor(x) @ SLOPES[: len(x[0])]
    return torch.stack([p, 1 - p], 1)


def curve(x: Any) -> Tensor:
    """Two classes, with an interaction of the first two columns."""
    rows = torch.as_tensor(x, dtype=torch.float32)
    score = rows @ torch.linspace(-1.0, 1.5, rows.shape[1]) + 2 * rows[:, 0] * rows[:, 1]
    return torch.stack([-score, score], 1).softmax(1)


def words(rows: Any) -> Tensor:
    """Words add up, but for "kind", which counts only beside "good"."""
    total = torch.tensor([sum(POINTS.get(w, 0.0) * (w != "kind" or "good" in row) for w in row) for row in rows])
    return torch.stack([total, -total], 1).softmax(1)


def by_word() -> Wrapped:
    return wrap(words, takes="ids", tokenizer=lambda rows: rows)


def table(d: int) -> Any:
    layout = Layout("table", (d,), tuple(range(d)), tuple(f"column {j}" for j in range(d)))
    return dataset(layout, torch.tensor([[0.0], [1.0]]).repeat(4, d))


def seen(explainer: LIME, data: Any, x: Tensor) -> tuple[Tensor, Tensor, Any]:
    """The masks that the model was shown (removal "zero", no value is 0), what it said, and the explanation."""
    rows: list[Tensor] = []

    def watched(given: Any) -> Tensor:
        rows.append(torch.as_tensor(given).clone())
        return curve(given)

    explainer.fit(watched, data)
    rows.clear()
    e = explainer.explain(x, target=torch.ones(len(x), dtype=torch.long))
    shown = torch.cat(rows)
    return (shown != 0).double(), curve(shown)[:, 1].double(), e


@pytest.mark.parametrize("law", ["lime-text", "bernoulli"])
@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
@pytest.mark.parametrize(("sigma", "alpha"), [(None, 1.0), (3.0, 0.1)])
def test_it_is_the_ridge_regression_of_the_masks_it_draws(
    law: Any, distance: Any, sigma: float | None, alpha: float
) -> None:
    data, x = dataset(PLAIN, values(PLAIN, 12)), torch.tensor([[1.0, -2.0, 0.5, 3.0]])
    explainer = LIME(2, 50, law, distance, sigma, alpha, removal="zero")
    z, p, e = seen(explainer, data, x)
    assert z.shape == (50, 4)
    assert bool(z[0].all())
    cosine = torch.where(z.any(1), z.sum(1) / (z.norm(dim=1) * 2.0).clamp(min=1), 0.0)
    apart = (1 - z).norm(dim=1) if distance == "euclidean" else 100 * (1 - cosine)
    width = sigma or (0.75 * 2.0 if distance == "euclidean" else 25.0)
    weight = torch.exp(-(apart**2) / width**2).sqrt().numpy()
    ridge = Ridge(alpha=alpha).fit(z.numpy(), p.numpy(), sample_weight=weight)
    np.testing.assert_allclose(e.scores[0].numpy(), ridge.coef_, atol=1e-5)
    assert e.origin["r2"] == pytest.approx(ridge.score(z.numpy(), p.numpy(), sample_weight=weight), abs=1e-4)


@pytest.mark.parametrize("layout", [PLAIN, GROUPED], ids=["columns", "groups"])
@pytest.mark.parametrize("removal", ["zero", "mean", "marginal"])
def test_a_line_is_found_exactly(layout: Layout, removal: str) -> None:
    data = dataset(layout, values(layout, 12))
    explainer = make("lime", 2, removal, {"alpha": 0.0, "samples": 100}).fit(line, data)
    e = explainer.explain(data.test.x, target=torch.zeros(12, dtype=torch.long))
    away = data.test.x - explainer.task_.removal.fills.mean(0)
    torch.testing.assert_close(e.scores, layout.gather(away * SLOPES[: layout.shape[0]]), atol=1e-5, rtol=1e-4)
    assert e.origin["r2_worst"] == pytest.approx(1.0, abs=1e-6)


def test_the_fit_says_where_no_line_fits() -> None:
    """p is 1 where exactly one of two columns is shown: a line explains nothing of it."""

    def either(x: Any) -> Tensor:
        p = ((torch.as_tensor(x)[:, 0] != 0) ^ (torch.as_tensor(x)[:, 1] != 0)).float()
        return torch.stack([p, 1 - p], 1)

    data = table(2)
    e = LIME(1, 2000, removal="zero").fit(either, data).explain(torch.ones(1, 2), target=torch.tensor([0]))
    assert e.origin["r2_worst"] < 0.1  # the weights favour the full row, so not quite 0
    still = LIME(1, 50, removal="zero").fit(lambda x: torch.full((len(x), 2), 0.5), data).explain(torch.ones(3, 2))
    assert float(still.scores.abs().max()) < 1e-6
    assert still.origin["r2_worst"] == pytest.approx(1.0)


def test_laws() -> None:
    data, x = dataset(PLAIN, values(PLAIN, 12)), torch.ones(1, 4)
    n = 4000
    z = seen(LIME(2, n + 1, "lime-text", removal="zero"), data, x)[0][1:]
    gone = (1 - z).sum(1).long().bincount(minlength=5) / n
    assert gone[0] == 0
    assert bool(((gone[1:] - 0.25).abs() < 4 * (0.25 * 0.75 / n) ** 0.5).all())
    z = seen(LIME(2, n + 1, "bernoulli", removal="zero"), data, x)[0][1:]
    assert bool(((z.mean(0) - 0.5).abs() < 4 * 0.5 / n**0.5).all())
    assert bool(((z.T @ z / n).triu(1)[torch.ones(4, 4).triu(1) == 1] - 0.25).abs().max() < 4 * (0.1875 / n) ** 0.5)


@pytest.mark.parametrize(
    ("kind", "law", "distance"),
    [("table", "bernoulli", "euclidean"), ("image", "bernoulli", "cosine"), ("words", "lime-text", "cosine")],
)
def test_what_is_left_open_is_as_in_the_reference_package(kind: str, law: str, distance: str) -> None:
    e = LIME(K, 20).fit(model(kind), task(kind)).explain(task(kind).test.x)
    assert (e.origin["law"], e.origin["distance"]) == (law, distance)
    named = LIME(K, 20, law=law, distance=distance).fit(model(kind), task(kind)).explain(task(kind).test.x)  # type: ignore[arg-type]
    assert torch.equal(named.scores, e.scores)


def spread(explain: Any, seeds: range) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the scores over seeds."""
    found = np.stack([explain(seed) for seed in seeds])
    return found.mean(0), found.std(0, ddof=1)


@pytest.mark.filterwarnings("ignore")
def test_tables_agree_with_the_lime_package() -> None:
    """Columns of 0 and 1, half of each: there, drawing a value from the data is removing it by a fair coin."""
    from lime.lime_tabular import LimeTabularExplainer

    d, n, data = 6, 1000, table(6)

    def theirs(seed: int) -> np.ndarray:
        peer = LimeTabularExplainer(
            data.train.x.numpy(), categorical_features=list(range(d)), feature_selection="none", random_state=seed
        )
        said = peer.explain_instance(np.ones(d), lambda x: curve(x).numpy(), num_features=d, num_samples=n)
        return np.array([weight for _, weight in sorted(said.local_exp[1])])

    def ours(seed: int) -> np.ndarray:
        explainer = LIME(2, n, removal="zero", seed=seed).fit(curve, data)
        return explainer.explain(torch.ones(1, d), target=torch.tensor([1])).scores[0].numpy()

    (mean, sd), (want, their_sd) = spread(ours, range(20)), spread(theirs, range(20))
    assert (np.abs(mean - want) < 4 * np.sqrt((sd**2 + their_sd**2) / 20)).all()
    assert np.abs(want).max() > 20 * sd.max()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_texts_agree_with_the_lime_package() -> None:
    from lime.lime_text import LimeTextExplainer

    row, n, data = TEXTS[2], 1000, dataset(Layout("words"), TEXTS)

    def theirs(seed: int) -> np.ndarray:
        peer = LimeTextExplainer(bow=False, mask_string=MASK, feature_selection="none", random_state=seed)
        said = peer.explain_instance(
            " ".join(row),
            lambda texts: words([t.split() for t in texts]).numpy(),
            labels=(0,),
            num_features=len(row),
            num_samples=n,
        )
        return np.array([weight for _, weight in sorted(said.local_exp[0])])

    def ours(seed: int) -> np.ndarray:
        explainer = LIME(2, n, removal="mask-token", seed=seed).fit(by_word(), data)
        return explainer.explain([row], target=torch.tensor([0])).scores[0].numpy()

    (mean, sd), (want, their_sd) = spread(ours, range(20)), spread(theirs, range(20))
    assert (np.abs(mean - want) < 4 * np.sqrt((sd**2 + their_sd**2) / 20)).all()
    assert np.abs(want).max() > 20 * sd.max()


def test_calls_in_parts_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    explainer = LIME(K, 30).fit(model("words"), task("words"))
    whole = explainer.explain(task("words").test.x).scores
    monkeypatch.setattr("unmask.explainers.lime.CALLS", 7)
    torch.testing.assert_close(explainer.explain(task("words").test.x).scores, whole, atol=1e-5, rtol=1e-5)


def test_answers_are_those_of_each_row_under_each_mask() -> None:
    data = dataset(PLAIN, values(PLAIN, 3))
    masks = torch.tensor([[True, False, True, True], [False, False, False, False]])
    explainer = LIME(2, removal="zero").fit(curve, data)
    got = answers(explainer.task_, data.test.x, torch.tensor([0, 1, 1]), masks)
    for i, target in enumerate((0, 1, 1)):
        for j, mask in enumerate(masks):
            assert float(got[i, j]) == pytest.approx(float(curve((data.test.x[i] * mask)[None])[0, target]), abs=1e-6)


def test_rows_go_by_their_length() -> None:
    valid = torch.tensor([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]).bool()
    assert [(length, rows.tolist()) for length, rows in by_length(valid)] == [(1, [1]), (2, [0, 2]), (3, [3])]


def test_least_squares_are_the_shortest() -> None:
    rng = np.random.default_rng(4)
    for m, d in ((9, 4), (4, 9)):
        a, w, y = rng.random((3, m, d)), rng.random(m) + 0.1, rng.random((3, m))

        def shortest(i: int, row: int, a: Any = a, w: Any = w, y: Any = y) -> Any:
            return np.linalg.pinv(a[i] * np.sqrt(w)[:, None]) @ (np.sqrt(w) * y[row])

        own, shared = (least_squares(*map(torch.as_tensor, (design, w, y))).numpy() for design in (a, a[0]))
        np.testing.assert_allclose(own, [shortest(i, i) for i in range(3)], atol=1e-8)
        np.testing.assert_allclose(shared, [shortest(0, i) for i in range(3)], atol=1e-8)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"samples": 1}, "samples must be a whole number of at least 2, got 1"),
        ({"samples": 2.5}, "samples must be a whole number of at least 2, got 2.5"),
        ({"samples": True}, "samples must be a whole number of at least 2, got True"),
        ({"law": "normal"}, "law must be lime-text or bernoulli, got 'normal'"),
        ({"distance": "hamming"}, "distance must be cosine or euclidean, got 'hamming'"),
        ({"sigma": 0.0}, "sigma must be above 0, got 0.0"),
        ({"alpha": -1.0}, "alpha must be 0 or above, got -1.0"),
        ({"alpha": float("nan")}, "alpha must be 0 or above, got nan"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        make("lime", 2, None, settings)
    assert str(refused.value) == said
