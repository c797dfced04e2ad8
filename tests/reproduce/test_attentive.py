"""Rows about attention: every one is made as its name says."""

from __future__ import annotations

import pytest

from unmask.reproduce.attentive import ATTENDING, STEADYING, trained, trained_on
from unmask.reproduce.measuring import SCHEMES

WRITTEN = [row for row in ATTENDING if row.startswith("attention+weighting-as-written+")]


def test_what_was_tried_differs_from_weighting_as_written_in_one_setting() -> None:
    written = trained("attention+weighting-as-written/pooling", "default", 0)[1]
    assert {name: written[name] for name in ("noise", "held_out", "normalise")} == {
        "noise": 0.0,
        "held_out": False,
        "normalise": False,
    }
    usual = SCHEMES["weighting"]()
    for row in WRITTEN:
        own = trained(f"{row}/pooling", "default", 0)[1]
        changed = {name for name in own if own[name] != written.get(name, getattr(usual, name))}
        assert len(changed) == 1, row
    assert len(WRITTEN) >= 7  # capacity, steps, held out, clipping, smoothing, mean 1, warm-up, noise


@pytest.mark.parametrize(("encoder", "radius", "rate"), [("rnn", 0.045, 5e-4), ("transformer", 0.05, 1e-4)])
def test_an_encoder_has_its_own_radius_and_rate(encoder: str, radius: float, rate: float) -> None:
    method, settings = trained_on(f"seat/{encoder}", "default", 3)
    assert (method, settings["radius"], settings["recipe"].rate, settings["recipe"].seed) == ("seat", radius, rate, 3)
    assert "radius" not in trained_on(f"word-at/{encoder}", "default", 3)[1]


def test_the_terms_of_seat_are_left_out_one_by_one() -> None:
    left = {row: trained_on(f"{row}/rnn", "default", 0)[1] for row in STEADYING if row not in ("vanilla", "uniform")}
    assert left["d1-only"]["lam_stable"] == left["d1-only"]["lam_overlap"] == left["d1-topk"]["lam_stable"] == 0
    assert left["seat-without-topk"]["lam_overlap"] == left["seat+dropout=0"]["dropout"] == 0
    assert trained_on("vanilla/rnn", "default", 0) == ("attention", {})
