"""The page in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from report import invented
from unmask.report import Report
from unmask.types import Findings

CHROMIUM = shutil.which("chromium")
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--v=0",
    "--dump-dom",
]

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


def opened(findings: Findings, folder: Path) -> tuple[str, str]:
    """What the browser made of the page, and what it logged."""
    path = Report(findings).save(folder / "report.html")
    command = [str(CHROMIUM), *OPTIONS, f"--user-data-dir={folder / 'profile'}", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, done.stderr


@pytest.mark.slow
def test_page_opens_without_complaint(tmp_path: Path):
    dom, log = opened(invented.findings(), tmp_path)
    assert [line for line in log.splitlines() if "CONSOLE" in line] == []
    assert re.findall(r'<article class="card (\w+)">', dom) == ["care", "trust", "care", "trust", "reject"]
    assert dom.count('<figure class="example">') == 20
    assert dom.count("<circle") > 80
    assert dom.rstrip().endswith("</html>")


@pytest.mark.slow
def test_nothing_comes_from_the_network(tmp_path: Path):
    dom, _ = opened(invented.findings(), tmp_path)
    assert not re.search(r"(src|href)=[\"'](https?:)?//", dom)


@pytest.mark.slow
def test_markup_in_names_stays_text(tmp_path: Path):
    dom, log = opened(invented.hostile(), tmp_path)
    assert "<script" not in dom
    assert [line for line in log.splitlines() if "CONSOLE" in line] == []
