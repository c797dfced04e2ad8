"""What is in the files of a task is part of it, wherever they are."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from unmask.cli.sources import Source
from unmask.errors import InputError
from unmask.sweep.cell import Cell
from unmask.sweep.content import check_package, content

CELL = Cell(Source("reference", "xor:n=200"), "l2x", "l2x", 2)


def test_another_content_of_a_file_is_another_task(tmp_path: Path) -> None:
    cell = replace(CELL, source=Source("reference", "rows.csv"))
    keys = set()
    for text in ("a,b\n", "a,c\n", "a,b\n"):
        (tmp_path / "rows.csv").write_text(text)
        keys.add(cell.key(tmp_path))
    assert len(keys) == 2


def test_a_folder_with_the_name_of_a_data_set_is_none_of_its_files(tmp_path: Path) -> None:
    before = CELL.key(tmp_path)
    (tmp_path / CELL.source.data).mkdir()
    (tmp_path / CELL.source.data / "report.html").touch()
    assert CELL.key(tmp_path) == before
    assert content(tmp_path, CELL.source) == ()


@pytest.mark.parametrize("file", ["mine.py", "mine/deep/net.py", "mine/config.json"])
def test_another_content_of_a_module_or_a_folder_is_another_task(file: str, tmp_path: Path) -> None:
    model = "mine" if file.endswith("json") else "mine.deep.net:f" if "/" in file else "mine:f"
    cell, keys = replace(CELL, source=replace(CELL.source, model=model)), []
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    for text in ("a = 1\n", "a = 2\n"):
        (tmp_path / file).write_text(text)
        keys.append(cell.key(tmp_path))
    compiled = tmp_path / "mine" / "__pycache__" / "net.pyc"
    compiled.parent.mkdir(parents=True, exist_ok=True)
    compiled.write_bytes(b"1")
    keys.append(cell.key(tmp_path))
    assert len(set(keys)) == 2
    assert keys[1] == keys[2]


def test_an_installed_package_counts_by_what_is_in_it(tmp_path: Path) -> None:
    own, other = (content(tmp_path, replace(CELL.source, model=name)) for name in ("unmask.api:fit", "textwrap:fill"))
    assert len(own) > 100
    assert len(other) == 1
    assert content(tmp_path, replace(CELL.source, model="nowhere_to_be_found:f")) == ()


def test_weights_beside_an_onnx_graph_are_part_of_it(tmp_path: Path) -> None:
    """A graph names the file of its weights; other files beside it do not count."""
    (tmp_path / "net.onnx").write_bytes(b"graph \x0a weights.bin \x12 0")
    cell = replace(CELL, source=replace(CELL.source, model="net.onnx"))
    keys = []
    for name, text in (("weights.bin", "1"), ("weights.bin", "2"), ("notes.txt", "3"), ("notes.txt", "4")):
        (tmp_path / name).write_text(text)
        keys.append(cell.key(tmp_path))
    assert keys[0] != keys[1]
    assert len(set(keys[1:])) == 1


def test_pictures_in_a_folder_are_part_of_the_task(tmp_path: Path) -> None:
    (tmp_path / "pics" / "cat").mkdir(parents=True)
    cell, keys = replace(CELL, source=Source("reference", "image-folder:pics")), set()
    for content_of in (b"1", b"2"):
        (tmp_path / "pics" / "cat" / "one.png").write_bytes(content_of)
        keys.add(cell.key(tmp_path))
    assert len(keys) == 2


@pytest.mark.parametrize("model", ["itself", "reference", "mine:f", "folder", "net.onnx", "json:loads"])
def test_a_package_may_be_anywhere(model: str, tmp_path: Path) -> None:
    for name in ("mine.py", "net.onnx"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    check_package(tmp_path, model)


def test_a_package_that_is_nowhere_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "homeless", ModuleType("homeless"))  # says nothing of where it comes from
    for name in ("nowhere_to_be_found", "homeless"):
        with pytest.raises(InputError, match=f"there is no package '{name}' for the model {name}:f"):
            check_package(tmp_path, f"{name}:f")
        assert content(tmp_path, replace(CELL.source, model=f"{name}:f")) == ()
