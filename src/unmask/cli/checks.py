"""The page that lists every check, written from the table and from the code, so that it cannot go stale."""

from __future__ import annotations

from inspect import getdoc
from pathlib import Path

from unmask.audit import CHECKS, DECIDING, QUESTIONS, Check, function_of
from unmask.writing import write_text

__all__ = ["checks_page", "example", "write_checks"]

BETTER = {"higher": "higher is better", "lower": "lower is better", "none": "for information; neither end is better"}
RUN = {  # light, costly
    (True, True): "by default lightly, in full on demand",
    (False, True): "on demand",
    (False, False): "run by default",
}
HEAD = """# Checks

Written by `unmask checks --out docs/checks.md`; do not edit.

Every check gives one value for each audited row; the report has their mean with a bootstrap interval, and the value of
units drawn at random beside it. In the formulas x is a row, k the number of units kept of d, p the probabilities of the
model M, `target` the class it predicts on the whole row. Those marked *on demand* train or explain much: name them
(`checks=["default", "roar"]`, `--checks default,roar`) or say `all`. Those marked *lightly* are run by default on 100
rows, and not for explainers that would have to be trained again; named, on all rows and for all. A verdict rests on
{deciding}, and on those marked *decides* where they were run.

```python
import unmask

data = unmask.load("tumours")
model = unmask.train_model(data)
both = {{"occlusion": "occlusion", "gradient": "gradient"}}
report = unmask.audit(model, data, both, k=4, n=50, pool=200, checks=["insertion", "feature-agreement"])
print(report.table[["explanation", "check", "value", "low", "high", "null", "at"]])
print(report.agreement["feature-agreement"])
```
"""
TEXT = {"sensitivity", "stability"}  # checks on words


def checks_page() -> str:
    """All checks, question by question."""
    parts = [HEAD.format(deciding=", ".join(f"`{name}`" for name in DECIDING))]
    for question, title in QUESTIONS.items():
        parts.append(f"## {title}\n")
        parts += [_entry(name, check) for name, check in CHECKS.items() if check.question == question]
    return "\n".join(parts)


def write_checks(path: Path) -> Path:
    """The page at `path`."""
    return write_text(path, checks_page())


def example(name: str) -> str:
    """A command that runs the check on embedded data."""
    check = CHECKS[name]
    if check.rationale:
        return "unmask rationalize --data reviews:unit=sentences --keep 1"
    if check.attention:
        model = "--model examples.attention_model:model"
        return f"unmask audit {model} --data reviews --k 3 --method attention --checks {name}"
    data = "--data reviews --k 3" if check.truth or name in TEXT else "--data tumours --k 4"
    both = " --method gradient" if check.several else ""
    return f"unmask audit --model reference {data} --method integrated-gradients{both} --checks {name}"


def _entry(name: str, check: Check) -> str:
    from unmask.audit.evidence import EVIDENCE

    said = getdoc(function_of(name)) or ""
    facts = [BETTER[check.better], RUN[check.light, check.costly]]
    facts += ["decides"] if name in (*DECIDING, *EVIDENCE.values()) else []
    facts += [check.paper] if check.paper else []
    return f"""### `{name}`

{check.line}

*{"; ".join(facts)}. Beside it: {check.null}.*

```text
{said}
```

`{example(name)}`
"""
