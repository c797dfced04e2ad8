"""The little language of requirements, against Python's own `and`, `or` and `not`."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import pytest

from report import invented
from stored.samples import findings, stored
from unmask.errors import InputError
from unmask.report import Report
from unmask.stored import check
from unmask.stored.requiring import Comparison, Joined, parse


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("l2x:fs-m>0.8", True),
        ("l2x:fs-m>0.9", False),
        ("l2x:fs-m>=0.871", True),
        ("l2x:fs-m<0.871", False),
        ("l2x:fs-m=0.871", True),
        ("l2x:fs-m!=0.871", False),
        ("l2x:encoding<0.22", True),
        ("l2x:encoding<-0.22", False),
        ("fs-m>0.2", True),  # the worst of five is 0.248
        ("fs-m>0.25", False),
        ("integrated-gradients:fs-m>0.9 and l2x:fs-m>0.8", True),
        ("integrated-gradients:fs-m>0.9 and l2x:fs-m>0.9", False),
        ("l2x:fs-m>0.9 or l2x:fu-m<0.5", True),
        ("not l2x:fs-m>0.9", True),
        ("not (l2x:fs-m>0.8 and l2x:fu-m<0.5)", False),
        ("cheater:verdict==reject", True),
        ("verdict!=reject", False),
        ("l2x:verdict>=care", True),
        ("l2x:verdict>care", False),
        ("random:fs-m<0.5", True),  # a control is asked about by name only
        ("fs-m > 0.2 AND NOT fs-m > 2", True),
    ],
)
def test_rules_against_the_report(tmp_path: Path, rule: str, holds: bool) -> None:
    assert check(stored(tmp_path), rule).holds is holds


@pytest.mark.parametrize(
    "text", ["a and b or c", "a or b and c", "not a and b", "not (a or b) and c", "(a or b) and not c"]
)
def test_the_order_is_that_of_python(text: str) -> None:
    def value(rule: object, given: dict[str, bool]) -> bool:
        if isinstance(rule, Comparison):
            return given[rule.check] if rule.sign == ">" else not given[rule.check]
        assert isinstance(rule, Joined)
        parts = [value(part, given) for part in rule.parts]
        return all(parts) if rule.how == "and" else any(parts)

    rule = parse(text.replace("a ", "a>0 ").replace("b", "b>0").replace("c", "c>0").replace("(a>0", "(a>0"))
    for a, b, c in itertools.product([True, False], repeat=3):
        want = {"a and b or c": (a and b) or c, "a or b and c": a or (b and c), "not a and b": (not a) and b}
        want |= {"not (a or b) and c": not (a or b) and c, "(a or b) and not c": (a or b) and not c}
        assert value(rule, {"a": a, "b": b, "c": c}) == want[text], (text, a, b, c)


def test_names_with_blanks_classes_and_signs(tmp_path: Path) -> None:
    rows = (
        invented.result("attention (before)", "fs-m", 0.7),
        invented.result("attention (before)", "fs-m@class=yes", 0.6),
        invented.result("l2x+feedback", "fs-m", 0.5),
    )
    report = stored(tmp_path, replace(findings(), rows=rows, verdicts=()))
    assert check(report, '"attention (before)":fs-m>0.6').holds
    assert check(report, "'attention (before)':fs-m@class=yes<=0.6").holds
    assert check(report, "l2x+feedback:fs-m==0.5").holds


def test_strict_asks_the_whole_interval(tmp_path: Path) -> None:
    row = replace(invented.result("a", "fs-m", 0.9), low=0.85, high=0.95)
    report = stored(tmp_path, replace(findings(), rows=(row,), verdicts=()))
    for rule, plain, strict in [
        ("fs-m>0.88", True, False),
        ("fs-m>0.84", True, True),
        ("fs-m<0.96", True, True),
        ("fs-m<0.94", True, False),
        ("not fs-m>0.92", True, False),
        ("not fs-m>0.96", True, True),
        ("fs-m!=0.92", True, False),
        ("fs-m!=0.99", True, True),
    ]:
        assert (check(report, rule).holds, check(report, rule, strict=True).holds) == (plain, strict), rule


def test_a_number_that_is_missing_does_not_hold(tmp_path: Path) -> None:
    rows = (invented.result("a", "encoding-share", math.nan), invented.result("a", "fs-m", 0.9))
    report = stored(tmp_path, replace(findings(), rows=rows, verdicts=()))
    assert not check(report, "encoding<0.2").holds
    assert not check(report, "not encoding<0.2").holds
    assert check(report, "encoding<0.2 or fs-m>0.8").holds
    assert check(report, "encoding<0.2").findings[0].value is None


def test_each_comparison_is_told(tmp_path: Path) -> None:
    found = check(stored(tmp_path), "fs-m>0.9 and l2x:fu-m<0.5").findings
    assert {(f.explanation, str(f.comparison), f.holds) for f in found} >= {
        ("l2x", "fs-m>0.9", False),
        ("integrated-gradients", "fs-m>0.9", True),
        ("l2x", "l2x:fu-m<0.5", True),
    }
    assert len(found) == 6


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("", "the requirement is empty"),
        ("fs-m", "expected a comparison such as fs-m>0.9"),
        ("fs-m>", "expected a comparison"),
        (">0.9", "expected a comparison"),
        ("fs-m>0.9 and", "something is missing at the end"),
        ("fs-m>0.9 fu-m<0.5", "unexpected 'fu-m'"),
        ("(fs-m>0.9", "a bracket is not closed"),
        ("fs-m>0.9)", r"unexpected '\)'"),
        ("fs-m>high", "'high' is no number"),
        ("fs-m>nan", "'nan' is no number"),
        ("fs-m>0.9; import os", "'0.9;' is no number"),
        ("__import__('os')>1", "cannot read the requirement"),
        ("fsm>0.9", "unknown check in .* 'fsm'; did you mean 'fs-m'"),
        ("l2y:fs-m>0.9", "unknown explanation in .* 'l2y'; did you mean 'l2x'"),
        ("verdict==good", "unknown verdict 'good'"),
        ("(" * 300 + "fs-m>1" + ")" * 300, "more than 100 brackets"),
        ("not " * 300 + "fs-m>1", "more than 100 brackets"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, rule: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check(stored(tmp_path), rule)


def test_a_report_of_controls_only(tmp_path: Path) -> None:
    base = findings()
    only = replace(base, rows=tuple(r for r in base.rows if r.explanation in base.controls), verdicts=())
    with pytest.raises(InputError, match="holds no explanation beside the controls"):
        check(stored(tmp_path, only), "fs-m>0.9")


def test_a_fresh_report_and_a_path_are_checked_as_well(tmp_path: Path) -> None:
    fresh = Report(findings())
    path = fresh.save(tmp_path / "r.json")
    want = check(stored(tmp_path), "l2x:fs-m>0.8 and encoding<0.2")
    for given in (fresh, path, str(path)):
        assert check(given, "l2x:fs-m>0.8 and encoding<0.2") == want
    with pytest.raises(InputError, match=r"unknown check in the report of digits: .* 'fsm'; did you mean 'fs-m'"):
        check(fresh, "fsm>0.8")
    with pytest.raises(InputError, match=r"a report must be what unmask.audit returned, or the path .*, got DataFrame"):
        check(fresh.table, "fs-m>0.8")  # type: ignore[arg-type]
