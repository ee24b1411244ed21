r"""Bring your own objective: the entropic risk of a portfolio, as a function of a few lines.

    minimise (1/c) log mean_s exp(-c <r_s, x>)   over   the simplex

with returns r_s in scenarios s and aversion c. Any callable x -> (value, gradient) will do; its
smoothness constant need not be known.

    python examples/own_objective.py [folder for the picture]
"""

from __future__ import annotations

import numpy as np
from _picture import picture
from scipy.special import logsumexp

import wolfpack as wp


def scenarios(count: int, shares: int) -> np.ndarray:
    """Return the shares' returns in percent, one row per scenario."""
    rng = np.random.default_rng(0)
    mean, deviation = rng.uniform(0.0, 1.0, shares), rng.uniform(0.5, 3.0, shares)
    return mean + deviation * rng.standard_normal((count, shares))


def entropic_risk(returns: np.ndarray, aversion: float):
    """Return the risk as a function x -> (value, gradient)."""

    def risk(x: np.ndarray) -> tuple[float, np.ndarray]:
        exponents = -aversion * (returns @ x)
        total = logsumexp(exponents)
        gradient = -np.exp(exponents - total) @ returns
        return (total - np.log(len(returns))) / aversion, gradient

    return risk


def solve(
    aversions: tuple[float, ...] = (0.1, 1.0, 10.0), shares: int = 40, tol: float = 1e-4
) -> dict[float, wp.Result]:
    """Return the best portfolio for each aversion."""
    returns, K = scenarios(500, shares), wp.sets.Simplex(shares)
    return {c: wp.minimize(entropic_risk(returns, c), K, method="bpcg", tol=tol) for c in aversions}


def draw(axes: list, results: dict[float, wp.Result]) -> None:
    """Draw the portfolios: the more averse, the more shares."""
    for ax, (c, result) in zip(axes, results.items(), strict=True):
        ax.bar(np.arange(len(result.x)), 100 * result.x)
        ax.set(title=f"aversion {c:g}", xlabel="share", ylabel="percent")


if __name__ == "__main__":
    results = solve()
    for c, result in results.items():
        held = np.count_nonzero(result.x > 1e-6)
        print(f"aversion {c:4g}: risk {result.fun:+.4f} (gap {result.gap:.0e}), {held} shares")
    picture(__file__, draw, results, columns=len(results))
