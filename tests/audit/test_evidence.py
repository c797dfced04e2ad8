from __future__ import annotations

from dataclasses import replace

import pytest

from audit.cases import GOOD
from unmask.audit import CHECKS, DECIDING
from unmask.audit.evidence import (
    AHEAD,
    EVIDENCE,
    HIDES,
    SHARE_LIMIT,
    STEADINESS,
    STEADY,
    SURVIVES,
    flattered,
    half_untold,
    hides,
    leaks,
    own_judge,
    passes,
    shifts,
    survives,
)

NAN = float("nan")


def test_the_share_counts_from_the_random_controls_level():
    edge = replace(GOOD, share=(SHARE_LIMIT + 0.1, 0.2), share_null=0.0)
    assert leaks(edge)
    assert not leaks(replace(edge, share_null=0.15))


def test_a_share_that_may_be_chance_is_no_leak():
    assert not leaks(replace(GOOD, share=(0.9, -0.1), share_null=0.0))


def test_surviving_random_weights_counts_from_the_level_of_chance():
    half = 0.2 + SURVIVES * 0.8
    assert survives(replace(GOOD, randomized=(half + 0.01, half - 0.05, 0.2)))
    assert not survives(replace(GOOD, randomized=(half - 0.01, half - 0.05, 0.2)))
    assert not survives(replace(GOOD, randomized=(1.0, 1.0, 1.0)))  # all units are kept: nothing could have changed
    assert not survives(replace(GOOD, randomized=(0.9, 0.1, 0.2)))  # may be chance
    assert not survives(GOOD)


def test_attention_hides_when_most_of_what_decides_is_out_of_sight_and_more_than_of_any_word():
    assert hides(replace(GOOD, hidden=(HIDES + 0.01, 0.3, 0.1)))
    assert not hides(replace(GOOD, hidden=(HIDES - 0.01, 0.3, 0.1)))
    assert not hides(replace(GOOD, hidden=(0.9, 0.1, 0.2)))  # it hides any word as often
    assert not hides(replace(GOOD, hidden=(NAN, NAN, NAN)))
    assert not hides(GOOD)


def test_steadiness_counts_from_the_level_of_chance():
    edge = 0.2 + STEADY * 0.8
    assert shifts((0.3, edge - 0.01, 0.2))
    assert not shifts((0.3, edge + 0.01, 0.2))
    assert not shifts((0.3, 0.3, NAN))
    assert not shifts(None)


def test_every_part_that_not_every_audit_has_is_a_field_and_absent_by_default():
    assert all(getattr(GOOD, part) is None for part in EVIDENCE)
    assert set(STEADINESS) < set(EVIDENCE.values())


def test_a_judge_of_its_own_counts_only_where_it_is_ahead():
    value = GOOD.reading[0]
    assert flattered(replace(GOOD, own_judge=(value + AHEAD + 0.01, value + 0.02)))
    assert not flattered(replace(GOOD, own_judge=(value + AHEAD + 0.01, value + 0.05)))  # it may be chance
    assert not flattered(replace(GOOD, own_judge=(value + AHEAD - 0.01, value)))
    assert not flattered(replace(GOOD, own_judge=(value - 0.5, value)))
    assert not flattered(GOOD)


@pytest.mark.parametrize(
    ("origin", "read"),
    [
        ({"method": "mimic", "readings": {"judge": 0.9, "approximator": 0.8}}, 0.9),
        ({"method": "mimic", "readings": {"approximator": 0.8}}, NAN),  # mu = 0: nobody judged
        ({"method": "real-x", "readings": {"approximator": 0.8}}, 0.8),
        ({"method": "l2x", "cure": "pretraining", "readings": {"approximator": 0.8}}, 0.8),
        ({"method": "l2x", "cure": None, "readings": {"approximator": 0.8}}, NAN),
        ({}, NAN),
    ],
)
def test_who_was_trained_with_a_judge(origin, read):
    assert own_judge(origin) == pytest.approx(read, nan_ok=True)


def test_every_deciding_check_passes_or_does_not():
    found = passes(GOOD)
    assert set(found) == {*DECIDING, *EVIDENCE.values()} <= set(CHECKS)
    assert found["fs-m"] is found["reading-nats"] is found["encoding-share"] is True
    assert found["reading"] is None
    assert passes(replace(GOOD, share=(0.9, 0.8)))["encoding-share"] is False
    assert passes(replace(GOOD, share=(NAN, NAN)))["encoding-gain"] is None


def test_of_a_half_that_may_be_a_code_or_chance_nothing_is_said_in_its_favour():
    perhaps = replace(GOOD, half=(0.9, 0.2, 0.3), half_read=(0.1, -0.1, 0.2))
    assert half_untold(perhaps)
    assert passes(perhaps)["half-share"] is None
    surely = replace(perhaps, half=(0.9, 0.8, 0.3))
    assert not half_untold(surely)  # it is a code
    assert passes(surely)["half-share"] is False
    assert not half_untold(GOOD)
