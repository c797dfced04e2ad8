from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier

from audit.cases import KINDS, linear, planted, table
from unmask import api, seeds
from unmask.audit import (
    CHECKS,
    DECIDING,
    QUESTIONS,
    chosen,
    dependence,
    fragility,
    fresh,
    roar,
    sensitivity,
    smuggling,
    stability,
    suite,
)
from unmask.audit.evidence import EVIDENCE
from unmask.audit.memo import Memo
from unmask.audit.subjects import Settings
from unmask.audit.suite import run
from unmask.data import dataset
from unmask.judge import RECIPE
from unmask.masking import subsets
from unmask.models import bind, wrap
from unmask.report import Report
from unmask.training import Recipe
from unmask.types import Explanation

pytestmark = pytest.mark.slow

ELSEWHERE = {name for name, c in CHECKS.items() if c.attention or c.rationale or c.truth}  # there is none of it here
RUN = tuple(name for name in chosen("default") if name not in ELSEWHERE)
DATA = table(600)
MODEL = bind(wrap(linear), DATA)


@pytest.fixture(scope="module", autouse=True)
def quick():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(smuggling, "SEEDS", 1)
        patch.setattr(smuggling, "RECIPE", replace(RECIPE, epochs=30, batch=64))
        yield


@pytest.fixture(scope="module")
def findings(quick):
    given = {name: api.fit(MODEL, DATA, 2, method=name, removal="zero") for name in ("occlusion", "cheater")}
    return run(MODEL, DATA, given, Settings(k=2, removal="zero"))


def rows(found, explanation):
    return {row.check: row for row in found.rows if row.explanation == explanation}


def test_every_check_has_a_row_for_every_explanation_with_interval_null_and_direction(findings):
    for name in ("occlusion", "cheater", "random", "first-k", "last-k"):
        own = rows(findings, name)
        assert {check for check in own if "@" not in check} == set(RUN)
        for row in own.values():
            assert row.better == CHECKS[row.check.partition("@")[0]].better
            if not math.isnan(row.value):
                assert row.low - 1e-9 <= row.value <= row.high + 1e-9
                assert row.n > 0


def test_the_null_is_the_random_controls_own_value(findings):
    chance = rows(findings, "random")
    for check, row in rows(findings, "occlusion").items():
        if check not in ("approximator-gap", "encoding-share", "half-share"):  # of shares see test_gathering
            assert row.null == pytest.approx(chance[check].value, nan_ok=True)


def test_rows_by_class_add_up_to_the_whole(findings):
    own = rows(findings, "occlusion")
    parts = [own["fs-m@class=0"], own["fs-m@class=1"]]
    assert sum(p.n for p in parts) == own["fs-m"].n
    assert sum(p.n * p.value for p in parts) / own["fs-m"].n == pytest.approx(own["fs-m"].value, abs=1e-5)


def test_the_honest_one_is_trusted_the_liar_and_chance_are_not(findings):
    said = {v.explanation: v for v in findings.verdicts}
    assert said["occlusion"].verdict == "trust"
    assert said["cheater"].verdict == "reject"
    assert "smuggles" in said["cheater"].reasons[0]
    assert said["random"].verdict == "reject"


def test_passed_is_said_of_deciding_checks_only(findings):
    dumb = {row.explanation for row in findings.rows if row.check == "encoding-share" and math.isnan(row.value)}
    for row in findings.rows:
        deciding = row.check in (*DECIDING, *EVIDENCE.values()) and not math.isnan(row.value)
        deciding &= row.check != "encoding-gain" or row.explanation not in dumb  # of nothing, nothing can be said
        deciding &= row.note not in stability.BY_CONSTRUCTION and row.check != "reading"  # reading-nats decides
        assert (row.passed is not None) == deciding, row


