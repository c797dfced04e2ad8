from __future__ import annotations

import os
from pathlib import Path

import pytest

from unmask.errors import InputError
from unmask.writing import write_text as write


def test_folders_are_made_and_older_files_replaced(tmp_path: Path):
    path = tmp_path / "new" / "folder" / "report.json"
    write(path, "one")
    assert write(path, "two ✓") == path
    assert path.read_text(encoding="utf-8") == "two ✓"
    assert len(list(path.parent.iterdir())) == 1


def test_others_may_read_the_file(tmp_path: Path):
    plain = tmp_path / "plain"
    plain.write_text("x")
    assert write(tmp_path / "report.json", "x").stat().st_mode == plain.stat().st_mode


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_without_leave_to_write(tmp_path: Path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot write"):
        write(tmp_path / "report.json", "text")


def test_a_name_no_system_takes(tmp_path: Path):
    for name in ("a\0b.json", 300 * "x" + ".json"):
        with pytest.raises(InputError, match="cannot write"):
            write(tmp_path / name, "text")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_the_folder(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="cannot write"):
        write(tmp_path / "file" / "report.json", "text")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_in_place_of_the_file(tmp_path: Path):
    (tmp_path / "report.json").mkdir()
    with pytest.raises(InputError, match="cannot write"):
        write(tmp_path / "report.json", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failing_write_leaves_what_was_there(failure: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "report.html"
    path.write_text("the report of yesterday")

    def half(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[: len(data) // 2])
        raise failure

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises((InputError, KeyboardInterrupt)) as caught:
        write(path, "the report of today")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "the report of yesterday"
    if isinstance(failure, OSError):
        assert "No space left on device" in str(caught.value)
        assert "\n" not in str(caught.value)
