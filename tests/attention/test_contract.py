"""What every method of attention keeps, whoever trains it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from attention.samples import SHORT, K, model, task
from unmask.api import audit, fit, train_model
from unmask.attention import METHODS
from unmask.errors import InputError
from unmask.methods import make
from unmask.types import Explainer

pytestmark = pytest.mark.slow


def unfitted(name: str) -> Any:
    return make(name, K, None, {} if name == "attention" else {"recipe": SHORT})


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("hooked", [False, True])
def test_weights_are_scores_of_every_word_and_of_nothing_else(name: str, hooked: bool) -> None:
    data, explainer = task(), unfitted(name)
    assert isinstance(explainer, Explainer)
    found = explainer.fit(model(hooked), data).explain(data.test.x)
    torch.testing.assert_close(found.scores.sum(1), torch.ones(len(data.test)))
    assert bool((found.scores[~found.valid] == 0).all())
    assert torch.equal(found.kept.sum(1), found.valid.sum(1).clamp(max=K))


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"attention"}))
def test_what_learns_learns_in_mixed_precision_too(name: str) -> None:
    explainer = make(name, K, None, {"recipe": replace(SHORT, precision="mixed")})
    found = explainer.fit(model(), task()).explain(task().test.x)
    assert found.scores.dtype == torch.float32
    torch.testing.assert_close(found.scores.sum(1), torch.ones(len(found)))


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_row_does_not_depend_on_its_batch(name: str) -> None:
    data, explainer = task(), unfitted(name)
    explainer.fit(model(), data)
    together = explainer.explain(data.test.x)
    for i, row in enumerate(data.test.x[:4]):
        alone = explainer.explain([row]).scores[0]
        torch.testing.assert_close(together.scores[i, : len(row)], alone, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_the_same_seed_gives_the_same_and_a_copy_starts_afresh(name: str) -> None:
    data = task()
    first, second = (unfitted(name).fit(model(), data).explain(data.test.x).scores for _ in range(2))
    assert torch.equal(first, second)
    copy = unfitted(name).fit(model(), data).clone()
    assert not hasattr(copy, "task_")


def test_models_without_attention_are_refused_in_a_sentence() -> None:
    data = task()
    with pytest.raises(InputError, match="has no methods attend and answer; name the submodule"):
        fit(train_model(data, seed=0), data, K, method="attention")


@pytest.mark.usefixtures("quick")
def test_attention_is_audited_by_name() -> None:
    report = audit(model(), task(), {"weights": "attention"}, k=K, n=20, say=lambda line: None)
    assert [v.explanation for v in report.verdicts if v.explanation == "weights"] == ["weights"]
