"""Starting a cluster within the time of a run."""

from __future__ import annotations

import contextlib
import math
import queue
import threading
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from ..problem import tick, time_left

T = TypeVar("T")

_CHECK_SECONDS = 0.1

_one_start = threading.Lock()
"""A start that was given up is undone before the next one begins."""


def started(load: Callable[[], Any], start: Callable[[], T], undo: Callable[[T], object]) -> T:
    """Return ``start()``, or raise `LimitReached` as soon as the time of this thread's run is over.

    ``load`` imports what ``start`` needs; when the time is over by then, nothing is started.
    Nothing interrupts a cluster that starts. What comes too late is undone by a thread of its own,
    for which the interpreter waits before it ends.
    """
    while not _one_start.acquire(timeout=_CHECK_SECONDS):
        tick()
    if time_left() == math.inf:
        with _one_start_held():
            load()
            return start()
    found: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()
    lock, given_up = threading.Lock(), threading.Event()

    def work() -> None:
        with _one_start_held():
            try:
                load()
                if given_up.is_set():
                    return
                made = start()
            except BaseException as error:
                found.put((None, error))
                return
            with lock:
                if not given_up.is_set():
                    found.put((made, None))
                    return
            with contextlib.suppress(Exception):
                undo(made)

    threading.Thread(target=work, name="wolfpack-start", daemon=False).start()
    try:
        while True:
            with contextlib.suppress(queue.Empty):
                made, error = found.get(timeout=min(_CHECK_SECONDS, max(time_left(), 1e-3)))
                if error is not None:
                    raise error
                return made  # pyright: ignore[reportReturnType]
            tick()
    except BaseException:
        with lock:
            given_up.set()
            late = None if found.empty() else found.get()
        if late is not None and late[1] is None:
            undo(late[0])  # pyright: ignore[reportArgumentType]
        raise


@contextlib.contextmanager
def _one_start_held() -> Generator[None]:
    """Free the lock at the end, in whichever thread that is."""
    try:
        yield
    finally:
        _one_start.release()
