"""A plan is read, and every mistake in one is a sentence that says where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from unmask.errors import InputError
from unmask.sweep import example
from unmask.sweep.plan import DataPart, MethodPart, ModelPart, Plan, Range, Tune, as_plan, read_plan

TINY: dict[str, Any] = {"datasets": ["xor"], "methods": ["l2x"], "k": 2}


def written(folder: Path, text: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_names_stand_for_parts_and_a_number_for_seeds() -> None:
    plan = as_plan({**TINY, "seeds": 3, "checks": ["default", "fs-a, fu-a"]})
    assert plan.datasets == (DataPart("xor"),)
    assert plan.methods == (MethodPart("l2x"),)
    assert plan.models == (ModelPart("reference"),)
    assert plan.seeds == (0, 1, 2)
    assert plan.groups() == [("default",), ("fs-a", "fu-a")]
    assert as_plan({**TINY, "seeds": [7]}).seeds == (7,)


def test_no_folder_hides_a_data_set(tmp_path: Path) -> None:
    for name in ("xor", "xor:m=3"):
        (tmp_path / name).mkdir()
    assert read_plan(written(tmp_path, as_toml(TINY))).datasets == (DataPart("xor"),)
    with pytest.raises(InputError, match="xor has no option 'm'"):
        read_plan(written(tmp_path, as_toml({**TINY, "datasets": ["xor:m=3"]})))


def test_the_example_is_a_plan(tmp_path: Path) -> None:
    plan = read_plan(written(tmp_path, example()))
    assert (plan.k, plan.datasets[1].k, len(plan.seeds)) == (4, 12, 3)
    assert plan.methods[2].settings == {"mu": 0.5, "recipe": {"epochs": 10}}


def test_what_is_behind_the_hashes_of_the_example_can_be_used(tmp_path: Path) -> None:
    for name in ("loans.csv", "tickets.csv"):
        (tmp_path / name).touch()
    lines = [line.replace("# ", "", 1) if _is_code(line) else line for line in example().splitlines()]
    plan = read_plan(written(tmp_path, "\n".join(lines)))
    assert plan.datasets[2] == DataPart("loans.csv", k=3, label="paid", drop=("id",))
    assert plan.models[1].on == ("loans.csv",)
    assert (plan.verdicts, plan.removal) == (False, "mean")
    assert plan.tune == Tune(
        trials=20, space={"l2x": {"tau": Range(0.1, 2.0, log=True), "draw": ["k-hot", "gumbel-topk"]}}
    )


def _is_code(line: str) -> bool:
    bare = line.strip().removeprefix("# ")
    return bare != line.strip() and (bare[0] in "{[" or " = " in bare.partition(".")[0])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"datasets": None}, "datasets is missing"),
        ({"datasets": []}, "datasets is empty"),
        ({"datasets": ["xro"]}, "unknown data set or file 'xro'; did you mean 'xor'"),
        ({"datasets": ["nowhere.csv"]}, "there is no file .*nowhere.csv; paths are seen from the folder of the plan"),
        ({"datasets": "xor"}, r"datasets must be a list in square brackets, got 'xor'"),
        ({"datasets": ["xor:m=3"]}, "xor has no option 'm'"),
        ({"datasets": [{"data": "xor", "lable": "y"}]}, r"datasets\[0\].lable: 'lable'; did you mean 'label'"),
        ({"datasets": ["xor", "xor"]}, "datasets has 'xor' twice"),
        ({"k": None}, "say how many units of xor are kept"),
        ({"k": 0}, "got 0"),
        ({"k": "many"}, "k: input should be a valid integer.*got 'many'"),
        ({"methods": ["l2y"]}, "unknown method 'l2y'; did you mean 'l2x'"),
        ({"methods": ["l2x", {"method": "l2x"}]}, "methods has 'l2x' twice; leave one out, or give it a name"),
        ({"methods": ["random"]}, "random is the name of a control that every audit has"),
        ({"methods": [{"method": "l2x", "name": "random"}]}, "random is the name of a control"),
        ({"models": [{"model": "my:net", "on": ["orange"]}], "datasets": ["xor", "orange"]}, "no model is for xor"),
        ({"split": "validation", "tune": {}}, "settings are searched on validation rows"),
        ({"method": ["l2x"]}, "unknown setting method: 'method'; did you mean 'methods'"),
        ({"seeds": []}, "at least one each"),
        ({"seeds": [1, 1]}, "seeds has 1 twice"),
        ({"checks": ["fs-n"]}, "unknown check 'fs-n'; did you mean 'fs-m'"),
        ({"checks": ["fs-m,fu-m", "fs-m, fu-m"]}, "checks has 'fs-m,fu-m' twice"),
        ({"models": ["reference", "reference"]}, "models has 'reference' twice for xor"),
        ({"models": ["reference", {"model": "reference", "on": ["xor"]}]}, "models has 'reference' twice for xor"),
        ({"split": "tests"}, "unknown split 'tests'; did you mean 'test'"),
        ({"removal": "zeros"}, "unknown removal 'zeros'; did you mean 'zero'"),
        ({"rows": 1}, "at least 2, got 1"),
        ({"models": [{"model": "my:net", "on": ["xo"]}]}, "unknown data set for my:net 'xo'; did you mean 'xor'"),
        ({"tune": {"aim": "fs-n"}}, r"unknown check to aim at 'fs-n'; did you mean 'fs-m'\?$"),
        ({"tune": {"space": {"l2x": {"tau": {"low": 1, "hi": 2}}}}}, "tau.hi: 'hi'; did you mean 'high'"),
        ({"tune": {"space": {"l2x": {"tau": 3}}}}, r"tune.space.l2x.tau must be a list .*, or a range"),
        ({"tune": {"aim": "mask-only"}}, "cannot be aimed at"),
        ({"tune": {"trials": 0}}, "at least 1, got 0 and 4"),
        ({"tune": {"space": {"meed": {}}}}, "unknown method in tune.space 'meed'"),
        ({"tune": {"space": {"l2x": {"tau": {"low": 1, "high": 1}}}}}, "low must be below high, got 1 and 1"),
        ({"tune": {"space": {"l2x": {"tau": {"low": 1, "high": float("inf")}}}}}, "must be finite, got 1 and inf"),
        ({"tune": {"space": {"l2x": {"tau": {"low": float("nan"), "high": 1}}}}}, "must be finite, got nan and 1"),
        ({"tune": {"space": {"l2x": {"tau": {"low": 0, "high": 1, "log": True}}}}}, "above 0 where log is true"),
    ],
)
def test_mistakes_are_sentences(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    given = {name: value for name, value in {**TINY, **changed}.items() if value is not None}
    with pytest.raises(InputError, match=said) as refusal:
        read_plan(written(tmp_path, as_toml(given)))
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).startswith(str(tmp_path / "plan.toml"))


def as_toml(values: dict[str, Any]) -> str:
    return "\n".join(f"{name} = {_inline(value)}" for name, value in values.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_inline(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return str(value).lower() if isinstance(value, bool) else repr(value)


def test_a_file_that_is_no_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"No such file.*unmask sweep --example prints one"):
        read_plan(tmp_path / "plan.toml")
    with pytest.raises(InputError, match="is not valid TOML"):
        read_plan(written(tmp_path, "datasets = ["))


def test_only_the_first_faults_are_told() -> None:
    with pytest.raises(InputError, match=r"and 2 more$"):
        as_plan({"datasets": 1, "methods": 1, "k": "x", "rows": "x", "split": 1})


def test_a_plan_can_be_made_in_python() -> None:
    assert Plan((DataPart("xor"),), (MethodPart("l2x"),), k=2) == as_plan(TINY)


def test_a_plan_written_on_windows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(as_toml(TINY), encoding="utf-8-sig")
    assert read_plan(path).k == 2


def test_a_model_that_explains_itself_needs_no_other(tmp_path: Path) -> None:
    alone = {**TINY, "datasets": ["reviews", "xor"], "methods": ["rnp"], "models": [{"model": "my:net", "on": ["xor"]}]}
    assert read_plan(written(tmp_path, as_toml(alone))).methods == (MethodPart("rnp"),)
