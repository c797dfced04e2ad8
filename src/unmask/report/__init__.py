"""Findings made visible: in the terminal, as one offline page, as JSON."""

from unmask.report.report import Report

__all__ = ["Report"]
