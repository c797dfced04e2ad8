"""`unmask demo`: the whole job on embedded data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unmask import api
from unmask.cli.sources import UserTask
from unmask.cli.steps import audited, check_place, tell
from unmask.data import load
from unmask.errors import unknown
from unmask.training import Recipe

__all__ = ["TOURS", "Tour", "run_demo"]


@dataclass(frozen=True)
class Tour:
    """What the demo does on one data set."""

    k: int
    line: str
    methods: tuple[str, ...] = ("integrated-gradients", "occlusion", "l2x", "sequential", "cheater")


TOURS = {
    "digits": Tour(8, "hand-written digits of 64 pixels; an explanation keeps 8"),
    "reviews": Tour(
        3, "generated beer reviews; an explanation keeps 3 words", ("integrated-gradients", "l2x", "cheater")
    ),
    "tumours": Tour(4, "breast tumours with 30 measured columns; an explanation keeps 4"),
}


def run_demo(task: str, out: Path, seed: int) -> None:
    """Train a model, fit explainers among which a deliberate cheater, audit all, print and write the report."""
    if task not in TOURS:
        raise unknown("demo task", task, TOURS)
    check_place(out)
    tour = TOURS[task]
    tell(f"{task}: {tour.line}")
    data = load(task, seed=seed)
    model = api.train_model(data, seed=seed, recipe=Recipe(epochs=40, patience=5, seed=seed))
    right = model.details["test accuracy"]
    tell(f"a model ({model.name}) is trained: {right:.1%} of the test rows right")
    tell(f"explained by {', '.join(tour.methods)}; 'cheater' is a liar put there on purpose")
    names = {name: name for name in tour.methods}
    audited(UserTask(model, data, seed), names, {"k": tour.k}, out)
