from __future__ import annotations

from dataclasses import replace

import pytest

from audit.cases import GOOD
from unmask.audit.verdict import decide

NAN = float("nan")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({}, "trust"),
        ({"enough": (0.4, 0.4, 0.6)}, "trust"),  # still needed
        ({"needed": (0.9, 0.9, 0.6)}, "trust"),  # still enough
        ({"enough": (0.4, 0.4, 0.6), "needed": (0.9, 0.9, 0.6)}, "reject"),
        ({"share": (0.9, 0.8)}, "care"),
        ({"share": (0.9, 0.8), "reading": (0.5, 0.5, -0.1)}, "reject"),
        ({"share": (0.1, 0.0), "reading": (0.5, 0.5, -0.1)}, "trust"),  # a poor reading alone is no smuggling
        ({"share": (0.1, 0.0), "known": 0.1}, "care"),  # a small share of what judges cannot read clears nobody
        ({"share": (0.9, 0.8), "known": 0.1}, "care"),  # judges that know nothing accuse nobody, and clear nobody
        ({"share": (0.9, 0.8), "known": 0.1, "reading": (0.5, 0.5, -0.1)}, "care"),
        ({"share": (0.9, 0.8), "known": 0.1, "reading": (0.5, 0.5, -0.1), "enough": (0.4, 0.4, 0.6)}, "care"),
        ({"share": (0.9, 0.8), "known": 0.1, "enough": (0.4, 0.4, 0.6), "needed": (0.9, 0.9, 0.6)}, "reject"),
        ({"share": (0.9, 0.0)}, "care"),  # much, and it may be chance
        ({"share": (0.1, 0.0), "share_null": 0.9}, "care"),  # random units may seem to tell all
        ({"share": (1.3, 1.0), "share_null": 0.9, "reading": (0.5, 0.5, -0.1)}, "reject"),  # surely above even that
        ({"share": (0.9, 0.8), "known": 0.6}, "care"),
        ({"share": (NAN, NAN)}, "care"),
        ({"share": (NAN, NAN), "enough": (0.4, 0.4, 0.6), "needed": (0.9, 0.9, 0.6)}, "reject"),
        ({"one_sided": "it keeps ..."}, "trust"),
        ({"randomized": (1.0, 1.0, 0.1)}, "reject"),
        ({"randomized": (0.15, 0.1, 0.1)}, "trust"),
        ({"randomized": (0.15, 0.1, 0.1), "share": (0.9, 0.8)}, "care"),
        ({"hidden": (0.9, 0.8, 0.05)}, "reject"),
        ({"hidden": (0.2, 0.1, 0.05)}, "trust"),
        ({"hidden": (0.2, 0.1, 0.05), "share": (0.9, 0.8)}, "care"),
        ({"elsewhere": (0.1, 0.05, 0.2)}, "reject"),
        ({"elsewhere": (0.1, -0.01, 0.2)}, "trust"),  # it may be chance
        ({"elsewhere": (0.02, 0.01, 0.2)}, "trust"),  # two predictors differ by as much
        ({"elsewhere": (-0.1, -0.2, 0.2)}, "trust"),
        ({"elsewhere": (-0.1, -0.2, 0.0)}, "care"),  # the fresh predictor learned nothing
        ({"elsewhere": (0.0, -0.1, 0.0)}, "trust"),  # any unit will do
        ({"cascaded": (1.0, 1.0, 0.1)}, "reject"),
        ({"cascaded": (0.2, 0.1, 0.1)}, "trust"),
        ({"randomized": (0.2, 0.1, 0.1), "cascaded": (1.0, 1.0, 0.1)}, "trust"),  # one network by luck, not several
        ({"seeds": (0.3, 0.35, 0.1)}, "care"),
        ({"seeds": (0.9, 0.95, 0.1)}, "trust"),
        ({"seeds": (0.5, 0.6, 0.1)}, "trust"),  # the bound is on the good side
        ({"nearby": (0.3, 0.35, 0.1)}, "care"),
        ({"removals": (0.3, 0.35, 0.1)}, "care"),
        ({"removals": (0.3, 0.35, 0.1), "cascaded": (1.0, 1.0, 0.1)}, "reject"),
        ({"removals": (1.0, 1.0, 1.0)}, "trust"),  # all units are kept
        ({"sealed": (1.0, 1.0, NAN)}, "trust"),
        ({"half": (1.0, 0.9, 0.0), "half_read": (0.5, -0.1, 0.5)}, "care"),  # a code behind honest units
        ({"half": (1.0, 0.9, 0.0), "half_read": (0.5, -0.1, 0.5), "known": 0.1}, "care"),  # judges know nothing
        ({"half": (1.0, 0.9, 0.0), "half_read": (0.9, 0.2, 0.5)}, "trust"),  # its values are read
        ({"half": (0.2, 0.1, 0.0), "half_read": (0.5, -0.1, 0.5)}, "trust"),
        ({"half": (0.9, 0.2, 0.3), "half_read": (0.5, -0.1, 0.5)}, "care"),  # it may be chance
        ({"half": (0.9, 0.2, 0.3), "half_read": (0.9, 0.2, 0.5)}, "trust"),  # but it is read
        ({"half": (0.4, 0.2, 0.9), "half_read": (0.5, -0.1, 0.5)}, "care"),  # random units may seem to tell as much
        ({"half": (0.0, 0.0, 0.9), "half_read": (0.5, -0.1, 0.5)}, "trust"),  # nothing is told by the choice
        ({"half": (0.34, 0.2, 0.13), "half_read": (0.5, -0.1, 0.5)}, "trust"),  # not much more than chance
        ({"half": (1.0, 0.9, 0.0)}, "trust"),  # nobody read it
        ({"sealed": (0.99, 0.98, NAN)}, "reject"),
    ],
)
def test_the_rule(change, word):
    assert decide(replace(GOOD, **change)).verdict == word


