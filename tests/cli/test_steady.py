"""The command `steady` on the example of the repository: both audits in one report, weights that load."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from cli.conftest import Run, refused

EXAMPLE = Path(__file__).parents[2] / "examples" / "attention_model.py"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example as it stands, its model trained on fewer rows and for a moment."""
    code = EXAMPLE.read_text("utf-8")
    for long, short in (('unmask.load("reviews")', 'unmask.load("reviews", n=300)'), ("range(6)", "range(1)")):
        assert code.count(long) == 1
        code = code.replace(long, short)
    (tmp_path / "attention_model.py").write_text(code, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "attention_model", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--method", "saet"], "unknown way to make attention steady 'saet'; did you mean 'seat'"),
        (["--epochs", "0"], "--epochs must be at least 1"),
    ],
)
def test_bad_requests_are_one_sentence(arguments: list[str], said: str, run: Run) -> None:
    assert said in refused(run("steady", "--model", "x:y", "--data", "reviews", "--k", "3", *arguments))


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_users_model_before_and_after_in_one_report(example: Path, run: Run) -> None:
    model = ["--model", "attention_model:model", "--data", "reviews:n=160", "--k", "3"]
    done = run("steady", *model, "--epochs", "1", "--rows", "30", "--out", str(example))
    assert done.code == 0, done.err
    found = json.loads((example / "report.json").read_text())
    values = {(row["explanation"], row["check"]): row["value"] for row in found["rows"]}
    assert values["attention (before)", "attention-jsd"] > 0
    assert ("attention (after seat-words)", "attention-jsd") in values
    assert {"attention (before)", "attention (after seat-words)"} <= {v["explanation"] for v in found["verdicts"]}
    assert set(found["settings"]["training"]) == {"before", "after", "promises"}
    assert [c["name"] for c in found["changes"]] == ["f1", "jsd", "tvd", "entropy", "overlap", "gamma", "beta", "alpha"]
    assert found["changes"][1]["before"] == found["settings"]["training"]["before"]["jsd"]
    assert "what the training changed" in done.out
    page = (example / "report.html").read_text()
    assert "attention (after seat-words)" in page
    assert "What the training changed" in page

    spec = importlib.util.spec_from_file_location("again", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)
    weights = load_file(example / "steady.safetensors")
    net = again.Net(weights["embedding.weight"].shape[0])
    net.load_state_dict(weights)
    assert torch.isfinite(net(torch.tensor([[2, 3, 4]]))).all()


@pytest.mark.slow
def test_a_model_that_cannot_be_trained_on_is_refused_before_anything_is_audited(
    example: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (example / "attention_model.py").read_text("utf-8")
    sure = code.replace(
        "return self.out((weights[..., None] * states).sum(1))",
        "return self.out((weights[..., None] * states).sum(1)).softmax(1)",
    )
    (example / "attention_model.py").write_text(sure.replace('outputs="logits"', 'outputs="probabilities"'), "utf-8")
    monkeypatch.setattr("unmask.cli.steady._audited", lambda task, request: pytest.fail("it was audited"))
    model = ["--model", "attention_model:model", "--data", "reviews:n=160", "--k", "3"]
    assert "training needs logits" in refused(run("steady", *model, "--out", str(example)))


def test_the_example_fits_on_a_page() -> None:
    code = [line for line in EXAMPLE.read_text().splitlines() if line.strip()]
    assert len(code) < 45
