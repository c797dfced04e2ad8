"""`python -m unmask.cli`."""

from __future__ import annotations

from unmask.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
