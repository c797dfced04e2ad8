"""Is it locked? Made-up models that explain themselves, one good, one locked, one that peeks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch
from torch import Tensor

import unmask
from audit.cases import KINDS, planted
from unmask import seeds
from unmask.audit import locked
from unmask.audit.subjects import Settings, assemble
from unmask.models import wrap
from unmask.types import Dataset, Explanation, Inputs

pytestmark = pytest.mark.slow


@dataclass
class Rationale:
    """Keeps the unit that tells the class, or (`poor`) the first one; answers by the kept unit, or (`peeks`) by all.

    A `weak` one keeps the right unit and errs in every fourth row all the same.
    """

    kind: str
    poor: bool = False
    peeks: bool = False
    weak: bool = False
    k: int = 1
    method: str = field(default="made", init=False)

    def fit(self, model: Any, data: Dataset) -> Rationale:
        return self

    def clone(self) -> Rationale:
        return self

    def evidence(self, x: Inputs) -> Tensor:
        """(n, d) toward class 1 of each unit, 0 where it tells nothing."""
        if self.kind in ("table", "image"):
            flat = torch.as_tensor(x).flatten(1)
            found = torch.zeros(flat.shape)
            found[:, 2], found[:, 3] = -1.0 * (flat[:, 2] > 1.25), 1.0 * (flat[:, 3] > 1.25)
            return found
        words = [
            row.split() if isinstance(row, str) else [u if self.kind == "words" else u[0] for u in row] for row in x
        ]
        width = max(len(row) for row in words)
        signs = [[{"good": -1.0, "bad": 1.0}.get(w, 0.0) for w in row] for row in words]
        return torch.tensor([row + [0.0] * (width - len(row)) for row in signs])

    def kept(self, x: Inputs) -> Tensor:
        found = self.evidence(x).abs()
        if self.poor:
            found = torch.zeros_like(found)
        return torch.nn.functional.one_hot(found.argmax(1), found.shape[1]).bool()

    def told(self, x: Inputs, kept: Tensor) -> Tensor:
        seen = self.evidence(x)
        seen = seen if self.peeks else seen * kept[:, : seen.shape[1]]
        p = (0.1 + seen.sum(1) * 3).sigmoid()
        if self.poor:
            p = (torch.arange(len(seen)) % 2 - 0.5).mul(3).sigmoid()  # it knows nothing that matters
        if self.weak:
            p = torch.where(torch.arange(len(p)) % 4 == 0, 1 - p, p)
        return torch.stack([1 - p, p], 1)

    def answer(self, x: Inputs) -> Tensor:
        return self.told(x, self.kept(x))

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation:
        kept = self.kept(x)
        valid = planted(self.kind, 24).layout.valid(x)
        return Explanation(kept.float(), kept, valid, self.answer(x).argmax(1) if target is None else target)


def case_of(own: Rationale, n: int = 40, pool: int = 100) -> Any:
    data = planted(own.kind, 400)
    model = wrap(own.answer, takes="text" if data.layout.is_text else None, outputs="probabilities")
    return assemble(unmask.models.bind(model, data), data, {"made": own}, Settings(k=1, n=n, pool=pool))


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_told_from_the_rationale_is_sealed_and_one_that_peeks_is_not(kind: str) -> None:
    for peeks in (False, True):
        case = case_of(Rationale(kind, peeks=peeks))
        values = locked.exclusion(case, case.subjects[0]).values
        assert (float(values.mean()) == 1) != peeks


@pytest.mark.parametrize("kind", ["table", "sentences"])
def test_a_locked_model_would_be_better_off_elsewhere(kind: str) -> None:
    good, poor = (case_of(Rationale(kind, poor=poor), pool=400) for poor in (False, True))
    better = float(locked.interlocking(poor, poor.subjects[0]).values.mean())
    assert better > 0.25
    assert abs(float(locked.interlocking(good, good.subjects[0]).values.mean())) < 0.1
    random = next(s for s in good.subjects if s.name == "random")
    assert float(locked.interlocking(good, random).values.mean()) > 0.1


def test_a_weak_predictor_with_a_good_choice_is_not_locked() -> None:
    weak = case_of(Rationale("table", weak=True), pool=400)
    found = locked.interlocking(weak, weak.subjects[0])
    told, fresh = map(int, re.findall(r"in (\d+)%", found.note))
    assert told == 75
    assert fresh > 85
    assert float(found.values.mean()) < 0.1


@dataclass
class Fickle(Rationale):
    """A fit with an even seed keeps the right unit, one with an odd seed the first."""

    seed: int = 0

    def clone(self) -> Fickle:
        return replace(self)

    def fit(self, data: Dataset) -> Fickle:  # type: ignore[override]
        self.poor = self.seed % 2 == 1
        return self


def test_locked_seeds_are_counted_its_own_fit_among_them() -> None:
    for poor in (False, True):
        case = case_of(Fickle("table", poor=poor), pool=400)
        odd = sum(seeds.derive(case.seed, "locked", i) % 2 for i in range(locked.SEEDS))
        found = locked.locked_seeds(case, case.subjects[0])
        assert 0 < odd < locked.SEEDS
        assert found.note == f"{odd + poor} of 5 fits are locked"
        assert float(found.values.unique()) == pytest.approx((odd + poor) / 5)
        random = next(s for s in case.subjects if s.name == "random")
        assert not bool(locked.locked_seeds(case, random).values.any())


def test_who_may_choose_learns_on_from_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge itself stays as it was: what it reads of the model's units is not what it learned of its own."""
    case = case_of(Rationale("table", poor=True), pool=400)
    judge = locked._judge(case)
    weights = {name: value.clone() for name, value in judge.net.state_dict().items()}
    reader = locked._settled(case, judge, 1)
    assert all(torch.equal(value, weights[name]) for name, value in judge.net.state_dict().items())
    kept = locked.elsewhere(judge, case.prepared, case.valid, 1)
    right = [
        (j.log_probabilities(case.prepared, kept).argmax(1) == case.labels).float().mean() for j in (judge, reader)
    ]
    assert right[1] >= right[0]
    monkeypatch.setattr(locked, "SINGLES", 10)
    assert locked._settled(case, judge, 1) is judge


def test_first_units_are_counted() -> None:
    case = case_of(Rationale("words", poor=True))
    assert float(locked.first_unit(case, case.subjects[0]).values.mean()) == 1
    assert "100% of the rationales begin at unit 1" in locked._places(case.subjects[0])


def test_the_gap_is_between_the_soft_side_and_the_units_kept() -> None:
    case = case_of(Rationale("words", poor=True))
    it = case.subjects[0]
    assert "hard alone" in locked.hard_soft_gap(case, it).note

    led = Rationale("words", poor=True)
    led.softly = lambda x: torch.nn.functional.one_hot(case.labels, 2).float()
    found = locked.hard_soft_gap(case, replace(it, explainer=led))
    right = (led.told(case.x, it.kept).argmax(1) == case.labels).float()
    assert torch.equal(found.values, 1 - right)
    assert 0 < float(right.mean()) < 1
    assert "right in 100% softly" in found.note
    assert "no labels" in locked.hard_soft_gap(replace(case, labels=None), it).note


def test_others_have_no_lock() -> None:
    case = case_of(Rationale("table"))
    control = next(s for s in case.subjects if s.name == "first-k")
    for check in (locked.exclusion, locked.hard_soft_gap, locked.interlocking):
        found = check(case, control)
        assert bool(found.values.isnan().all())
        assert "tells from a rationale" in found.note
