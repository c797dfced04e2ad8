"""Saliency can be moved: by a change of the input that nobody sees, and by training the model on at equal accuracy."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from unmask.audit.fooling import Fooling, fooled
from unmask.audit.fragility import fragility
from unmask.audit.stability import shared
from unmask.audit.subjects import Settings, assemble
from unmask.data.splits import array_split
from unmask.models import Wrapped
from unmask.reproduce.claims.ground import Found, Ground
from unmask.types import Dataset

__all__ = ["fragile", "moved_saliency"]

POOL = 40  # rows that an audit sets aside for judges, of whom there are none here
STEPS = 320  # of the training that moves a map


def fragile(at: Ground, row: str) -> Found:
    """Saliency is fragile: a change nobody sees, the answer stays, and other units are kept. Ghorbani et al. 2019."""
    data = replace(at.data, test=array_split(at.x, at.y, at.data.layout))
    settings = Settings(at.k, n=len(at.x), removal=at.removal, seed=at.seed, pool=POOL)
    case = assemble(at.model, data, {row: at.make(row).fit(at.model, data)}, settings)
    return {"fragility": 100 * fragility(case, case.subjects[0]).values}


def moved_saliency(at: Ground, row: str) -> Found:
    """A model can be trained on to move its saliency at equal accuracy: "method+form". Heo et al. 2019.

    `overlap` is what is kept of the first model's masks, `control` the same for a model trained on without fooling, and
    `moved` by how much less it is. `accuracy-lost` is that of the fooled model against the first, on the same rows.
    """
    method, _, form = row.rpartition("+")
    liar, honest = (_trained_on(at, form, lam) for lam in (None, 0.0))
    own = at.ask(at.make(method))
    overlap, control = (100 * shared(own.kept, at.ask(at.make(method), model).kept) for model in (liar, honest))
    lost = at.once(("lost", form), lambda: _right(at.model, at.data) - _right(liar, at.data))
    return {"overlap": overlap, "control": control, "moved": control - overlap, "accuracy-lost": 100 * lost}


def _trained_on(at: Ground, form: str, lam: float | None) -> Wrapped:
    recipe = replace(Fooling.recipe, seed=at.seed)
    recipe = replace(recipe, epochs=-(-STEPS // recipe.steps(len(at.data.train))))
    how = Fooling(at.k, form, lam=lam, recipe=recipe)  # type: ignore[arg-type]
    return at.once(("trained on", form if lam is None else "control"), lambda: fooled(at.model, at.data, how))


def _right(model: Wrapped, data: Dataset) -> Tensor:
    return (model(data.test.x).argmax(1) == data.test.y).float()
