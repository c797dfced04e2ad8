"""Reports read back from disk: does one hold to a requirement, and what changed between two?"""

from __future__ import annotations

from unmask.stored.comparing import compare
from unmask.stored.reading import Stored, read_report
from unmask.stored.requiring import check

__all__ = ["Stored", "check", "compare", "read_report"]
