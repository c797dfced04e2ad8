"""One row measured: the numbers are those of the definitions, and judges read all rows together."""

from __future__ import annotations

import json
from dataclasses import field, fields, make_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from unmask import nets
from unmask.audit import fresh, smuggling
from unmask.data import load
from unmask.methods import make
from unmask.models import bind, counted, shown, wrap
from unmask.reproduce import PAPERS, measuring, references, tables_of
from unmask.reproduce.measuring import Trial, audited, interval, kept_in, measure, some
from unmask.reproduce.references import Reference, reference
from unmask.reproduce.tables import SCALES, Table
from unmask.training import Recipe

RESULTS = Path(__file__).parents[2] / "results"
DIGITS = Table(
    "t",
    "digits",
    "image",
    8,
    "zero",
    ("fs-m", "fu-m", "fs-a", "approximator", "reading"),
    ("random", "occlusion", "l2x"),
)


def test_keys_tell_trials_apart() -> None:
    trials = [Trial(DIGITS, row, seed, "default") for row in ("random", "l2x") for seed in (0, 1)]
    assert len({trial.key for trial in trials}) == 4
    assert kept_in(trials[0], Path("there")).parent == Path("there")


def test_a_key_names_the_rows_of_its_own_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of quick runs leaves what was measured at other scales."""
    words = next(t for t in tables_of("meed") if t.kind == "words")
    before = {scale: Trial(words, "l2x", 0, scale).key for scale in SCALES}
    monkeypatch.setattr(references, "QUICK_WORDS", 77)
    after = {scale: Trial(words, "l2x", 0, scale).key for scale in SCALES}
    assert [scale for scale in SCALES if before[scale] != after[scale]] == ["quick"]
    monkeypatch.setitem(references.SIZES, ("words", "default"), (10, 10, 10))
    again = {scale: Trial(words, "l2x", 0, scale).key for scale in SCALES}
    assert [scale for scale in SCALES if after[scale] != again[scale]] == ["default"]


def test_a_new_field_with_a_default_keeps_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    words = next(t for t in tables_of("meed") if t.kind == "words")
    trials = [Trial(words, row, 0, "default") for row in ("random", "gradient", "l2x")]
    before = [trial.key for trial in trials]

    def grown(thing: Any, default: int) -> Any:
        """The same with one more field."""
        old = [(f.name, f.type, field(default=getattr(thing, f.name))) for f in fields(thing) if f.init]
        new = ("new", int, field(default=default))
        return make_dataclass(type(thing).__name__, [*old, new], frozen=True)()

    def keys(default: int, given: int) -> list[str]:
        monkeypatch.setattr(measuring, "make", lambda *settings: replace(grown(make(*settings), default), new=given))
        recipe = replace(grown(Recipe(epochs=5, batch=40, rate=1e-3), default), new=given)
        monkeypatch.setitem(references.RECIPES, "words", recipe)
        return [trial.key for trial in trials]

    assert keys(0, 0) == before
    assert not set(keys(0, 1)) & set(before)


def test_a_key_is_the_one_that_results_were_kept_under() -> None:
    """Each of them is in the files under results/."""
    kept = {
        json.loads(line)["key"] for path in RESULTS.glob("*.jsonl") for line in path.read_text("utf-8").splitlines()
    }
    for paper in PAPERS:
        assert kept & {Trial(t, row, 0, "default").key for t in tables_of(paper) for row in t.rows}, paper


def test_turns_go_seed_by_seed_controls_first_then_the_longest() -> None:
    words = next(t for t in tables_of("shortcuts") if t.kind == "words")
    rows = ("gradient", "l2x", "mimic", "random", "l2x+feedback+pretraining")
    trials = [Trial(words, row, seed, "quick") for seed in (1, 0) for row in rows]
    order = [(t.seed, t.row) for t in sorted(trials, key=lambda t: t.turn)]
    want = ["random", "l2x+feedback+pretraining", "mimic", "l2x", "gradient"]
    assert order == [(seed, row) for seed in (0, 1) for row in want]


def test_methods_that_ask_row_by_row_have_no_fresh_networks() -> None:
    assert "fs-a" in Trial(DIGITS, "l2x", 0, "default").metrics
    assert "fs-a" not in Trial(DIGITS, "occlusion", 0, "default").metrics


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model is trained once; each test measures a row of its own."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize(
    ("row", "passes"), [("random", 2), ("gradient-x-input", 3), ("l2x+feedback", 2), ("lime", 1002)]
)
def test_nobody_asks_about_whole_rows_again(
    row: str, passes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the reference knows of the test rows is handed on: what is kept and what is left is asked about here."""
    whole = load("digits", seed=0)
    data = replace(whole, train=some(whole.train, 100, 0, "few"), test=some(whole.test, 250, 0, "few"))
    model = bind(wrap(nets.default(nets.read(data, "zero"), 10, seed=0)), data)
    settings = {"feedback": True, "recipe": Recipe(epochs=1)} if row == "l2x+feedback" else {}
    explainer = make(row.partition("+")[0], 8, "zero", settings).fit(model, data)
    ref = Reference(data, data, model, model(data.test.x))
    monkeypatch.setattr(measuring, "reference", lambda *_: ref)
    monkeypatch.setattr(measuring, "_fitted", lambda *_: explainer)
    with counted() as tally:
        found = measure(Trial(replace(DIGITS, metrics=("fs-m", "fu-m")), row, 0, "default"), tmp_path)
    test = some(data.test, 200, 0, "slow rows") if row == "lime" else data.test
    assert tally.rows == passes * len(test) == passes * found["n"]
    e = explainer.explain(test.x)
    same = shown(model, explainer.task_.removal, test.x, e.kept).argmax(1) == model(test.x).argmax(1)
    assert found["values"]["fs-m"][0] == pytest.approx(100 * float(same.float().mean()), abs=0.01)


