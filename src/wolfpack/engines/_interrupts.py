"""Ctrl-C while processes are started."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while something starts that must not be left half started.

    Processes and threads that start meanwhile inherit the blocked signal for good: Ctrl-C in a
    terminal reaches all of them, and the driver decides what becomes of them. A signal that was
    held back takes effect at the end.
    """
    if sys.platform == "win32":
        yield
        return
    here = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if here else None
    held: list[tuple[int, FrameType | None]] = []
    if callable(handler):  # Another thread, which does not block the signal, may receive it.
        signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if callable(handler):
            signal.signal(signal.SIGINT, handler)
            if held:
                handler(*held[0])
