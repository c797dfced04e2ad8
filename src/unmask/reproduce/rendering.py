"""Reproduced tables for people: in the terminal, and as a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from unmask.reproduce.tables import Table

__all__ = ["as_markdown", "claim_of", "grid", "measured"]

Line = Mapping[str, Any]


def grid(result: Mapping[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    """(title, head, body) of each table: one line a row, for each metric ours with its interval and the paper's."""
    tables = []
    for name, dataset in dict.fromkeys((line["table"], line["dataset"]) for line in _every(result)):
        lines = _folded([x for x in _every(result) if (x["table"], x["dataset"]) == (name, dataset)])
        metrics = list(dict.fromkeys(x["metric"] for x in lines))
        claims = any(x.get("claim") for x in lines)
        head = ["row", *(cell for m in metrics for cell in _heads(m, lines)), *(["the claim"] if claims else [])]
        body = []
        for row in dict.fromkeys(x["row"] for x in lines):
            found = {x["metric"]: x for x in lines if x["row"] == row}
            told = [_reading(list(found.values()))] if claims else []
            body.append([row, *(cell for m in metrics for cell in _cells(m, found.get(m), lines)), *told])
        tables.append((f"Table {name}, {dataset}", head, body))
    return tables


def measured(result: Mapping[str, Any], tables: Iterable[Table]) -> dict[str, Any]:
    """Without tables of which the first metric was never measured: what else they show was found for another one."""

    def told(line: Line, table: Table) -> bool:
        return (line["table"], line["dataset"]) == (table.name, table.dataset)

    lines = [x for x in _every(result) if x["here"] is not None]
    begun = [t for t in tables if any(told(x, t) and x["metric"] == t.metrics[0] for x in lines)]
    parts = {part: [x for x in result[part] if any(told(x, t) for t in begun)] for part in ("controls", "rows")}
    return {**result, **parts}


def as_markdown(results: Sequence[Mapping[str, Any]], pictures: Sequence[str] = ()) -> str:
    """All tables of all papers as one page; `pictures` are files beside it."""
    parts = [
        "# Results",
        "Made by `unmask reproduce render` from the files under `results/`; nothing here is typed in by hand. "
        "Per cent. Ours with a 95% interval: over test rows where there is one seed, over seeds where there are more "
        "(×3: the mean of three). "
        "FS-A and FU-A are those of fresh networks trained with Adam and early stopping on validation rows. Methods "
        "that ask the model about each row many times (LIME, KernelSHAP, INFD) are measured on 200 test rows, without "
        "these.",
    ]
    parts += [f"![{name.removesuffix('.svg')}]({name})" for name in pictures]
    for result in results:
        parts.append(f"## {result['title']}")
        if result["absent"]:
            parts.append(result["absent"])
        for title, head, body in grid(result):
            notes = {x["note"] for x in _every(result) if x["note"] and title == f"Table {x['table']}, {x['dataset']}"}
            claim = [f"**{text}**" for text in claim_of(result, title)]
            parts += [f"### {title} ({result['scale']} scale)", *claim, *sorted(notes), _markdown(head, body)]
    return "\n\n".join(parts) + "\n"


def claim_of(result: Mapping[str, Any], title: str) -> list[str]:
    """What a table stands for, with what its rows are held to; nothing where it makes no claim."""
    lines = [x for x in _every(result) if x.get("claim") and title == f"Table {x['table']}, {x['dataset']}"]
    held: dict[str, str] = {}  # row -> what it is held to
    for x in lines:
        if x["bar"]:
            told = f"{x['metric']} {x['bar'][0]} {x['bar'][1]:g}"
            held[x["row"]] = f"{held[x['row']]}, {told}" if x["row"] in held else told
    groups = {told: ", ".join(row for row in held if held[row] == told) for told in held.values()}
    parts = [told if len(groups) == 1 else f"{rows}: {told}" for told, rows in groups.items()]
    return [f"{lines[0]['claim']} It predicts {'; '.join(parts)}."] if lines else []


def _folded(lines: Sequence[Line]) -> list[Line]:
    """Rates by class become one column, that of the class where it is lowest; the JSON has them all."""
    kept: list[Line] = []
    for row, metric in dict.fromkeys((x["row"], x["metric"].partition("@")[0]) for x in lines):
        same = [x for x in lines if (x["row"], x["metric"].partition("@")[0]) == (row, metric)]
        kept += [x for x in same if x["metric"] == metric]
        parts = [x for x in same if x["metric"] != metric and x["here"] is not None]
        if parts:
            kept.append({**min(parts, key=lambda x: x["here"]), "metric": f"{metric} lowest class"})
    return kept


def _every(result: Mapping[str, Any]) -> list[Line]:
    return [*result["controls"], *result["rows"]]


def _heads(metric: str, lines: Iterable[Line]) -> list[str]:
    return [metric, "paper"] if _published(metric, lines) else [metric]


def _published(metric: str, lines: Iterable[Line]) -> bool:
    return any(x["paper"] is not None for x in lines if x["metric"] == metric)


def _cells(metric: str, line: Line | None, lines: Iterable[Line]) -> list[str]:
    ours = "" if line is None or line["here"] is None else _interval(line)
    if not _published(metric, lines):
        return [ours]
    theirs = "" if line is None or line["paper"] is None else _number(line["paper"])
    return [ours, theirs]


def _reading(lines: Sequence[Line]) -> str:
    """Whether the claim holds in a row: all that it predicts does, or one thing surely does not."""
    found = [x["reading"] for x in lines if x.get("bar")]
    if not found or None in found:
        return ""
    return next((word for word in ("does not", "open") if word in found), "holds")


def _interval(line: Line) -> str:
    """The value with its interval, and over how many seeds it is the mean where it is one."""
    seeds = f" ×{line['seeds']}" if line["seeds"] > 1 else ""
    return f"{_number(line['here'])} ({_number(line['low'])}–{_number(line['high'])}){seeds}"


def _number(value: float) -> str:
    """One decimal, or two digits where it is below 1."""
    return f"{value:.1f}" if abs(value) >= 1 or value == 0 else f"{value:.2g}"


def _markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
