"""What every rationale model promises, on every kind of data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from rationales.samples import KINDS, NAMES, fitted, rows, unfitted
from unmask import seeds
from unmask.audit import dependence, function_of
from unmask.audit.subjects import Settings, assemble
from unmask.data import load as load_data
from unmask.errors import InputError, NotFittedError
from unmask.loading import load
from unmask.nets.bodies import Nets
from unmask.rationales import MODELS
from unmask.training import Recipe
from unmask.types import rows_of

pytestmark = pytest.mark.slow
EVERY = pytest.mark.parametrize("kind", KINDS)
MODEL = pytest.mark.parametrize("name", NAMES)
TOGETHER = 10  # times that all test rows are asked about in one call
FREE = [name for name in NAMES if hasattr(unfitted(name), "free")]  # whose number of units may be free
BUDGETED = sorted(set(NAMES) - {"hardkuma"})  # its number is held on average only


@EVERY
@MODEL
def test_it_answers_and_explains_its_answers(name: str, kind: str) -> None:
    own, data = fitted(name, kind), rows(kind)
    p, e = own.predict(data.test.x), own.explain(data.test.x)
    assert p.shape == (len(data.test), len(data.classes))
    torch.testing.assert_close(p.sum(1), torch.ones(len(p)))
    assert torch.equal(e.target, p.argmax(1))
    assert torch.equal(e.valid, data.test.valid)
    assert not bool((e.kept & ~e.valid).any())
    assert e.origin["method"] == own.method
    assert e.row(0).label in data.classes
    torch.testing.assert_close(own.model()(data.test.x), p)


@EVERY
@pytest.mark.parametrize(("name", "free"), [*((name, False) for name in NAMES), *((name, True) for name in FREE)])
def test_it_learns_in_mixed_precision_too(name: str, kind: str, free: bool) -> None:
    """Sure scores have slopes: rounded, a chance of nearly 1 would be 1, and its logit no number."""
    own = unfitted(name, **({"free": True} if free else {}))
    own = replace(own, recipe=replace(own.recipe, precision="mixed")).fit(rows(kind))
    assert all(bool(p.isfinite().all()) for p in own.net_.parameters())
    p = own.predict(rows(kind).test.x)
    assert p.dtype == torch.float32
    assert bool(p.isfinite().all())


@pytest.mark.parametrize(("kind", "k"), [*((kind, 1) for kind in KINDS), ("words", 0.5), ("sentences", 2)])
@pytest.mark.parametrize("name", BUDGETED)
def test_it_keeps_to_its_budget(name: str, kind: str, k: int | float) -> None:
    own, data = fitted(name, kind, k), rows(kind)
    length = data.test.valid.sum(1)
    wanted = (length * k).round().clamp(min=1) if isinstance(k, float) else torch.full_like(length, k).minimum(length)
    assert torch.equal(own.explain(data.test.x).kept.sum(1), wanted.long())


@EVERY
@MODEL
def test_the_predictor_alone_tells_what_the_model_answers(name: str, kind: str) -> None:
    """What is certified below is the answer that users get."""
    own, x = fitted(name, kind), rows(kind).test.x
    torch.testing.assert_close(own.told(x, own.explain(x).kept), own.predict(x), atol=1e-6, rtol=1e-5)


@EVERY
@MODEL
def test_the_answer_is_told_from_the_rationale_alone(name: str, kind: str) -> None:
    """The certificate of exclusion: 10,000 rows with everything else replaced, the same to the last bit."""
    own, data, rng = fitted(name, kind), rows(kind), seeds.generator(0)
    kept = own.explain(data.test.x).kept
    if bool(kept[data.test.valid].all()):  # gates that have not closed yet
        kept = kept & (torch.rand(kept.shape, generator=rng) < 0.5)
    many, changed = kept.repeat(TOGETHER, 1), 0
    before = own.told(_joined([data.test.x] * TOGETHER), many)
    for _ in range(-(-10_000 // len(many))):
        others = [_elsewhere(data, kept, rng) for _ in range(TOGETHER)]
        texts = isinstance(data.test.x, list)
        changed += any(other != data.test.x if texts else bool((other != data.test.x).any()) for other in others)
        assert torch.equal(own.told(_joined(others), many), before)
    assert changed
    if data.layout.is_text:  # dropped, not blanked: without the rest the row tells the same
        pairs = zip(data.test.x, kept.tolist(), strict=True)
        alone = [[u for u, m in zip(row, marks, strict=False) if m] for row, marks in pairs]
        some, shorter = torch.tensor([bool(row) for row in alone]), [row for row in alone if row]
        whole = torch.arange(max(map(len, shorter))) < torch.tensor([len(row) for row in shorter])[:, None]
        torch.testing.assert_close(own.told(shorter, whole), before[: len(kept)][some], atol=1e-6, rtol=1e-5)


def _joined(parts: list[Any]) -> Any:
    return [row for part in parts for row in part] if isinstance(parts[0], list) else torch.cat(parts)


def _elsewhere(data: Any, kept: torch.Tensor, rng: torch.Generator) -> Any:
    if not data.layout.is_text:
        noise = data.test.x.clone().uniform_(-5, 5, generator=rng)
        return torch.where(data.layout.spread(kept).bool(), data.test.x, noise)
    pool = [unit for row in data.train.x for unit in row]
    if isinstance(pool[0], list):  # sentences of other lengths, by which rows might come to stand beside others
        pool += [unit * 2 for unit in pool] + [unit[:1] for unit in pool]
    picks = iter(torch.randint(len(pool), (kept.numel(),), generator=rng).tolist())
    return [
        [unit if marks[j] else pool[next(picks)] for j, unit in enumerate(row)]
        for row, marks in zip(data.test.x, kept.tolist(), strict=True)
    ]


@EVERY
@MODEL
def test_a_row_does_not_depend_on_its_batch(name: str, kind: str) -> None:
    own, data = fitted(name, kind), rows(kind)
    every = own.explain(data.test.x)
    for i in (0, 7, 20):
        one = rows_of(data.test.x, torch.tensor([i]))
        alone = own.explain(one)
        width = alone.kept.shape[1]
        torch.testing.assert_close(alone.scores[0], every.scores[i, :width], atol=1e-5, rtol=1e-5)
        assert torch.equal(alone.kept[0], every.kept[i, :width])
        torch.testing.assert_close(own.predict(one)[0], own.predict(data.test.x)[i], atol=1e-5, rtol=1e-5)


@MODEL
def test_the_same_seed_gives_the_same_model(name: str) -> None:
    again = unfitted(name).fit(rows("sentences"))
    assert torch.equal(
        again.predict(rows("sentences").test.x), fitted(name, "sentences").predict(rows("sentences").test.x)
    )


@EVERY
@MODEL
def test_saved_and_loaded_it_is_the_same(name: str, kind: str, tmp_path: Path) -> None:
    own, data = fitted(name, kind), rows(kind)
    own.save(tmp_path / "it")
    back = load(tmp_path / "it")
    a, b = own.explain(data.test.x), back.explain(data.test.x)
    assert torch.equal(a.scores, b.scores)
    assert torch.equal(a.kept, b.kept)
    assert torch.equal(own.predict(data.test.x), back.predict(data.test.x))
    assert back.readings_ == own.readings_


@MODEL
def test_a_clone_has_learned_nothing(name: str) -> None:
    with pytest.raises(NotFittedError, match=r"call fit\(data\) first"):
        fitted(name, "table").clone().predict(rows("table").test.x)


@MODEL
@pytest.mark.parametrize("k", [0, -1, 1.5, "3", True, None])
def test_budgets_that_are_none_are_refused(name: str, k: Any) -> None:
    with pytest.raises(InputError, match="k must be a number of units"):
        unfitted(name, k)


@MODEL
def test_more_units_than_a_row_has_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="k must be at most 9"):
        unfitted(name, 10).fit(rows("table"))


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_skewed_start_teaches_the_predictor_the_first_unit(name: str) -> None:
    data = rows("sentences")
    own = unfitted(name, skew=15)
    own.recipe = own.recipe.__class__(epochs=1, batch=200, rate=1e-6, seed=5)  # what follows hardly moves it
    own.fit(data)
    plain = unfitted(name)
    plain.recipe = own.recipe
    plain.fit(data)
    first = torch.zeros_like(data.train.valid)
    first[:, 0] = True
    right, before = ((m.told(data.train.x, first).argmax(1) == data.train.y).float().mean() for m in (own, plain))
    assert right > before + 0.03


@MODEL
def test_more_than_two_classes(name: str) -> None:
    data = load_data("digits")
    few = replace(data, **{part: data[part].rows(torch.arange(60)) for part in ("train", "validation", "test")})
    own = unfitted(name, 5).fit(few)
    assert own.predict(few.test.x).shape == (60, 10)


@pytest.mark.parametrize("name", ["rnp", "fr"])
def test_checks_that_fit_again_say_why_they_cannot(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependence, "ROUNDS", 1)
    data = rows("words")
    own = unfitted(name, 2)
    own.recipe = Recipe(epochs=12, batch=20, rate=1e-2, seed=5)
    own.fit(data)
    case = assemble(own.model(), data, {"it": own}, Settings(k=2, n=20, pool=100))
    for check in ("randomized-model", "permuted-labels"):
        found = function_of(check)(case, case.subjects[0])
        assert bool(found.values.isnan().all())
        assert found.note


@MODEL
def test_it_finds_the_columns_that_tell(name: str) -> None:
    """Column 2 is high in one class, column 3 in the other."""
    data, own = rows("table"), unfitted(name, 2)
    own.nets, own.recipe = Nets(hidden=16), Recipe(epochs=60, batch=40, rate=5e-3, seed=1)
    if name == "hardkuma":
        own.first = 0.1  # with its usual one, gates close after thousands of steps
    own.fit(data)
    kept, right = own.explain(data.test.x).kept, own.predict(data.test.x).argmax(1) == data.test.y
    assert float(kept[:, 2:4].any(1).float().mean()) > 0.9
    assert float(right.float().mean()) > 0.9
    assert float(kept.sum(1).float().mean()) <= 3
