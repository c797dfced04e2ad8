"""Is it enough, is it needed, for a network that learns from it? The explained model's own architecture, trained anew.

FS-A and FU-A can be high through the mask alone: a fresh network learns the code of a liar. Beside FS-M they tell how
much of an approximator's success is owed to being trained on the explanation.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from unmask import nets, seeds
from unmask.audit.case import Case, Subject, Values, missing
from unmask.audit.folds import cross_fitting
from unmask.errors import TrainingError
from unmask.models import Wrapped, wrap
from unmask.training import Recipe, minimize, soft_cross_entropy
from unmask.types import Inputs, Model

__all__ = ["anew", "fs_a", "fu_a", "reset", "retrained"]

RECIPE = Recipe(epochs=60, batch=64, rate=1e-3, patience=8)
STEPS = 20  # of an epoch, at least: few rows are learned in smaller batches


def fs_a(case: Case, subject: Subject) -> Values:
    """1 where a fresh network, trained on (kept units, M(x)), gives the target; higher is better. Liang et al. 2020."""
    return _agreement(case, subject, complement=False)


def fu_a(case: Case, subject: Subject) -> Values:
    """1 where a fresh network, trained on (everything but the kept units, M(x)), gives the target; lower is better."""
    return _agreement(case, subject, complement=True)


def retrained(case: Case, subject: Subject) -> tuple[Values, Wrapped]:
    """As `fu_a`, and the network, which reads rows as they come; for explanations that know the judges' rows."""
    seed = seeds.derive(case.seed, "fresh", "left")
    net, note = _network(case, seed)
    ((train, held_out, test, _),) = _lessons(case, subject, net, complement=True)
    said = _answers(_taught(net, train, held_out, seed), test.x).argmax(1)
    return Values((said == case.target).float(), note=note), replace(net, name=f"{net.name}, retrained")


def anew(model: Model, seed: int) -> Wrapped | None:
    """The model's architecture with weights drawn from `seed`; None where it is no torch module, or not resettable."""
    if not isinstance(model, Wrapped) or model.module is None:
        return None
    module = reset(model.module, seed)
    return None if module is None else replace(model, module=module, call=module)


def reset(module: nn.Module, seed: int) -> nn.Module | None:
    """A copy whose every parameter is drawn again, by the submodule that owns it; None where one is not."""
    resettable = [m for m in module.modules() if hasattr(m, "reset_parameters") or hasattr(m, "_reset_parameters")]
    owned = {id(p) for m in resettable for p in m.parameters(recurse=False)}
    if not owned or any(id(p) not in owned for p in module.parameters()):
        return None
    try:
        copy = deepcopy(module)
    except (RuntimeError, TypeError):  # it holds something that cannot be copied
        return None
    with seeds.seeded(seed):
        for m in reversed(list(copy.modules())):  # children first: who owns them may draw them in a way of its own
            again = getattr(m, "reset_parameters", None) or getattr(m, "_reset_parameters", None)
            if again is not None:
                again()
    return copy.requires_grad_(True).eval()


@dataclass(frozen=True)
class _Lesson:
    """Rows as a network reads them, all versions of what is hidden side by side, and what the model said of each."""

    x: Tensor  # (n, versions, ...)
    said: Tensor  # (n, classes)

    def at(self, index: Tensor) -> _Lesson:
        return _Lesson(self.x[index], self.said[index])


def _agreement(case: Case, subject: Subject, complement: bool) -> Values:
    found = torch.zeros(len(case.target), dtype=torch.long)
    seed = seeds.derive(case.seed, "fresh", "left" if complement else "kept")
    net, note = _network(case, seed)
    try:
        for train, held_out, test, index in _lessons(case, subject, net, complement):
            found[index] = _answers(_taught(_network(case, seed)[0], train, held_out, seed), test.x).argmax(1)
    except TrainingError as error:
        return missing(case, f"{note} could not be trained: {error}")
    return Values((found == case.target).float(), note=note)


