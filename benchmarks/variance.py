"""Variance of the mean answer: antithetic pairs and Sobol points against independent draws.

Run ``python benchmarks/variance.py``. For each set and law the table shows E||mean - E mean||^2 of
m answers, divided by that of m independent draws, over 400 rounds at a query near the optimum.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

import wolfpack as wp
from wolfpack.problem import Problem
from wolfpack.smoothing import Oracles, make_smoothing

ROUNDS = 400


def cases() -> list[tuple[str, object, str, str]]:
    """Return set, name, smoothing and law of each row."""
    return [
        ("simplex, d = 50", wp.sets.Simplex(50), "ambient", "gumbel"),
        ("simplex, d = 50", wp.sets.Simplex(50), "ambient", "gaussian"),
        ("l1 ball, d = 50", wp.sets.L1Ball(50), "lifted", "lifted"),
        ("box, d = 50", wp.sets.Box(np.zeros(50), np.ones(50)), "ambient", "gaussian"),
        ("trace ball, 10 x 8", wp.sets.TraceNormBall((10, 8)), "ambient", "gaussian"),
        ("Birkhoff, n = 8", wp.sets.Birkhoff(8), "ambient", "gaussian"),
    ]


def spread(K: wp.sets.Set, smoothing: object, m: int, sampling: str) -> float:
    """Return the variance of the mean of m answers, summed over coordinates."""
    rng = np.random.default_rng(0)
    v = rng.standard_normal(K.shape)
    f = wp.objectives.Quadratic(1.0, np.zeros(K.shape))
    oracles = Oracles(Problem(f, K), smoothing, 0, sampling)  # type: ignore[arg-type]
    means = np.array([oracles.mean(v, 0.5, m, k) for k in range(ROUNDS)])
    return float(means.var(axis=0, ddof=1).sum())


def main() -> None:
    """Print the table."""
    table = Table("set", "noise", "m", "antithetic", "sobol", title="variance ratio to iid draws")
    for name, K, kind, law in cases():
        noise = None if kind == "lifted" else wp.noise.get(law)
        smoothing = make_smoothing(kind, None, K, noise)
        for m in (2, 16, 64):
            base = spread(K, smoothing, m, "iid")
            ratios = [f"{spread(K, smoothing, m, s) / base:.3f}" for s in ("antithetic", "sobol")]
            table.add_row(name, law, str(m), *ratios)
    Console().print(table)


if __name__ == "__main__":
    main()
