"""The values that flow through the package: data in, explanations between, findings out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from torch import Tensor

from unmask import drawing
from unmask.change import Better, Change
from unmask.errors import InputError
from unmask.heat import Heat
from unmask.layout import Inputs, Kind, Layout

if TYPE_CHECKING:
    import pandas

__all__ = [
    "Better",
    "Dataset",
    "Example",
    "Explainer",
    "Explanation",
    "Findings",
    "Frames",
    "Inputs",
    "Kind",
    "Layout",
    "Model",
    "Removal",
    "Result",
    "Split",
    "Verdict",
    "rows_of",
]


def rows_of(x: Inputs, index: Tensor | slice) -> Inputs:
    """The rows of `x` at `index` (a slice, or a tensor of positions), whatever the kind."""
    if isinstance(x, Tensor) or isinstance(index, slice):
        return x[index]
    return [x[i] for i in index.tolist()]


class Frames(Protocol):
    """Turns the data frame a model was trained on into encoded columns, and these back."""

    def names_of_variables(self) -> list[Any]: ...
    def encode(self, frame: pandas.DataFrame) -> Tensor: ...
    def decode(self, x: Tensor) -> pandas.DataFrame: ...


@dataclass(frozen=True)
class Split:
    """Rows of one split; `relevant` marks the units that truly decide the label, where that is known."""

    x: Inputs
    y: Tensor  # (n,) long
    valid: Tensor  # (n, d) bool
    relevant: Tensor | None = None  # (n, d) bool
    relevant_sentences: Tensor | None = None  # (n, sentences) bool
    sentence_of: Tensor | None = None  # (n, d) long, the sentence each word stands in, -1 beyond the end

    def __len__(self) -> int:
        return len(self.y)

    def rows(self, index: Tensor) -> Split:
        """The same split with the rows at `index` only."""
        truths = ("relevant", "relevant_sentences", "sentence_of")
        chosen = {name: value[index] for name in truths if (value := getattr(self, name)) is not None}
        return replace(self, x=rows_of(self.x, index), y=self.y[index], valid=self.valid[index], **chosen)


@dataclass(frozen=True)
class Dataset:
    """Three splits of one task; `notes` records source, seed, options and planted cues."""

    name: str
    layout: Layout
    classes: tuple[str, ...]
    train: Split
    validation: Split
    test: Split
    notes: Mapping[str, Any] = field(default_factory=dict)
    frames: Frames | None = None

    @property
    def kind(self) -> Kind:
        return self.layout.kind

    @property
    def units(self) -> tuple[str, ...]:
        return self.layout.units

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """For each unit of a table, its columns (one-hot columns of one variable are one unit)."""
        owner = self.layout.owner
        return tuple(tuple(c for c, o in enumerate(owner) if o == unit) for unit in range(len(self.units)))

    def __getitem__(self, split: str) -> Split:
        if split not in ("train", "validation", "test"):
            raise InputError(f"split must be 'train', 'validation' or 'test', got {split!r}")
        chosen: Split = getattr(self, split)
        return chosen


@runtime_checkable
class Model(Protocol):
    """What is explained: rows in, class probabilities (n, classes) out, on the CPU."""

    name: str
    removal: str | None

    def __call__(self, x: Inputs) -> Tensor: ...

    def describe(self) -> dict[str, Any]: ...


@runtime_checkable
class Removal(Protocol):
    """How units that are not kept are hidden from a model."""

    @property
    def name(self) -> str: ...

    def versions(self, x: Inputs, kept: Tensor) -> Iterator[Inputs]:
        """The same rows with the units that are not kept hidden; several where hiding draws at random."""
        ...


@dataclass(frozen=True)
class Explanation:
    """What an explainer says of some rows; `x`, `layout` and `classes` are there for drawing."""

    scores: Tensor  # (n, d) float, signed toward `target`, higher = used more
    kept: Tensor  # (n, d) bool, True = selected
    valid: Tensor  # (n, d) bool, False = padding
    target: Tensor  # (n,) long, the class being explained
    origin: Mapping[str, Any] = field(default_factory=dict)  # method, settings, seed, seconds
    x: Inputs = None
    layout: Layout | None = None
    classes: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.target)

    def rows(self, index: Tensor) -> Explanation:
        """The same explanation for the rows at `index` only."""
        x = None if self.x is None else rows_of(self.x, index)
        tensors = {name: getattr(self, name)[index] for name in ("scores", "kept", "valid", "target")}
        return replace(self, x=x, **tensors)

    def row(self, i: int) -> drawing.Row:
        """Row `i` as plain lists, ready to be drawn."""
        if not hasattr(i, "__index__") or not -len(self) <= i < len(self):
            raise InputError(f"this explanation has rows 0..{len(self) - 1}, got {i!r}")
        if self.x is None or self.layout is None:
            raise InputError("this explanation does not hold its inputs, so it cannot be drawn; use explainer.explain")
        x, layout, target = self.x[i], self.layout, int(self.target[i])
        live = self.valid[i]
        values, owner = layout.told(x.flatten().tolist()) if isinstance(x, Tensor) else (x, list(layout.owner))
        return drawing.Row(
            kind=layout.kind,
            values=[" ".join(v) if layout.kind == "sentences" else v for v in values],
            scores=self.scores[i][live].tolist(),
            kept=self.kept[i][live].tolist(),
            label=str(self.classes[target]) if self.classes else str(target),
            units=list(layout.units),
            owner=owner,
            shape=list(layout.shape),
        )

    def show(self, i: int = 0) -> drawing.Drawing:
        """Row `i` drawn: print it in a terminal, leave it last in a notebook cell, or take `.html`."""
        return drawing.Drawing(self.row(i))

    def _repr_html_(self) -> str:
        """The first rows, for a notebook; without its inputs it cannot be drawn, and only counts them."""
        drawn = range(0 if self.x is None or self.layout is None else min(3, len(self)))
        return "".join(self.show(i).html for i in drawn) + f"<p>{len(self)} rows in all</p>"


@runtime_checkable
class Explainer(Protocol):
    """`fit(model, data)` returns itself, `explain(x)` an Explanation, `clone()` an unfitted copy."""

    def fit(self, model: Model, data: Dataset) -> Explainer: ...

    def explain(self, x: Inputs, target: Tensor | None = None) -> Explanation: ...

    def clone(self) -> Explainer: ...


@dataclass(frozen=True)
class Result:
    """One number of the audit, with its direction, its interval and the level of the random control."""

    explanation: str
    check: str
    value: float
    low: float
    high: float
    null: float | None  # the random control's value
    better: Better
    passed: bool | None  # None: informative only
    n: int
    seconds: float
    at: float | None = None  # the point of a curve
    note: str = ""
    values: tuple[float, ...] = ()  # one for each row, whose mean is the value: for comparing reports


@dataclass(frozen=True)
class Verdict:
    """`trust`, `care` or `reject`, and why in plain words."""

    explanation: str
    verdict: Literal["trust", "care", "reject"]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """One row as an explanation sees it, for the report."""

    explanation: str
    label: str  # what is special about it: "typical", "best", "worst"
    row: drawing.Row
    note: str = ""


@dataclass(frozen=True)
class Findings:
    """Everything an audit found; the report is drawn from this alone."""

    task: str
    model: str
    rows: tuple[Result, ...]
    verdicts: tuple[Verdict, ...]
    controls: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    heats: tuple[Heat, ...] = ()  # of a model with attention
    changes: tuple[Change, ...] = ()  # of a model that was trained on
    settings: Mapping[str, Any] = field(default_factory=dict)  # k, n, split, seed, removal, versions, thresholds
    questions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # question -> its checks, in order
    definitions: Mapping[str, str] = field(default_factory=dict)  # check -> one sentence
    places: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # who -> place in texts -> share there
    learning: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)  # by epoch
