"""The tables of the source papers, run again: the paper's figure beside ours."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unmask.errors import unknown

if TYPE_CHECKING:
    from unmask.reproduce.tables import Table

__all__ = ["PAPERS", "Paper", "tables_of"]


@dataclass(frozen=True)
class Paper:
    """Where a paper's tables stand ("module:tuple of tables" below this folder), and which paper it is."""

    path: str
    title: str
    absent: str = ""  # what of it cannot be run anywhere but at the authors'


PAPERS: dict[str, Paper] = {
    "a2r": Paper(
        "a2r:TABLES",
        "Understanding Interlocking Dynamics of Cooperative Rationalization (Yu et al. 2021)",
        "Beer reviews are withdrawn: Tables 2 and 3 are made on generated reviews.",
    ),
    "critique": Paper(
        "critique:TABLES",
        "'Interpretable' Machine Learning, a lecture (Lipton & Chai): its claims as experiments",
        "The lecture gives no figures of its own.",
    ),
    "meed": Paper(
        "meed:TABLES",
        "Adversarial Infidelity Learning for Model Interpretation (Liang et al. 2020)",
        "Table 5 needs ImageNet (load('image-folder', path=...) reads it); the game data of Table 6 are private, "
        "generated data of that shape are load('game'); FS-H needs people (export_study, score_study).",
    ),
    "mimic": Paper("mimic:TABLES", "Mimic (ours): the front between FS-M and the judges' reading, and its ablation"),
    "seat": Paper(
        "seat:TABLES",
        "SEAT: Stable and Explainable Attention (Hu et al. 2023)",
        "The values of Table 2 and the appendix are not in print.",
    ),
    "shortcuts": Paper(
        "shortcuts:TABLES", "Why is Attention Not So Attentive? (Bai et al. 2021)", "No code was published with it."
    ),
}


def tables_of(name: str) -> tuple[Table, ...]:
    """The tables of a paper, imported when they are asked for."""
    if name not in PAPERS:
        raise unknown("paper", name, PAPERS)
    module, _, attribute = PAPERS[name].path.partition(":")
    found: tuple[Table, ...] = getattr(importlib.import_module(f"unmask.reproduce.{module}"), attribute)
    return found
