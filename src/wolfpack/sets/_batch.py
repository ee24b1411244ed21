"""One oracle call per direction of a batch, in threads where the oracle frees Python's lock."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

from ..arrays import Array
from ..problem import Counts, counted, under_way

T = TypeVar("T")

_THREADS_FROM = 4
"""Smaller batches are answered in the caller's thread."""

_pool: ThreadPoolExecutor | None = None
_pool_lock = threading.Lock()


class _Thread(threading.local):
    is_worker = False


_this_thread = _Thread()


def map_batch(fun: Callable[[Array], T], batch: Array, threads: bool = False) -> list[T]:
    """Return ``[fun(item) for item in batch]``, computed in threads where that pays.

    ``threads`` says whether ``fun`` frees Python's lock. Small batches, and calls from within a
    worker, are serial all the same. An exception of ``fun`` is raised as it is, and no further
    items are then taken up. Neither are they when the time of the run is over.
    """
    count, counts = len(batch), under_way()
    if counts is not None and counts.limited:
        fun = _in_time(fun, counts)
    helpers = min(cores(), count) - 1
    if not threads or count < _THREADS_FROM or helpers < 1 or _this_thread.is_worker:
        return [fun(item) for item in batch]
    results: list[T | None] = [None] * count
    tickets = itertools.count()  # next() is atomic: each item is taken once, by whoever is free
    failed = threading.Event()

    def work() -> None:
        outer, _this_thread.is_worker = _this_thread.is_worker, True
        try:
            while not failed.is_set() and (i := next(tickets)) < count:
                results[i] = fun(batch[i])
        except BaseException:
            failed.set()
            raise
        finally:
            _this_thread.is_worker = outer

    pool = _shared_pool()
    futures = [pool.submit(work) for _ in range(helpers)]
    try:
        work()
    finally:
        # wait also after an exception: no helper may outlive the call and the arrays it reads
        errors = [future.exception() for future in futures]
    for error in filter(None, errors):
        raise error
    return cast("list[T]", results)


def _in_time(fun: Callable[[Array], T], counts: Counts) -> Callable[[Array], T]:
    """Return ``fun``, which raises `LimitReached` when the time of the run is over.

    Calls that are not made for that reason are not counted.
    """
    clock = Counts(deadline=counts.deadline, limited=True)

    def timed(item: Array) -> T:
        counts.begin_call()
        if under_way() is not None:
            return fun(item)
        with counted(clock):  # in a helper's thread, so that long calls can look at the time
            return fun(item)

    return timed


def stay_serial() -> None:
    """Answer the batches of this thread one by one from now on: it is one of several workers."""
    _this_thread.is_worker = True


def _shared_pool() -> ThreadPoolExecutor:
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max(1, cores() - 1), thread_name_prefix="wolfpack-oracle")
        return _pool


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1


def _forget_pool() -> None:
    # a forked child has the executor object but none of its threads
    global _pool, _pool_lock
    _pool, _pool_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
