"""Finding and reading the folder of real sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from unmask.data import folder
from unmask.errors import InputError

from .folders import write_jsonl


def test_find_needs_the_variable_and_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNMASK_DATA", raising=False)
    assert folder.find("imdb") is None
    monkeypatch.setenv("UNMASK_DATA", str(tmp_path))
    assert folder.find("imdb") is None
    (tmp_path / "imdb").mkdir()
    assert folder.find("imdb") == tmp_path / "imdb"


def test_the_folder_is_the_same_from_anywhere_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "near" / "imdb").mkdir(parents=True)
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNMASK_DATA", "near")
    with folder.data_from_anywhere():
        monkeypatch.chdir(tmp_path / "else")
        assert folder.find("imdb") == tmp_path / "near" / "imdb"
    assert folder.find("imdb") is None
    monkeypatch.delenv("UNMASK_DATA")
    with folder.data_from_anywhere():
        assert folder.find("imdb") is None


def test_lines_packed_and_plain(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl.gz", [{"a": 1}, {"a": 2}])
    (tmp_path / "b.jsonl").write_text('{"a": 1}\n\n{"a": 2}\n')
    assert folder.read_jsonl(tmp_path / "a.jsonl.gz") == folder.read_jsonl(tmp_path / "b.jsonl") == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(
    ("name", "content"), [("a.jsonl.gz", b"no gzip"), ("b.jsonl", b"{broken"), ("c.jsonl", b"\xff\xfe")]
)
def test_unreadable_file(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as lines of JSON"):
        folder.read_jsonl(tmp_path / name)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        folder.read_jsonl(tmp_path / "none.jsonl")


def test_other_row_count_is_another_set() -> None:
    folder.check_rows("sst2", "train", 6920, 6920)
    with pytest.raises(InputError, match="train of sst2 must have 6920 rows, got 67349"):
        folder.check_rows("sst2", "train", 67349, 6920)


def test_remedy_names_the_public_copy_only_where_there_is_one() -> None:
    assert "fetch stanfordnlp/imdb" in folder.remedy("imdb", "imdb", "stanfordnlp/imdb")
    assert "no public copy" in folder.remedy("beer", "beer", "")
    assert "hf" not in str(folder.missing("beer", "beer", ""))