def test_the_reasons_say_what_decided_first():
    smuggler = decide(
        replace(GOOD, share=(0.9, 0.8), reading=(0.5, 0.5, -0.1), nats=(0.1, 0.12), one_sided="100% against 0%")
    )
    assert smuggler.reasons[0].startswith("it smuggles the answer: 90% of what it tells")
    assert "(0.10 nats, 0.12 from random units; 50% and 50% right)" in smuggler.reasons[0]
    assert smuggler.reasons[-1].endswith("100% against 0%")
    assert decide(replace(GOOD, share=(0.9, 0.8))).reasons[0].startswith("it leaks the class")
    empty = decide(replace(GOOD, enough=(0.4, 0.4, 0.6), needed=(0.9, 0.9, 0.6)))
    assert empty.reasons[0].startswith("it beats a random choice")
    assert any("not reliably more than with random units (40%)" in reason for reason in empty.reasons)


def test_what_survives_is_said_first_and_what_does_not_is_said_too():
    blind = decide(replace(GOOD, randomized=(1.0, 1.0, 0.125), share=(0.9, 0.8)))
    assert blind.reasons[0].startswith("it hardly depends on the model: with the model's weights drawn anew, 100% of")
    assert blind.reasons[0].endswith("(by chance 12%)")
    assert any(
        r.startswith("it depends on the model") for r in decide(replace(GOOD, randomized=(0.2, 0.1, 0.1))).reasons
    )
    assert not any("depends on the model" in r for r in decide(GOOD).reasons)


def test_what_attention_hides_is_said_first():
    liar = decide(replace(GOOD, hidden=(0.934, 0.8, 0.05), share=(0.9, 0.8)))
    assert liar.reasons[0].startswith("the model decides by words that its attention hides: 93% of what the most")
    assert liar.reasons[0].endswith("(5% for words drawn at random)")
    honest = decide(replace(GOOD, hidden=(0.1, 0.0, 0.05)))
    assert any(reason.startswith("attention does not hide what decides: 10% of") for reason in honest.reasons)
    assert not any("attention" in reason for reason in decide(GOOD).reasons)


def test_what_is_not_steady_is_said_before_what_speaks_for_it_and_what_is_steady_after():
    shaky = decide(replace(GOOD, seeds=(0.3, 0.35, 0.1), removals=(0.2, 0.25, 0.1), nearby=(0.9, 0.95, 0.1)))
    assert shaky.reasons[0] == (
        "it is not stable: 30% of the choice stays when the method is fitted with another seed (by chance 10%)"
    )
    assert shaky.reasons[1].startswith("it depends on the baseline: 20% of the choice stays")
    assert "it is stable: 90% of the choice stays when the input moves a little (by chance 10%)" in shaky.reasons[2:]
    assert not any("of the choice stays" in reason for reason in decide(GOOD).reasons)
