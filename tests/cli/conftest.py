"""A user's folder: a csv file, a module with models good and bad, and the command run inside it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

MODELS = """
import numpy as np
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

rng = np.random.default_rng(0)
x = rng.normal(size=(200, 6))
y = (x[:, 0] + x[:, 1] > 0).astype(int)

ready = LogisticRegression().fit(x, y)
unfitted = LogisticRegression()
margins = LinearSVC().fit(x, y)
number = Ridge().fit(x, y)
net = torch.nn.Linear(6, 2)
five = 5


def make():
    return ready


def broken():
    raise RuntimeError("the weights\\nare gone")


def failing(rows):
    raise ValueError("no\\nluck with these rows")


def late(rows):
    if len(rows) > 2:
        raise KeyError("column")
    return ready.predict_proba(rows)


def unsummed(rows):
    return np.ones((len(rows), 2))


def three(rows):
    return np.full((len(rows), 3), 1 / 3)


def same(rows):
    return np.tile([0.9, 0.1], (len(rows), 1))


def upper_row():
    # for images of 6 by 6 pixels
    made = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 2))
    with torch.no_grad():
        made[1].weight.zero_()
        made[1].bias.zero_()
        made[1].weight[1, :6] = 1.0
    return made


def long_texts(texts):
    p = np.array([len(text) > 20 for text in texts]) * 0.8 + 0.1
    return np.stack([1 - p, p], 1)
"""


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `unmask` with these words in this process."""
    from unmask.cli import main

    def ran(*words: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["unmask", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        shown = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return Ended(end.value.code, shown.out, shown.err)

    return ran


def refused(ended: Ended) -> str:
    """The one line of a user's mistake."""
    assert ended.code == 2, ended
    assert ended.err.startswith("error: "), ended.err
    assert ended.err.count("\n") == 1, ended.err
    assert "Traceback" not in ended.err
    return ended.err.removeprefix("error: ").strip()


def hidden(folder: Path) -> list[str]:
    """Files that a command should not leave behind."""
    return [path.name for path in folder.rglob(".*")]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's folder, which is the current one."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 6))
    frame = pd.DataFrame(x, columns=list("abcdef")).assign(label=np.where(x[:, 0] + x[:, 1] > 0, "yes", "no"))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "usermodels.py").write_text(MODELS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("COLUMNS", "120")
    sys.modules.pop("usermodels", None)
    yield tmp_path
    sys.modules.pop("usermodels", None)
