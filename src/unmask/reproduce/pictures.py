"""Pictures of what was reproduced: the front between FS-M and the reading, learning curves, SEAT's figures."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from torch import Tensor

from unmask import distances
from unmask.attention.seat import topk_loss
from unmask.labels import Room, beside, leader

__all__ = ["curves", "front", "game", "landscape", "sensitivity", "surrogate", "violins"]

Line = Mapping[str, Any]
BINS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of a row's largest weight
OURS, CONTROL, OTHER = "#0b5cad", "#8a8a8a", "#c2571a"


def front(result: Mapping[str, Any]) -> str:
    """SVG, one panel for each table that has a reading: what sways the model against what the shown values tell.

    Upper right is best. A method far right but low convinces the model by something that a neutral reader cannot see.
    """
    lines = [*result["rows"], *result["controls"]]
    read = [x for x in lines if x["metric"] == "reading" and x["here"] is not None]
    panels = list(dict.fromkeys((x["table"], x["dataset"]) for x in read))
    figure, axes = _figure(len(panels), across=3)
    placed: list[list[tuple[Line, Line]]] = []
    for axis, (table, dataset) in zip(axes, panels, strict=True):
        own = [x for x in read if (x["table"], x["dataset"]) == (table, dataset)]
        points = [(enough, x) for x in own if (enough := _find(lines, x, "fs-m")) is not None]
        for enough, x in points:
            spread = {"xerr": _arms(enough), "yerr": _arms(x)}
            style = {"fmt": "o", "color": _colour(x["row"]), "markersize": 5, "elinewidth": 0.8}
            axis.errorbar([enough["here"]], [x["here"]], **style, **spread)
        axis.set_title(f"{dataset} ({table})", fontsize=10)
        axis.set_xlabel("FS-M, %")
        axis.set_ylabel("reading of neutral judges, %")
        axis.margins(0.12)
        placed.append(points)
    figure.draw_without_rendering()  # only now is known where the axes stand; there they stay
    figure.set_layout_engine("none")
    for axis, points in zip(axes, placed, strict=True):
        _name(figure, axis, points)
    return _svg(figure)


def _name(figure: Any, axis: Any, points: Sequence[tuple[Line, Line]]) -> None:
    """Write names beside spots, clear of each other; a thin line leads back from those that had to stand apart."""
    high, box, scale = figure.bbox.height, axis.get_window_extent(), figure.dpi / 72

    def pixels(x: float, y: float) -> tuple[float, float]:
        across, up = axis.transData.transform((x, y))
        return float(across), high - float(up)

    names, at = [x["row"] for _, x in points], [pixels(enough["here"], x["here"]) for enough, x in points]
    whiskers = [
        (pixels(a["low"], b["here"])[0], y - scale, pixels(a["high"], b["here"])[0], y + scale)
        for (a, b), (_, y) in zip(points, at, strict=True)
    ]
    room = Room((box.x0, high - box.y1, box.x1, high - box.y0), 4.7 * scale, 9.5 * scale, 4 * scale)
    back = axis.transData.inverted().transform  # data say where, whatever the resolution of the file
    for spot, name, place in zip(at, names, beside(at, names, room, whiskers), strict=True):
        corner = back((place[0], high - place[3] + 2 * scale))
        axis.annotate(name, corner, annotation_clip=False, fontsize=7.5, color=_colour(name))
        line = leader(spot, place, room)
        if line is not None:
            ends = back([(x, high - y) for x, y in line])
            axis.plot(ends[:, 0], ends[:, 1], color=_colour(name), linewidth=0.5, alpha=0.6)


def curves(named: Mapping[str, Sequence[float]], title: str) -> str:
    """SVG of validation FS-M by epoch, one line for each row."""
    figure, (axis,) = _figure(1)
    for (name, values), style in zip(named.items(), ("-", "--", ":", "-."), strict=False):
        axis.plot(range(1, 1 + len(values)), values, style, label=name, color=OURS)
    axis.set_title(title, fontsize=10)
    axis.set_xlabel("epoch")
    axis.set_ylabel("FS-M on validation rows, %")
    axis.legend(frameon=False, fontsize=8)
    return _svg(figure)


def surrogate(first: Tensor, second: Tensor, k: int, valid: Tensor) -> str:
    """SVG of SEAT's Figure 5: the loss that stands in for the overlap against 1 - overlap, a point for each pair.

    `first` and `second` (n, d) are pairs of attention vectors of the same rows.
    """
    figure, (axis,) = _figure(1)
    loss, lost = topk_loss(first, second, k, valid), 1 - distances.overlap(first, second, k, valid)
    axis.scatter(loss.tolist(), lost.tolist(), s=14, alpha=0.4, color=OURS, edgecolors="none")
    axis.set_title(f"{len(first)} pairs of attention vectors", fontsize=10)
    axis.set_xlabel("surrogate top-k loss")
    axis.set_ylabel(f"1 - overlap of the top {k}")
    return _svg(figure)


def violins(named: Mapping[str, Sequence[Sequence[float]]], title: str) -> str:
    """SVG of SEAT's Figure 2: how far attention of other seeds is, by the largest weight of a row.

    `named` holds for each model its rows as (largest weight, JSD); a violin needs three rows, fewer are points.
    """
    figure, axes = _figure(len(named))
    top = 1.05 * max((apart for points in named.values() for _, apart in points), default=0.0) or 1.0
    for axis, (name, points) in zip(axes, named.items(), strict=True):
        for place, (low, high) in enumerate(pairwise(BINS)):
            inside = [apart for largest, apart in points if low < largest <= high]
            if len(inside) < 3:
                axis.scatter([place] * len(inside), inside, s=12, color=OTHER)
                continue
            drawn = axis.violinplot([inside], positions=[place], widths=0.8, showmedians=True)
            for body in drawn.pop("bodies"):
                body.set_facecolor(OURS)
            for line in drawn.values():
                line.set_color(OURS)
        axis.set_xticks(range(len(BINS) - 1), [f"{low:g}-{high:g}" for low, high in pairwise(BINS)])
        axis.set_ylim(0, top)
        axis.set_title(name, fontsize=10)
        axis.set_xlabel("largest weight of the row")
    axes[0].set_ylabel("JSD to attention of other seeds")
    figure.suptitle(title, fontsize=10)
    return _svg(figure)


def game(payoff: Sequence[Sequence[float]], settled: Sequence[tuple[int, int]]) -> str:
    """SVG of a game of two players who are paid alike: payoffs, who would move where, and where nobody moves."""
    figure, (axis,) = _figure(1)
    for i in range(2):
        for j in range(2):
            locked = (i, j) in settled
            axis.text(
                j, -i, f"{payoff[i][j]:g}", ha="center", va="center", fontsize=13, weight="bold" if locked else None
            )
            if locked:
                axis.scatter([j], [-i], s=1500, facecolors="none", edgecolors=OTHER, linewidths=1.6)
    for (i, j), (k, m) in _moves(payoff):
        arrow = {"arrowstyle": "->", "color": OURS, "shrinkA": 26, "shrinkB": 26}
        axis.annotate("", (m, -k), (j, -i), arrowprops=arrow)
    axis.set_xticks([0, 1], ["fit X1", "fit X2"])
    axis.set_yticks([0, -1], ["select X1", "select X2"])
    axis.set_xlim(-0.6, 1.6)
    axis.set_ylim(-1.6, 0.6)
    axis.grid(visible=False)
    axis.set_xlabel("the predictor")
    axis.set_ylabel("the generator")
    axis.set_title("arrows: moves that pay one player\ncircles: nobody leaves alone", fontsize=10)
    return _svg(figure)


def _moves(payoff: Sequence[Sequence[float]]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """(from, to) of every step that pays."""
    steps = [((i, j), to) for i in range(2) for j in range(2) for to in ((1 - i, j), (i, 1 - j))]
    return [(a, b) for a, b in steps if payoff[b[0]][b[1]] > payoff[a[0]][a[1]]]


def landscape(first: Sequence[float], lines: Mapping[str, Sequence[float]]) -> str:
    """SVG of losses of the best predictors over the chance (or weight) of the first of two sentences."""
    figure, (axis,) = _figure(1)
    for (name, values), (colour, style) in zip(lines.items(), ((OTHER, "-"), (OURS, "-"), (OURS, "--")), strict=False):
        axis.plot(first, values, style, color=colour, label=name)
    axis.set_xlabel("chance, or weight, of the first sentence\n(the second one tells more)")
    axis.set_ylabel("loss of the best predictors, nats")
    axis.legend(frameon=False, fontsize=8)
    axis.set_title("hard: a trap at each end; soft: none", fontsize=10)
    return _svg(figure)


def sensitivity(points: Mapping[str, Mapping[str, Line]], title: str) -> str:
    """SVG of A2R's Figure 5: F1 and X1 by setting of lambda; each dot is a seed, each line joins means.

    `points` hold setting -> "f1" and "x1" -> line of the table; settings that are no number stand apart.
    """
    figure, (axis,) = _figure(1)
    for metric, name, colour, style in (("f1", "F1", OURS, "o-"), ("x1", "first sentence chosen", OTHER, "s--")):
        joined = [at for at, setting in enumerate(points) if setting.replace(".", "").isdigit()]
        means = [line[metric]["here"] for line in points.values()]
        axis.plot(joined, [means[at] for at in joined], style[1:], color=colour, label=name)
        for at, line in enumerate(points.values()):
            seeds = line[metric]["by_seed"]
            axis.scatter([at] * len(seeds), seeds, s=18, color=colour, marker=style[0], alpha=0.6)
    axis.set_xticks(range(len(points)), list(points))
    axis.set_ylim(-3, 103)
    axis.set_xlabel("lambda")
    axis.set_ylabel("per cent of test rows")
    axis.set_title(title, fontsize=10)
    axis.legend(frameon=False, fontsize=8)
    return _svg(figure)


def _find(lines: Sequence[Line], like: Line, metric: str) -> Line | None:
    same = ("table", "dataset", "row")
    found = (x for x in lines if x["metric"] == metric and all(x[key] == like[key] for key in same))
    return next((x for x in found if x["here"] is not None), None)


def _colour(row: str) -> str:
    return OURS if row.startswith("mimic") else CONTROL if row in ("random", "first-k", "last-k") else OTHER


def _arms(line: Line) -> list[list[float]]:
    return [[max(0.0, line["here"] - line["low"])], [max(0.0, line["high"] - line["here"])]]


def _figure(panels: int, across: int = 6) -> tuple[Any, Any]:
    """A figure with so many panels, at most `across` side by side, and their axes."""
    from matplotlib.figure import Figure

    panels = max(1, panels)
    wide = min(panels, across)
    high = -(-panels // wide)
    figure = Figure(figsize=(4.6 * wide, 3.8 * high), layout="constrained")
    every = figure.subplots(high, wide, squeeze=False).ravel()
    for axis in every[panels:]:
        axis.remove()
    axes = every[:panels]
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(color="#e6e6e6", linewidth=0.6)
        axis.set_axisbelow(True)
    return figure, axes


def _svg(figure: Any) -> str:
    import matplotlib as mpl

    stream = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "unmask", "svg.fonttype": "none"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()
