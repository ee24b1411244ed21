"""Every engine and every number of workers gives the bits of the run in this process."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import wolfpack as wp
from engines.cases import digest
from engines.sampled import CASES, check
from problems import small_simplex
from wolfpack.engines import Processes


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("engine", ["local", "threads:1", "threads:2", "threads:3"])
def test_in_this_process(name, engine):
    check(name, engine, int(engine.partition(":")[2] or 1))


@pytest.fixture(scope="module", params=[1, 2, 3])
def processes(request):
    with Processes(request.param) as engine:
        yield engine


@pytest.mark.parametrize("name", CASES)
def test_in_processes(name, processes):
    # one set of workers serves many runs: each ships its own job
    check(name, processes, len(processes.workers) or int(processes.name[-1]))


@pytest.fixture(scope="module", params=["threads", "processes", "factory"])
def executor(request):
    if request.param == "threads":
        with ThreadPoolExecutor(2) as pool:
            yield pool
    elif request.param == "processes":
        with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as pool:
            yield pool
    else:
        yield lambda: ThreadPoolExecutor(2)


@pytest.mark.parametrize("name", [*list(CASES)[:4], "corrective, product"])
def test_in_executors(name, executor):
    check(name, executor, 2)


def test_another_block_is_another_run_and_says_so_by_its_bits():
    f, K, x0 = small_simplex()
    settings: dict[str, Any] = {"method": "anytime", "m": 12, "noise": "gaussian", "tol": 0}
    runs = [wp.minimize(f, K, x0, max_rounds=5, block=block, **settings) for block in (3, 4, 4)]
    assert digest(runs[0]) != digest(runs[1]) == digest(runs[2])


def test_a_resumed_run_may_change_its_engine(tmp_path):
    f, K, x0 = small_simplex()
    settings: dict[str, Any] = {"method": "anytime", "m": 9, "block": 2, "tol": 0}
    whole = wp.minimize(f, K, x0, max_rounds=20, **settings)
    path = tmp_path / "run.ckpt"
    wp.minimize(f, K, x0, max_rounds=8, engine="threads:2", checkpoint=path, **settings)
    resumed = wp.resume(path, f, K, max_rounds=20, engine="threads:3")
    assert digest(resumed) == digest(whole)
    assert resumed.engine.name == "threads:3"


THREADS = """
import sys
sys.path.insert(0, {tests!r})
import numpy as np
import wolfpack as wp
from engines.cases import digest
rng = np.random.default_rng(0)
hull = wp.sets.ConvexHull(rng.standard_normal((3000, 40)))
f = wp.objectives.LeastSquares(rng.standard_normal((300, 40)), rng.standard_normal(300))
big = wp.objectives.Quadratic(1.0, -rng.standard_normal((200, 150)))
for engine in (None, "threads:2", "processes:2"):
    one = wp.minimize(big, wp.sets.TraceNormBall((200, 150)), method="anytime", m=24, block=6,
                      L=1.0, tol=0, max_rounds=3, engine=engine)
    two = wp.minimize(f, hull, method="anytime", m=24, block=6, noise="gaussian",
                      smoothing="image", tol=0, max_rounds=3, engine=engine)
    print(digest(one), digest(two))
"""


def test_the_number_of_blas_threads_does_not_show():
    # in this process BLAS would use two threads, in workers one, and add in another order
    code = THREADS.format(tests=str(Path(__file__).parents[1]))
    settings = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(set(done.stdout.split("\n")[:3])) == 1
