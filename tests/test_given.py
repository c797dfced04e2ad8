"""What an audit is given: numbers of any sort, names, times; and what is said of it before any work."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from audit.cases import linear, table
from unmask import api, given
from unmask.errors import InputError, UnmaskWarning
from unmask.models import bind, wrap

DATA = table(300)
MODEL = bind(wrap(linear), DATA)
SCORES = np.ones((len(DATA.test), 6)) * np.arange(6.0)


def audited(explanations: dict[Any, Any], **settings: Any) -> Any:
    return api.audit(MODEL, DATA, explanations, checks="fs-m", **{"k": 2, "n": 20, **settings})


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    report = audited({"it": SCORES}, k=np.int64(2), n=np.int32(20))
    assert (report.findings.settings["k"], report.findings.settings["n"]) == (2, 20)
    assert api.fit(MODEL, DATA, np.int64(2), method="occlusion").k == 2
    assert (given.whole(True), given.whole(2.0), given.whole("2"), given.whole(np.int8(3))) == (None, None, None, 3)


@pytest.mark.parametrize("name", [1, "", " ", None])
def test_an_explanation_has_a_name(name: Any) -> None:
    with pytest.raises(InputError, match="an explanation needs a name, a string, got "):
        audited({name: SCORES})


@pytest.mark.parametrize(("budget", "want"), [(None, None), (60, 60.0), (1.5, 1.5), ("5m", 300.0), ("2 s", 2.0)])
def test_a_budget_is_a_number_or_a_time(budget: Any, want: float | None) -> None:
    assert given.seconds(budget) == want


@pytest.mark.parametrize("budget", [-3, 0, "soon", "-5s"])
def test_other_budgets_are_refused(budget: Any) -> None:
    with pytest.raises(InputError, match="a budget is a time such as 60s, 5m or 1h, got "):
        audited({"it": SCORES}, budget=budget)


@pytest.mark.parametrize("n", [1, 2.5, True, "20"])
def test_other_numbers_of_rows_are_refused(n: Any) -> None:
    with pytest.raises(InputError, match=r"n \(--rows\) is the number of rows to audit"):
        audited({"it": SCORES}, n=n)


def test_where_all_is_kept_nothing_is_chosen() -> None:
    with pytest.warns(UnmaskWarning, match="k is 6, all that a row has: nothing is chosen"):
        audited({"it": SCORES}, k=6)


def test_an_explainer_with_a_number_of_its_own_is_named() -> None:
    own = api.fit(MODEL, DATA, 3, method="occlusion")
    with pytest.warns(UnmaskWarning, match="'own' keeps 3 units, not 2 as is said"):
        audited({"own": own, "it": SCORES})
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnmaskWarning)
        audited({"own": own, "it": SCORES}, k=3)
