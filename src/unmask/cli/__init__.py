"""The command `unmask`: parsing here, work elsewhere; nothing heavy is imported before a command runs."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line: a user's mistake is one line and exit code 2, Ctrl-C is exit code 130."""
    from unmask.cli.app import app
    from unmask.errors import UnmaskError

    try:
        app()
    except UnmaskError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("stopped; finished checks are kept: run the same command again to go on", file=sys.stderr)
        sys.exit(130)
