"""The commands that train: their options, and where the work is done."""

from __future__ import annotations

import pytest

from cli.conftest import Run


@pytest.mark.parametrize(("command", "option"), [("steady", "--attention"), ("rationalize", "--keep")])
def test_they_are_commands_of_their_own(run: Run, command: str, option: str) -> None:
    ended = run(command, "--help")
    assert ended.code == 0
    assert option in ended.out
    assert f"unmask {command} --" in ended.out  # an example
