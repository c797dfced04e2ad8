"""auto: the best of those that do not smuggle, by validation rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from explainers.samples import SHORT, model, task, with_start
from unmask import api, auto, seeds
from unmask.audit import smuggling
from unmask.auto import Comparison, choose
from unmask.data import load
from unmask.errors import InputError, UnmaskWarning
from unmask.explainers.meed import MEED
from unmask.methods import make
from unmask.models import wrap
from unmask.task import seeded
from unmask.training import Recipe
from unmask.types import Findings, Result, Verdict


def findings(**rows: tuple[str, float, float, float]) -> Findings:
    """name -> verdict, fs-m, fu-m, reading."""
    results = [
        Result(name, check, value, value, value, 0.5, "none", None, 10, 0.0)
        for name, (_, *values) in rows.items()
        for check, value in zip(("fs-m", "fu-m", "reading"), values, strict=True)
    ]
    verdicts = tuple(Verdict(name, word, ()) for name, (word, *_) in rows.items())  # type: ignore[arg-type]
    return Findings("t", "m", tuple(results), verdicts, (), (), {}, {}, {})


def chosen(found: Findings) -> Comparison:
    return auto._compared(found, [v.explanation for v in found.verdicts])


def test_the_most_enough_of_the_fair_wins() -> None:
    found = chosen(findings(a=("trust", 0.90, 0.1, 0.9), b=("care", 0.95, 0.4, 0.8), c=("reject", 0.99, 0.0, 0.2)))
    assert found.chosen == "b"
    assert "rejected: c" in found.why
    assert found.value("a", "fs-m") == 0.90


def test_among_equals_the_more_needed_wins() -> None:
    assert chosen(findings(a=("trust", 0.950, 0.3, 0.9), b=("trust", 0.946, 0.1, 0.9))).chosen == "b"
    assert chosen(findings(a=("trust", 0.950, 0.3, 0.9), b=("trust", 0.940, 0.1, 0.9))).chosen == "a"


def test_where_all_are_rejected_it_says_so() -> None:
    found = chosen(findings(a=("reject", 0.99, 0.0, 0.3), b=("reject", 0.60, 0.5, 0.6)))
    assert found.chosen == "b"
    assert "do not trust it" in found.why


def test_the_seed_reaches_whoever_draws() -> None:
    assert seeded(make("mimic", 2), 5).recipe.seed == 5
    assert seeded(make("lime", 2), 5).seed == 5
    assert seeded(make("occlusion", 2), 5) == make("occlusion", 2)


def test_large_sets_get_fewer_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    data = task("table")
    assert auto._hurried(make("mimic", 2), data) == make("mimic", 2)
    assert auto._hurried(make("occlusion", 2), data) == make("occlusion", 2)
    monkeypatch.setitem(auto.SEEN, "table", 7 * data.train.valid.numel())
    assert auto._hurried(make("mimic", 2), data).recipe.epochs == 7
    monkeypatch.setitem(auto.SEEN, "table", 1)
    assert auto._hurried(make("mimic", 2), data).recipe.epochs == auto.FEWEST


def test_unknown_and_impossible_candidates_are_refused() -> None:
    data = task("table")
    with pytest.raises(InputError, match="unknown method 'mimik'; did you mean 'mimic'"):
        choose(model("table"), data, 2, candidates=("mimik",))
    black_box = wrap(LogisticRegression(max_iter=500).fit(data.train.x.numpy(), data.train.y.numpy()))
    with pytest.raises(InputError, match="every candidate needs them; add 'mimic' or 'occlusion'"):
        choose(black_box, data, 2, candidates=("gradient", "integrated-gradients"))


def test_whoever_cannot_explain_is_left_out_and_it_is_said_why() -> None:
    told: list[str] = []
    unfitted = {name: make(name, 2) for name in ("gradient", "occlusion")}
    fitted = auto._fitted(unfitted, with_start(), task("words"), told.append)
    assert list(fitted) == ["occlusion"]
    assert len(told) == 1
    assert told[0].startswith("auto: gradient is left out: the tokenizer gives")
    with pytest.raises(InputError, match="the tokenizer gives"):
        auto._fitted({"gradient": make("gradient", 2)}, with_start(), task("words"), told.append)


@pytest.mark.slow
def test_a_liar_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smuggling, "SEEDS", 1)
    monkeypatch.setattr(smuggling, "RECIPE", replace(smuggling.RECIPE, epochs=12))
    data = load("digits", seed=0)
    net = api.train_model(data, recipe=Recipe(epochs=15, batch=64, rate=1e-3))
    told: list[str] = []
    best = choose(net, data, 8, candidates=("cheater", "integrated-gradients"), say=told.append)
    assert best.method == best.comparison_.chosen == "integrated-gradients"
    assert best.comparison_.explainers["integrated-gradients"] is best
    verdicts = {v.explanation: v.verdict for v in best.comparison_.findings.verdicts}
    assert verdicts["cheater"] == "reject"
    assert "rejected: cheater" in told[-1]
    monkeypatch.setattr(auto, "CANDIDATES", ())
    again = api.fit(net, data, 8, method="occlusion")
    assert again.method == "occlusion"
    monkeypatch.setattr(smuggling, "RECIPE", replace(smuggling.RECIPE, epochs=1))
    spoiled = replace(data, test=replace(data.test, x=data.test.x * float("nan")))
    same = choose(net, spoiled, 8, candidates=("integrated-gradients",))
    assert same.method == "integrated-gradients"


def test_whoever_gets_a_rejected_one_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("occlusion", "gradient-x-input")
    monkeypatch.setattr(auto, "run", lambda *_: findings(**dict.fromkeys(names, ("reject", 0.9, 0.1, 0.5))))
    with pytest.warns(UnmaskWarning, match="every candidate is rejected by the audit"):
        best = choose(model("table"), task("table"), 2, candidates=names)
    assert not best.comparison_.fair
    assert best.explain(task("table").test.x).origin["auto"] == best.comparison_.why


def test_a_module_without_gradients_is_no_candidate_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a torch module, but answers without a trace: only trying tells."""
    data, said = task("table"), []

    class Sealed(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            with torch.no_grad():
                return super().forward(x)

    with seeds.seeded(0):
        sealed = wrap(Sealed(data.layout.shape[0], 3), outputs="logits")
    monkeypatch.setattr(auto, "run", lambda *_: findings(occlusion=("trust", 0.9, 0.1, 0.5)))
    best = choose(sealed, data, 2, candidates=("integrated-gradients", "gradient", "occlusion"), say=said.append)
    assert best.method == "occlusion"
    for name in ("integrated-gradients", "gradient"):
        assert any(text.startswith(f"auto: {name} is left out: Sealed gives no gradients") for text in said)
    assert MEED(2, recipe=SHORT).fit(sealed, data).readings_["prior"] == "none"
