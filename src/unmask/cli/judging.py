"""What `unmask check` and `unmask compare` print."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from unmask.cli.tables import show_rows
from unmask.stored import check, compare, read_report
from unmask.stored.comparing import ALPHA, Change, Comparison
from unmask.stored.requiring import Finding

__all__ = ["check_step", "compare_step"]


def check_step(path: Path, requirement: str, strict: bool, as_json: bool) -> int:
    """Print every comparison with its value; 0 when the report holds to the requirement, otherwise 1."""
    outcome = check(read_report(path), requirement, strict)
    if as_json:
        found = [_numbers(f) for f in outcome.findings]
        print(
            json.dumps({"holds": outcome.holds, "strict": strict, "comparisons": found}, indent=1, ensure_ascii=False)
        )
    else:
        words = {True: "holds", False: "does not hold", None: "no value"}
        show_rows([{**_finding(f), "": words[f.holds]} for f in outcome.findings], as_json=False)
        print(
            f"\n{'holds' if outcome.holds else 'does not hold'}: {requirement}{' (whole intervals)' if strict else ''}"
        )
    return 0 if outcome.holds else 1


def _numbers(f: Finding) -> dict[str, Any]:
    """A finding for machines: numbers in full, what there is none of as null."""
    told = {"value": f.value, "low": f.low, "high": f.high}
    known = {key: None if isinstance(v, float) and not math.isfinite(v) else v for key, v in told.items()}
    return {"explanation": f.explanation, "required": str(f.comparison), **known, "holds": f.holds}


def _finding(f: Finding) -> dict[str, Any]:
    interval = None if f.low is None or f.high is None else f"{f.low:.3g} to {f.high:.3g}"
    value = f"{f.value:.4g}" if isinstance(f.value, float) else f.value
    return {"explanation": f.explanation, "required": str(f.comparison), "value": value, "interval": interval}


def compare_step(before: Path, after: Path, as_json: bool) -> None:
    """Print what changed, the surest first."""
    found = compare(read_report(before), read_report(after))
    if as_json:
        print(json.dumps(_plain(found), indent=1, ensure_ascii=False))
        return
    for key, (a, b) in found.settings.items():
        print(f"{key}: {_told(a)} → {_told(b)}")
    for where, names in zip((before, after), found.only, strict=True):
        if names:
            print(f"only in {where}: {', '.join(names)}")
    for name, (was, now) in found.verdicts.items():
        print(f"verdict on {name}: {was} → {now}")
    if found.significant:
        show_rows([_row(change) for change in found.significant], as_json=False)
    print(_sentence(found))


def _told(value: Any) -> str:
    return ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else str(value)


def _row(change: Change) -> dict[str, Any]:
    return {
        "explanation": change.explanation,
        "check": change.check,
        "before": f"{change.before:.3f}",
        "after": f"{change.after:.3f}",
        "p": f"{change.p:.1g}" if change.p >= 1e-4 else "<0.0001",
        "": change.word,
    }


def _sentence(found: Comparison) -> str:
    if not found.changes:
        return "nothing to compare: the reports share no number of any explanation"
    paired = all(change.paired for change in found.changes)
    how = "row by row" if paired else "by their intervals, as rows or seeds differ"
    said = f"{len(found.changes)} numbers compared {how}"
    if not found.significant:
        return f"no difference: {said}, none changed more than by chance (Holm, {ALPHA:g})"
    worse = sum(change.word == "worse" for change in found.significant)
    better = sum(change.word == "better" for change in found.significant)
    return (
        f"{len(found.significant)} changed, {worse} for the worse and {better} for the better: {said} (Holm, {ALPHA:g})"
    )


def _plain(found: Comparison) -> dict[str, Any]:
    changes = [
        {
            "explanation": c.explanation,
            "check": c.check,
            "before": c.before,
            "after": c.after,
            "p": c.p,
            "paired": c.paired,
            "change": c.word if c.significant else "none",
        }
        for c in found.changes
    ]
    return {
        "different": bool(found.significant),
        "changes": changes,
        "verdicts": {name: list(pair) for name, pair in found.verdicts.items()},
        "settings": {name: list(pair) for name, pair in found.settings.items()},
        "only": [list(names) for names in found.only],
    }
