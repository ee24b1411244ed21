"""The batch helper: order, errors, nesting and forks."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest

from wolfpack.sets import _batch
from wolfpack.sets._batch import map_batch


@pytest.fixture
def three_cores(monkeypatch):
    monkeypatch.setattr(_batch, "cores", lambda: 3)
    monkeypatch.setattr(_batch, "_pool", None)
    yield
    if _batch._pool is not None:
        _batch._pool.shutdown()


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 50])
def test_results_come_in_the_order_of_the_batch(three_cores, threads, count):
    batch = np.arange(2.0 * count).reshape(count, 2)
    assert map_batch(lambda row: row.sum(), batch, threads) == [4.0 * i + 1 for i in range(count)]


def test_several_threads_take_part(three_cores):
    meet = threading.Barrier(3, timeout=20)
    seen = map_batch(lambda i: (meet.wait(), threading.get_ident())[1], range(6), threads=True)
    assert len(set(seen)) == 3


def test_small_batches_and_calls_from_workers_stay_in_their_thread(three_cores):
    here = threading.get_ident()
    assert set(map_batch(lambda _: threading.get_ident(), range(3), threads=True)) == {here}

    def nested(_):
        inner = map_batch(lambda _: threading.get_ident(), range(8), threads=True)
        return set(inner) == {threading.get_ident()}

    assert all(map_batch(nested, range(8), threads=True))
    # the caller's thread is no worker any more
    meet = threading.Barrier(3, timeout=20)
    assert len(map_batch(lambda _: meet.wait(), range(6), threads=True)) == 6


@pytest.mark.parametrize("threads", [False, True])
def test_an_exception_is_raised_as_it_is_and_ends_the_batch(three_cores, threads):
    done = []

    def fails_early(i):
        if i == 2:
            raise ZeroDivisionError("the oracle's own words")
        time.sleep(0.002)
        done.append(i)

    with pytest.raises(ZeroDivisionError, match="own words"):
        map_batch(fails_early, range(1000), threads)
    assert len(done) < 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_makes_its_own_threads(three_cores):
    assert map_batch(abs, range(8), threads=True) == list(range(8))
    child = os.fork()
    if child == 0:
        os._exit(0 if map_batch(abs, range(8), threads=True) == list(range(8)) else 1)
    assert os.waitpid(child, 0)[1] == 0
