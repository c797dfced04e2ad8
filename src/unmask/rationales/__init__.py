"""Models that explain themselves: a rationale is chosen first, and the answer is told from it alone."""

from __future__ import annotations

from unmask.entries import Method

__all__ = ["MODELS"]

MODELS: dict[str, Method] = {
    "rnp": Method("rnp:RNP", "a generator chooses, a predictor reads what is chosen, by REINFORCE", "Lei et al. 2016"),
    "rnp-straight-through": Method(
        "rnp:RNP",
        "the same, slopes through the draw",
        "Bastings et al. 2019; Liu et al. 2022",
        settings={"gradient": "straight-through"},
    ),
    "three-player": Method(
        "three_player:ThreePlayer", "RNP with an opponent that reads what was left out", "Yu et al. 2019"
    ),
    "hardkuma": Method(
        "hardkuma:HardKuma", "gates that are exactly open or closed, and still have slopes", "Bastings et al. 2019"
    ),
    "a2r": Method("a2r:A2R", "RNP led by a soft attention predictor that it must agree with", "Yu et al. 2021"),
    "fr": Method("fr:FR", "RNP with one encoder for who chooses and who tells", "Liu et al. 2022"),
    "mgr": Method("mgr:MGR", "several generators, one predictor", "Liu et al. 2023"),
    "mcd": Method("mcd:MCD", "the rationale that makes the rest of the row tell nothing more", "Liu et al. 2023"),
}
"""Rationale models by name."""
