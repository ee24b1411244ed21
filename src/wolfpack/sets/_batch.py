"""One oracle call per direction of a batch, in threads where the oracle frees Python's lock."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_SMALL = 4
"""Batches below this many directions stay in the caller's thread."""

_pool: ThreadPoolExecutor | None = None
_pool_lock = threading.Lock()
_inside = threading.local()


def map_batch(fun: Callable[[Any], Any], batch: Any, threads: bool = False) -> list[Any]:
    """Return ``[fun(item) for item in batch]``, computed in threads where that pays.

    Parameters
    ----------
    fun : callable
        What to do with one item.
    batch : sequence
        The items, for instance the rows of an array of directions.
    threads : bool
        Whether ``fun`` frees Python's lock. Small batches, and calls from within a worker, are
        serial all the same.

    Returns
    -------
    list
        The results in the order of the batch, whatever the number of threads. An exception of
        ``fun`` is raised as it is, and items not yet begun are then left alone.
    """
    count = len(batch)
    helpers = min(_cores(), count) - 1
    if not threads or count < _SMALL or helpers < 1 or getattr(_inside, "worker", False):
        return [fun(item) for item in batch]
    results: list[Any] = [None] * count
    tickets = itertools.count()  # next() is atomic: each item is taken once, by whoever is free
    failed = threading.Event()

    def work() -> None:
        outer, _inside.worker = getattr(_inside, "worker", False), True
        try:
            while not failed.is_set() and (i := next(tickets)) < count:
                results[i] = fun(batch[i])
        except BaseException:
            failed.set()
            raise
        finally:
            _inside.worker = outer

    pool = _shared_pool()
    futures = [pool.submit(work) for _ in range(helpers)]
    try:
        work()
    finally:
        # also after an exception: no helper may outlive the call and the arrays it reads
        errors = [future.exception() for future in futures]
    for error in filter(None, errors):
        raise error
    return results


def stay_serial() -> None:
    """Answer the batches of this thread one by one from now on: it is one of several workers."""
    _inside.worker = True


def _shared_pool() -> ThreadPoolExecutor:
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max(1, _cores() - 1), thread_name_prefix="wolfpack-oracle")
        return _pool


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _forget_pool() -> None:
    # a forked child has the executor object but none of its threads
    global _pool, _pool_lock
    _pool, _pool_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
