"""Keep what a C library prints off the terminal."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from typing import Any

_lock = threading.Lock()
_inside = 0
_kept: Any = None


def _c_stdout() -> tuple[Any, Any] | None:
    """Return the C library's variable ``stdout`` and a stream to nowhere, where it has them."""
    try:
        c = ctypes.CDLL(None)
        stdout = ctypes.c_void_p.in_dll(c, "stdout")
        c.fopen.restype = ctypes.c_void_p
        nowhere = c.fopen(b"/dev/null", b"w")
    except (OSError, TypeError, ValueError, AttributeError):
        return None  # not glibc or musl on Linux: the lines stay
    return (stdout, nowhere) if nowhere else None


_streams = _c_stdout()


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Send C's ``printf`` nowhere; Python's ``print`` and file descriptors are left alone.

    HiGHS as of SciPy 1.17 prints a line for developers whatever its options say. Threads may be
    inside together: the first one redirects, the last one restores.
    """
    global _inside, _kept
    if _streams is None:
        yield
        return
    stdout, nowhere = _streams
    with _lock:
        if _inside == 0:
            _kept, stdout.value = stdout.value, nowhere
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                stdout.value = _kept
