"""A real browser without a window, spoken to over a pipe: pages, keys, screens and themes as a reader has them."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 120.0  # seconds for one answer, on a busy machine

needed = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@dataclass
class Browser:
    """One tab of Chromium; `events` is what it told by itself."""

    folder: Path
    events: list[dict[str, Any]] = field(default_factory=list)
    count: int = 0
    rest: bytes = b""

    def __enter__(self) -> Browser:
        (their_in, self.out), (self.back, their_out) = _pipe(), _pipe()

        def wired() -> None:  # Chromium hears on 3 and speaks on 4
            os.dup2(their_in, 3)
            os.dup2(their_out, 4)

        words = [str(CHROMIUM), *OPTIONS, "--remote-debugging-pipe", f"--user-data-dir={self.folder / 'profile'}"]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(
            words, pass_fds=(3, 4), preexec_fn=wired, stdin=quiet, stdout=quiet, stderr=quiet
        )
        os.close(their_in)
        os.close(their_out)
        self.session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{part}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self.session = None
        self.ask("Browser.close")
        self.process.wait(PATIENCE)
        os.close(self.out)
        os.close(self.back)

    def ask(self, method: str, **given: Any) -> dict[str, Any]:
        """One command of the DevTools protocol and its answer."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": given}
        if self.session is not None:
            message["sessionId"] = self.session
        data = memoryview(json.dumps(message).encode() + b"\0")
        while data:  # a pipe takes so much at a time
            data = data[os.write(self.out, data) :]
        while True:
            told = self._hear()
            if told.get("id") == self.count:
                assert "error" not in told, told
                result: dict[str, Any] = told["result"]
                return result
            self.events.append(told)

    def _hear(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.back], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            said = os.read(self.back, 1 << 16)
            assert said, "the browser has ended"
            self.rest += said
        said, _, self.rest = self.rest.partition(b"\0")
        told: dict[str, Any] = json.loads(said)
        return told

    def open(self, page: Path) -> None:
        """Load the page and wait until all of it is there."""
        self.events.clear()
        self.ask("Page.navigate", url=page.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._hear())

    def run(self, script: str) -> Any:
        """The value of an expression in the page; of a promise what it comes to."""
        found = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def screen(self, width: int, height: int, dark: bool = False) -> None:
        """The size of the window and the theme."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        theme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.ask("Emulation.setEmulatedMedia", features=theme)

    def press(self, key: str) -> None:
        codes = {"Tab": 9, "Enter": 13, " ": 32, "ArrowRight": 39}
        given: dict[str, Any] = {
            "key": key,
            "code": "Space" if key == " " else key,
            "windowsVirtualKeyCode": codes[key],
        }
        text = {"Enter": "\r", " ": " "}.get(key)
        self.ask("Input.dispatchKeyEvent", type="keyDown", **given, **({"text": text} if text else {}))
        self.ask("Input.dispatchKeyEvent", type="keyUp", **given)

    def complaints(self) -> list[str]:
        """What was written to the console, thrown or blocked since the page was opened."""
        self.run("0")
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded", "Network.loadingFailed")
        return [str(event["params"]) for event in self.events if event.get("method") in kinds]

    def requested(self) -> list[str]:
        """The addresses asked for since the page was opened, but for what the page holds itself."""
        self.run("0")
        sent = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [address for address in sent if not address.startswith("data:")]


def _pipe() -> tuple[int, int]:
    """Both ends of a pipe, with numbers that nobody wants."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return high[0], high[1]
