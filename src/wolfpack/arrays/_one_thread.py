"""One thread for BLAS, where the number of threads would show in the bits.

A product of large matrices is summed in another order on two threads than on one. Workers must use
one thread each, since they are the parallelism; so must this process, or the same seed would not
give the same bits on every engine. Entering and leaving costs 25 microseconds, which is why small
oracles, where BLAS uses one thread anyway, are left alone. The number of threads belongs to the
whole process: the first that enters sets it, and the last that leaves restores it.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[object]:
    """Hold BLAS to one thread, in all threads of this process, until the context is left."""
    return _ONE_THREAD


class _OneThread(AbstractContextManager["_OneThread"]):
    """What holds BLAS to one thread while anybody is inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: Any = None

    def __enter__(self) -> _OneThread:
        with self._lock:
            if self._inside == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._inside += 1
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


_ONE_THREAD = _OneThread()


@cache
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
