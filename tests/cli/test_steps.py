"""fit, explain and audit as commands, on a user's own model and data."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.conftest import Run, hidden, refused
from unmask import api, saving
from unmask.audit import suite
from unmask.cli import sources, steps
from unmask.errors import UnmaskWarning
from unmask.explainers import watch

OWN = ("--model", "usermodels:ready", "--data", "rows.csv", "--label", "label")
AUDIT = ("audit", *OWN, "--k", "2", "--rows", "20")
FIT = ("fit", *OWN, "--k", "2", "--method", "occlusion", "--out", "saved")


def without_seconds(report: dict[str, Any]) -> dict[str, Any]:
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in report["rows"] if row["check"] != "seconds"]
    return report | {"rows": rows}


def full_disk(*given: Any) -> None:
    raise OSError(28, "No space left on device")


def no_work(*given: Any) -> None:
    raise AssertionError("this should have been refused before the data were read")


def test_fit_then_explain(run: Run, place: Path) -> None:
    fitted = run(*FIT)
    assert (fitted.code, fitted.err) == (0, "")
    assert fitted.out == "occlusion is fitted to LogisticRegression on rows.csv and saved in saved\n"
    ended = run("explain", "saved", *OWN, "--show", "2", "--out", "deep/rows.json")
    assert ended.code == 0
    assert "row 1 of test" in ended.out
    assert "row 2 of test" not in ended.out
    assert "explained class: " in ended.out
    written = json.loads(Path("deep/rows.json").read_text(encoding="utf-8"))
    assert np.asarray(written["scores"]).shape == (40, 6)
    assert {len(kept) for kept in written["kept"]} == {2}
    assert set(written["target"]) == {"no", "yes"}
    kept = [unit for row in written["kept"] for unit in row]
    assert kept.count(0) + kept.count(1) > 0.6 * len(kept)  # the two columns that make the label; by chance 0.33
    assert hidden(place) == []


def test_rows_are_drawn_in_colour(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(*FIT)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1;34m" in run("explain", "saved", *OWN, "--show", "1").out


def test_fit_again_replaces_what_it_wrote(run: Run, place: Path) -> None:
    assert run(*FIT).code == 0
    assert run(*FIT).code == 0
    assert sorted(path.name for path in Path("saved").iterdir()) == ["explainer.json", "tensors.safetensors"]


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_audit_of_a_saved_explainer_and_of_scores(run: Run, place: Path) -> None:
    run(*FIT)
    np.save("mine.npy", np.random.default_rng(1).normal(size=(40, 6)))
    ended = run(*AUDIT, "--explainer", "saved/", "--scores", "mine.npy", "--out", "report")
    assert (ended.code, ended.err) == (0, "")
    report = json.loads(Path("report/report.json").read_text(encoding="utf-8"))
    assert [v["explanation"] for v in report["verdicts"]] == ["mine", "saved", "random", "first-k", "last-k"]
    assert "<html" in Path("report/report.html").read_text(encoding="utf-8")
    assert "mine" in ended.out
    assert f"written: {Path('report/report.html')} (open it in a browser)" in ended.out
    assert hidden(place) == []


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_checks_by_name(run: Run, place: Path) -> None:
    ended = run(*AUDIT, "--method", "occlusion", "--checks", "calls, sen", "--out", "report")
    assert (ended.code, ended.err) == (0, "")
    assert "rows explained again" in ended.out
    report = json.loads(Path("report/report.json").read_text(encoding="utf-8"))
    named = {row["check"].partition("@")[0] for row in report["rows"]}
    assert named == {
        "fs-m",
        "fu-m",
        "encoding-gain",
        "encoding-share",
        "reading",
        "reading-nats",
        "whole-rows",
        "sen",
        "calls",
    }
    asked = next(row for row in report["rows"] if (row["explanation"], row["check"]) == ("occlusion", "calls"))
    assert asked["value"] == 7.0


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*AUDIT,), "nothing to audit: give --method, --explainer or --scores"),
        ((*AUDIT, "--method", "occlusin"), "unknown method 'occlusin'; did you mean 'occlusion'?"),
        ((*AUDIT, "--method", "l2x", "--method", "l2x"), "two explanations are called 'l2x'"),
        ((*AUDIT, "--method", "auto"), "auto chooses a method and is fitted first: unmask fit --method auto"),
        ((*AUDIT, "--method", "l2x", "--drop", "label"), "the label 'label' is also given as --text or --drop"),
        ((*AUDIT, "--method", "l2x", "--text", "label"), "the label 'label' is also given as --text or --drop"),
        ((*FIT, "--method", "l2x", "--set", "tua=1"), "unknown setting of l2x 'tua'; did you mean 'tau'?"),
        ((*FIT, "--method", "l2x", "--set", "tau=-1"), "tau must be above 0 and finite, got -1"),
        ((*FIT, "--method", "l2x", "--set", "tau"), "--set takes NAME=VALUE, such as tau=0.1 or recipe.epochs=5, got"),
        ((*FIT, "--method", "l2x", "--set", "loss.x=1"), "--set takes NAME=VALUE"),
        ((*FIT, "--method", "l2x", "--set", "recipe.epoch=1"), "unknown setting in the recipe of l2x 'epoch'"),
        ((*AUDIT, "--method", "l2x", "--removal", "meen"), "unknown removal 'meen'; did you mean 'mean'?"),
        ((*AUDIT, "--method", "l2x", "--checks", "fs-m,fs-b"), "unknown check 'fs-b'; did you mean 'fs-m'?"),
        ((*AUDIT, "--method", "l2x", "--split", "tets"), "unknown split 'tets'; did you mean 'test'?"),
        ((*AUDIT, "--method", "l2x", "--out", "rows.csv"), "cannot write into rows.csv: "),
        ((*AUDIT, "--method", "l2x", "--out", "rows.csv/deep"), "cannot write into rows.csv/deep: "),
        ((*AUDIT, "--explainer", "nowhere"), "cannot read nowhere/explainer.json"),
        ((*AUDIT, "--scores", "nowhere.npy"), "cannot read scores from nowhere.npy"),
        ((*AUDIT, "--scores", "rows.csv"), "cannot read scores from rows.csv"),
        ((*FIT[:-1], "rows.csv"), "cannot write into rows.csv: "),
        ((*FIT[:-1], "."), ". holds other files and no saved explainer; name a new folder"),
        (("explain", "nowhere", *OWN), "cannot read nowhere/explainer.json"),
        (("explain", ".", *OWN), "cannot read explainer.json"),
        (("explain", "nowhere", *OWN, "--split", "tets"), "unknown split 'tets'"),
    ],
)
def test_refused_before_the_data_are_read(
    run: Run, words: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "read", no_work)
    assert refused(run(*words)).startswith(said)
    assert not Path("saved").exists()
    assert not Path("report.json").exists()


@pytest.mark.usefixtures("place", "quick")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            (*AUDIT, "--k", "7", "--method", "occlusion"),
            "--k must be from 1 to 6 (a row of rows.csv has 6 units), got 7",
        ),
        ((*AUDIT, "--k", "0", "--method", "occlusion"), "--k must be from 1 to 6"),
        ((*FIT, "--k", "7"), "--k must be from 1 to 6"),
        ((*FIT, "--method", "auto", "--set", "tau=1"), "auto takes no settings"),
        ((*FIT, "--kind", "words"), "rows of words come from one column, got a table with 6: name it (--text COLUMN)"),
        ((*FIT, "--kind", "sentences"), "rows of sentences come from one column, got a table with 6"),
        ((*AUDIT, "--rows", "0", "--method", "occlusion"), "n (--rows) is the number of rows to audit"),
        ((*AUDIT, "--method", "random"), "'random' is a control that every audit has"),
        ((*AUDIT, "--method", "gradient"), "gradient needs gradients, but LogisticRegression gives none"),
        ((*AUDIT, "--method", "occlusion", "--removal", "blur"), "removal 'blur' cannot hide units of kind 'table'"),
        ((*AUDIT, "--scores", "flat.npy"), "the scores 'flat' must have shape (40, 6) (rows and units), got (40,)"),
        ((*AUDIT, "--scores", "nan.npy"), "the scores 'nan' hold values that are not finite"),
        ((*AUDIT, "--scores", "text.npy"), "'text' must be an explainer, an Explanation, a method's name, an array of"),
        ((*AUDIT, "--scores", "two.npz"), "cannot read scores from two.npz: it holds a, b"),
        (
            (*AUDIT, "--method", "occlusion", "--model", "usermodels:same"),
            "the model answers 'no' to every audited row",
        ),
        ((*AUDIT, "--method", "occlusion", "--model", "usermodels:late"), "the model usermodels:late failed: KeyError"),
        ((*AUDIT, "--method", "occlusion", "--model", "usermodels:unsummed"), "unsummed should return probabilities"),
        ((*FIT, "--model", "usermodels:net"), "say what the torch module returns: --outputs logits or --outputs prob"),
    ],
)
def test_refused_with_nothing_written(run: Run, words: tuple[str, ...], said: str) -> None:
    np.save("flat.npy", np.zeros(40))
    np.save("nan.npy", np.full((40, 6), np.nan))
    np.save("text.npy", np.full((40, 6), "x"))
    np.savez("two.npz", a=np.zeros(2), b=np.zeros(2))
    before = sorted(Path(".").rglob("*"))
    assert refused(run(*words)).startswith(said)
    assert sorted(Path(".").rglob("*")) == before


def cut_tensors(folder: Path) -> None:
    (folder / "tensors.safetensors").write_bytes(b"short")


def no_tensors(folder: Path) -> None:
    (folder / "tensors.safetensors").unlink()


def no_json(folder: Path) -> None:
    (folder / "explainer.json").write_text("{", encoding="utf-8")


def other_json(folder: Path) -> None:
    (folder / "explainer.json").write_text('{"name": "something else"}', encoding="utf-8")


def a_list(folder: Path) -> None:
    (folder / "explainer.json").write_text("[]", encoding="utf-8")


def odd_settings(folder: Path) -> None:
    facts = json.loads((folder / "explainer.json").read_text(encoding="utf-8"))
    facts["settings"] = {"k": 2, "novelty": 1}
    (folder / "explainer.json").write_text(json.dumps(facts), encoding="utf-8")


@pytest.mark.parametrize("harm", [cut_tensors, no_tensors, no_json, other_json, a_list, odd_settings])
def test_broken_and_foreign_explainers(run: Run, place: Path, harm: Callable[[Path], None]) -> None:
    run(*FIT)
    harm(Path("saved"))
    assert "saved" in refused(run("explain", "saved", *OWN))
    assert "saved" in refused(run(*AUDIT, "--explainer", "saved"))


def test_an_explainer_of_other_data(run: Run, place: Path) -> None:
    run(*FIT)
    said = refused(run("explain", "saved", "--model", "usermodels:three", "--data", "digits"))
    assert "must answer" in said or "shape" in said


def test_a_full_disk_while_saving(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "save_file", full_disk)
    assert refused(run(*FIT)).startswith("cannot write saved: No space left on device")
    monkeypatch.setattr(saving, "save_file", lambda *given: (_ for _ in ()).throw(Exception("IoError(28)")))
    assert refused(run(*FIT)).startswith("cannot write saved: IoError(28)")
    assert not Path("saved").exists()
    assert hidden(place) == []


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_full_disk_while_auditing(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "write_bytes", full_disk)
    said = refused(run(*AUDIT, "--method", "occlusion", "--out", "new"))
    assert said.startswith("cannot write new/report.html: No space left on device")
    assert [path.name for path in Path("new").iterdir()] == [".unmask-audit"]  # what was finished is not lost


def test_folders_without_leave_to_write(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *given: False)
    with pytest.raises(ValueError, match="no leave to write"):
        steps.check_place(Path("new"))


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_ctrl_c_in_an_audit_keeps_what_is_finished(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (*AUDIT, "--method", "occlusion", "--out", "report")
    asked: list[tuple[str, str]] = []
    honest = suite._timed

    def counted(case: Any, subject: Any, check: str, light: bool) -> Any:
        if len(asked) == stop_at:
            raise KeyboardInterrupt
        asked.append((subject.name, check))
        return honest(case, subject, check, light)

    monkeypatch.setattr(suite, "_timed", counted)
    stop_at = -1
    assert run(*words).code == 0
    whole, every = json.loads(Path("report/report.json").read_text(encoding="utf-8")), list(asked)
    shutil.rmtree("report")

    asked.clear()
    stop_at = 7
    ended = run(*words)
    assert (ended.code, ended.err.count("\n")) == (130, 1)
    assert ended.err.startswith("stopped: what is finished is kept in report/.unmask-audit; run the same command")
    assert [path.name for path in Path("report").iterdir()] == [".unmask-audit"]

    asked.clear()
    stop_at = -1
    assert run(*words).code == 0
    assert asked == every[7:]
    assert hidden(place) == []
    again = json.loads(Path("report/report.json").read_text(encoding="utf-8"))
    assert without_seconds(again) == without_seconds(whole)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_finished_audit_leaves_what_another_keeps(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (*AUDIT, "--method", "occlusion", "--method", "l2x", "--checks", "fs-m,mask-only", "--out", "report")
    fewer = (*AUDIT, "--method", "occlusion", "--method", "l2x", "--checks", "fs-m", "--out", "report")
    asked: list[tuple[str, str]] = []
    fits: list[str] = []
    honest, fit = suite._timed, api.fit

    def counted(case: Any, subject: Any, check: str, light: bool) -> Any:
        if len(asked) == stop_at:
            raise KeyboardInterrupt
        asked.append((subject.name, check))
        return honest(case, subject, check, light)

    def fitted(*task: Any, method: str, **how: Any) -> Any:
        fits.append(method)
        return fit(*task, method=method, **how)

    monkeypatch.setattr(suite, "_timed", counted)
    monkeypatch.setattr(api, "fit", fitted)
    stop_at = 20
    ended = run(*words)
    assert (ended.code, len(asked)) == (130, 20)
    assert "run the same command again to go on" in ended.err

    other = run(*AUDIT[:-1], "25", "--method", "occlusion", "--checks", "fs-m", "--out", "report")
    assert other.err == "stopped before the work was done\n"  # it goes on from nothing: what is kept is not its own

    before = list(asked)
    stop_at = -1
    assert run(*fewer).code == 0  # a smaller audit of the same rows takes what is there, and leaves it
    assert not set(asked[20:]) & set(before)

    asked.clear()
    assert run(*words).code == 0
    assert not set(asked) & set(before)
    assert fits.count("l2x") == 1
    assert hidden(place) == []


@pytest.mark.usefixtures("quick")
def test_ctrl_c_before_the_first_check_promises_nothing(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(suite, "_timed", stop)
    ended = run(*AUDIT, "--method", "occlusion", "--out", "report")
    assert (ended.code, ended.err) == (130, "stopped before the work was done\n")
    assert not Path("report").exists()


QUICKLY = """
from dataclasses import replace
from unmask.audit import smuggling
from unmask.cli import main

