"""What a verdict rests on, from all that was measured."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from audit.cases import small_case, subject, table
from unmask import seeds
from unmask.audit import function_of
from unmask.audit.case import Values
from unmask.audit.evidence import ALPHA
from unmask.audit.gathering import Bench, _in_vain, _one_sided, _seeming, by_chance, p_values
from unmask.audit.statistics import Bootstrap
from unmask.masking import subsets

DATA = table(300)


@pytest.mark.slow
def test_random_explanations_are_rejected_as_often_as_the_family_wise_error_says():
    """Both questions of all explanations are one family: five random ones pass together in about 5 % of audits."""
    passed = 0
    for seed in range(40):
        case = small_case(DATA, k=2, seed=seed)
        chance = [
            subject(case, subsets.uniform(case.valid, 2, seeds.generator(100 * seed + i)), f"r{i}") for i in range(5)
        ]
        control = subject(case, subsets.uniform(case.valid, 2, seeds.generator(seed + 7)), "random")
        case = replace(case, subjects=(*chance, control))
        found = {(s.name, c): (function_of(c)(case, s), 0.0) for s in case.subjects for c in ("fs-m", "fu-m")}
        nulls = dict.fromkeys([s.name for s in case.subjects], control)
        p = p_values(Bench(case, Bootstrap(len(case.target), seed), found, nulls))
        passed += any(p[check][s.name] <= ALPHA for check in p for s in chance)
    assert passed <= 7  # 5 % of 40 is 2; more than 7 has a probability below 0.1 %
    assert p["fs-m"]["random"] == 1.0


def test_noise_of_random_units_counts_in_nats_where_they_tell_next_to_nothing():
    case = small_case(DATA)
    n, bootstrap = len(case.target), Bootstrap(len(case.target), 0)
    bench = Bench(case, bootstrap, {}, {})
    gain, told = torch.full((n,), 0.05), torch.full((n,), 0.5)
    assert _seeming(bench, Values(gain), Values(gain, over=told)) == pytest.approx(0.1)
    assert _seeming(bench, Values(-gain), Values(gain, over=told)) == 0.0
    assert _seeming(bench, Values(gain), Values(torch.full((n,), torch.nan))) == 0.0  # it tells nothing itself


def test_chance_of_a_share_is_what_random_units_would_seem_to_tell_in_its_place():
    case = small_case(DATA)
    n = len(case.target)
    it, control = (subject(case, case.valid, name) for name in ("it", "random"))
    gain, told = torch.full((n,), 0.05), torch.full((n,), 0.5)
    found = {
        ("it", "encoding-share"): (Values(2 * gain, over=told), 0.0),
        ("random", "encoding-share"): (Values(gain, over=gain), 0.0),  # all of next to nothing
        ("random", "encoding-gain"): (Values(gain), 0.0),
    }
    bench = Bench(case, Bootstrap(n, 0), found, {"it": control}, ("encoding-gain", "encoding-share"))
    null = found["random", "encoding-share"][0]
    assert by_chance(bench, it.name, "encoding-share", null) == pytest.approx(0.1)
    assert by_chance(bench, it.name, "reading", null) == pytest.approx(1.0)
    alone = Bench(case, Bootstrap(n, 0), found, {"it": control}, ("encoding-share",))
    assert by_chance(alone, it.name, "encoding-share", null) == pytest.approx(1.0)


def test_what_was_looked_at_in_vain_is_what_has_no_value_in_any_check():
    case = small_case(DATA)
    n = len(case.target)
    found = {("it", "a"): (Values(torch.full((n,), torch.nan)), 0.0), ("it", "b"): (Values(torch.ones(n)), 0.0)}
    bench = Bench(case, Bootstrap(n, 0), found, {}, ("a", "b"))
    assert _in_vain(bench, "it", ("a",))
    assert not _in_vain(bench, "it", ("a", "b"))
    assert not _in_vain(bench, "it", ("c",))  # it was not looked at


def test_one_side_is_told_from_luck():
    """Ten classes of ten rows each, all kept in seven of ten: some two differ by more than half, by luck."""
    case, said = small_case(DATA), 0
    for seed in range(200):
        rng = seeds.generator(seed)
        rows = replace(case, target=torch.arange(100) % 10, data=SimpleNamespace(classes=tuple("abcdefghij")))
        same = (torch.rand(100, generator=rng) < 0.7).float()
        spread = [float(same[rows.target == c].mean()) for c in range(10)]
        said += bool(_one_sided(rows, same))
        assert not (_one_sided(rows, same) and max(spread) - min(spread) <= 0.5)
    assert said <= 10
    clear = replace(rows, target=torch.arange(100) % 2)
    assert _one_sided(clear, (clear.target == 0).float()) == (
        "it keeps the answer in 100% of the rows of class a, but in 0% of the rows of class b"
    )
