"""The picture of a report that the README shows, docs/report.png: the head of the page of `unmask demo`.

    python benchmarks/report_picture.py [report.html]
    python benchmarks/report_picture.py --examples

Without a page the demo is run first, into build/picture. `--examples`: how an example page looks on a desk, and on a
phone in the dark. Chromium must be there.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from browser import CHROMIUM, Browser  # noqa: E402
from unmask.cli.demo import run_demo  # noqa: E402

HEAD = (810, 1170)
EXAMPLES = {"desktop": ((1280, 1100), False), "phone": ((390, 1500), True)}  # size of the window, whether it is dark
BUILD = ROOT / "build" / "picture"


def demo() -> Path:
    BUILD.mkdir(parents=True, exist_ok=True)
    run_demo("digits", BUILD, seed=0)
    return BUILD / "report.html"


def picture(page: Path, out: Path, size: tuple[int, int] = HEAD, dark: bool = False) -> None:
    """The head of the page, as a window of that size shows it."""
    with tempfile.TemporaryDirectory() as folder, Browser(Path(folder)) as tab:
        tab.screen(*size, dark=dark)
        tab.open(page.resolve())
        out.write_bytes(base64.b64decode(tab.ask("Page.captureScreenshot", format="png")["data"]))


def main() -> None:
    if CHROMIUM is None:
        sys.exit("no chromium on this machine: install it to make the picture")
    if "--examples" in sys.argv:
        folder = ROOT / "docs" / "examples"
        for name, (size, dark) in EXAMPLES.items():
            picture(folder / "adult.html", folder / f"{name}.png", size, dark)
        return
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else demo()
    picture(page, ROOT / "docs" / "report.png")
    print(f"docs/report.png shows the head of {page}")


if __name__ == "__main__":
    main()
