"""Ctrl-C while processes are started."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while something starts that must not be left half started.

    Processes and threads that begin meanwhile inherit the blocked signal for good: Ctrl-C in a
    terminal reaches all of them, and what becomes of them is for the driver to say. What was held
    back takes effect at the end.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    here = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if here else None
    held: list[Any] = []
    if callable(handler):  # another thread, which does not block it, may receive it
        signal.signal(signal.SIGINT, lambda *what: held.append(what))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if callable(handler):
            signal.signal(signal.SIGINT, handler)
            if held:
                handler(*held[0])