@pytest.mark.slow
def test_a_row_is_measured_by_the_definitions(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh, "RECIPE", replace(fresh.RECIPE, epochs=1))
    found = measure(Trial(DIGITS, "first-k", 0, "default"), cache)
    ref = reference(DIGITS, 0, "default", cache)
    explainer = make("first-k", 8, "zero").fit(ref.model, ref.data)
    e = explainer.explain(ref.data.test.x)
    same = shown(ref.model, explainer.task_.removal, ref.data.test.x, e.kept).argmax(1) == e.target
    assert found["values"]["fs-m"][0] == pytest.approx(100 * float(same.float().mean()), abs=0.01)
    low, high = found["values"]["fs-m"][1:]
    assert low <= found["values"]["fs-m"][0] <= high
    by_class = [v[0] for name, v in found["values"].items() if name.startswith("fs-m@class=")]
    counts = torch.bincount(e.target, minlength=10).tolist()
    whole = sum(v * n for v, n in zip(by_class, counts, strict=True)) / sum(counts)
    assert whole == pytest.approx(found["values"]["fs-m"][0], abs=0.02)
    assert 0 <= found["values"]["fs-a"][0] <= 100


@pytest.mark.slow
def test_what_was_fitted_is_not_fitted_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = replace(DIGITS, metrics=("fs-m", "fu-m", "approximator"))
    monkeypatch.setattr(measuring, "made", lambda row, *_: (row, {"recipe": Recipe(epochs=2)}))
    first = measure(Trial(table, "l2x", 0, "default"), cache)
    monkeypatch.setattr(measuring, "_fitted", None)  # nothing can be
    again = measure(Trial(table, "l2x", 0, "default"), cache)
    assert again["values"] == first["values"]
    assert {"readings", "curve", "seconds"} <= set(first) - set(again)
    assert len(first["curve"]) == 2


@pytest.mark.slow
def test_all_rows_are_read_in_one_audit(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smuggling, "SEEDS", 1)
    monkeypatch.setattr(smuggling, "RECIPE", replace(smuggling.RECIPE, epochs=10))
    ref = reference(DIGITS, 0, "default", cache)
    make("gradient-x-input", 8, "zero").fit(ref.model, ref.data).save(
        kept_in(Trial(DIGITS, "gradient-x-input", 0, "default"), cache)
    )
    found = audited(DIGITS, ["random", "gradient-x-input"], 0, "default", cache)
    assert set(found) == {"random", "gradient-x-input"}
    assert found["gradient-x-input"]["reading"][0] > found["random"]["reading"][0]


def test_an_interval_is_in_the_unit_of_the_values() -> None:
    value, low, high = interval(torch.tensor([1.0, 2.0, 3.0, torch.nan]), 0)
    assert value == 2
    assert 1 <= low < value < high <= 3