def test_the_findings_carry_what_the_report_needs(findings):
    assert findings.controls == ("random", "first-k", "last-k")
    assert set(findings.questions) == {QUESTIONS[CHECKS[name].question] for name in RUN}
    assert {c for checks in findings.questions.values() for c in checks} == set(RUN)
    assert set(findings.definitions) == set(RUN)
    assert findings.settings["checks"] == list(RUN)
    assert findings.settings["removal"] == "zero"
    assert {e.explanation for e in findings.examples} == {v.explanation for v in findings.verdicts}


def test_curves_carry_their_points_and_pairs_their_partner(findings):
    own = [row for row in findings.rows if row.explanation == "occlusion"]
    points = [row for row in own if row.check == "insertion" and row.at is not None]
    chance = {row.at: row.value for row in findings.rows if row.explanation == "random" and row.check == "insertion"}
    assert [row.at for row in points] == [i / 10 for i in range(11)]
    assert all(row.null == chance[row.at] for row in points)
    assert all(row.passed is None and row.seconds == 0.0 for row in points)
    pair = next(row for row in own if row.check == "feature-agreement@explanation=cheater")
    other = next(
        row
        for row in findings.rows
        if (row.explanation, row.check) == ("cheater", "feature-agreement@explanation=occlusion")
    )
    assert pair.value == other.value
    assert Report(findings).agreement["feature-agreement"].loc["occlusion", "cheater"] == pair.value
    assert Report(findings).to_json()["agreement"]["feature-agreement"]["occlusion"]["cheater"] == pair.value


@pytest.mark.slow
def test_a_different_number_in_each_row_gets_a_control_with_the_same_numbers(findings):
    split = DATA.test
    counts = torch.arange(len(split)) % 3 + 1
    kept = subsets.topk((split.x * torch.arange(6.0)).abs(), counts, split.valid)
    mine = Explanation(kept.float(), kept, split.valid, MODEL(split.x).argmax(1))
    found = run(MODEL, DATA, {"mine": mine}, Settings(k=2, removal="zero"))
    assert {v.explanation for v in found.verdicts} == {"mine", "random", "first-k", "last-k"}
    assert rows(found, "mine")["fs-m"].null != rows(found, "random")["fs-m"].value
    assert "came ready-made" in rows(found, "mine")["seconds"].note


@pytest.mark.slow
def test_an_audit_cut_short_goes_on_where_it_stopped(tmp_path, monkeypatch, findings):
    given = {name: api.fit(MODEL, DATA, 2, method=name, removal="zero") for name in ("occlusion", "cheater")}
    asked, honest = [], suite._timed

    def interrupted(case, subject, check, light):
        asked.append(check)
        if len(asked) == 20:
            raise KeyboardInterrupt
        return honest(case, subject, check, light)

    monkeypatch.setattr(suite, "_timed", interrupted)
    memo = tmp_path / "memo"
    with pytest.raises(KeyboardInterrupt):
        run(MODEL, DATA, given, Settings(k=2, removal="zero"), memo=Memo(memo))
    assert memo.exists()
    done = len(asked) - 1
    asked.clear()
    asked.extend(["already past the cut"] * 20)
    again = run(MODEL, DATA, given, Settings(k=2, removal="zero"), memo=Memo(memo))
    assert len(asked) - 20 == 5 * len(RUN) - done
    plain = [replace(row, seconds=0.0) for row in again.rows if row.check != "seconds"]
    assert repr(plain) == repr([replace(row, seconds=0.0) for row in findings.rows if row.check != "seconds"])
    assert again.verdicts == findings.verdicts


def test_what_other_code_found_is_no_result_of_this_one(tmp_path, monkeypatch):
    memo, settings = tmp_path / "memo", Settings(k=2, removal="zero", checks=("fs-m", "fu-m"))
    run(MODEL, DATA, {}, settings, memo=Memo(memo))
    before = len(memo.read_text().splitlines())
    run(MODEL, DATA, {}, settings, memo=Memo(memo))
    assert len(memo.read_text().splitlines()) == before
    monkeypatch.setattr(suite, "code", lambda: "another")
    run(MODEL, DATA, {}, settings, memo=Memo(memo))
    assert len(memo.read_text().splitlines()) == 2 * before


