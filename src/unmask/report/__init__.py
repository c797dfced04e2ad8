"""Findings made visible: in the terminal, as one offline page, as JSON."""

from unmask.report.joining import side_by_side
from unmask.report.report import Report

__all__ = ["Report", "side_by_side"]
