"""How fast the paper's methods run here, against a plain implementation of the same iteration.

    python benchmarks/paper.py [--repeats 7] [--json FILE]

1. One round of Algorithm 2 on the paper's two problems, m perturbed oracles a round: wolfpack,
   which answers them in one batch, against a loop that draws and solves them one after another (a
   Gumbel vector and an argmax, or a Gaussian matrix and one `svds`, for each). Both do everything
   else of the round too. Repeats are interleaved; medians are compared.
2. The time of a round of wolfpack outside the gradient, the noise and the oracle, at d = 50.

Processor time, which others on the machine disturb least; one BLAS thread.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import svds
from threadpoolctl import threadpool_limits

import wolfpack as wp
from wolfpack.paper import Instance, instance


def plain_argmax(u: np.ndarray, random: np.random.RandomState, alpha: float) -> np.ndarray:
    """The vertex of the simplex that a Gumbel-perturbed direction picks."""
    vertex = np.zeros(u.size)
    vertex[np.argmax(u + alpha * random.gumbel(size=u.size))] = 1.0
    return vertex


def plain_svds(u: np.ndarray, random: np.random.RandomState, alpha: float) -> np.ndarray:
    """The vertex of the trace-norm ball that a Gaussian-perturbed direction picks."""
    left, _, right = svds(u + alpha * random.standard_normal(u.shape), k=1)
    return np.outer(left[:, 0], right[0])


def plain_pfw(
    on: Instance, oracle: Callable[..., np.ndarray], alpha: float, m: int, rounds: int
) -> np.ndarray:
    """Algorithm 2 as printed, its m oracles one after another; returns the last iterate."""
    A, b, x0 = on.f.A, on.f.b, on.x0
    random = np.random.RandomState(0)
    beta, mu = on.K.radius / alpha, 1.0 / on.spectral_L
    root = math.sqrt(mu * beta)
    x, y, d, A_k = x0, A.T @ (A @ x0 - b), np.zeros(x0.shape), 0.0
    for _ in range(rounds):
        inside = (
            mu**2 * (beta + A_k) ** 2
            + 4 * A_k * beta**2 * mu
            + 5 * A_k**2 * mu * beta
            + 2 * A_k * mu * root * (beta + A_k)
        )
        top = A_k * (mu + 2 * beta + root) + beta * mu + math.sqrt(inside)
        A_next = top / (2 * (beta + root))
        tau = 1.0 - A_k / A_next
        v = (1 - tau) * y + tau * (A.T @ (A @ x - b))
        g = np.zeros(x0.shape)
        for _ in range(m):
            g -= oracle(-v, random, alpha)
        d = d + (A_next - A_k) * g / m
        x = (beta * x0 - d) / (A_next + beta)
        y = (1 - tau) * y + tau * (A.T @ (A @ x - b))
        A_k = A_next
    return x


def our_pfw(on: Instance, alpha: float, m: int, rounds: int) -> np.ndarray:
    """The same by wolfpack, certified at the first and the last round only."""
    options: dict[str, Any] = {"alpha": alpha, "m": m, "M": 1.0, "record_every": rounds}
    return wp.minimize(
        on.f, on.K, on.x0, method="pfw", tol=0, max_rounds=rounds, progress=False, **options
    ).x


def compare(
    name: str, oracle: Callable[..., np.ndarray], m: int, rounds: tuple[int, int], repeats: int
) -> dict[str, Any]:
    """Seconds per round of both implementations, from interleaved repeats."""
    on = instance(name)
    alpha = 1.0 / m**2
    ours, plain = [], []
    for _ in range(repeats):
        ours.append(_seconds(lambda: our_pfw(on, alpha, m, rounds[0])) / rounds[0])
        plain.append(_seconds(lambda: plain_pfw(on, oracle, alpha, m, rounds[1])) / rounds[1])
    ratios = [p / o for p, o in zip(plain, ours, strict=True)]
    return {
        "problem": name,
        "m": m,
        "ours_us": 1e6 * statistics.median(ours),
        "plain_us": 1e6 * statistics.median(plain),
        "ratio": statistics.median(plain) / statistics.median(ours),
        "smallest_ratio": min(ratios),
    }


class Clock:
    """Adds up the time spent inside the functions that it wraps."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds += time.perf_counter() - began

        return call


def overhead(method: str, options: dict[str, Any], rounds: int, repeats: int) -> dict[str, Any]:
    """Seconds per round outside gradient, noise and oracle, on the simplex, d = 50."""
    outside, total = [], []
    for _ in range(repeats):
        clock = Clock()
        on = instance.__wrapped__("simplex-43")  # a fresh one, whose methods may be replaced
        on.f.evaluate = clock.timed(on.f.evaluate)
        on.K.draw = clock.timed(on.K.draw)  # noise and oracle in one
        on.K._lmo = clock.timed(on.K._lmo)
        result = wp.minimize(
            on.f,
            on.K,
            on.x0,
            method=method,
            tol=0,
            max_rounds=rounds,
            record_every=rounds,
            **options,
        )
        total.append(result.solver_seconds / rounds)
        outside.append((result.solver_seconds - clock.seconds) / rounds)
    name = method + "".join(f" {key}={value}" for key, value in options.items())
    return {
        "method": name,
        "round_us": 1e6 * statistics.median(total),
        "overhead_us": 1e6 * statistics.median(outside),
    }


def _seconds(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        compared = [
            compare("simplex-43", plain_argmax, 300, (2_000, 20), arguments.repeats),
            compare("trace-43", plain_svds, 100, (300, 5), arguments.repeats),
        ]
        spent = [
            overhead("fw", {}, 5_000, arguments.repeats),
            overhead("fw-ls", {}, 5_000, arguments.repeats),
            overhead("pfw", {"alpha": 1e-3, "m": 32}, 5_000, arguments.repeats),
            overhead("r-pfw", {"m": "theory", "M": 1.0}, 5_000, arguments.repeats),
        ]
    print(f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}\n")
    print("| problem | m | plain, µs/round | wolfpack, µs/round | ratio | smallest ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    for row in compared:
        print(
            f"| {row['problem']} | {row['m']} | {row['plain_us']:,.0f} | {row['ours_us']:,.0f} "
            f"| {row['ratio']:.0f} | {row['smallest_ratio']:.0f} |"
        )
    print("\n| method, d = 50 | µs/round | of these outside gradient, noise and oracle |")
    print("|---|---:|---:|")
    for row in spent:
        print(f"| {row['method']} | {row['round_us']:.0f} | {row['overhead_us']:.0f} |")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"compared": compared, "overhead": spent}, file, indent=2)


if __name__ == "__main__":
    main()
