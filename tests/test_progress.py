"""Bars: silent away from a terminal, one display for nested ones."""

from __future__ import annotations

import pytest

from unmask import progress
from unmask.errors import UnmaskWarning


class Terminal:
    """Standard error of a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("wish", "terminal", "want"),
    [
        (None, False, False),
        (None, True, True),
        ("", True, True),
        ("", False, False),
        ("0", True, False),
        ("1", False, True),
    ],
)
def test_a_wish_goes_before_the_terminal(
    wish: str | None, terminal: bool, want: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UNMASK_PROGRESS", raising=False)
    if wish is not None:
        monkeypatch.setenv("UNMASK_PROGRESS", wish)
    if terminal:
        monkeypatch.setattr(progress.sys, "stderr", Terminal())
    assert progress.shown() is want


def test_silent_away_from_a_terminal(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("UNMASK_PROGRESS", raising=False)
    with progress.bar("outer", 2) as step:
        step("note")
        step()
    assert capfd.readouterr() == ("", "")
    assert progress._live == []


def test_nested_bars_share_one_display(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("UNMASK_PROGRESS", "1")
    with progress.bar("outer work", 3) as outer:
        (display,) = progress._live
        outer("first note")
        with progress.bar("inner work", 5) as inner:
            assert progress._live == [display]
            inner("a")
            inner("b")
            outside, inside = display.tasks
            assert (outside.description, outside.completed, outside.total) == ("outer work", 1, 3)
            assert (inside.description, inside.completed, inside.total) == ("inner work", 2, 5)
            assert inside.fields["note"] == "b"
        assert [task.description for task in display.tasks] == ["outer work"]
        outer()
        assert display.tasks[0].completed == 2
    assert progress._live == []
    assert capfd.readouterr().out == ""  # bars go to standard error


def test_an_error_takes_the_bars_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_PROGRESS", "1")
    with pytest.raises(KeyboardInterrupt), progress.bar("outer", 1), progress.bar("inner", 1):
        raise KeyboardInterrupt
    assert progress._live == []
    with progress.bar("again", 1) as step:
        step("works")


def test_a_warning_reaches_terminals_notebooks_and_logs(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNMASK_PROGRESS", "1")
    progress.warn("mind the gap")
    assert capfd.readouterr().err == "mind the gap\n"
    monkeypatch.setenv("UNMASK_PROGRESS", "0")
    with pytest.warns(UnmaskWarning, match="^mind the gap$"):
        progress.warn("mind the gap")
    assert capfd.readouterr().err == ""
