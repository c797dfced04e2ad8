"""Two reports: the same but for the seed, and one that got worse."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

import unmask
from audit.cases import linear, table
from report import invented
from stored.samples import findings, stored
from unmask.audit import smuggling
from unmask.errors import InputError
from unmask.report import Report
from unmask.stored import Stored, compare, read_report
from unmask.stored.comparing import LEARNED, _learned, _p_value
from unmask.stored.reading import Number


def number(values: list[float], better: str = "higher") -> Number:
    mean, error = float(np.mean(values)), float(np.std(values, ddof=1) / len(values) ** 0.5)
    half = 1.959964 * error
    return Number(mean, mean - half, mean + half, better, len(values), "", tuple(values))


def test_rows_with_themselves_are_a_paired_t_test() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=50)
    b = a + 0.1 + 0.2 * rng.normal(size=50)
    p, paired = _p_value(number(a.tolist()), number(b.tolist()), paired=True)
    assert paired
    assert p == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-6)


def test_intervals_are_a_test_of_two_samples() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=80), 0.3 + rng.normal(size=80)
    p, paired = _p_value(number(a.tolist()), number(b.tolist()), paired=False)
    error = math.hypot(a.std(ddof=1), b.std(ddof=1)) / 80**0.5
    assert not paired
    assert p == pytest.approx(2 * stats.t.sf(abs(b.mean() - a.mean()) / error, 79), rel=1e-4)


def test_rows_that_are_all_alike_are_not_infinitely_sure() -> None:
    same, less = number([1.0] * 20), number([1.0] * 19 + [0.0])
    assert _p_value(same, less, paired=True)[0] > 0.05
    assert _p_value(same, number([0.0] * 20), paired=True)[0] < 1e-6
    assert _p_value(same, same, paired=True)[0] == 1.0


def test_a_report_does_not_differ_from_itself(tmp_path: Path) -> None:
    found = compare(stored(tmp_path), stored(tmp_path, name="b.json"))
    assert found.significant == []
    assert found.verdicts == found.settings == {}
    assert found.only == ((), ())
    assert {change.explanation for change in found.changes} == {*invented.NAMES} - {*invented.CONTROLS}
    assert not {change.check for change in found.changes} & {"seconds", "calls"}


def test_a_p_value_is_no_mean_over_rows(tmp_path: Path) -> None:
    """It is uniform by chance: from .2 to .6 is nothing, though it is the same in every row."""
    reports = []
    for name, p in (("a.json", 0.2), ("b.json", 0.6)):
        base = findings()
        more = replace(base.rows[0], explanation="l2x", check="encoding-p", value=p, values=(p,) * base.rows[0].n)
        reports.append(stored(tmp_path, replace(base, rows=(*base.rows, more)), name))
    assert "encoding-p" not in {change.check for change in compare(*reports).changes}


def test_a_change_has_a_direction(tmp_path: Path) -> None:
    before = stored(tmp_path)
    after = stored(tmp_path, replace(findings(fs_m=0.4, fu_m=0.1), task="other"), "b.json")
    found = compare(before, after)
    assert {(c.explanation, c.check, c.word) for c in found.significant} == {
        ("l2x", "fs-m", "worse"),
        ("l2x", "fu-m", "better"),
    }
    assert found.settings["task"] == ("digits", "other") or found.settings["task"][1] == "other"


def test_verdicts_and_explanations_that_are_not_the_same(tmp_path: Path) -> None:
    base = findings()
    verdicts = tuple(replace(v, verdict="reject") if v.explanation == "l2x" else v for v in base.verdicts)
    fewer = replace(base, verdicts=verdicts[:-1], rows=tuple(r for r in base.rows if r.explanation != "cheater"))
    found = compare(stored(tmp_path), stored(tmp_path, fewer, "b.json"))
    assert found.verdicts == {"l2x": ("care", "reject")}
    assert found.only == (("cheater",), ())


def test_what_judges_learned_has_an_error_of_its_own() -> None:
    rng = np.random.default_rng(2)
    a = rng.normal(0.2, 0.1, size=400)
    pair = number(a.tolist()), number((a + 0.05 + 0.02 * rng.normal(size=400)).tolist())
    assert _p_value(*pair, paired=True)[0] < 1e-9
    assert _p_value(*pair, paired=True, more=LEARNED)[0] > 0.3
    far = number((a + 0.5).tolist())
    assert _p_value(pair[0], far, paired=True, more=LEARNED)[0] < 1e-6
    assert (_learned("encoding-share"), _learned("fs-a"), _learned("fs-m"), _learned("novelty")) == (
        LEARNED,
        LEARNED,
        0,
        0,
    )


def of(tmp_path: Path, name: str, task: str, **data: object) -> Stored:
    base = findings()
    return stored(tmp_path, replace(base, task=task, settings={**base.settings, "data": {"name": task, **data}}), name)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"classes": ["0", "1", "2"]}, r"classes malignant, benign against 0, 1, 2; compare reports of the same data"),
        ({"kind": "words"}, "kind table against words"),
        ({"units": 4}, "units 30 against 4"),
        ({"classes": list("abcdef")}, "against a, b, c, d and 2 more"),
    ],
)
def test_reports_of_other_data_are_refused(tmp_path: Path, other: dict[str, Any], said: str) -> None:
    tumours = {"kind": "table", "classes": ["malignant", "benign"], "units": 30}
    before, after = of(tmp_path, "a.json", "tumours", **tumours), of(tmp_path, "b.json", "x", **{**tumours, **other})
    with pytest.raises(InputError, match=rf"a\.json and .*b\.json are of other data: .*{said}"):
        compare(before, after)


def test_a_renamed_file_is_the_same_data(tmp_path: Path) -> None:
    """Also where a report says less of its data, and where classes stand in another order."""
    before = of(tmp_path, "a.json", "old.csv", kind="table", classes=["no", "yes"])
    after = of(tmp_path, "b.json", "new.csv", kind="table", classes=["yes", "no"], units=4)
    assert compare(before, after).settings == {"task": ("old.csv", "new.csv")}
    assert compare(before, stored(tmp_path)).significant == []


def test_reports_without_a_common_explanation_are_refused(tmp_path: Path) -> None:
    base = findings()
    renamed = replace(
        base,
        rows=tuple(replace(r, explanation=f"my {r.explanation}") for r in base.rows if r.explanation == "l2x"),
        verdicts=(),
    )
    with pytest.raises(InputError, match=r"share no explanation \(l2x, integrated-gradients, .*; my l2x\); give"):
        compare(stored(tmp_path), stored(tmp_path, renamed, "b.json"))


def test_fresh_reports_and_paths_are_compared_as_well(tmp_path: Path) -> None:
    fresh, worse = Report(findings()), Report(findings(fs_m=0.4))
    path = worse.save(tmp_path / "b.json")
    want = compare(stored(tmp_path), read_report(path))
    assert [c.check for c in want.significant] == ["fs-m"]
    assert compare(fresh, worse) == compare(fresh, path) == compare(fresh, str(path)) == want


@pytest.mark.slow
def test_seeds_make_no_difference_and_a_regression_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real audits, if of short-lived judges: occlusion of two seeds; and scores with a third of the rows spoilt."""
    monkeypatch.setattr(smuggling, "SEEDS", 1)
    monkeypatch.setattr(smuggling, "RECIPE", replace(smuggling.RECIPE, epochs=5))
    data = table(n=450)
    good = unmask.fit(linear, data, 2, method="occlusion", removal="zero").explain(data.test.x).scores

    def audited(name: str, scores: torch.Tensor, seed: int) -> Path:
        report = unmask.audit(linear, data, {"mine": scores}, k=2, n=60, removal="zero", seed=seed, checks=["fs-m"])
        return Report(report.findings).save(tmp_path / name)

    spoilt = good.clone()
    spoilt[::3] = -spoilt[::3]
    first, again = audited("a.json", good, 0), audited("b.json", good, 1)
    worse = audited("c.json", spoilt, 0)
    seeds = compare(read_report(first), read_report(again))
    assert seeds.significant == []
    assert not any(change.paired for change in seeds.changes)
    assert seeds.settings == {"seed": (0, 1)}
    found = compare(read_report(first), read_report(worse))
    assert all(change.paired for change in found.changes)
    assert {("fs-m", "worse"), ("fu-m", "worse")} <= {(change.check, change.word) for change in found.significant}
