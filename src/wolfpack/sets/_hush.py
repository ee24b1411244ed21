"""Discard what a C library prints."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator

_lock = threading.Lock()
_depth = 0
_saved: int | None = None


def _c_stdout() -> tuple[ctypes.c_void_p, int] | None:
    """Return the C library's variable ``stdout`` and a stream to /dev/null, where it has them."""
    try:
        c = ctypes.CDLL(None)
        stdout = ctypes.c_void_p.in_dll(c, "stdout")
        c.fopen.restype = ctypes.c_void_p
        null = c.fopen(b"/dev/null", b"w")
    except (OSError, TypeError, ValueError, AttributeError):
        return None  # not glibc or musl on Linux: the lines are printed
    return (stdout, null) if null else None


_streams = _c_stdout()


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Discard what C's ``printf`` writes, but not what Python's ``print`` writes.

    HiGHS as of SciPy 1.17 prints a line for developers whatever its options say. Threads may be
    inside together: the first one redirects, the last one restores.
    """
    global _depth, _saved
    if _streams is None:
        yield
        return
    stdout, null = _streams
    with _lock:
        if _depth == 0:
            _saved, stdout.value = stdout.value, null
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                stdout.value = _saved
