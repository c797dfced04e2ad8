"""`fs-m>0.9 and encoding<0.2`: comparisons joined by and, or, not and brackets, read without `eval`.

A comparison holds for an explanation when its number does. `name:fs-m>0.9` asks about one explanation; all others about
every explanation that is not a control. `encoding` is short for encoding-share; `verdict` is compared with trust, care
or reject, in this order.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from unmask.errors import InputError, unknown
from unmask.stored.reading import VERDICTS, Fresh, Stored, as_stored

__all__ = ["Comparison", "Finding", "Outcome", "check", "parse"]

SHORT = {"encoding": "encoding-share"}
DEEPEST = 100  # brackets and negations; nobody writes more
COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
NAME = r"""(?:"[^"]*"|'[^']*'|[^\s()<>=!"':]+)"""
TOKEN = re.compile(
    rf"""\s*(?:(?P<bracket>[()])|(?P<sign><=|>=|==|!=|<|>|=)|(?P<name>(?:{NAME}:)?{NAME}(?:=[^\s()<>=!]+(?=\s*[<>=!]))?))"""
)


@dataclass(frozen=True)
class Comparison:
    """One comparison of a number or a verdict with a bound; `about` one explanation where it is named."""

    check: str
    sign: str
    bound: float | str
    about: str | None = None

    def __str__(self) -> str:
        of = "" if self.about is None else f"{self.about}:"
        return f"{of}{self.check}{self.sign}{self.bound if isinstance(self.bound, str) else format(self.bound, 'g')}"


@dataclass(frozen=True)
class Joined:
    """Requirements of which all must hold, or one."""

    how: Literal["and", "or"]
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Finding:
    """A comparison with what the report says; `holds` is None where there is no value."""

    explanation: str
    comparison: Comparison
    value: float | str | None
    low: float | None
    high: float | None
    holds: bool | None
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """Whether a report holds to a requirement, and every comparison that was made."""

    holds: bool
    findings: tuple[Finding, ...]


def check(report: Stored | Fresh | str | Path, requirement: str, strict: bool = False) -> Outcome:
    """Whether every explanation that is no control holds to the requirement; `strict`: its whole interval does.

    The report is what an audit returned, what `read_report` gave, or the path of a report.json.
    """
    report = as_stored(report)
    rule = parse(requirement)
    asked = list(_comparisons(rule))
    _refuse_unknown(report, asked)
    general = [c for c in asked if c.about is None]
    if general and not report.explanations:
        raise InputError(f"{report.name} holds no explanation beside the controls: there is nothing to require")
    names = report.explanations if general else [str(asked[0].about)]
    found = {(name, c): _find(report, name, c, strict) for name in names for c in asked}
    holds = all(_holds(rule, name, found) is True for name in names)
    kept = {(f.explanation, str(f.comparison)): f for f in found.values()}
    return Outcome(holds, tuple(kept.values()))


def _refuse_unknown(report: Stored, asked: list[Comparison]) -> None:
    """A name that stands nowhere in the report cannot be compared."""
    everyone = list(dict.fromkeys([*report.verdicts, *(e for e, _ in report.numbers)]))
    for c in asked:
        if c.check != "verdict" and c.check not in report.checks:
            raise unknown(f"check in {report.name}", c.check, report.checks)
        if c.about is not None and c.about not in everyone:
            raise unknown(f"explanation in {report.name}", c.about, everyone)


def _comparisons(rule: Any) -> Iterator[Comparison]:
    if isinstance(rule, Comparison):
        yield rule
        return
    for part in rule.parts:
        yield from _comparisons(part)


def _holds(rule: Any, name: str, found: dict[tuple[str, Comparison], Finding]) -> bool | None:
    """True, False, or None where it hangs on a number that is not there."""
    if isinstance(rule, Comparison):
        return found[name, rule].holds
    parts = [_holds(part, name, found) for part in rule.parts]
    decided = rule.how == "or"  # one part that is this decides
    return decided if decided in parts else None if None in parts else not decided


