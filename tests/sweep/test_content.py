"""What is in the files of a task is part of it, wherever they are."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from unmask.cli.sources import Source
from unmask.errors import InputError
from unmask.sweep.cell import Cell
from unmask.sweep.content import check_package, content

CELL = Cell(Source("reference", "xor:n=200"), "l2x", "l2x", 2)


def key(cell: Cell, home: Path) -> str:
    return cell.key(content(home, cell.source))


def test_another_content_of_a_file_is_another_task(tmp_path: Path) -> None:
    cell = replace(CELL, source=Source("reference", "rows.csv"))
    keys = set()
    for text in ("a,b\n", "a,c\n", "a,b\n"):
        (tmp_path / "rows.csv").write_text(text)
        keys.add(key(cell, tmp_path))
    assert len(keys) == 2


def test_a_folder_with_the_name_of_a_data_set_is_none_of_its_files(tmp_path: Path) -> None:
    before = key(CELL, tmp_path)
    (tmp_path / CELL.source.data).mkdir()
    (tmp_path / CELL.source.data / "report.html").touch()
    assert key(CELL, tmp_path) == before
    assert content(tmp_path, CELL.source) == ()


@pytest.mark.parametrize("file", ["mine.py", "mine/deep/net.py", "mine/config.json"])
def test_another_content_of_a_module_or_a_folder_is_another_task(file: str, tmp_path: Path) -> None:
    model = "mine" if file.endswith("json") else "mine.deep.net:f" if "/" in file else "mine:f"
    cell, keys = replace(CELL, source=replace(CELL.source, model=model)), []
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    for text in ("a = 1\n", "a = 2\n"):
        (tmp_path / file).write_text(text)
        keys.append(key(cell, tmp_path))
    compiled = tmp_path / "mine" / "__pycache__" / "net.pyc"
    compiled.parent.mkdir(parents=True, exist_ok=True)
    compiled.write_bytes(b"1")
    keys.append(key(cell, tmp_path))
    assert len(set(keys)) == 2
    assert keys[1] == keys[2]


def test_an_installed_package_counts_by_what_is_in_it(tmp_path: Path) -> None:
    own, other = (content(tmp_path, replace(CELL.source, model=name)) for name in ("unmask.api:fit", "textwrap:fill"))
    assert len(own) > 100
    assert len(other) == 1
    assert content(tmp_path, replace(CELL.source, model="nowhere_to_be_found:f")) == ()


def test_weights_beside_an_onnx_graph_are_part_of_it(tmp_path: Path) -> None:
    """A graph says where its weights are, in a folder, too; others beside it do not count, whatever their names."""
    deep = "deep/" + 130 * "w" + "/" + 150 * "w" + ".bin"  # 290 characters
    entries = [
        b"\x0a\x08location\x12" + size + name.encode() for size, name in ((b"\x0b", "weights.bin"), (b"\xa2\x02", deep))
    ]
    (tmp_path / "net.onnx").write_bytes(b"graph with logits " + b" ".join(entries) + b" and more")
    (tmp_path / deep).parent.mkdir(parents=True)
    cell = replace(CELL, source=replace(CELL.source, model="net.onnx"))
    keys = []
    for name in ("weights.bin", deep, "logits", "more"):
        for text in ("1", "2"):
            (tmp_path / name).write_text(text)
            keys.append(key(cell, tmp_path))
    assert len(set(keys[:4])) == 4
    assert len(set(keys[3:])) == 1
    assert content(tmp_path, cell.source)[1].startswith(f"{deep} ")


def test_weights_that_a_real_graph_keeps_outside_are_found(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install unmask[onnx]")
    values = onnx.numpy_helper.from_array(np.zeros((64, 64), np.float32), "w")
    graph = onnx.helper.make_graph([], "net", [], [], [values])
    onnx.save_model(
        onnx.helper.make_model(graph), tmp_path / "net.onnx", save_as_external_data=True, location="far.data"
    )
    found = content(tmp_path, replace(CELL.source, model="net.onnx"))
    assert [file.split()[0] for file in found] == ["net.onnx", "far.data"]


def test_pictures_in_a_folder_are_part_of_the_task(tmp_path: Path) -> None:
    (tmp_path / "pics" / "cat").mkdir(parents=True)
    cell, keys = replace(CELL, source=Source("reference", "image-folder:pics")), set()
    for content_of in (b"1", b"2"):
        (tmp_path / "pics" / "cat" / "one.png").write_bytes(content_of)
        keys.add(key(cell, tmp_path))
    assert len(keys) == 2
    (tmp_path / "pics" / "cat").rename(tmp_path / "pics" / "dog")  # the same pictures, another class
    assert key(cell, tmp_path) not in keys


def test_it_does_not_matter_where_the_files_are(tmp_path: Path) -> None:
    for home in ("here", "there"):
        (tmp_path / home / "mine").mkdir(parents=True)
        (tmp_path / home / "mine" / "net.py").write_text("a = 1")
    cell = replace(CELL, source=replace(CELL.source, model="mine.net:f"))
    assert key(cell, tmp_path / "here") == key(cell, tmp_path / "there")
    assert content(tmp_path / "here", cell.source)[0].startswith("net.py ")


@pytest.mark.parametrize("where", [".", "./pics", "../home/pics", "pics"])
def test_workers_see_the_names_that_the_planner_saw(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / "pics" / "cat").mkdir(parents=True)
    (home / "pics" / "cat" / "one.png").write_bytes(b"1")
    (home / "mine.py").write_text("a = 1")
    sources = [Source("mine:f", f"image-folder:path={where}"), Source(where, "xor:n=200")]
    planned = [content(home, source) for source in sources]
    assert all(planned)
    monkeypatch.chdir(home)
    assert [content(Path(), source) for source in sources] == planned


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