forest = smuggling.RandomForestClassifier
smuggling.RandomForestClassifier = lambda trees, random_state, n_jobs: forest(5, random_state=random_state)
smuggling.SEEDS, smuggling.RECIPE = 1, replace(smuggling.RECIPE, epochs=1)
main()
"""


def command(place: Path, *words: str) -> str:
    """`unmask` in a process of its own, with judges of one epoch."""
    done = subprocess.run(
        [sys.executable, "-c", QUICKLY, *words], cwd=place, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_csv_and_scikit_learn_from_end_to_end(run: Run, place: Path) -> None:
    assert run("fit", *OWN, "--k", "2", "--method", "l2x", "--out", "selector").code == 0
    assert run("explain", "selector", *OWN, "--out", "selector.json").code == 0
    written = json.loads(Path("selector.json").read_text(encoding="utf-8"))
    np.save("given.npy", np.asarray(written["scores"]))
    shown = command(place, *AUDIT, "--explainer", "selector", "--scores", "given.npy", "--out", "report")
    assert "selector" in shown
    report = json.loads(Path("report/report.json").read_text(encoding="utf-8"))
    rows = {(row["explanation"], row["check"]): row for row in report["rows"]}
    assert rows["selector", "fs-m"]["value"] == rows["given", "fs-m"]["value"] > rows["random", "fs-m"]["value"]
    assert hidden(place) == []


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_npz_images_and_torch_from_end_to_end(run: Run, place: Path) -> None:
    x = np.random.default_rng(0).normal(size=(200, 6, 6)).astype(np.float32)
    np.savez("images.npz", x=x, y=(x[:, 0].sum(1) > 0).astype(int))
    own = ("--model", "usermodels:upper_row", "--outputs", "logits", "--data", "images.npz")
    assert run("fit", *own, "--k", "6", "--method", "integrated-gradients", "--out", "ig").code == 0
    assert "row 0 of test" in run("explain", "ig", *own, "--show", "1", "--out", "rows.json").out
    kept = [unit for row in json.loads(Path("rows.json").read_text(encoding="utf-8"))["kept"] for unit in row]
    assert sum(unit < 6 for unit in kept) > 0.5 * len(kept)
    assert run("audit", *own, "--k", "6", "--explainer", "ig", "--rows", "40", "--out", "report").code == 0
    report = json.loads(Path("report/report.json").read_text(encoding="utf-8"))
    rows = {(row["explanation"], row["check"]): row for row in report["rows"]}
    assert rows["ig", "fs-m"]["value"] > rows["ig", "fs-m"]["null"]


def test_settings_of_a_method_come_from_the_command(run: Run, place: Path) -> None:
    words = ("--set", "feedback=true", "--set", "tau=0.2", "--set", "recipe.epochs=1", "--set", "cure=pretraining")
    assert run(*FIT, "--method", "l2x", *words).code == 0
    kept = json.loads((place / "saved" / "explainer.json").read_text())["settings"]
    assert (kept["feedback"], kept["tau"], kept["recipe"]["epochs"], kept["cure"]) == (True, 0.2, 1, "pretraining")


def test_a_warning_of_a_fit_is_one_line(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Away from a terminal too, where there are no bars."""
    monkeypatch.setattr(watch, "PATIENT", 0)
    monkeypatch.setattr(watch, "warnings_of", lambda found: ["something is odd"])
    with pytest.warns(UnmaskWarning, match="l2x: something is odd"):
        run(*FIT, "--method", "l2x", "--set", "recipe.epochs=1")
    assert (
        warnings.formatwarning(UnmaskWarning("l2x: odd\nthing"), UnmaskWarning, "f.py", 3)
        == "warning: l2x: odd thing\n"
    )
