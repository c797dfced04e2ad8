"""Studies with people: what an explanation keeps is shown to them, and they say which class they see in it."""

from __future__ import annotations

from unmask.study.exporting import export_study
from unmask.study.scoring import Score, score_study

__all__ = ["Score", "export_study", "score_study"]
