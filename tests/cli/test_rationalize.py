"""The command `rationalize`: trained, shown, audited, saved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import unmask
from cli.conftest import Run, refused
from unmask.cli.rationalize import budget


def test_a_number_is_units_and_a_fraction_a_share() -> None:
    assert [budget(k) for k in (1.0, 3.0, 0.2)] == [1, 3, 0.2]
    assert isinstance(budget(1.0), int)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--keep", "1", "--method", "a2s"], "unknown rationale model 'a2s'; did you mean 'a2r'"),
        (["--keep", "1.5"], "k must be a number of units, 1 or more, or a share between 0 and 1; got 1.5"),
        (["--keep", "inf"], "k must be a number of units"),
        (["--keep", "99"], "k must be at most 4"),
        (["--keep", "1", "--set", "lamb=2"], "unknown setting of a2r 'lamb'; did you mean 'lam'"),
        (["--keep", "1", "--set", "nets.encoder=bert"], "unknown encoder 'bert'"),
        (["--keep", "1", "--set", "net.hidden=8"], "--set takes NAME=VALUE"),
    ],
)
def test_bad_requests_are_one_sentence(arguments: list[str], said: str, run: Run, tmp_path: Path) -> None:
    data = ["--data", "reviews:unit=sentences,n=40", "--out", str(tmp_path)]
    assert said in refused(run("rationalize", *data, *arguments))


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_trained_shown_audited_and_saved(run: Run, tmp_path: Path) -> None:
    data = ["--data", "reviews:unit=sentences,n=160", "--keep", "1", "--rows", "30", "--show", "1"]
    done = run("rationalize", *data, "--set", "nets.hidden=16", "--out", str(tmp_path))
    assert done.code == 0, done.err
    assert "a2r is right in" in done.out
    assert "F1 of its rationales against the units known to decide" in done.out
    assert "row 0 of test" in done.out
    found = json.loads((tmp_path / "report.json").read_text())
    assert {"interlocking", "exclusion", "human-f1"} <= {r["check"] for r in found["rows"] if r["explanation"] == "a2r"}
    own = unmask.load_explainer(tmp_path / "model")
    assert own.nets.hidden == 16
    rows = unmask.load("reviews:unit=sentences,n=160").test.x
    torch.testing.assert_close(own.predict(rows).sum(1), torch.ones(len(rows)))