def _find(report: Stored, name: str, c: Comparison, strict: bool) -> Finding:
    who = c.about or name
    if c.check == "verdict":
        said = report.verdicts.get(who)
        rank = None if said is None else COMPARE[c.sign](VERDICTS.index(said), VERDICTS.index(str(c.bound)))
        return Finding(who, c, said, None, None, rank, "" if said else "there is no verdict on it")
    number = report.numbers.get((who, c.check))
    if number is None or math.isnan(number.value):
        return Finding(who, c, None, None, None, None, (number.note if number else "") or "not measured")
    bound = float(c.bound)
    held = [number.value] if not strict else _ends(number.low, number.high, c.sign, bound)
    holds = all(COMPARE[c.sign](value, bound) for value in held)
    return Finding(who, c, number.value, number.low, number.high, holds, number.note)


def _ends(low: float, high: float, sign: str, bound: float) -> list[float]:
    """Values of the interval that must all hold: both ends, and the bound itself where it lies between them."""
    inside = [bound] if low <= bound <= high and sign == "!=" else []
    return [low, high, *inside]


# --- reading a requirement --------------------------------------------------------------------------------------------


def parse(text: str) -> Any:
    """The requirement as Comparisons, Joined where there are several; `not` is worked into the comparisons."""
    tokens = list(_tokens(text))
    if not tokens:
        raise InputError('the requirement is empty; write one such as "fs-m>0.9 and encoding<0.2"')
    rule, rest = _either(tokens, text, 0)
    if rest:
        raise _fault(text, f"unexpected {rest[0]!r}")
    return rule


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while text[at:].strip():
        found = TOKEN.match(text, at)
        if found is None:
            raise _fault(text, f"unexpected {text[at:].strip()[0]!r}")
        yield found[0].strip()
        at = found.end()


def _fault(text: str, what: str) -> InputError:
    shown = text if len(text) <= 80 else f"{text[:77]}..."
    return InputError(f'cannot read the requirement {shown!r}: {what}; write it as in "fs-m>0.9 and encoding<0.2"')


def _either(tokens: list[str], text: str, depth: int) -> tuple[Any, list[str]]:
    return _chain("or", lambda t: _chain("and", lambda u: _single(u, text, depth), t), tokens)


def _chain(how: Literal["and", "or"], part: Any, tokens: list[str]) -> tuple[Any, list[str]]:
    rule, rest = part(tokens)
    parts = [rule]
    while rest and rest[0].lower() == how:
        rule, rest = part(rest[1:])
        parts.append(rule)
    return (parts[0] if len(parts) == 1 else Joined(how, tuple(parts))), rest


def _single(tokens: list[str], text: str, depth: int) -> tuple[Any, list[str]]:
    if not tokens:
        raise _fault(text, "something is missing at the end")
    if depth > DEEPEST:
        raise _fault(text, f"more than {DEEPEST} brackets inside each other")
    if tokens[0].lower() == "not":
        rule, rest = _single(tokens[1:], text, depth + 1)
        return _negated(rule), rest
    if tokens[0] == "(":
        rule, rest = _either(tokens[1:], text, depth + 1)
        if rest[:1] != [")"]:
            raise _fault(text, "a bracket is not closed")
        return rule, rest[1:]
    return _comparison(tokens, text)


def _negated(rule: Any) -> Any:
    if isinstance(rule, Comparison):
        return replace(rule, sign=OPPOSITE[rule.sign])
    return Joined("or" if rule.how == "and" else "and", tuple(map(_negated, rule.parts)))


def _comparison(tokens: list[str], text: str) -> tuple[Comparison, list[str]]:
    if len(tokens) < 3 or tokens[1] not in {*COMPARE, "="} or tokens[0] in {*COMPARE, "=", ")"}:
        raise _fault(text, f"expected a comparison such as fs-m>0.9 at {' '.join(tokens[:3])!r}")
    name, sign, bound = tokens[0], "==" if tokens[1] == "=" else tokens[1], tokens[2].strip("\"'")
    parts = re.fullmatch(rf"(?:({NAME}):)?(.+)", name)
    about, named = (parts[1], parts[2]) if parts else (None, name)
    asked = SHORT.get(named.strip("\"'"), named.strip("\"'"))
    about = about.strip("\"'") if about else None
    if asked == "verdict":
        if bound not in VERDICTS:
            raise unknown("verdict", bound, VERDICTS)
        return Comparison(asked, sign, bound, about), tokens[3:]
    try:
        value = float(bound)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _fault(text, f"{bound!r} is no number")
    return Comparison(asked, sign, value, about), tokens[3:]
