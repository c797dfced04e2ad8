"""A map of attention in words."""

from __future__ import annotations

from unmask.heat import Heat

LINES = (("as it is", (0.1, 0.6, 0.05, 0.25)), ("noise 1", (0.2, 0.5, 0.1, 0.2)), ("noise 2", (0.0, 0.7, 0.2, 0.1)))


def test_the_heaviest_words_are_named_with_what_noise_does_to_them() -> None:
    heat = Heat("attention", "row 1", ("a", "good", "dull", "film"), LINES)
    heaviest = "good 0.60 (0.50 to 0.70), film 0.25 (0.10 to 0.20), a 0.10 (0.00 to 0.20)"
    assert heat.told == f"attention over 4 words, as it is and in 2 draws of noise; heaviest: {heaviest}"


def test_without_noise_and_without_words() -> None:
    assert Heat("attention", "row 1", ("good",), (("as it is", (1.0,)),)).told.endswith("heaviest: good 1.00")
    assert Heat("attention", "row 1", (), ()).told == "attention over no words"
