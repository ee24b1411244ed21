"""Test error against time on ratings of the size of MovieLens 1M, beside ALS and soft-impute.

    python benchmarks/ratings.py [--users 6040] [--items 3706] [--count 1000000] [--page FILE]

Synthetic ratings 1..5: means of users and items, ten factors, noise, and users and items that are
rated unequally often. A tenth of them is the test, a twentieth chooses the radius. All methods fit
what the training means of users and items leave over. The radius is doubled from run to run, each
from the best answer before, until the validation error rises, and then grows by smaller factors;
ALS and soft-impute get the rank and the penalty that are best for the test, and the time of that
run alone. Times are processor time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pages import insert, origin, table
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, svds
from threadpoolctl import threadpool_limits

import wolfpack as wp

RANKS, RIDGES, SOFT_RANKS, THRESHOLDS = (5, 10, 20), (0.03, 0.1, 0.3), (20,), (10.0, 20.0, 40.0)


class Entries(NamedTuple):
    """Ratings less their means, at sorted positions."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray

    def where(self, kept: np.ndarray) -> Entries:
        return Entries(*(part[kept] for part in self))


class Data(NamedTuple):
    """The three parts of the ratings, and the shape of their matrix."""

    training: Entries
    validation: Entries
    test: Entries
    shape: tuple[int, int]


def ratings(p: int, q: int, count: int, seed: int = 0) -> Data:
    """Return synthetic ratings; what is fitted is left over by the means of the training part."""
    rng = np.random.default_rng(seed)
    busy = [rng.dirichlet(np.full(n, 0.7)) for n in (p, q)]
    at = np.zeros(0, dtype=np.int64)
    while len(at) < count:
        pairs = [rng.choice(n, count, p=w) for n, w in zip((p, q), busy, strict=True)]
        at = np.unique(np.concatenate([at, pairs[0] * q + pairs[1]]))
    at = np.sort(rng.choice(at, count, replace=False))
    rows, columns = at // q, at % q
    U, V = rng.standard_normal((p, 10)), rng.standard_normal((q, 10))
    scores = 3.5 + 0.4 * rng.standard_normal(p)[rows] + 0.5 * rng.standard_normal(q)[columns]
    scores += 0.6 * np.einsum("ij,ij->i", U[rows], V[columns]) / np.sqrt(10.0)
    stars = np.clip(np.rint(scores + 0.8 * rng.standard_normal(count)), 1, 5)
    draw = rng.random(count)
    fit = draw >= 0.15
    stars = stars - stars[fit].mean()
    for index, n in ((rows, p), (columns, q)):
        sums = np.bincount(index[fit], stars[fit], n)
        stars = stars - (sums / (np.bincount(index[fit], minlength=n) + 5.0))[index]
    every = Entries(rows, columns, stars)
    return Data(
        every.where(fit), every.where((draw >= 0.1) & ~fit), every.where(draw < 0.1), (p, q)
    )


def error(U: np.ndarray, V: np.ndarray, entries: Entries) -> float:
    """Return the root of the mean squared error of U V'."""
    found = np.einsum("ij,ij->i", U[entries.rows], V[entries.columns])
    return float(np.sqrt(np.mean((found - entries.values) ** 2)))


Course = Iterator[tuple[float, np.ndarray, np.ndarray]]
"""Seconds so far and the factors, after each stage."""


def by_radii(data: Data) -> Course:
    """Complete with growing radii until the validation error rises.

    The trace norm is weighted by the counts of ratings. One round for each radius, with four
    singular pairs, keeps the rank low.
    """
    training, validation, shape = data.training, data.validation, data.shape
    began = time.process_time()
    values = training.values.astype(np.float32)
    f = wp.objectives.MatrixCompletion(training.rows, training.columns, values, shape, "counts")
    radius, growth = float(np.linalg.norm(values)), 2.0
    x0, best, seconds = None, np.inf, 0.0
    while growth > 1.1:
        K = wp.sets.TraceNormBall(shape, growth * radius)
        res = wp.minimize(f, K, x0=x0, m=4, max_rounds=1)
        Z = f.completed(res.x)
        U, V = Z.U * Z.s, Z.V
        rmse = error(U, V, validation)
        seconds += time.process_time() - began
        yield seconds, U, V
        began = time.process_time()
        if rmse < best:
            best, radius, x0 = rmse, growth * radius, res.x
        else:
            growth = np.sqrt(growth)


