"""Halves of a selection: a code behind an honest unit is found, an honest choice is not accused."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from audit.cases import small_case, subject, table
from unmask.audit import halves, smuggling
from unmask.audit.case import Subject
from unmask.audit.evidence import SHARE_LIMIT
from unmask.audit.halves import LEAST, SINGLE, _half, half_gain, half_reading, half_share, pairs
from unmask.judge import RECIPE
from unmask.types import Explanation

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(smuggling, "SEEDS", 1)
    monkeypatch.setattr(smuggling, "RECIPE", replace(RECIPE, epochs=40, batch=64, patience=8))


def columns(*chosen):
    """Scores and kept columns, the first with the highest score; a function of the target gives one for each row."""

    def choose(target):
        scores = torch.zeros(len(target), 6)
        for place, column in enumerate(chosen):
            at = column(target) if callable(column) else torch.full_like(target, column)
            scores[torch.arange(len(target)), at] = float(len(chosen) - place)
        return scores, scores > 0

    return choose


def everywhere(case, choose):
    def on(rows):
        scores, kept = choose(rows.target)
        return Explanation(scores, kept, rows.valid, rows.target)

    return Subject("it", on(case), on(case.train), on(case.validation))


def told(values):
    return float(values.values.mean() / values.over.mean()) if values.over is not None else float(values.values.mean())


@pytest.mark.parametrize("before", [True, False])
def test_a_code_beside_an_honest_unit_is_all_choice_and_reads_as_nothing(before):
    case = small_case(table(900), k=2)
    parts = (0, lambda target: 4 + target)  # column 0 decides, 4 and 5 have no weight
    mixture = everywhere(case, columns(*(parts if before else parts[::-1])))
    case = replace(case, subjects=(mixture,))
    assert told(half_share(case, mixture)) > 0.85
    assert told(half_gain(case, mixture)) > 0.5
    assert told(half_reading(case, mixture)) < 0.02
    assert told(smuggling.eval_x(case, mixture)) > 0.7  # the whole is read well; by chance it would be half


def test_one_and_the_same_choice_has_nothing_to_hide():
    case = small_case(table(300), k=2)
    honest = everywhere(case, columns(0, 5))
    share = half_share(replace(case, subjects=(honest,)), honest)
    assert float(share.values.sum()) == 0.0


def test_a_half_that_tells_nothing_counts_as_if_it_told_a_fifth_of_the_answer():
    case = small_case(table(300), k=2)
    idle = everywhere(case, columns(4, 5))  # no weight at all
    share = half_share(replace(case, subjects=(idle,)), idle)
    assert float(share.over.mean()) == pytest.approx(LEAST * smuggling.entropy(case))


def test_halves_go_by_the_scores_and_share_the_middle_one():
    scores = torch.tensor([[5.0, 1.0, 4.0, 3.0, 2.0, 9.0]])
    kept = torch.tensor([[True, True, True, True, True, False]])
    e = Explanation(scores, kept, torch.ones_like(kept), torch.tensor([0]))
    better, poorer = (_half(Subject("it", e), upper).kept.nonzero()[:, 1].tolist() for upper in (True, False))
    assert better == [0, 2, 3]
    assert poorer == [1, 3, 4]


def test_one_unit_has_no_halves():
    case = small_case(table(300), k=1)
    found = half_share(case, everywhere(case, columns(0)))
    assert found.note == SINGLE
    assert bool(found.values.isnan().all())


def test_ready_made_ones_are_judged_on_the_audited_rows_alone():
    case = small_case(table(300), k=2)
    ready = subject(case, columns(0, 5)(case.target)[1])
    ready = replace(ready, spare=replace(case.train, kept=columns(0, 5)(case.train.target)[1]))
    half_reading(case, ready)
    (part,) = (value for key, value in case.memory.items() if key[0] == "half")
    assert part.spare is None
    assert part.train is None
    assert bool((part.kept.sum(1) == 1).all())


def test_both_halves_are_looked_at_where_all_scores_are_the_same():
    kept = torch.tensor([[True, True, False, True, True, True]])
    e = Explanation(kept.float(), kept, torch.ones_like(kept), torch.tensor([0]))
    first, second = (_half(Subject("it", e), upper).kept for upper in (True, False))
    assert torch.equal(first | second, kept)
    assert int((first & second).sum()) == 1


def test_the_same_units_with_other_scores_have_halves_of_their_own():
    case = small_case(table(900), k=2)
    graded = everywhere(case, columns(0, lambda target: 4 + target))
    flat = everywhere(case, lambda target: (columns(0, 5)(target)[0] * 0 + 1, columns(0, lambda t: 4 + t)(target)[1]))
    case = replace(case, subjects=(graded, flat))
    assert told(half_share(case, flat)) > 0.85
    assert told(half_share(case, graded)) > 0.85
    assert len([key for key in case.memory if key[0] == "half"]) == 2


def test_few_rows_have_more_pairs_of_judges():
    assert (pairs(halves.FEW), pairs(halves.FEW + 1)) == (halves.MORE, halves.PAIRS)
    assert halves.MORE > halves.PAIRS


def seen_by(monkeypatch, gains, totals=(0.0, 0.0, 0.0)):
    """The pairs of judges that are asked about a half; pair i finds gains[i] and totals[i] in every row."""
    asked = []

    def encoding(case, half, pairs):
        asked.append(pairs)
        means = (sum(found[i] for i in pairs) / len(pairs) for found in (gains, totals))
        return tuple(torch.full(case.target.shape, mean) for mean in means)

    monkeypatch.setattr(halves, "encoding", encoding)
    return asked


def test_cross_fitted_halves_have_one_pair_for_each_part(monkeypatch):
    case = small_case(table(60), k=2)
    asked = seen_by(monkeypatch, [0.0, 0.0, 0.0])
    fitted = everywhere(case, columns(0))
    halves._told(case, fitted)
    halves._told(replace(case, memory={}), Subject("it", fitted.explanation))
    assert asked == [range(halves.MORE), range(halves.PAIRS)]


@pytest.mark.parametrize("ready_made", [False, True])
@pytest.mark.parametrize(
    ("columns_", "of_answer", "again"),
    [((4, 5), 0.2, True), ((4, 5), 0.04, False), ((4, 5), 0.6, False), ((0, 1), 0.2, False)],
    ids=["a weak code", "nothing", "all code", "values that are read"],
)
def test_more_judges_look_where_one_pair_may_have_seen_a_code_by_luck(
    monkeypatch, columns_, of_answer, again, ready_made
):
    monkeypatch.setattr(halves, "FEW", 0)
    case = small_case(table(300), k=2)
    one = of_answer * smuggling.entropy(case)
    asked = seen_by(monkeypatch, [one, 0.0, 0.0], [one, 0.3, 0.6])
    it = everywhere(case, columns(*columns_))
    gain, total = halves._told(case, Subject("it", it.explanation) if ready_made else it)
    assert asked == ([range(1), range(1, 3)] if again else [range(1)])
    assert float(gain.mean()) == pytest.approx(one / 3 if again else one)
    assert float(total.mean()) == pytest.approx((one + 0.9) / 3 if again else one)


@pytest.mark.parametrize(("of_answer", "is_code"), [(0.04, False), (0.1, True)])
def test_a_half_that_tells_only_by_its_choice_is_a_code_from_a_twentieth_of_the_answer_on(
    monkeypatch, of_answer, is_code
):
    case = small_case(table(300), k=2)
    one = of_answer * smuggling.entropy(case)
    seen_by(monkeypatch, 3 * [one], 3 * [one])
    share = half_share(case, everywhere(case, columns(4, 5)))
    assert (told(share) > SHARE_LIMIT) == is_code
    assert "20% of the answer" in share.note


@pytest.mark.parametrize(
    ("gain", "total", "want"), [(0.14, -0.02, 0.0), (0.10, 0.05, 0.05), (0.03, 0.05, 0.03), (0.4, 0.5, 0.4)]
)
def test_a_choice_tells_no_more_than_all_that_is_told(gain, total, want, monkeypatch):
    """J1 no better than the prior knows no code, however much worse J0 is."""
    case = small_case(table(300), k=2)
    it = everywhere(case, columns(0, 1))
    n = len(case.target)
    spread = torch.linspace(0.5, 1.5, n)
    monkeypatch.setattr(halves, "encoding", lambda *given: (gain * spread, total * spread))
    found = half_share(replace(case, subjects=(it,)), it)
    assert float(found.values.mean()) == pytest.approx(want, abs=1e-6)
    assert float(found.over.mean()) == pytest.approx(max(total, LEAST * smuggling.entropy(case)), rel=1e-5)
