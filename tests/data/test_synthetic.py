"""The tasks with known columns, against their formulas."""

from __future__ import annotations

import math

import pytest
import torch

from unmask.data import load, probabilities
from unmask.errors import InputError

TASKS = ("xor", "orange", "additive", "switch")


@pytest.mark.parametrize(("name", "legacy"), [*((name, False) for name in TASKS), ("switch", True)])
def test_labels_follow_the_true_probability(name: str, legacy: bool) -> None:
    made = load(name, n=50_000, **({"legacy": True} if legacy else {}))
    p = probabilities(name, made.train.x, legacy)[:, 1].double()
    for low, high in ((0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.01)):
        rows = (p >= low) & (p < high)
        error = float((p[rows] * (1 - p[rows])).sum().sqrt() / rows.sum())
        assert abs(float(made.train.y[rows].double().mean() - p[rows].mean())) < 3 * error


def test_formulas_at_points_worked_by_hand() -> None:
    x = torch.zeros(2, 10)
    x[1, :4] = torch.tensor([1.0, -2.0, 3.0, 0.5])
    logits = {
        "xor": [0, -2],
        "orange": [-4, 1 + 4 + 9 + 0.25 - 4],
        "additive": [1 - 2.4, -100 * math.sin(0.2) + 2 + 3 + math.exp(-0.5) - 2.4],
    }
    for name, expected in logits.items():
        got = probabilities(name, x)
        want = torch.tensor([[1 / (1 + math.exp(-t)), 1 / (1 + math.exp(t))] for t in expected])
        torch.testing.assert_close(got, want)


def test_switch_reads_the_side_of_its_last_column() -> None:
    x = torch.randn(100, 10, generator=torch.Generator().manual_seed(0))
    upper, lower = x.clone(), x.clone()
    upper[:, 9], lower[:, 9] = 2, -2
    torch.testing.assert_close(probabilities("switch", upper), probabilities("orange", x))
    torch.testing.assert_close(probabilities("switch", lower), probabilities("additive", x[:, [4, 5, 6, 7, *range(6)]]))
    torch.testing.assert_close(probabilities("switch", lower, legacy=True), probabilities("additive", x))


def test_switch_is_independent_and_its_legacy_form_duplicated() -> None:
    for legacy in (False, True):
        x = load("switch", n=20_000, legacy=legacy).train.x
        lower = x[x[:, 9] < 0]
        joint = torch.corrcoef(lower[:, :8].T)[:4, 4:].diagonal()
        if legacy:
            assert torch.equal(lower[:, :4], lower[:, 4:8])
            assert not torch.equal(x[x[:, 9] > 0][:, :4], x[x[:, 9] > 0][:, 4:8])
        else:
            assert joint.abs().max() < 4 / len(lower) ** 0.5


def test_switch_side_is_an_even_mixture() -> None:
    last = load("switch", n=20_000).train.x[:, 9]
    assert abs(float((last > 0).double().mean()) - 0.5) < 3 * 0.5 / 20_000**0.5
    assert abs(float(last.abs().mean()) - 3) < 0.03


def test_relevant_columns() -> None:
    assert load("xor", n=5).train.relevant.int().tolist() == [[1] * 2 + [0] * 8] * 5  # type: ignore[union-attr]
    for name in ("orange", "additive"):
        assert load(name, n=5).train.relevant.int().tolist() == [[1] * 4 + [0] * 6] * 5  # type: ignore[union-attr]
    part = load("switch", n=50).train
    assert part.relevant is not None
    for x, kept in zip(part.x, part.relevant, strict=True):
        first = [1] * 4 + [0] * 4 if x[9] > 0 else [0] * 4 + [1] * 4
        assert kept.int().tolist() == [*first, 0, 1]


def test_changing_an_irrelevant_column_changes_nothing() -> None:
    for name in TASKS:
        part = load(name, n=200).train
        assert part.relevant is not None
        other = torch.where(part.relevant, part.x, torch.randn(200, 10, generator=torch.Generator().manual_seed(1)))
        assert torch.equal(probabilities(name, part.x), probabilities(name, other))


def test_notes_record_the_constants() -> None:
    notes = load("additive", n=5).notes
    assert notes["logit"] == "-100 sin(0.2 x1) + |x2| + x3 + exp(-x4) - 2.4"
    assert notes["truth"] == "unmask.data.synthetic.probabilities"


def test_wrong_arguments() -> None:
    with pytest.raises(InputError, match="did you mean 'orange'"):
        probabilities("oranges", torch.zeros(1, 10))
    with pytest.raises(InputError, match=r"x must be \(n, 10\), got \(1, 9\)"):
        probabilities("xor", torch.zeros(1, 9))
    with pytest.raises(InputError, match="n is the number of training rows"):
        load("xor", n=0)
