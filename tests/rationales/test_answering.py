"""Answers and explanations of a fitted rationale model."""

from __future__ import annotations

import pytest
import torch

import unmask
from rationales.samples import fitted, rows, unfitted
from unmask.errors import InputError, NotFittedError
from unmask.given import common_k
from unmask.rationales.rnp import RNP
from unmask.training import Recipe

pytestmark = pytest.mark.slow


def test_a_named_target_does_not_change_the_rationale() -> None:
    own, data = fitted("rnp", "sentences"), rows("sentences")
    target = torch.ones(len(data.test), dtype=torch.long)
    e = own.explain(data.test.x, target)
    assert torch.equal(e.target, target)
    assert torch.equal(e.kept, own.explain(data.test.x).kept)
    with pytest.raises(InputError, match="class numbers from 0 to 1"):
        own.explain(data.test.x, target + 1)


def test_the_predictor_alone_tells_what_the_model_answers() -> None:
    own, data = fitted("a2r", "words"), rows("words")
    torch.testing.assert_close(own.told(data.test.x, own.explain(data.test.x).kept), own.predict(data.test.x))


def test_scores_speak_against_nothing_and_rank_as_the_generator_does() -> None:
    own, data = fitted("a2r", "words"), rows("words")
    e = own.explain(data.test.x)
    raw = own.net_.answers(own.task_.reader.prepare(data.test.x))[1][:, : e.scores.shape[1]]
    assert float(raw[e.valid].min()) < 0
    assert float(e.scores.min()) == 0
    for i in range(5):
        torch.testing.assert_close(e.scores[i].diff()[: int(e.valid[i].sum()) - 1], raw[i][e.valid[i]].diff())


def test_nothing_is_answered_before_fit() -> None:
    with pytest.raises(NotFittedError, match="this RNP has learned nothing"):
        RNP().explain(rows("words").test.x)


@pytest.mark.usefixtures("quick")
def test_it_can_be_audited_like_any_other() -> None:
    data = rows("sentences")
    own = unfitted("a2r")
    own.recipe = Recipe(epochs=12, batch=20, rate=5e-3, seed=5)
    own.fit(data)
    report = unmask.audit(own.model(), data, {"a2r": own}, n=20, pool=100)
    checks = {row.check for row in report.findings.rows if row.explanation == "a2r"}
    assert {"fs-m", "encoding-share", "interlocking", "first-unit", "exclusion"} <= checks
    sealed = next(row for row in report.findings.rows if (row.explanation, row.check) == ("a2r", "exclusion"))
    assert sealed.value == 1
    assert sealed.passed


def test_a_share_is_audited_as_it_stands() -> None:
    data, own = rows("words"), fitted("rnp", "words", 0.5)
    assert common_k({"it": own}, None, data, "test") == int(own.explain(data.test.x).kept.sum(1).max())
    with pytest.raises(InputError, match="is a model that explains itself"):
        unmask.audit(own.model(), data, {"it": "a2r"}, k=1)