def test_other_rows_with_the_same_answers_are_measured_anew(tmp_path):
    moved = DATA.test.x.clone()
    moved[:, 4:] = 3 * moved[:, 4:].flip(0) + 1  # columns that the model does not read
    other = replace(DATA, test=replace(DATA.test, x=moved))
    assert MODEL(moved).equal(MODEL(DATA.test.x))
    settings = Settings(k=2, removal="zero", checks=("reading",))
    run(MODEL, DATA, {}, settings, memo=Memo(tmp_path / "memo"))
    found = run(MODEL, other, {}, settings, memo=Memo(tmp_path / "memo"))
    anew = run(MODEL, other, {}, settings)
    assert [row.value for row in found.rows] == [row.value for row in anew.rows]


def test_another_name_of_the_same_scores_is_in_no_old_report(tmp_path):
    scores = torch.rand(2, len(DATA.test), 6, generator=seeds.generator(0))
    valid, target = DATA.test.valid, MODEL(DATA.test.x).argmax(1)
    first, second = (Explanation(s, subsets.topk(s, 2, valid), valid, target) for s in scores)
    settings = Settings(k=2, removal="zero", checks=("feature-agreement",))
    found = [
        {row.check for row in run(MODEL, DATA, given, settings, memo=Memo(tmp_path / "memo")).rows}
        for given in ({"lime": first, "shap": second}, {"lime": first, "gradient-shap": second})
    ]
    assert "feature-agreement@explanation=shap" in found[0] - found[1]
    assert "feature-agreement@explanation=gradient-shap" in found[1] - found[0]


def test_what_a_resumed_audit_knows_costs_nothing_of_its_budget(tmp_path):
    given = {"o": api.fit(MODEL, DATA, 2, method="occlusion", removal="zero")}
    settings = Settings(k=2, removal="zero", checks=chosen(["fs-m", "mask-only", "seed-stability"]))
    whole = run(MODEL, DATA, given, settings, memo=Memo(tmp_path / "memo"))
    hasty = replace(settings, budget=0.001)  # which ends before it begins
    assert {"mask-only", "seed-stability"} & {row.check for row in run(MODEL, DATA, given, hasty).rows} == set()
    heard = []
    again = run(MODEL, DATA, given, hasty, memo=Memo(tmp_path / "memo"), say=heard.append)
    assert {row.check for row in again.rows} == {row.check for row in whole.rows}
    assert again.settings["left out"] == []
    assert ", about 0 s from here" in heard[0]


def test_the_cost_is_said_before_anything_is_fitted(monkeypatch):
    heard = []

    def stop(text):
        heard.append(text)
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "fit", lambda *a, **b: pytest.fail("fitted before the cost was said"))
    with pytest.raises(KeyboardInterrupt):
        api.audit(MODEL, DATA, {"o": "occlusion"}, 2, say=stop)
    assert "120 rows" in heard[0]


@pytest.fixture
def hasty(monkeypatch):
    """Everything trained for moments: the numbers mean little, the way they take is the same."""

    def bush(trees, random_state, n_jobs):
        return RandomForestClassifier(5, random_state=random_state, n_jobs=n_jobs)

    monkeypatch.setattr(smuggling, "RandomForestClassifier", bush)
    monkeypatch.setattr(smuggling, "RECIPE", replace(RECIPE, epochs=1))
    monkeypatch.setattr(fresh, "RECIPE", replace(fresh.RECIPE, epochs=1))
    monkeypatch.setattr(dependence, "ROUNDS", 1)
    monkeypatch.setattr(dependence, "REFITS", 1)
    monkeypatch.setattr(dependence, "GROUPS", 1)
    monkeypatch.setattr(stability, "DRAWS", 2)
    monkeypatch.setattr(stability, "REFITS", 1)
    monkeypatch.setattr(roar, "SHARES", (0.5,))
    monkeypatch.setattr(fragility, "TRIES", 1)
    monkeypatch.setattr(fragility, "STEPS", 1)
    monkeypatch.setattr(sensitivity, "STEPS", 2)
    monkeypatch.setattr(sensitivity, "HALVINGS", 1)


