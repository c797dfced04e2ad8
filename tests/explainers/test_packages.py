"""SHAP's and LIME's own packages, against our forms of the same and against calling them by hand."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch
from lime.lime_text import LimeTextExplainer
from torch import Tensor

from explainers.samples import fitted, task
from nets.samples import PLAIN, dataset, values
from unmask.errors import InputError
from unmask.explainers.packages import Package
from unmask.methods import make

pytestmark = pytest.mark.slow

WEIGHTS = {"good": 1.5, "fine": 0.8, "bad": -1.2, "poor": -0.5}


def curve(x: Any) -> Tensor:
    """Two classes, with an interaction."""
    rows = torch.as_tensor(x, dtype=torch.float32)
    score = rows[:, 0] - 2 * rows[:, 1] * rows[:, 2] + 0.5 * rows[:, 3]
    return torch.stack([score, -score], 1).softmax(1)


def counted(rows: Any) -> Tensor:
    total = torch.tensor([sum(WEIGHTS.get(word, 0.1) for word in row.split()) for row in rows])
    return torch.stack([total, -total], 1).softmax(1)


def test_few_units_have_the_same_shapley_values() -> None:
    """Of few units SHAP asks about every set, as ours does."""
    data = dataset(PLAIN, values(PLAIN, 6), classes=2)
    theirs, ours = (
        make(method, 2, "zero").fit(curve, data).explain(data.test.x) for method in ("shap-package", "kernel-shap")
    )
    torch.testing.assert_close(theirs.scores, ours.scores, atol=1e-5, rtol=1e-4)


def test_lime_is_what_its_text_explainer_finds() -> None:
    """The same words, the same law: coefficients differ by the draws only."""
    words = ["the", "good", "tea", "was", "bad", "and", "fine"]
    data = dataset_of(words)
    ours = make("lime-package", 2, "delete").fit(counted, data).explain([words]).scores[0]
    explainer = LimeTextExplainer(class_names=["yes", "no"], bow=False, mask_string="", random_state=0)

    def says(texts: list[str]) -> np.ndarray:
        return counted(texts).numpy()

    label = int(counted([" ".join(words)]).argmax())
    found = dict(explainer.explain_instance(" ".join(words), says, labels=(label,), num_features=7).as_map()[label])
    want = torch.tensor([found[i] for i in range(len(words))])
    torch.testing.assert_close(ours, want.float(), atol=0.01, rtol=0.05)


def dataset_of(words: list[str]) -> Any:
    from unmask.data.own import dataset as made

    texts = [words[i % 3 :] for i in range(12)]
    return made(texts, [i % 2 for i in range(12)], kind="words")


@pytest.mark.parametrize("method", ["lime-package", "shap-package"])
def test_the_draws_are_the_seeds_and_numpys_generator_stays(method: str) -> None:
    np.random.seed(3)
    before = np.random.get_state()[1].copy()
    first = fitted(method, "words").explain(task("words").test.x).scores
    assert (np.random.get_state()[1] == before).all()
    np.random.seed(4)
    assert torch.equal(fitted(method, "words").explain(task("words").test.x).scores, first)


@pytest.mark.parametrize(("method", "package"), [("lime-package", "lime"), ("shap-package", "shap")])
def test_a_missing_package_is_named(method: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lime.lime_base" if package == "lime" else package, None)
    with pytest.raises(InputError, match=rf"{method} needs the package {package}; run pip install \"unmask\[peers\]\""):
        make(method, 2).fit(counted, task("words"))


def test_another_package_is_refused() -> None:
    with pytest.raises(InputError, match="package must be lime or shap, got 'eli5'"):
        Package(2, "eli5")  # type: ignore[arg-type]
