"""A light look: some rows, the same values as in full on them, and nothing is trained again."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import unmask
from audit.cases import linear, table
from unmask import api
from unmask.audit import CHECKS, chosen, function_of, light, lighter
from unmask.audit.case import some
from unmask.audit.light import AGAIN, FITS, ROWS, lightly
from unmask.audit.subjects import Settings, assemble
from unmask.models import bind, wrap

DATA = table(900)
MODEL = bind(wrap(linear), DATA)


def case(method="occlusion", n=150):
    explainer = api.fit(MODEL, DATA, 2, method=method, removal="zero")
    return assemble(MODEL, DATA, {"it": explainer}, Settings(k=2, n=n, removal="zero", pool=60))


def test_a_check_that_takes_row_by_row_has_the_same_values_on_fewer_rows():
    whole = case()
    it = whole.subjects[0]
    full, few = function_of("removal-sensitivity")(whole, it), lightly(whole, it, "removal-sensitivity")
    there = ~few.values.isnan()
    assert int(there.sum()) == ROWS
    torch.testing.assert_close(few.values[there], full.values[there])
    assert few.parts.keys() == full.parts.keys()
    assert few.note == f"{ROWS} of the rows; {full.note}"
    assert all(part.shape == whole.target.shape for part in few.parts.values())


def test_fewer_rows_than_there_would_be_are_all_of_them():
    whole = case(n=30)
    found = lightly(whole, whole.subjects[0], "counterfactual")
    assert found.values.shape == (30,)
    assert not bool(found.values.isnan().all())


@pytest.mark.parametrize("check", FITS)
def test_what_was_trained_is_not_trained_again(check):
    whole = case()
    trained = replace(whole.subjects[0], explainer=api.fit(MODEL, DATA, 2, method="l2x", removal="zero"))
    found = lightly(whole, trained, check)
    assert found.note == AGAIN
    assert bool(found.values.isnan().all())


def test_light_are_those_that_came_with_the_default_and_were_not_named():
    every = tuple(name for name, check in CHECKS.items() if check.light)
    assert set(FITS) < set(every) < set(chosen("default"))
    assert lighter() == lighter("default") == lighter(["default", "roar"]) == every
    assert lighter(["default", "seed-stability"]) == tuple(name for name in every if name != "seed-stability")
    assert lighter("all") == lighter(["default", "all"]) == lighter(["seed-stability"]) == ()
    assert Settings(k=2).light == every
    assert Settings(k=2, checks=chosen("seed-stability")).light == ()


def test_a_default_audit_says_what_it_did_not_look_at():
    given = {"occlusion": "occlusion", "l2x": "l2x", "mine": torch.rand(len(DATA.test), 6)}
    found = api.audit(MODEL, DATA, given, k=2, n=60, removal="zero", pool=80).findings
    rows = {(r.explanation, r.check): r for r in found.rows if r.at is None}
    assert rows["occlusion", "randomized-model"].note == "the weights of this model cannot be drawn anew"
    assert rows["occlusion", "removal-sensitivity"].n == 60
    assert rows["l2x", "removal-sensitivity"].note == AGAIN
    said = {v.explanation: " ".join(v.reasons) for v in found.verdicts if v.verdict != "reject"}
    assert "could not be looked at: whether it depends on the model" in said["occlusion"]
    assert "not looked at: whether the order of the scores is a code" in said["occlusion"]
    assert "not looked at: whether it depends on the model" in said["l2x"]


@pytest.mark.parametrize("check", lighter())
def test_the_longest_text_need_not_be_among_the_few(check, monkeypatch):
    monkeypatch.setattr(light, "ROWS", 4)
    texts = [["good" if i % 2 else "bad", *["tea"] * (i % 3)] for i in range(60)]
    texts[54] += ["soup"] * 20
    parts = {"train": range(40), "validation": range(40, 50), "test": range(50, 60)}
    data = unmask.dataset(texts, [i % 2 for i in range(60)], kind="words", split={k: list(v) for k, v in parts.items()})

    def model(rows):
        return torch.tensor([[2.0 * ("good" in row.split()), 1.0] for row in rows]).softmax(1)

    bound = bind(wrap(model), data)
    explainer = api.fit(bound, data, 1, method="occlusion")
    whole = assemble(bound, data, {"it": explainer}, Settings(k=1, n=10, pool=60))
    assert whole.valid.shape[1] > 20 > whole.valid[some(whole, 4)].sum(1).max()
    for subject in whole.subjects:
        found = lightly(whole, subject, check)
        assert found.values.shape == (10,)
        assert int(found.values.isnan().sum()) in (6, 10)