@pytest.mark.parametrize("kind", ["table", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[1:])])
@pytest.mark.parametrize("framework", ["torch", pytest.param("callable", marks=pytest.mark.slow)])
def test_every_check_runs_on_every_kind(kind, framework, hasty):
    """One value for each row or a reason why not; explainers that can be asked, and scores made elsewhere."""
    data = planted(kind)
    trained = api.train_model(data, recipe=Recipe(epochs=10, batch=16, rate=1e-2))
    model = (
        trained if framework == "torch" else wrap(trained.__call__ if kind in ("table", "image") else _joined(trained))
    )
    given = {"occlusion": "occlusion", "mine": torch.rand(data.test.valid.shape, generator=seeds.generator(0))}
    report = api.audit(model, data, given, k=1, n=30, checks="all")
    values = {(r.explanation, r.check): r for r in report.findings.rows}
    assert not any((explanation, name) in values for name in ELSEWHERE for explanation in given)
    for name in (name for name in CHECKS if name not in ELSEWHERE):
        for explanation in ("occlusion", "mine", "random", "first-k", "last-k"):
            row = values[explanation, name]
            assert row.note if math.isnan(row.value) else row.n > 0, row
    arrays = kind in ("table", "image")
    assert math.isfinite(values["occlusion", "sensitivity"].value) == (kind == "words" and framework == "torch")
    assert math.isfinite(values["occlusion", "sen"].value) == arrays
    assert math.isfinite(values["occlusion", "randomized-model"].value) == (framework == "torch")
    assert math.isfinite(values["occlusion", "fs-a"].value)
    assert math.isfinite(values["mine", "fu-a"].value)
    own = "a copy of the model's network" if framework == "torch" else "the default network"
    assert values["occlusion", "fs-a"].note.startswith(own)
    for question in report.findings.questions:
        assert question in report.html


def _joined(model):
    """A callable on whole texts."""
    kind = model.module.reader.layout.kind

    def says(lines):
        rows = [line.split() for line in lines]
        return model(rows if kind == "words" else [[[word] for word in row] for row in rows]).numpy()

    return says


def test_what_was_not_run_is_absent(hasty):
    found = run(MODEL, DATA, {"o": api.fit(MODEL, DATA, 2, method="occlusion")}, Settings(k=2, n=30, checks=chosen([])))
    assert {row.check.partition("@")[0] for row in found.rows} == set(DECIDING)
    assert "sen" not in found.definitions
    page, facts = Report(found).html, Report(found).to_json()
    assert QUESTIONS["stability"] not in page
    assert QUESTIONS["cost"] not in page
    assert set(facts["definitions"]) == set(DECIDING)


def test_a_judge_that_an_explainer_was_trained_with_is_heard(hasty):
    explained = api.fit(MODEL, DATA, 2, method="occlusion").explain(DATA.test.x)
    said = {}
    for name, readings in (("flattered", {"judge": 1.5}), ("nobody", {})):
        given = {name: replace(explained, origin={"method": "mimic", "readings": readings})}
        found = run(MODEL, DATA, given, Settings(k=2, n=len(explained), checks=chosen([])))
        said[name] = [r for v in found.verdicts if v.explanation == name for r in v.reasons if "trained with" in r]
    assert len(said["flattered"]) == 1
    assert "finds the answer in 150% of its selections" in said["flattered"][0]
    assert said["nobody"] == []


