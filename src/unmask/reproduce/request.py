"""What is asked for: a paper, one of its tables or data sets, how large, how often, and where results are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from unmask.data import folder, lei
from unmask.errors import InputError, unknown
from unmask.reproduce import tables_of
from unmask.reproduce.measuring import COSTLY, Trial
from unmask.reproduce.tables import QUICK, SCALES, Scale, Table
from unmask.sweep.engine import Workers

__all__ = ["Request"]

QUICK_SETS = ("imdb", "fashion-pullover-shirt")
STEADY_TABLES = (("sst2", "1"), ("sst2", "4"))  # of a quick run
QUICK_STEADY = ("vanilla/rnn", "uniform/rnn", "d1-only/rnn", "d1-topk/rnn", "word-at/rnn", "seat/rnn", "seat+words/rnn")
QUICK_RATIONALES = ("random", "first-k", "last-k", "rnp", "rnp+hasty-generator", "a2r", "a2r+hasty-generator")


@dataclass(frozen=True)
class Request:
    """`rows` and `metrics` empty mean all of them; `jobs` rows are measured side by side (None: two).

    With the backend "ray" they are measured on a cluster whose machines all see the folder, as many as it has cores
    for where `jobs` is None, each with `gpus` of a GPU.
    """

    paper: str
    table: str | None = None
    dataset: str | None = None
    rows: tuple[str, ...] = ()
    scale: Scale | str = "default"
    seeds: int = 1
    jobs: int | None = None
    folder: Path = Path("results")
    metrics: tuple[str, ...] = ()
    backend: str = "joblib"
    address: str | None = None
    gpus: float = 0.0

    def __post_init__(self) -> None:
        self.workers()
        if self.scale not in SCALES:
            raise unknown("scale", str(self.scale), SCALES)

    def workers(self) -> Workers:
        """Who measures; a mistake in it is refused."""
        jobs = 2 if self.jobs is None and self.backend != "ray" else self.jobs
        return Workers(self.backend, jobs, self.address, self.gpus)

    def tables(self) -> list[Table]:
        every = tables_of(self.paper)
        found = [t for t in every if self.table in (None, t.name) and _is_of(t, self.dataset)]
        if self.dataset is None:
            found = [t for t in found if _is_here(t)]
            if self.scale == "quick":
                found = [t for t in found if _is_quick(t)] or found
        if not found:
            names = sorted({t.name for t in every})
            if self.table is not None and self.table not in names:
                raise InputError(f"{self.paper} has no table {self.table!r} here; there are: {', '.join(names)}")
            sets = {t.dataset for t in every}
            if self.table is not None and any(_is_of(t, self.dataset) for t in every):
                own = sorted({t.dataset for t in every if t.name == self.table})
                raise InputError(
                    f"table {self.table} of {self.paper} is not on {self.dataset}; it is on: {', '.join(own)}"
                )
            raise unknown("data set", str(self.dataset), sets)
        return [self._narrowed(t, found) for t in found]

    def _narrowed(self, table: Table, among: list[Table]) -> Table:
        """The table with the metrics asked for only; a quick run has the costly ones on demand."""
        every = dict.fromkeys(m for t in among for m in t.metrics)
        for metric in self.metrics:
            if metric not in every:
                raise unknown("metric", metric, every)
        few = self.scale == "quick" and table.kind in ("words", "image")
        usual = [m for m in table.metrics if not (few and m in COSTLY)] or table.metrics
        return replace(table, metrics=tuple(m for m in table.metrics if m in (self.metrics or usual)))

    def trials(self) -> list[Trial]:
        """Every row of every table with every seed."""
        return [
            Trial(table, row, seed, cast("Scale", self.scale))
            for seed in range(self.seeds)
            for table in self.tables()
            for row in self.rows_of(table)
        ]

    def rows_of(self, table: Table) -> list[str]:
        """The rows asked for, all of them where none is named; a quick run has the few that tell the story."""
        if self.rows:
            every = {row for t in self.tables() for row in t.rows}
            for row in self.rows:
                if row not in every:
                    raise unknown("row", row, every)
            return [row for row in table.rows if row in self.rows]
        return [row for row in table.rows if self.scale != "quick" or _tells(table, row)]


def _is_of(table: Table, dataset: str | None) -> bool:
    """Whether the table is on this data set; `reviews:bias=0.8` is one of `reviews:preset=hard,bias=0.8` too."""
    if dataset is None:
        return True
    (base, _, asked), (own, _, has) = dataset.partition(":"), table.dataset.partition(":")
    return base == own and set(filter(None, asked.split(","))) <= set(has.split(","))


def _is_here(table: Table) -> bool:
    """Whether a table is of public data, or of data that this user holds."""
    return not table.dataset.startswith("beer-lei") or folder.find(lei.PLACE) is not None


def _tells(table: Table, row: str) -> bool:
    """Whether a quick run has this row."""
    few = {"words": QUICK, "image": QUICK, "steady": QUICK_STEADY, "rationale": QUICK_RATIONALES}
    return row in few.get(table.kind, table.rows)


def _is_quick(table: Table) -> bool:
    if table.kind == "critique":
        return table.dataset != "mnist-3-8"
    if table.kind == "rationale":
        return table.name == "2" and table.dataset == "reviews:preset=hard,bias=0.8"
    if table.kind in ("attention", "steady"):
        return table.name in ("1", "2") if table.kind == "attention" else (table.dataset, table.name) in STEADY_TABLES
    return table.dataset in QUICK_SETS and table.name not in ("2", "sanity")
