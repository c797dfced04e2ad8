"""Settings are searched on validation rows by optuna: temperature, sparsity, penalties of the methods that learn.

A trial is a task like any other, an audit on validation rows; the best `aim` wins, and what the audit rejects does not.
Trials are drawn a few at a time and told in the order they were drawn, so the same seed searches the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from unmask.audit import CHECKS
from unmask.errors import InputError, unknown
from unmask.seeds import derive
from unmask.sweep.cell import Cell, made
from unmask.sweep.plan import Range, Tune

__all__ = ["SPACES", "Search", "space_of", "value_of"]

TEMPERATURE = Range(0.1, 2.0, log=True)
SPACES: dict[str, dict[str, Range | list[Any]]] = {
    "invase": {"lam": Range(0.01, 1.0, log=True)},
    "l2x": {"tau": TEMPERATURE},
    "meed": {"tau": TEMPERATURE, "weight": Range(1e-3, 1.0, log=True)},
    "mimic": {"tau": TEMPERATURE, "lam": Range(0.1, 10.0, log=True), "mu": Range(0.1, 10.0, log=True)},
    "real-x": {"tau": Range(0.05, 1.0, log=True), "lam": Range(1e-3, 1.0, log=True)},
    "sequential": {"tau": TEMPERATURE},
    "vibi": {"tau": TEMPERATURE, "beta": Range(1e-3, 1.0, log=True)},
}
"""What is searched of a method where a plan does not say: temperature, price of a unit, weights of penalties."""
BEGIN = 5  # trials drawn at random before the search learns from what it saw


def space_of(cell: Cell, tune: Tune) -> dict[str, Range | list[Any]]:
    """What is searched for a cell; what its settings fix is not, and what the method would refuse is refused here."""
    space = tune.space.get(cell.method, SPACES.get(cell.method, {}))
    explainer = made(cell)
    for name, among in space.items():
        where = f"tune.space.{cell.method}.{name}"
        if not hasattr(explainer, name):
            raise unknown(f"setting of {cell.method} to search", name, vars(explainer))
        if isinstance(among, list) and not among:
            raise InputError(f"{where} is empty; name what to choose from")
        if isinstance(among, Range) and _is_whole(explainer, name) and not among.whole:
            raise InputError(f"{where} is a whole number, so its range goes from one to another; got {_ends(among)}")
        for value in among if isinstance(among, list) else (among.low, among.high):
            _try(cell, name, value, where)
    return {name: among for name, among in space.items() if name not in cell.settings}


def _try(cell: Cell, name: str, value: Any, where: str) -> None:
    try:
        made(replace(cell, settings={**cell.settings, name: _as_own(made(cell), name, value)}))
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _is_whole(explainer: Any, name: str) -> bool:
    return type(getattr(explainer, name)) is int


def _as_own(explainer: Any, name: str, value: Any) -> Any:
    """Ends of a range are numbers with a point; where the method's own value is whole, they are, too."""
    return int(value) if isinstance(value, float) and _is_whole(explainer, name) else value


def _ends(among: Range) -> str:
    return f"{among.low:g} and {among.high:g}"


class Search:
    """The search for one cell: `ask` for the next trials, `tell` what they gave, then take `best`."""

    def __init__(self, cell: Cell, tune: Tune) -> None:
        optuna = _optuna()
        self.cell, self.tune, self.space = cell, tune, space_of(cell, tune)
        seed = derive(cell.source.seed, "tuning", cell.method, cell.source.data, cell.source.model) % 2**32
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=BEGIN)
        way = "maximize" if CHECKS[tune.aim].better == "higher" else "minimize"
        self.study = optuna.create_study(direction=way, sampler=sampler)
        own = {name: getattr(made(cell), name) for name in self.space}
        if all(_inside(value, self.space[name]) for name, value in own.items()):
            self.study.enqueue_trial(own)
        self.whole = {name for name in self.space if _is_whole(made(cell), name)}
        self.asked: list[Any] = []
        self.left, self.ended = tune.trials, 0  # trials to be asked for, and those that gave a value

    def ask(self) -> list[Cell]:
        """The next trials, none when all were asked for."""
        count = min(self.left, self.tune.at_once)
        self.left -= count
        self.asked = [self.study.ask(_distributions(self.space, self.whole)) for _ in range(count)]
        return [trial_of(self.cell, self.tune, trial.params) for trial in self.asked]

    def tell(self, results: Sequence[Mapping[str, Any] | None]) -> None:
        """What the trials gave, in the order in which they were asked for; None where one failed."""
        state = _optuna().trial.TrialState
        for trial, result in zip(self.asked, results, strict=True):
            value = None if result is None else value_of(result, self.tune.aim)
            if result is None or value is None:
                self.study.tell(trial, state=state.FAIL)
                continue
            self.ended += 1
            trial.set_constraint("rejected", float(result["verdict"] == "reject"))
            self.study.tell(trial, value)

    def best(self) -> tuple[dict[str, Any], float | None]:
        """The settings found and their value; none where every trial failed or was rejected."""
        try:
            return dict(self.study.best_trial.params), float(self.study.best_value)
        except ValueError:  # there is no trial that may win
            return {}, None


def trial_of(cell: Cell, tune: Tune, settings: Mapping[str, Any]) -> Cell:
    """The cell with these settings, audited on validation rows."""
    return replace(cell, settings={**cell.settings, **settings}, checks=(tune.aim,), split="validation", verdicts=True)


def value_of(result: Mapping[str, Any], aim: str) -> float | None:
    """The value of a check; where it is there by class, classes count alike."""
    own = {row["check"]: row["value"] for row in result["rows"] if row.get("at") is None}
    parts = [value for name, value in own.items() if name.startswith(f"{aim}@class=") and value is not None]
    return sum(parts) / len(parts) if parts else own.get(aim)


def _inside(value: Any, among: Range | list[Any]) -> bool:
    if isinstance(among, list):
        return value in among
    return isinstance(value, (int, float)) and among.low <= value <= among.high


def _distributions(space: Mapping[str, Range | list[Any]], whole: Collection[str]) -> dict[str, Any]:
    kinds = _optuna().distributions
    found: dict[str, Any] = {}
    for name, among in space.items():
        if isinstance(among, list):
            found[name] = kinds.CategoricalDistribution(among)
        elif name in whole:
            found[name] = kinds.IntDistribution(int(among.low), int(among.high), log=among.log)
        else:
            found[name] = kinds.FloatDistribution(among.low, among.high, log=among.log)
    return found


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise InputError('searching settings needs the package optuna; run pip install "unmask[tune]"') from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