def _network(case: Case, seed: int) -> tuple[Wrapped, str]:
    """What is to be trained, and what it is."""
    copy = anew(case.model, seed)
    if copy is not None and isinstance(copy.feed(case.x[:1]), Tensor):
        return copy, "a copy of the model's network, weights drawn anew"
    return wrap(nets.default(case.reader, len(case.data.classes), seed=seed)), "the default network for such data"


def _lessons(
    case: Case, subject: Subject, net: Wrapped, complement: bool
) -> list[tuple[_Lesson, _Lesson, _Lesson, Tensor]]:
    """Rows to learn from, to stop on and to judge, and the places of the last; cross-fitted where there are no others.

    Rows that are learned together are read together, so that a tokenizer pads them to one width.
    """

    def lesson(x: Inputs, kept: Tensor, said: Tensor) -> _Lesson:
        shown = case.data.layout.valid(x) & ~kept if complement else kept
        return _Lesson(torch.stack([net.feed(v).cpu() for v in case.removal.versions(x, shown)], 1), said)

    if subject.train is not None and subject.validation is not None:
        train, held_out = (
            lesson(case.pools[s].split.x, e.kept, case.pools[s].full)
            for s, e in (("train", subject.train), ("validation", subject.validation))
        )
        return [(train, held_out, lesson(case.x, subject.kept, case.full), torch.arange(len(case.target)))]
    x, kept, said = _with_spare(case, subject)
    whole, spare = lesson(x, kept, said), torch.arange(len(case.target), len(said))
    return [
        (whole.at(torch.cat([learn, spare])), whole.at(stop), whole.at(part), part)
        for learn, stop, part in cross_fitting(case)
    ]


def _with_spare(case: Case, subject: Subject) -> tuple[Inputs, Tensor, Tensor]:
    """The audited rows, then the spare ones: inputs, masks and the model's answers."""
    if subject.spare is None or subject.spare.kept is None:
        return case.x, subject.kept, case.full
    more = subject.spare_x
    x = torch.cat([case.x, more]) if isinstance(case.x, Tensor) else [*case.x, *more]
    width = max(subject.kept.shape[1], subject.spare.kept.shape[1])
    kept = torch.cat([pad(k, (0, width - k.shape[1])) for k in (subject.kept, subject.spare.kept)])
    said = case.once(("said of spare", len(more)), lambda: case.model(more))
    return x, kept, torch.cat([case.full, said])


def _answers(net: Wrapped, x: Tensor) -> Tensor:
    """(n, classes) for rows as the network reads them, (n, versions, ...): the mean over versions."""
    return torch.stack([net(version) for version in x.unbind(1)]).mean(0)


def _taught(net: Wrapped, train: _Lesson, held_out: _Lesson, seed: int) -> Wrapped:
    """Trained on soft answers; of several versions each row shows one, drawn each time it is met.

    What comes back answers rows as the network reads them.
    """
    module = net.module
    if module is None:
        raise TypeError("only a torch module can be taught")
    device = next(module.parameters()).device
    direct = replace(net, feed=lambda rows: rows.to(device))

    def loss(x: Tensor, said: Tensor, rng: torch.Generator) -> Tensor:
        which = torch.randint(x.shape[1], (len(x),), generator=rng, device=rng.device)
        shown = x[torch.arange(len(x), device=x.device), which]
        return soft_cross_entropy(net.log_probabilities(shown), said).mean()

    def score() -> float:
        return -float(soft_cross_entropy(_answers(direct, held_out.x).clamp(min=1e-12).log(), held_out.said).mean())

    recipe = replace(RECIPE, seed=seed, batch=max(4, min(RECIPE.batch, len(train.x) // STEPS)))
    minimize({"approximator": (module, loss)}, (train.x, train.said), recipe, score=score, title="approximator")
    return direct
