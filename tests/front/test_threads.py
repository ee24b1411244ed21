"""BLAS has one thread in runs whose matrices are small, and as many as before elsewhere."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.arrays import _one_thread, one_thread
from wolfpack.front.threads import LARGE, LARGE_SPECTRUM, is_small
from wolfpack.problem import Problem


class FakeController:
    """BLAS with two threads, as `threadpoolctl` would limit it."""

    threads = 2

    def limit(self, limits: int, user_api: str) -> FakeController:
        assert user_api == "blas"
        self.before, self.threads = self.threads, limits
        return self

    def restore_original_limits(self) -> None:
        self.threads = self.before


@pytest.fixture
def blas(monkeypatch):
    controller = FakeController()
    monkeypatch.setattr(_one_thread, "_controller", lambda: controller)
    return controller


def quadratic(*shape: int):
    return wp.objectives.Quadratic(1.0, -np.ones(shape))


def test_the_first_sets_and_the_last_restores(blas):
    first, second = one_thread(), one_thread()
    with first:
        assert blas.threads == 1
        other = threading.Thread(target=second.__enter__)
        other.start()
        other.join()
    assert blas.threads == 1
    second.__exit__(None, None, None)
    assert blas.threads == 2


@pytest.mark.parametrize(
    ("f", "seen"),
    [
        (quadratic(6), 1),
        (lambda x: (0.5 * float(x @ x), x), 2),
        (wp.objectives.LeastSquares(np.ones((LARGE // 6 + 1, 6)), np.ones(LARGE // 6 + 1)), 2),
    ],
    ids=["small", "a user's", "large"],
)
def test_a_run_of_small_matrices_has_one_thread(blas, f, seen):
    found = []
    wp.minimize(f, wp.sets.Simplex(6), max_rounds=2, callback=lambda _: found.append(blas.threads))
    assert found
    assert found == [seen] * len(found)
    assert blas.threads == 2


@pytest.mark.parametrize(
    ("f", "K", "small"),
    [
        (quadratic(LARGE + 1), wp.sets.Simplex(LARGE + 1), False),
        (quadratic(257, 256), wp.sets.TraceNormBall((257, 256)), False),
        (quadratic(256, 256), wp.sets.TraceNormBall((256, 256)), True),
        (quadratic(6), wp.sets.ConvexHull(np.ones((LARGE // 6 + 1, 6))), False),
        (quadratic(3), wp.sets.Oracle(lambda g: -g, 3, radius=1.0), False),
    ],
)
def test_what_counts_as_small(f, K, small):
    assert is_small(Problem(f, K), np.zeros(1)) is small
    assert LARGE_SPECTRUM == 256 * 256


def test_completions_count_by_their_factors():
    def completion(n: int) -> Any:
        return wp.objectives.MatrixCompletion([0], [1], np.ones(1), (n, n))

    for n, small in ((5000, True), (6000, False)):
        K = wp.sets.TraceNormBall((n, n))
        assert is_small(Problem(completion(n), K), np.zeros(1)) is small


PROGRAM = """
import numpy as np, wolfpack as wp
A = np.random.default_rng(0).standard_normal((400, 300))
f = wp.objectives.LeastSquares(A, A[:, 0])
res = wp.minimize(f, wp.sets.L1Ball(300), max_rounds=40)
at = np.sort(np.random.default_rng(1).choice(40_000, 8_000, replace=False))
g = wp.objectives.MatrixCompletion(at // 200, at % 200, np.cos(at), (200, 200))
low = wp.minimize(g, wp.sets.TraceNormBall((200, 200), 50.0), method="corrective", max_rounds=8)
print(res.x.tobytes().hex(), np.asarray(low.x).tobytes().hex())
"""


@pytest.mark.slow
def test_the_number_of_threads_does_not_show_in_the_bits():
    found = []
    for count in ("1", "2", "4"):
        env = {"OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count}
        path = [entry for entry in sys.path if entry]
        code = f"import sys; sys.path[:0] = {path!r}\n{PROGRAM}"
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found.append(done.stdout)
    assert found[0] == found[1] == found[2]