def by_als(data: Data, rank: int, ridge: float, sweeps: int = 15) -> Course:
    """Alternate ridge regressions, penalised by the number of ratings."""
    (rows, columns, values), (p, q) = data.training, data.shape
    V = 0.1 * np.random.default_rng(0).standard_normal((q, rank))
    U = np.zeros((p, rank))
    began = time.process_time()
    sides = []
    for index, other, n in ((rows, columns, p), (columns, rows, q)):
        order = np.argsort(index, kind="stable")
        ends = np.searchsorted(index[order], np.arange(n + 1))
        sides.append((other[order], values[order], ends))
    eye, seconds = np.eye(rank), time.process_time() - began
    for _ in range(sweeps):
        began = time.process_time()
        for (other, b, ends), goal, source in zip(sides, (U, V), (V, U), strict=True):
            for i, (low, high) in enumerate(pairwise(ends)):
                if high > low:
                    A = source[other[low:high]]
                    matrix = A.T @ A + ridge * (high - low) * eye
                    goal[i] = np.linalg.solve(matrix, A.T @ b[low:high])
        seconds += time.process_time() - began
        yield seconds, U, V


def by_soft_impute(data: Data, rank: int, threshold: float, steps: int = 30) -> Course:
    """Shrink the singular values of the residual plus the last answer, again and again."""
    (rows, columns, values), shape = data.training, data.shape
    U, V = np.zeros((shape[0], 1)), np.zeros((shape[1], 1))
    ends, seconds = np.searchsorted(rows, np.arange(shape[0] + 1)), 0.0
    for _ in range(steps):
        began = time.process_time()
        residual = values - np.einsum("ij,ij->i", U[rows], V[columns])
        sparse = csr_array((residual, columns, ends), shape=shape)

        def product(x: np.ndarray, S: Any = sparse, U: Any = U, V: Any = V) -> np.ndarray:
            return S @ x + U @ (V.T @ x)

        def transposed(x: np.ndarray, S: Any = sparse, U: Any = U, V: Any = V) -> np.ndarray:
            return S.T @ x + V @ (U.T @ x)

        whole = LinearOperator(shape, product, transposed, matmat=product, rmatmat=transposed)
        start = np.random.default_rng(0).standard_normal(min(shape))
        left, s, right = svds(whole, rank, tol=1e-3, v0=start)
        U, V = left * np.maximum(s - threshold, 0.0), right.T
        seconds += time.process_time() - began
        yield seconds, U, V


def course(stages: Course, test: Entries) -> list[tuple[float, float]]:
    """Return seconds and test error after each stage."""
    return [(seconds, error(U, V, test)) for seconds, U, V in stages]


def first(found: list[tuple[float, float]], level: float) -> str:
    """Return the seconds until the test error was at most ``level``."""
    reached = [seconds for seconds, rmse in found if rmse <= level]
    return f"{reached[0]:.1f}" if reached else "not reached"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=6040)
    parser.add_argument("--items", type=int, default=3706)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--page", type=Path, help="also write the table into this page")
    options = parser.parse_args()
    data = ratings(options.users, options.items, options.count)
    rivals = {
        "ALS": [(by_als, a, b) for a in RANKS for b in RIDGES],
        "soft-impute": [(by_soft_impute, a, b) for a in SOFT_RANKS for b in THRESHOLDS],
    }
    with threadpool_limits(options.threads):
        found = {"wolfpack, radius by its path": course(by_radii(data), data.test)}
        for name, runs in rivals.items():
            tried = {
                f"{name}, {a}, {b:g}": course(run(data, a, b), data.test) for run, a, b in runs
            }
            best = min(tried, key=lambda key: min(rmse for _, rmse in tried[key]))
            found[best] = tried[best]
    goal = 1.01 * min(
        rmse for rmse in (r for _, r in next(v for k, v in found.items() if "ALS" in k))
    )
    zero = error(np.zeros((options.users, 1)), np.zeros((options.items, 1)), data.test)
    rows = [
        [name, f"{min(r for _, r in stages):.4f}", first(stages, goal), f"{stages[-1][0]:.1f}"]
        for name, stages in found.items()
    ]
    headings = ("method", "best test RMSE", f"seconds to {goal:.4f}", "seconds in all")
    text = table(headings, rows)
    title = (
        f"{options.users:,} x {options.items:,}, {options.count:,} ratings; the means alone have a "
        f"test RMSE of {zero:.4f}"
    )
    print(f"{title}\n\n{text}\n")
    for name, stages in found.items():
        print(name, "; ".join(f"{s:.1f} s {r:.4f}" for s, r in stages))
    if options.page is not None:
        insert(options.page, "ratings", f"{title}:\n\n{text}\n\n{origin()}")


if __name__ == "__main__":
    main()
