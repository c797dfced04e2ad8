from __future__ import annotations

import math
from dataclasses import replace

import pytest

from audit.cases import GOOD
from report import invented
from unmask.audit import DECIDING as ALWAYS
from unmask.audit.evidence import EVIDENCE
from unmask.audit.sentences import unseen
from unmask.report.wording import DECIDING, FURTHER, along, find, interval, names_of, number, said, summary
from unmask.types import Verdict


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.8712, "0.871"),
        (-0.5, "−0.500"),
        (0.0, "0.000"),
        (12.34, "12.3"),
        (12345.6, "12346"),
        (0.00012, "1.2e−4"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_numbers_are_written_alike(value: float | None, text: str):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(-0.026, "none"), (0.0, "none"), (0.43, "0.430"), (1.38, "all"), (math.nan, "unknown"), (None, "–")],
)
def test_a_share_is_no_number_below_nothing_or_above_all(value: float | None, text: str):
    assert said("encoding-share", value) == text
    assert said("fs-m", value) == number(value)


def test_an_unknown_interval_is_left_out():
    assert interval(invented.result("a", "fs-m", 0.5)) == "[0.480, 0.520]"
    assert interval(invented.result("a", "fs-m", 0.5, low=math.nan)) == ""


def test_controls_are_named_last():
    base = invented.findings()
    mixed = replace(base, rows=(invented.result("random", "fs-m", 0.3), invented.result("new", "fs-m", 0.3)))
    assert names_of(mixed) == [*(v.explanation for v in base.verdicts), "new", "random"]


def test_a_point_of_a_curve_is_not_the_value_of_a_check():
    rows = (invented.result("a", "fs-m", 0.1, at=0.5), invented.result("a", "fs-m", 0.7))
    found = find(replace(invented.findings(), rows=rows), "a", "fs-m")
    assert found is rows[1]
    assert find(invented.findings(), "a", "fs-m") is None


def test_a_summary_names_every_explanation_but_the_controls():
    base = invented.findings()
    told = summary(replace(base, verdicts=(*base.verdicts, Verdict("random", "reject", ())), model="a forest"))
    assert told.startswith(f"Of {len(base.verdicts)} explanations of a forest, 2 can be trusted (")
    assert told.endswith("; 1 not to be relied on (cheater).")
    assert "random" not in told
    assert summary(replace(base, verdicts=())) == ""
    alone = replace(base, verdicts=(Verdict("mine", "care", ()),), model="m")
    assert summary(alone) == "Of 1 explanation of m, 1 to be used with care (mine)."
    file = replace(
        base, verdicts=(Verdict("file", "trust", (unseen(replace(GOOD, barred=("whether",)))[0],)),), model="m"
    )
    told = "Of 1 explanation of m, 1 can be trusted (file). Not everything could be asked of file: see the last reason."
    assert summary(file) == told


def test_curves_run_along_units_or_layers():
    assert along("insertion") == "share of the units"
    assert along("cascading-randomization").startswith("share of the layers")


def test_all_that_a_verdict_rests_on_has_everyday_words():
    named = {*DECIDING, *FURTHER}
    beside = {"encoding-gain", "reading-nats", "whole-rows", "half-reading"}  # the same in nats, and what judges know
    assert named | beside == {*ALWAYS, *EVIDENCE.values()}
