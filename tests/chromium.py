"""A Chromium that tests steer: open a page, press keys, move the mouse, ask scripts."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9, "Home": 36}
KEYS |= {"End": 35, " ": 32, "Enter": 13}

AS_THIRD_AND_FOURTH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for number, end in enumerate(ends, start=3):
    os.dup2(end, number)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Starts a program whose files 3 and 4 are two of ours, as the browser's protocol asks for."""


class Tab:
    """A tab of the browser, over the pipe of its debugging protocol."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive, self._count, self._rest = send, receive, 0, b""
        self.complaints: list[str] = []
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.call("Runtime.enable")
        self.call("Page.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("method") == "Runtime.exceptionThrown":
                self.complaints.append(str(answer["params"]["exceptionDetails"]))
            if answer.get("method") == "Runtime.consoleAPICalled":
                self.complaints.append(str(answer["params"]["args"]))
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._receive, 2**16)
            assert more, "the browser has ended"
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def open(self, address: str) -> None:
        """Open a page and wait until it is complete."""
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def ask(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, expression: str, seconds: float = 20.0) -> Any:
        """Return the value of an expression once it is true."""
        end = time.monotonic() + seconds
        while not (value := self.ask(expression)):
            assert time.monotonic() < end, f"{expression} is still {value!r}"
            time.sleep(0.05)
        return value

    def press(self, key: str, times: int = 1) -> None:
        """Press and release a key."""
        text = {"text": key} if key == " " else {"text": "\r"} if key == "Enter" else {}
        code = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        for _ in range(times):
            self.call("Input.dispatchKeyEvent", type="keyDown", **code, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    def mouse(self, kind: str, x: float, y: float) -> None:
        """Let the mouse do something: "mouseMoved", "mousePressed", "mouseReleased"."""
        held = {"button": "left", "buttons": 1, "clickCount": 1} if kind != "mouseMoved" else {}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **held)

    def click(self, selector: str, at: tuple[float, float] = (0.5, 0.5)) -> None:
        """Click an element, by default its middle."""
        where = "{block: 'center', behavior: 'instant'}"
        self.ask(f"document.querySelector({selector!r}).scrollIntoView({where})")
        box = self.ask(f"document.querySelector({selector!r}).getBoundingClientRect().toJSON()")
        x, y = box["x"] + at[0] * box["width"], box["y"] + at[1] * box["height"]
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y)

    def look(self, width: int, height: int = 900, dark: bool = False) -> None:
        """Set the size of the window and the colour scheme."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, path: Path) -> None:
        """Write a picture of the whole page."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def browsing(profile: Path) -> Iterator[Tab]:
    """Start a browser; skip the test where there is none."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on this machine")
    to_browser, from_us = os.pipe()
    from_browser, to_us = os.pipe()

    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
    command += ["--disable-background-networking", f"--user-data-dir={profile}"]
    ends = (to_browser, to_us)
    start = [sys.executable, "-c", AS_THIRD_AND_FOURTH, *map(str, ends), *command]
    browser = subprocess.Popen(start, stderr=subprocess.DEVNULL, pass_fds=ends)
    os.close(to_browser)
    os.close(to_us)
    try:
        yield Tab(from_us, from_browser)
    finally:
        os.close(from_us)
        try:
            browser.wait(10)
        except subprocess.TimeoutExpired:
            browser.kill()
            browser.wait()
        os.close(from_browser)
