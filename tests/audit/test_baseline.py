"""The same method under other removals."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from audit.cases import planted, small_case, table
from unmask import api
from unmask.audit import baseline
from unmask.audit.case import Subject
from unmask.audit.gathering import silent
from unmask.audit.stability import HIDES_NOTHING
from unmask.audit.subjects import control
from unmask.errors import InputError
from unmask.masking import REMOVALS
from unmask.models import wrap
from unmask.types import Explanation

K = 2


@dataclass
class Shifty:
    """Keeps other columns under another removal: 0 and 1 under "zero", 1 and 2 under "mean", 2 and 3 under others."""

    removal: str | None = None
    fails: tuple[str, ...] = ()

    def fit(self, model, data):
        if self.removal in self.fails:
            raise InputError("not like this")
        return self

    def clone(self):
        return Shifty(self.removal, self.fails)

    def explain(self, x, target=None):
        first = {"zero": 0, "mean": 1}.get(self.removal, 2)
        kept = torch.zeros(x.shape, dtype=torch.bool)
        kept[:, first : first + 2] = True
        return Explanation(kept.float(), kept, torch.ones_like(kept), target)


def asked(case, explainer):
    return Subject("it", explainer.explain(case.x, case.target), explainer=explainer)


@pytest.mark.parametrize("kind", ["table", "image", "words", "sentences"])
def test_every_kind_has_three_removals_or_more(kind):
    assert len(baseline.ways(kind)) >= 3
    assert set(baseline.ways(kind)) <= set(REMOVALS)


def test_it_is_the_mean_over_pairs_of_what_changes():
    case = small_case(table(150))
    found = baseline.removal_sensitivity(case, asked(case, Shifty("mean")))
    assert {key: float(v.mean()) for key, v in found.parts.items()} == {
        "removals=zero and mean": 0.5,
        "removals=zero and marginal": 1.0,
        "removals=mean and marginal": 0.5,
    }
    assert_close(found.values, torch.full((len(case.target),), 2 / 3))
    assert found.note == "removals: zero, mean, marginal"


def test_what_fails_is_left_out_and_one_alone_says_nothing():
    case = small_case(table(150))
    two = baseline.removal_sensitivity(case, asked(case, Shifty(fails=("marginal",))))
    assert list(two.parts) == ["removals=zero and mean"]
    one = baseline.removal_sensitivity(case, asked(case, Shifty(fails=("marginal", "mean"))))
    assert bool(one.values.isnan().all())
    assert "1 removals only: mean: not like this" in one.note


def test_occlusion_changes_as_it_does_when_it_is_fitted_by_hand():
    case = small_case(table(150))
    it = asked(case, api.explainer("occlusion", K, removal="zero").fit(case.model, case.data))
    kept = {
        name: api.explainer("occlusion", K, removal=name).fit(case.model, case.data).explain(case.x, case.target).kept
        for name in ("zero", "mean", "marginal")
    }
    gone = [1 - (kept[a] & kept[b]).sum(1) / K for a, b in combinations(kept, 2)]
    found = baseline.removal_sensitivity(case, it)
    assert_close(found.values, torch.stack(gone).mean(0))
    assert float(found.values.mean()) > 0


def test_random_units_stay_by_chance_and_the_first_always():
    net = nn.Sequential(nn.Flatten(), nn.Linear(9, 2))
    case = small_case(planted("image"), k=K, model=wrap(net, outputs="logits"))
    chance = baseline.removal_sensitivity(case, control(case, "random", K)).values
    pairs = len(case.target) * 6
    assert float(chance.mean()) == pytest.approx(1 - K / 9, abs=5 * 0.27 / pairs**0.5)
    assert float(baseline.removal_sensitivity(case, control(case, "first-k", K)).values.max()) == 0.0


def test_what_hides_nothing_has_no_value():
    case = small_case(table(150))

    class Plain:
        def fit(self, model, data):
            return self

        def clone(self):
            return self

        def explain(self, x, target=None):
            return Shifty().explain(x, target)

    assert baseline.removal_sensitivity(case, asked(case, Plain())).note == "it has no removal that could be changed"


def test_what_cannot_change_is_no_evidence():
    """A gradient hides no unit: the removal that it was fitted with says nothing for it."""
    net = nn.Sequential(nn.Flatten(), nn.Linear(9, 8), nn.ReLU(), nn.Linear(8, 2))
    case = small_case(planted("image"), k=K, model=wrap(net, outputs="logits"))
    for method, silent_ in (("gradient", True), ("occlusion", False)):
        found = baseline.removal_sensitivity(case, asked(case, api.fit(case.model, case.data, K, method=method)))
        assert (found.note == HIDES_NOTHING) is silent_
        assert silent(found) is silent_
