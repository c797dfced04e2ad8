"""Files and folders appear whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from unmask import writing
from unmask.errors import InputError
from unmask.writing import add_line, locked, new_folder, read_json, write_text


def full_disk(*arguments: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- one file ---------------------------------------------------------------------------------------------------------


def test_a_file_is_written_with_its_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "out.txt"
    write_text(path, "für\n")
    write_text(path, "für zwei\n")
    assert path.read_bytes() == "für zwei\n".encode()
    assert names(path.parent) == ["out.txt"]


@pytest.mark.parametrize("broken", ["replace", "write"])
def test_a_failure_leaves_the_old_file(broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    if broken == "replace":
        monkeypatch.setattr(writing.os, "replace", full_disk)
    else:
        monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(InputError, match=r"cannot write .*out\.txt: No space left on device; "):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["out.txt"]


def test_an_interrupt_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writing.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_text(tmp_path / "out.txt", "new")
    assert names(tmp_path) == []


def test_a_place_that_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        write_text(tmp_path / "file" / "out.txt", "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot write"):
        write_text(tmp_path / "folder", "x")
    assert names(tmp_path) == ["file", "folder"]


def test_lines_are_added(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "log.jsonl"
    add_line(path, "one")
    add_line(path, "zwölf")
    assert path.read_text("utf-8") == "one\nzwölf\n"
    path.write_text("one\nzw")
    add_line(path, "drei")
    assert path.read_text("utf-8") == "one\ndrei\n"
    with pytest.raises(InputError, match="cannot write"):
        add_line(path / "below", "x")


# --- a folder ---------------------------------------------------------------------------------------------------------


def saved(path: Path, text: str, extra: str | None = None) -> None:
    with new_folder(path, "about.json") as draft:
        assert draft != path
        (draft / "about.json").write_text(text)
        if extra:
            (draft / extra).write_text("more")


def test_a_folder_is_made_and_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "saved"
    saved(path, "1", extra="old.bin")
    saved(path, "2")
    assert names(path) == ["about.json"]
    assert (path / "about.json").read_text() == "2"
    assert names(path.parent) == ["saved"]


def test_nothing_is_there_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "saved"
    with new_folder(path, "about.json") as draft:
        (draft / "about.json").write_text("1")
        assert not path.exists()
    assert path.exists()


@pytest.mark.parametrize("error", [InputError("stop"), KeyboardInterrupt()])
def test_a_failure_midway_leaves_the_old_folder(error: BaseException, tmp_path: Path) -> None:
    path = tmp_path / "saved"
    saved(path, "old")

    def cut_short() -> None:
        with new_folder(path, "about.json") as draft:
            (draft / "about.json").write_text("new")
            raise error

    with pytest.raises(type(error)):
        cut_short()
    assert (path / "about.json").read_text() == "old"
    assert names(tmp_path) == ["saved"]


def test_a_full_disk_midway_is_one_sentence(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"cannot write .*saved: No space left on device"),
        new_folder(tmp_path / "saved", "about.json"),
    ):
        full_disk()
    assert names(tmp_path) == []


def test_a_failed_renaming_brings_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "saved"
    saved(path, "old")
    rename = os.replace

    def fails_for_new(source: Path, to: Path) -> None:
        if (Path(source) / "about.json").is_file() and (Path(source) / "about.json").read_text() == "new":
            full_disk()
        rename(source, to)

    monkeypatch.setattr(writing.os, "replace", fails_for_new)
    with pytest.raises(InputError, match="No space left"):
        saved(path, "new")
    assert (path / "about.json").read_text() == "old"
    assert names(tmp_path) == ["saved"]


def test_a_foreign_folder_or_file_is_never_replaced(tmp_path: Path) -> None:
    foreign = tmp_path / "photos"
    foreign.mkdir()
    (foreign / "cat.png").write_text("cat")
    (tmp_path / "file").write_text("mine")
    for path in (foreign, tmp_path / "file"):
        with pytest.raises(InputError) as caught:
            saved(path, "1")
        assert str(caught.value) == (
            f"{path} exists and was not written by this command; choose another name or move it away"
        )
    assert (foreign / "cat.png").read_text() == "cat"
    assert (tmp_path / "file").read_text() == "mine"
    assert names(tmp_path) == ["file", "photos"]


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    saved(tmp_path / "empty", "1")
    assert names(tmp_path / "empty") == ["about.json"]


def test_a_folder_has_the_usual_rights(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    saved(tmp_path / "saved", "1")
    assert (tmp_path / "saved").stat().st_mode == (tmp_path / "plain").stat().st_mode


# --- reading ----------------------------------------------------------------------------------------------------------


def test_json_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"k": [1, null, "ü"]}', "utf-8")
    assert read_json(tmp_path / "a.json", "a report") == {"k": [1, None, "ü"]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot read {path}: No such file or directory; expected a report there"),
        (b'{"k": ', "{path} is not valid JSON (Expecting value"),
        (b"\xff\xfe", "{path} is not valid JSON ("),
    ],
)
def test_what_is_no_json_is_one_sentence(content: bytes | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_json(path, "a report")
    assert str(caught.value).startswith(said.format(path=path))
    assert "expected a report there" in str(caught.value)


def test_others_may_read_the_file(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("x")
    assert write_text(tmp_path / "report.json", "x").stat().st_mode == plain.stat().st_mode


def test_a_name_no_system_takes(tmp_path: Path) -> None:
    for name in ("a\0b.json", 300 * "x" + ".json"):
        with pytest.raises(InputError, match="cannot write"):
            write_text(tmp_path / name, "text")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "report.json").mkdir()
    with pytest.raises(InputError, match="cannot write"):
        write_text(tmp_path / "report.json", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_lock_is_for_one(tmp_path: Path) -> None:
    first = locked(tmp_path / "deep" / "lock")
    with pytest.raises(InputError, match=r"^somebody is inside$"):
        locked(tmp_path / "deep" / "lock", "somebody is inside")
    first.release()
    locked(tmp_path / "deep" / "lock", "somebody is inside").release()


def test_a_lock_where_nothing_can_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot write .*lock: .*; name a place with room"):
        locked(tmp_path / "file" / "lock", "busy")