def test_without_what_a_verdict_needs_there_is_none(findings):
    given = {"occlusion": api.fit(MODEL, DATA, 2, method="occlusion", removal="zero")}
    settings = Settings(k=2, removal="zero", checks=chosen(["fs-m", "sufficiency"], deciding=False))
    found = run(MODEL, DATA, given, settings)
    assert found.verdicts == ()
    assert {row.check.partition("@")[0] for row in found.rows} == {"fs-m", "sufficiency"}
    assert {row.passed for row in found.rows} == {None}
    whole = {(row.explanation, row.check, row.at): row.value for row in findings.rows}
    own = [row for row in found.rows if row.explanation == "occlusion"]
    assert all(row.value == whole["occlusion", row.check, row.at] for row in own)  # as in the whole audit


@pytest.mark.slow
def test_an_explanation_that_survives_random_weights_is_rejected():
    """Column 0 decides and is always kept: enough, needed, honest; but nobody asked the model."""
    with seeds.seeded(0):
        net = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    x, answer = DATA.train.x, (DATA.train.x[:, 0] > 0).long()
    optimizer = torch.optim.Adam(net.parameters(), 0.02)
    for _ in range(200):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), answer).backward()
        optimizer.step()
    model = bind(wrap(net, outputs="logits"), DATA)

    class Stubborn:
        k = 1

        def fit(self, model, data):
            return self

        def clone(self):
            return self

        def explain(self, x, target=None):
            kept = torch.zeros(x.shape, dtype=torch.bool)
            kept[:, 0] = True
            return Explanation(kept.float(), kept, torch.ones_like(kept), target)

    given = {"stubborn": Stubborn(), "occlusion": api.fit(model, DATA, 1, method="occlusion", removal="zero")}
    settings = Settings(k=1, removal="zero", checks=chosen([]))
    before = {v.explanation: v.verdict for v in run(model, DATA, given, settings).verdicts}
    assert before["stubborn"] == before["occlusion"] == "trust"
    found = run(model, DATA, given, replace(settings, checks=chosen(["randomized-model"])))
    after = {v.explanation: v for v in found.verdicts}
    assert after["stubborn"].verdict == "reject"
    assert "hardly depends on the model" in after["stubborn"].reasons[0]
    assert after["occlusion"].verdict == "trust"
    passed = {row.explanation: row.passed for row in found.rows if row.check == "randomized-model"}
    assert passed == {"stubborn": False, "occlusion": True, "random": True, "first-k": False, "last-k": False}


def test_what_draws_nothing_is_not_praised_for_being_the_same_with_every_seed(hasty):
    given = {name: api.fit(MODEL, DATA, 2, method=name, removal="zero") for name in ("occlusion", "l2x")}
    found = run(MODEL, DATA, given, Settings(k=2, n=40, removal="zero", checks=chosen(["seed-stability"])))
    steady, learned = (rows(found, name)["seed-stability"] for name in given)
    assert (steady.value, steady.passed, steady.note) == (1.0, None, stability.DRAWS_NOTHING)
    assert learned.passed is not None
    assert learned.note == ""
    said = {v.explanation: " ".join(v.reasons) for v in found.verdicts}
    assert "another seed" not in said["occlusion"]
    assert "another seed" in said["l2x"]
    assert "by construction" in Report(found).html


def test_another_model_with_the_same_answers_is_measured_anew(tmp_path):
    """Two columns are the same: a model that reads the one answers all rows like a model that reads the other."""
    x = torch.randn(200, 4, generator=seeds.generator(0))
    x[:, 1] = x[:, 0]
    data = dataset(x, (x[:, 0] > 0).long())
    first = torch.zeros(len(data.test), 4)
    first[:, 0] = 1.0

    def reading(column):
        return lambda rows: np.stack([rows[:, column] <= 0, rows[:, column] > 0], 1).astype(float)

    def shown(column):
        settings = {"k": 1, "n": 30, "pool": 60, "removal": "zero", "checks": "fs-m"}
        report = api.audit(
            reading(column), data, {"it": first.numpy()}, **settings, resume=tmp_path / "memo", keep=True
        )
        return next(r.value for r in report.findings.rows if (r.explanation, r.check) == ("it", "fs-m"))

    assert shown(0) == 1.0
    assert shown(1) < 0.8
