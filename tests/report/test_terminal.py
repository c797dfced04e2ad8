from __future__ import annotations

import math
from dataclasses import replace

from rich.console import Console

from report import invented
from unmask.report import Report
from unmask.report.terminal import summary
from unmask.types import Findings


def shown(findings: Findings, width: int = 80) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as text:
        console.print(summary(findings))
    return text.get()


def test_terminal_shows_verdicts_with_numbers_and_nulls():
    text = shown(invented.findings())
    assert "\x1b" not in text
    line = next(line for line in text.splitlines() if line.startswith("cheater"))
    assert line.split() == [
        "cheater",
        "✕",
        "reject",
        "0.25",
        "(0.34)",
        "0.94",
        "(0.87)",
        "0.56",
        "(0.01)",
        "0.49",
        "(0.54)",
    ]
    assert "first-k              reference" in text
    assert "neither enough nor needed" in text


def test_a_deciding_check_run_on_demand_has_a_column_where_it_was_run():
    base = invented.findings()
    assert "randomized" not in shown(base, 100)
    row = invented.result("cheater", "randomized-model", 0.97, "lower", null=0.12)
    text = shown(replace(base, rows=(*base.rows, row)), 100)
    assert "randomized-" in text
    assert next(line for line in text.splitlines() if line.startswith("cheater")).split()[-2:] == ["0.97", "(0.12)"]
    assert next(line for line in text.splitlines() if line.startswith("l2x")).endswith("–")


def test_terminal_does_not_read_names_as_markup():
    base = invented.findings()
    verdict = replace(base.verdicts[0], explanation="[b]")
    text = shown(replace(base, task="[red]x[/red]", verdicts=(verdict,)))
    assert "[red]x[/red]" in text
    assert "[b]" in text


def test_missing_values_and_checks_leave_a_dash():
    rows = (
        invented.result("l2x", "fs-m", math.nan, null=None),
        invented.result("gradient", "fs-m", 0.5),
        invented.result("gradient", "fu-m", 0.5, "lower"),
        invented.result("l2x", "randomized-model", math.nan, null=None),
    )
    text = shown(replace(invented.findings(), rows=rows))
    assert "randomized" not in text  # a column of dashes is none
    line = next(line for line in text.splitlines() if line.startswith("l2x"))
    assert line.split()[-2:] == ["–", "–"]


def test_narrow_terminals_break_lines_and_lose_nothing():
    text = shown(invented.findings(), width=50)
    assert max(map(len, text.splitlines())) <= 50
    assert text.count("(0.87)") == 8


def test_a_share_beyond_its_range_is_a_word_and_stays_a_number_for_machines():
    base = invented.findings()
    rows = tuple(replace(r, value=1.38, null=-0.03) if r.check == "encoding-share" else r for r in base.rows)
    findings = replace(base, rows=rows)
    line = next(line for line in shown(findings).splitlines() if line.startswith("cheater"))
    assert "all (none)" in line
    assert ">all<" in Report(findings).html
    assert 1.38 in [row["value"] for row in Report(findings).to_json()["rows"]]
