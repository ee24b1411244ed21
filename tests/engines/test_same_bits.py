"""Every engine and every number of workers gives the bits of the run in this process."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from engines.cases import cube, digest
from problems import paper_trace_ball, small_simplex
from wolfpack.engines import Processes


def birkhoff() -> tuple[Any, Any, Any]:
    target = np.random.default_rng(0).random((6, 6))
    return wp.objectives.Quadratic(1.0, -target), wp.sets.Birkhoff(6), None


def product() -> tuple[Any, Any, Any]:
    K = wp.sets.Product(wp.sets.Simplex(5), wp.sets.L1Ball(4), wp.sets.L2Ball(3))
    return wp.objectives.Quadratic(1.0, -np.linspace(-1, 1, 12)), K, None


def tree() -> tuple[Any, Any, Any]:
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)]
    K = wp.sets.SpanningTree(edges)
    return wp.objectives.Quadratic(1.0, -np.linspace(0, 1, 6)), K, None


# problem, settings: every sampled method, every way of smoothing, every structure of vertices
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "anytime, one-hot": (small_simplex, {"method": "anytime", "m": 9, "block": 2}),
    "anytime, m auto": (small_simplex, {"method": "anytime", "noise": "gaussian", "block": 3}),
    "pfw, rank one": (paper_trace_ball, {"method": "pfw", "alpha": 1e-2, "m": 20, "block": 7}),
    "r-pfw, one block": (paper_trace_ball, {"method": "r-pfw", "m": 8}),
    "r-pfw, permutations": (birkhoff, {"method": "r-pfw", "m": 11, "block": 2}),
    "anytime, product": (product, {"method": "anytime", "m": 10, "block": 3}),
    "anytime, lifted": (tree, {"method": "anytime", "m": 10, "block": 3, "smoothing": "lifted"}),
    "anytime, image": (
        small_simplex,
        {"method": "anytime", "m": 10, "block": 4, "smoothing": "image", "noise": "gaussian"},
    ),
    "anytime, antithetic": (
        small_simplex,
        {"method": "anytime", "m": 12, "block": 4, "sampling": "antithetic"},
    ),
    "anytime, user's oracle": (lambda: (*cube(), None), {"method": "anytime", "m": 10}),
}


@cache
def reference(name: str) -> str:
    return digest(solve(name, None))


def solve(name: str, engine: Any) -> wp.Result:
    make, settings = CASES[name]
    f, K, x0 = make()
    result = wp.minimize(f, K, x0, tol=0, max_rounds=10, seed=11, engine=engine, **settings)
    assert result.status == "max_rounds"
    return result


def check(name: str, engine: Any, workers: int) -> None:
    result = solve(name, engine)
    assert digest(result) == reference(name)
    assert set(result.engine["workers"]) == {workers}
    assert result.engine["blocks"].min() >= 1


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


@pytest.mark.parametrize("name", list(CASES)[:4])
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
