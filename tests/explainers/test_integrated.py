"""Closed forms and paths walked by hand stand in test_gradients.py, beside those of the other gradient methods."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explainers.samples import fitted, model, task
from unmask.errors import InputError
from unmask.explainers.integrated import IntegratedGradients


def test_more_steps_close_the_gap() -> None:
    x = task("table").test.x
    gaps = [
        IntegratedGradients(2, steps=steps).fit(model("table"), task("table")).explain(x).origin["completeness_gap"]
        for steps in (1, 4, 64)
    ]
    assert gaps[0] > 4 * gaps[1] > 16 * gaps[2] > 0


@pytest.mark.parametrize("steps", [0, -1, 2.5, True])
def test_a_path_needs_steps(steps: int) -> None:
    with pytest.raises(InputError, match="steps must be a whole number of at least 1, got"):
        IntegratedGradients(2, steps=steps)


def test_the_gap_of_the_last_call_is_no_setting() -> None:
    explainer = fitted("integrated-gradients", "table")
    explainer.explain(task("table").test.x)
    assert explainer.readings_["completeness_gap"] >= 0
    assert replace(explainer).readings_ == {}
