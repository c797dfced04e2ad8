"""What the benchmarks measure with: exponents, parts that are kept, and the simulation of a graph of tasks."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import bench
import scale
from scale import Task, simulated
from speed import page, processes
from speed.fitting import Passes
from speed.measuring import Times, bar, exponent, in_turns

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("power", [0.0, 1.0, 1.7])
def test_the_exponent_of_a_power_is_the_power(power: float) -> None:
    sizes = [10.0, 20.0, 40.0, 80.0]
    assert exponent(sizes, [3 * size**power for size in sizes]) == pytest.approx(power)


def test_ratios_are_taken_turn_by_turn() -> None:
    slow, fast = Times((2.0, 40.0, 6.0)), Times((1.0, 10.0, 3.0))  # the machine was slow in the second turn
    assert slow.over(fast) == 2.0


def test_a_bar_holds_up_to_its_limit() -> None:
    assert bar(1, "x", 1.5, most=1.5)["met"]
    assert not bar(1, "x", 1.51, most=1.5)["met"]
    assert not bar(1, "x", 499, least=500)["met"]


def test_parts_are_kept_until_their_case_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(processes, "PARTS", tmp_path)
    monkeypatch.setattr(processes, "apart", lambda *given: asked.append(given) or {"seconds": len(asked)})
    first = processes.part("grow", "a:b", 1)
    assert processes.part("grow", "a:b", 1) == first
    assert processes.part("grow", "a:b", 2) != first
    assert processes.part("grow", "a:b", 1, keep=False) != first
    monkeypatch.setattr(processes, "_code", lambda: "other code")
    assert processes.part("grow", "a:b", 1) != first
    processes.forget("grow")
    assert len(asked) == 4
    processes.part("grow", "a:b", 1)
    assert len(asked) == 5


def test_fitting_pays_after_as_many_rows_as_it_costs() -> None:
    """100 epochs of 2 s are 200 s; LIME takes a second for a row, the selector a thousandth: 200 rows and a fifth."""
    explained = [{"method": "l2x", "ms": "1"}, {"method": "LIME", "ms": "1.001e+03", "whole call, times faster": "9"}]
    timed = [{"epoch of": "model", "ms": "1000"}, {"epoch of": "l2x", "ms": "2e+03"}]
    cases = {"explain": {"tables": {"a": explained}}, "epoch": {"tables": {"b": timed, "Passes": []}}}
    said, table = page._pays(cases, {"l2x": 100})
    assert "4,000" in said
    assert table.splitlines()[2:] == ["| l2x | 100 | 200 | 200 |"]
    assert page._pays({"epoch": cases["epoch"]}, {"l2x": 100}) == []


def test_passes_sum_up_the_median_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 4.0, 0.0, 2.0, 0.0, 90.0])  # begin and end of each: 4, 2 and 90 seconds for a batch of two
    monkeypatch.setattr("time.process_time", lambda: next(clock))
    made: list[int] = []
    passes = Passes({("net", "forward"): 10}, {("net", "forward"): lambda: made.append(1)}, batch=2)
    assert passes.seconds(3) == 10 * 4.0 / 2
    assert len(made) == 4  # one to warm up


def test_equal_tasks_share_the_workers() -> None:
    assert simulated([Task(2.0)] * 10, 4) == 6.0
    assert simulated([Task(2.0)] * 10, 4, start=5.0) == 11.0


def test_what_waits_is_done_afterwards() -> None:
    chain = [Task(1.0), Task(2.0, (0,)), Task(3.0, (1,))]
    assert simulated(chain, 8) == 6.0
    assert simulated([Task(1.0), Task(5.0), Task(1.0, (0, 1))], 2) == 6.0


def test_who_dies_loses_what_it_was_doing() -> None:
    assert simulated([Task(4.0)], 1, start=1.0, deaths=[(3.0, 0)]) == 3.0 + 1.0 + 4.0
    assert simulated([Task(4.0)], 2, deaths=[(2.0, 1)]) == 4.0  # it was idle


def test_what_is_lost_is_tried_again_side_by_side_when_all_others_are_done() -> None:
    assert simulated([Task(4.0), Task(4.0)], 2, deaths=[(2.0, 1)]) == 8.0
    assert simulated([Task(4.0)] * 3, 3, deaths=[(1.0, 0), (2.0, 1)]) == 8.0
    assert simulated([Task(4.0), Task(6.0), Task(1.0, (0,))], 2, deaths=[(1.0, 0)]) == 6.0 + 4.0 + 1.0  # one waits
    assert simulated([Task(4.0), Task(4.0)], 2, deaths=[(2.0, 1), (5.0, 1)]) == 9.0  # lost twice


def test_passes_are_counted_for_all_explanations() -> None:
    """Two passes of a row for each of e + 3, three that all share, and forty rows whatever is audited."""

    entries = {
        scale.name(n, e, True): {"rows": {"own": 2 * n * (e + 3), "shared": 3 * n, scale.BEFORE: 40 + n}}
        for n in scale.SIZES[True]
        for e in (1, 2)
    }
    found, constant = scale.counted(SimpleNamespace(entries=entries), everywhere=True)
    assert found == {"own": 2.0 * (scale.EXPLANATIONS + 3), "shared": 3.0, "answers and explanations": 7.0}
    assert constant == pytest.approx(40)


def test_the_page_about_scale_says_what_the_results_say() -> None:
    stored = json.loads((ROOT / "benchmarks" / "results" / "scale.json").read_text("utf-8"))
    page = " ".join((ROOT / "docs" / "scale.md").read_text("utf-8").replace("**", "").split())
    assert [sentence for sentence in scale.told(stored) if sentence not in page] == []
    assert stored["summary"]["assumed"] == scale.ASSUMED


def test_the_page_about_scale_follows_new_results() -> None:
    page = "It took 1.5 hours\nwith 8 GPUs, and 3 in all. | 1,000 | 2 |\n"
    before = ["took 1.5 hours with 8 GPUs", "| 1,000 | 2 |", "3 in all"]
    after = ["took 9 hours with 8 GPUs", "| 7 | 2 |", "much more than 4 in all"]
    said = "It took 9 hours\nwith 8 GPUs, and much more than 4 in all. | 7 | 2 |\n"
    assert scale.followed(page, before, after) == said
    with pytest.raises(ValueError, match=r"scale.md does not say: 3 in all"):
        scale.followed(said, ["3 in all"], ["4 in all"])


def test_the_page_of_benchmarks_says_what_the_results_say() -> None:
    stored = json.loads((ROOT / "benchmarks" / "results" / "bench.json").read_text("utf-8"))["entries"]
    text, _ = page.rendered({name: stored.get(name) for name in bench.CASES})
    assert page.PAGE.read_text("utf-8") == text, "run python benchmarks/bench.py --render"


def test_a_case_that_was_not_measured_is_not_within_its_limits() -> None:
    found = {"bars": [bar(1, "x", 1.0, most=2)], "tables": {}, "case": "drawing:k_hot", "versions": {}, "peers": {}}
    there = {**found, "date": "", "code": "", "minutes": 1, "machine": "", "load before": 0}
    text, summary = page.rendered({"draw": there, "grow": None})
    assert "1 of 2 numbers are within their limits. These are not:\n\n- all of grow: not measured" in text
    assert "| all of grow | not measured |  | **no** |" in summary


def test_turns_go_there_and_back() -> None:
    order: list[str] = []
    times = in_turns({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 2)
    assert order == ["a", "b", "a", "b", "b", "a"]
    assert {name: len(t.each) for name, t in times.items()} == {"a": 2, "b": 2}


@pytest.mark.slow
def test_a_case_runs_in_a_process_of_its_own() -> None:
    """The smallest one; the others are run by hand: python benchmarks/bench.py --small."""
    found = processes.apart(bench.CASES["draw"], True)
    assert {b["line"] for b in found["bars"]} == {4}
    assert next(b["met"] for b in found["bars"] if "difference" in b["what"])


@pytest.mark.parametrize("facts", ["facts", "facts of a default audit"])
def test_the_simulation_of_scale_fits_and_explains_as_dearly_as_was_measured(facts: str) -> None:
    """Where this fails, bench.json was measured again: run benchmarks/scale.py, which then only simulates."""
    found = json.loads((ROOT / "benchmarks" / "results" / "scale.json").read_text("utf-8"))["summary"][facts]
    assert found[scale.RATIOS] == scale.epochs()
    assert found[scale.EXPLAINING] == list(scale.explaining())
    dearest = 20_000 * 6 * 3 * max(scale.epochs().values()) * found["seconds a pass"]
    assert max(found["seconds a fit"].values()) == found["seconds a fit"][scale.OTHER] == pytest.approx(dearest)


@pytest.mark.parametrize(
    ("value", "digits", "want"), [(3.195, 2, "3.20"), (59.55, 1, "59.6"), (12219, 0, "12,219"), (0.4, 0, "0")]
)
def test_halves_are_rounded_up(value: float, digits: int, want: str) -> None:
    assert scale.shown(value, digits) == want
