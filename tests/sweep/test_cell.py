"""A task is what its configuration says: the same numbers as by hand, and another one where anything differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import unmask
from unmask import api
from unmask.cli.sources import Source
from unmask.errors import InputError, OutsideError
from unmask.report.plain import as_json
from unmask.sweep import cell as cell_module
from unmask.sweep.cell import Cell, Place, _fitted, cells_of, check_data, made, measure
from unmask.sweep.content import content
from unmask.sweep.plan import as_plan
from unmask.task import seeded

CELL = Cell(Source("reference", "xor:n=200"), "l2x", "l2x", 2, {"recipe": {"epochs": 1}}, ("fs-m", "fu-m"), rows=20)


def key(cell: Cell, home: Path) -> str:
    return cell.key(content(home, cell.source))


def plan(**changed: Any) -> Any:
    return as_plan({"datasets": ["xor", "orange"], "methods": ["l2x", "occlusion"], "k": 2, "seeds": 2, **changed})


def test_every_combination_is_a_task(tmp_path: Path) -> None:
    cells = cells_of(plan(checks=["fs-m", "fu-m"], models=["reference", {"model": "m:f", "on": ["xor"]}]), tmp_path)
    assert len(cells) == len({key(cell, tmp_path) for cell in cells}) == 2 * (2 + 1) * 2 * 2
    assert {cell.source.data for cell in cells if cell.source.model == "m:f"} == {"xor"}
    first = cells[:6]  # none waits for a model that another one trains
    assert len({cell.source for cell in first}) == 6


def test_a_model_that_explains_itself_is_fitted_once_for_all_models(tmp_path: Path) -> None:
    cells = cells_of(plan(datasets=["reviews"], methods=["rnp"], models=["reference", "m:f"], seeds=1), tmp_path)
    assert [cell.source.model for cell in cells] == ["itself"]


def test_a_data_set_may_have_its_own_k(tmp_path: Path) -> None:
    cells = cells_of(plan(datasets=["xor", {"data": "orange", "k": 4}]), tmp_path)
    assert {(cell.source.data, cell.k) for cell in cells} == {("xor", 2), ("orange", 4)}


def test_the_key_is_that_of_the_configuration(tmp_path: Path) -> None:
    same = replace(CELL, settings={"recipe": {"epochs": 1}})
    assert key(same, tmp_path) == key(CELL, tmp_path)
    others = [
        replace(CELL, source=replace(CELL.source, seed=1)),
        replace(CELL, k=3),
        replace(CELL, settings={}),
        replace(CELL, checks=("fs-m",)),
        replace(CELL, split="validation"),
        replace(CELL, verdicts=False),
    ]
    assert len({key(cell, tmp_path) for cell in (CELL, *others)}) == 7


def test_new_data_in_an_old_file_are_read(tmp_path: Path) -> None:
    cell = Cell(
        Source("reference", "rows.csv", label="y"), "occlusion", "occlusion", 1, checks=("fs-m",), verdicts=False
    )
    sizes = []
    for n in (100, 300):
        lines = [f"{i % 7},{i % 5},{'yes' if i % 7 > 3 else 'no'}" for i in range(n)]
        (tmp_path / "rows.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
        sizes.append(measure(cell, Place(tmp_path, tmp_path / "cache"))["rows"][0]["n"])
    assert sizes[1] == 3 * sizes[0]


def test_settings_lie_over_those_of_the_method() -> None:
    explainer = made(
        replace(CELL, settings={"tau": 0.3, "recipe": {"epochs": 2}}, source=Source("reference", "xor", seed=5))
    )
    usual = unmask.L2X(k=2)
    assert (explainer.k, explainer.tau, explainer.recipe.epochs, explainer.recipe.seed) == (2, 0.3, 2, 5)
    assert explainer.recipe.batch == usual.recipe.batch


@pytest.mark.parametrize(
    ("method", "settings", "said"),
    [
        ("l2x", {"taw": 1}, "unknown setting of l2x 'taw'; did you mean 'tau'"),
        ("l2x", {"tau": -1.0}, "tau must be above 0"),
        ("l2x", {"recipe": {"epoch": 1}}, "unknown setting in the recipe of l2x 'epoch'; did you mean 'epochs'"),
        ("auto", {"tau": 1.0}, "auto takes no settings"),
    ],
)
def test_settings_that_cannot_be_are_refused(method: str, settings: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        cells_of(plan(methods=[{"method": method, "settings": settings}]), tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_the_numbers_are_those_of_an_audit_by_hand(tmp_path: Path) -> None:
    """Trained, loaded and audited by hand; the second group of checks takes what the first has kept."""
    found = measure(CELL, Place(tmp_path, tmp_path / "cache"))
    data = unmask.load("xor:n=200", seed=0)
    model = api.train_model(data)
    explainer = seeded(made(CELL), 0).fit(model, data)
    report = unmask.audit(model, data, {"l2x": explainer}, n=20, checks=("fs-m", "fu-m"))
    by_hand = as_json(report.findings, "")["rows"]
    expected = {row["check"]: (row["value"], row["low"], row["high"]) for row in by_hand if row["explanation"] == "l2x"}
    assert {row["check"]: (row["value"], row["low"], row["high"]) for row in found["rows"]} == expected
    assert found["verdict"] == next(v.verdict for v in report.verdicts if v.explanation == "l2x")
    kept = sorted(path.suffix for path in (tmp_path / "cache").iterdir())
    assert kept == ["", ".lock", ".lock", ".safetensors"]  # the explainer, the model
    bare = measure(replace(CELL, checks=("fu-m",), verdicts=False), Place(tmp_path, tmp_path / "cache"))
    values = {row["check"]: row["value"] for row in bare["rows"]}
    assert values == {check: value[0] for check, value in expected.items() if check.startswith("fu-m")}
    assert (bare["verdict"], {row["passed"] for row in bare["rows"]}) == (None, {None})


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_another_version_of_torch_trains_its_own_model_and_explainer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, place = unmask.load("xor:n=200", seed=0), Place(tmp_path, tmp_path / "cache")
    for torch_version, kept in (("1.0", 2), ("1.0", 2), ("2.0", 4)):
        monkeypatch.setattr("unmask.sweep.cell.version", lambda name, now=torch_version: now)
        cell_module._model.cache_clear()
        _fitted(CELL, data, place, ())
        there = [path for path in (tmp_path / "cache").iterdir() if path.suffix != ".lock"]
        assert len(there) == kept  # a model and an explainer for each version


@pytest.mark.slow
def test_a_model_that_explains_itself_is_the_model_that_is_audited(tmp_path: Path) -> None:
    source = Source("itself", "reviews:n=40,unit=sentences")
    cell = Cell(source, "rnp", "rnp", 1, {"recipe": {"epochs": 1}}, ("fs-m",))
    data = unmask.load(source.data, seed=0)
    model, explainer = _fitted(cell, data, Place(tmp_path, tmp_path / "cache"), ())
    assert explainer.method == "rnp"
    assert torch.equal(model(data.test.x).argmax(1), explainer.explain(data.test.x).target)
    assert not (tmp_path / "cache").exists()  # no other model is trained


def test_another_version_of_torch_is_another_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = dict.fromkeys(("torch", "unmask"), "2.13.0+cpu")
    monkeypatch.setattr("unmask.sweep.cell.version", known.__getitem__)
    before = key(CELL, tmp_path)
    known["torch"] = "2.13.0+cu126"  # the same, built for another device
    assert key(CELL, tmp_path) == before
    known["torch"] = "2.14.0+cpu"
    assert key(CELL, tmp_path) != before


def test_a_worker_with_other_files_measures_nothing(tmp_path: Path) -> None:
    planned = key(CELL, tmp_path)
    other = replace(CELL, k=3)
    with pytest.raises(
        OutsideError, match=r"has other files than there were when the sweep began .*, or another version"
    ):
        measure(other, Place(tmp_path, tmp_path / "cache"), planned)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"k": 11}, "a row of xor has 10 units, so k = 11 of them cannot be kept"),
        ({"models": ["nowhere_to_be_found:f"]}, "there is no package 'nowhere_to_be_found' for the model"),
        ({"datasets": [{"data": "rows.csv", "label": "z"}]}, "unknown column 'z'; there are: a, b, y"),
        ({"datasets": [{"data": "xor", "label": "y"}]}, "^label is for files"),
    ],
)
def test_what_cannot_be_is_known_before_the_first_task(changed: dict[str, Any], said: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "1,2,yes\n2,1,no\n" * 30)
    cells = cells_of(plan(**{"datasets": ["xor"], **changed}), tmp_path)
    with pytest.raises(InputError, match=said):
        check_data(cells, tmp_path)


def test_options_of_the_command_line_are_settings_of_a_plan(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^unknown outputs 'logit'; did you mean 'logits'"):
        cells_of(plan(models=[{"model": "my:net", "outputs": "logit"}]), tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_what_auto_chose_is_kept_for_the_other_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = replace(CELL, method="auto", name="auto", settings={}, checks=("fs-m",), verdicts=False)
    place, asked, choose = Place(tmp_path, tmp_path / "cache"), list[int](), api.choose
    monkeypatch.setattr(api, "choose", lambda *given, **more: (asked.append(1), choose(*given, **more))[1])
    first, second = (measure(replace(cell, checks=(check,)), place) for check in ("fs-m", "fu-m"))
    assert len(asked) == 1
    assert first["rows"][0]["check"] != second["rows"][0]["check"]
