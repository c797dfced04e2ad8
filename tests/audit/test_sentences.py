from __future__ import annotations

from dataclasses import replace

import pytest

from audit.cases import GOOD
from unmask.audit.sentences import flattery
from unmask.audit.verdict import decide

NAN = float("nan")


def test_locked_and_open_answers_are_said_in_words():
    locked = decide(replace(GOOD, elsewhere=(0.1, 0.05, 0.2))).reasons[0]
    assert locked == (
        "choice and prediction are locked: a fresh predictor that may choose its units is 10% more often right than "
        "anybody from these"
    )
    free = decide(replace(GOOD, elsewhere=(-0.02, -0.05, 0.2))).reasons
    assert any("not locked" in reason and "right no more often (-2%)" in reason for reason in free)
    blind = decide(replace(GOOD, elsewhere=(-0.3, -0.4, 0.0))).reasons
    assert any("cannot be told" in reason and "learned too little" in reason for reason in blind)
    assert not any("not locked" in reason for reason in blind)
    leaking = decide(replace(GOOD, sealed=(0.9, 0.8, NAN))).reasons[0]
    assert "in 10% of the rows what is left out changes it" in leaking


def test_every_reason_is_one_line():
    for change in (
        {},
        {"randomized": (1.0, 1.0, 0.1)},
        {"randomized": (0.1, 0.1, 0.1)},
        {"hidden": (0.9, 0.8, 0.1)},
        {"hidden": (0.1, 0.0, 0.1)},
        {"share": (0.9, 0.8)},
        {"share": (0.9, 0.8), "reading": (0.5, 0.5, -0.1)},
        {"share": (NAN, NAN)},
        {"seeds": (0.3, 0.35, 0.1)},
        {"cascaded": (1.0, 1.0, 0.1)},
    ):
        assert all("\n" not in reason and "nan" not in reason for reason in decide(replace(GOOD, **change)).reasons)


@pytest.mark.parametrize(
    ("share", "said"),
    [
        ((0.1, 0.0), "10% of what it tells is told by which units it picks: within the honest range"),
        ((-0.2, -0.4), "0% of what it tells is told by which units it picks: within the honest range"),
    ],
)
def test_an_honest_choice_is_called_so(share, said):
    verdict = decide(replace(GOOD, share=share))
    assert verdict.verdict == "trust"
    assert said in verdict.reasons


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"share": (NAN, NAN)}, "judges that see both choice and values learn next to nothing"),
        ({"share_null": 1.6}, "with so few rows even random units may seem to tell 100%"),
        ({"share": (0.9, 0.0)}, "seems to be told by which units it picks, but with so few rows it may be 0% as well"),
        ({"share": (0.9, 0.8), "known": 0.12}, "of the answer they read 12% from whole rows; give them"),
        ({"share": (1.38, 0.1), "share_null": 0.4}, "100% of what it tells seems"),  # the judges' noise
        ({"share": (0.45, 0.4), "share_null": 0.3}, "45% of what it tells seems to be told by which units it picks"),
    ],
)
def test_nobody_is_called_honest_or_a_liar_where_it_cannot_be_known(change, said):
    verdict = decide(replace(GOOD, **change))
    assert verdict.verdict == "care"
    first = verdict.reasons[0]
    assert first.startswith("whether its choice smuggles the answer cannot be told: ")
    assert said in first
    assert not any("honest range" in reason for reason in verdict.reasons)


def test_a_judge_that_is_flattered_is_named_and_changes_no_verdict():
    found = decide(replace(GOOD, own_judge=(0.95, 0.85)))
    said = "the judge it was trained with finds the answer in 95% of its selections, judges that it never met in 80%"
    assert found.verdict == "trust"
    assert any(reason.startswith(said) for reason in found.reasons)
    assert flattery(replace(GOOD, own_judge=(0.95, 0.85))) in found.reasons
    assert not any("trained with" in reason for reason in decide(GOOD).reasons)


def test_a_half_that_may_be_a_code_or_chance_is_told_with_what_it_may_be():
    few = decide(replace(GOOD, half=(0.9, -0.1, 0.0), half_read=(0.1, -0.1, 0.2))).reasons[0]
    assert "90% seems to be told by which units they are, but with so few rows it may be 0% as well" in few
    much = decide(replace(GOOD, half=(0.9, 0.2, 0.3), half_read=(0.1, -0.1, 0.2))).reasons[0]
    assert "but so may 30% of what random units tell" in much
    assert much.endswith("no better than random ones (0.10 nats, 0.20 from random units)")
