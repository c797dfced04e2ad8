"""The page in a real browser: complaints, requests, small screens, both themes, keys, paper."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import browser
from browser import Browser
from report import invented
from unmask.report import Report, side_by_side
from unmask.types import Findings, Verdict

pytestmark = [pytest.mark.slow, browser.needed]


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def small() -> Findings:
    """Every part of the page once: verdicts, a check with classes, curves, agreement, attention, places, examples."""
    base = invented.rationales()
    checks = ("fs-m", "encoding-share", "insertion", "agreement")
    rows = tuple(row for row in base.rows if row.check.split("@")[0] in checks)
    kinds = {e.row.kind: e for e in invented.examples() if e.explanation == "l2x"}
    marked = next(e for e in base.examples if e.explanation == "l2x")
    judged = tuple(Verdict(name, "reject", ("It is a control.",)) for name in invented.CONTROLS)
    return replace(base, rows=rows, verdicts=(*base.verdicts, *judged), examples=(*kinds.values(), marked))


def shown(tab: Browser, findings: Findings) -> None:
    tab.screen(1280, 900)
    tab.open(Report(findings).save(tab.folder / "report.html"))


def test_page_opens_without_complaint_and_asks_for_nothing(tab: Browser) -> None:
    shown(tab, invented.findings())
    assert tab.complaints() == []
    assert [re.sub(r".*/", "", address) for address in tab.requested()] == ["report.html"]
    cards = tab.run("[...document.querySelectorAll('.card .badge')].map(b => b.textContent.slice(2))")
    assert cards == ["care", "trust", "care", "trust", "reject"]
    assert tab.run("document.querySelectorAll('figure.example').length") == 22  # two of them attention
    assert tab.run("document.querySelectorAll('circle').length") > 80


def test_a_request_would_be_seen_and_is_blocked(tab: Browser) -> None:
    shown(tab, small())
    tab.run("new Promise(done => { const i = new Image(); i.onerror = done; i.src = 'http://example.invalid/a.png'; })")
    assert any("Content Security Policy" in complaint for complaint in tab.complaints())


def test_markup_in_names_stays_text(tab: Browser) -> None:
    shown(tab, invented.hostile())
    assert tab.complaints() == []
    assert tab.run("document.querySelectorAll('script').length") == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen(tab: Browser, width: int) -> None:
    shown(tab, small())
    tab.screen(width, 900)
    assert tab.run("document.documentElement.scrollWidth") <= width


def test_numbers_and_words_stay_whole_on_a_phone(tab: Browser) -> None:
    settings = {"explanations": {"integrated-gradients": {"method": "integrated", "completeness": 0.0037}}}
    shown(tab, replace(small(), settings=settings))
    tab.screen(390, 900)
    tab.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    pieces = "[...document.querySelectorAll('.example td:nth-child(2), .example td:last-child, .settings dt')]"
    lines = "e => { const r = document.createRange(); r.selectNodeContents(e); return r.getClientRects().length; }"
    broken = f"{pieces}.filter(e => !/[ -]/.test(e.textContent.slice(1)) && ({lines})(e) > 1).map(e => e.textContent)"
    assert tab.run(broken) == []


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)], ids=["light", "dark-phone"])
def test_no_serious_fault_of_accessibility(tab: Browser, width: int, dark: bool) -> None:
    axe = pytest.importorskip("axe_core_python", reason="axe-core-python, of the extra dev, is not installed")
    shown(tab, small())
    tab.screen(width, 900, dark)
    tab.run(Path(axe.__file__).with_name("axe.min.js").read_text("utf-8"))
    tab.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    faults = "r => r.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.failureSummary + n.html).join()])"
    found: list[list[Any]] = tab.run(f"axe.run().then({faults})")
    assert [fault for fault in found if fault[0] != "minor"] == []


def test_axe_finds_a_fault_that_is_there(tab: Browser) -> None:
    axe = pytest.importorskip("axe_core_python", reason="axe-core-python, of the extra dev, is not installed")
    shown(tab, Findings("task", "model", (), ()))
    tab.run(Path(axe.__file__).with_name("axe.min.js").read_text("utf-8"))
    tab.run("document.querySelector('h1').style.color = '#ddd'")
    found = tab.run("axe.run().then(r => r.violations.filter(v => v.impact === 'serious').map(v => v.id))")
    assert found == ["color-contrast"]


def test_all_that_opens_or_scrolls_is_reached_by_keys(tab: Browser) -> None:
    shown(tab, small())
    reachable = "[...document.querySelectorAll('a[href], summary, .wide')].filter(e => e.checkVisibility())"
    wanted = tab.run(f"{reachable}.length")
    seen = []
    for _ in range(wanted):
        tab.press("Tab")
        seen.append(tab.run("[document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]"))
    assert {name for name, _ in seen} == {"A", "SUMMARY", "DIV"}
    assert "none" not in {outline for _, outline in seen}
    tab.run("document.querySelector('details:not([open]) > summary').focus()")
    closed = tab.run("document.querySelectorAll('details:not([open])').length")
    tab.press("Enter")
    assert tab.run("document.querySelectorAll('details:not([open])').length") == closed - 1
    dead = "[...document.querySelectorAll('nav a')].filter(a => !document.querySelector(a.hash)).length"
    assert tab.run(dead) == 0


def test_paper_has_all_of_it(tab: Browser) -> None:
    both = side_by_side({"before": Report(small()), "after": Report(small())})
    shown(tab, both.findings)
    tab.screen(1280, 900, dark=True)
    tab.ask("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    colour = tab.run("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    assert colour == ["rgb(255, 255, 255)", "rgb(28, 30, 33)"]  # black on white from a dark screen too
    closed = tab.run("[...document.querySelectorAll('details:not([open])')].map(e => e.parentElement.tagName)")
    assert set(closed) == {"SECTION", "ARTICLE", "DIV"}  # controls, a check by class, columns that were not kept
    inside = "[...document.querySelectorAll('details > :not(summary)')]"
    hidden = f"{inside}.filter(e => !e.checkVisibility({{ contentVisibilityAuto: true }}) || e.offsetHeight < 20)"
    assert tab.run(f"{hidden}.map(e => e.outerHTML.slice(0, 80))") == []  # nobody can open it on paper
    tab.ask("Emulation.setDeviceMetricsOverride", width=700, height=1000, deviceScaleFactor=1, mobile=False)
    assert tab.run("document.documentElement.scrollWidth") <= 700  # wider, and all of it would be printed smaller
    pdf = base64.b64decode(tab.ask("Page.printToPDF", printBackground=True)["data"])
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) > 2
    tab.ask("Emulation.setEmulatedMedia", media="", features=[])
