"""Where the command `wolfpack` begins: outside the package, whose import Ctrl-C may cut short."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any


def main() -> None:
    """Import and run the command line; Ctrl-C ends either with one line and code 130."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:
        # an exception would not do: extension modules make import errors of it
        signal.signal(signal.SIGINT, _leave)
    from wolfpack.cli import run

    signal.signal(signal.SIGINT, usual)
    try:
        code = run()
    except KeyboardInterrupt:  # while `run` dealt with another one
        code = 130
    # nothing is left to be interrupted but Python's own end, which would complain
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)


def _leave(*_: Any) -> None:
    os.write(2, b"wolfpack: interrupted\n")
    os._exit(130)
