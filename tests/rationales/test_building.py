"""What all rationale models are built of."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from data.conftest import REAL
from rationales.lessons import ready
from rationales.samples import NAMES, rows, unfitted
from unmask.loading import load
from unmask.nets.bodies import Nets
from unmask.rationales import building
from unmask.training import soft_cross_entropy

pytestmark = pytest.mark.slow


def test_open_gates_are_kept_where_the_number_is_free() -> None:
    scores, valid = torch.tensor([[1.0, -1.0, 2.0]]), torch.tensor([[True, True, False]])
    assert building.budget(unfitted("rnp", 2, free=True))(scores, valid)[1].tolist() == [[True, False, False]]
    assert building.budget(unfitted("rnp", 2))(scores, valid)[1].tolist() == [[True, True, False]]


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"a2r", "hardkuma"}))
def test_every_model_can_leave_the_number_free(name: str) -> None:
    own = unfitted(name, 2, free=True).fit(rows("words"))
    e = own.explain(rows("words").test.x)
    scores = own.net_.answers(own.task_.reader.prepare(rows("words").test.x))[1][:, : e.kept.shape[1]]
    assert torch.equal(e.kept, (scores > 0) & e.valid)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"hardkuma"}))
def test_every_model_keeps_runs_on_demand(name: str) -> None:
    own = unfitted(name, 0.5)
    own.nets = Nets(hidden=8, window=4, smooth=3, spans=1)
    kept = own.fit(rows("words")).explain(rows("words").test.x).kept
    edges = torch.nn.functional.pad(kept.int(), (1, 1)).diff(dim=1)
    assert int((edges > 0).sum(1).max()) == 1


def test_words_are_told_twice_and_others_once() -> None:
    for kind in ("words", "sentences"):
        own, batch = ready("fr", kind)
        kept = building.drawn(own, own.net_.chooser, batch, 0.0).kept
        soft, hard = (soft_cross_entropy(own.net_.teller(batch.x, k), batch.y) for k in (kept, kept.detach()))
        want = (soft + hard) / 2 if kind == "words" else soft
        assert_close(building.told_twice(own.net_, batch, kept), want)


@REAL
def test_glove_vectors_are_taken_frozen_and_not_needed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = unfitted("a2r")
    own.nets = Nets(hidden=8, vectors="glove", frozen=True)
    own.fit(rows("sentences"))
    table = own.net_.teller.body.embedding.table
    assert not table.weight.requires_grad
    at = own.net_.reader.vocabulary.ids["the"]
    assert float(table.weight[at].norm()) > 3  # as GloVe has it
    assert torch.equal(table.weight[at], own.net_.chooser.body.embedding.table.weight[at])
    own.save(tmp_path / "it")
    monkeypatch.setattr(building, "glove", None)
    x = rows("sentences").test.x
    assert torch.equal(load(tmp_path / "it").predict(x), own.predict(x))
