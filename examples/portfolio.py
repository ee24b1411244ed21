r"""The portfolio of least variance with at most 5% in any share.

    minimise (1/2) <x, C x>   over   sum_i x_i = 1, 0 <= x_i <= 0.05

A vertex of the capped simplex holds twenty shares, 5% each.

    python examples/portfolio.py [folder for the picture]
"""

from __future__ import annotations

import numpy as np
from _picture import picture

import wolfpack as wp


def covariance(shares: int, factors: int = 5) -> np.ndarray:
    """Return yearly covariances of returns driven by a few factors, the market first."""
    rng = np.random.default_rng(1)
    loadings = rng.normal(0.0, 0.08, (shares, factors))
    loadings[:, 0] = rng.normal(0.16, 0.05, shares)
    own = rng.uniform(0.1, 0.4, shares)
    return loadings @ loadings.T + np.diag(own**2)


def solve(shares: int = 300, cap: float = 0.05, tol: float = 1e-6) -> tuple[np.ndarray, wp.Result]:
    """Return the covariances and the best portfolio, proved to within ``tol``."""
    C = covariance(shares)
    f = wp.objectives.Quadratic(C, np.zeros(shares))
    result = wp.minimize(f, wp.sets.CappedSimplex(shares, cap=cap), method="bpcg", tol=tol)
    return C, result


def draw(axes: list, C: np.ndarray, result: wp.Result) -> None:
    """Draw the holdings in order, and the certificate closing."""
    held = np.sort(result.x)[::-1]
    held = held[held > 1e-9]
    axes[0].bar(np.arange(len(held)), 100 * held, width=1.0)
    axes[0].set(title=f"{len(held)} of {len(C)} shares held", xlabel="share", ylabel="percent")
    rounds = 1 + result.history["round"]
    upper, lower = (
        100 * np.sqrt(2 * np.maximum(result.history[name], 0.0)) for name in ("fun", "lower_bound")
    )
    axes[1].fill_between(rounds, lower, upper, alpha=0.3)
    axes[1].semilogx(rounds, upper, label="found")
    axes[1].semilogx(rounds, lower, label="proved minimum")
    axes[1].set(title="deviation a year", xlabel="rounds", ylabel="percent", ylim=(0, None))
    axes[1].legend(fontsize=8)


if __name__ == "__main__":
    C, result = solve()
    even = np.full(len(C), 1 / len(C))
    print(f"deviation a year: {100 * np.sqrt(2 * result.fun):.2f}%, even shares ", end="")
    print(f"{100 * np.sqrt(even @ C @ even):.2f}%; gap {result.gap:.1e} in {result.nit} rounds")
    picture(__file__, draw, C, result)
