"""Handwritten digits from noisy gradients, with certificates (needs scikit-learn).

    minimise (1/n) sum_i loss(X' a_i, digit_i) + (1/2n) ||X||^2,   a column of 64 pixels per digit

How fast minibatches get there, with and without variance reduction, and what the certificate knows
of it without knowing the minimum.

    python examples/composite_digits.py [folder for the picture]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _picture import need, picture

import wolfpack as wp

RUNS: dict[str, dict[str, Any]] = {
    "all rows": {},
    "32 rows, converging": {"method": "converging", "batch": 32},
    "32 rows, reduced": {"batch": 32, "variance_reduction": True},
}


def digits(rows: int) -> wp.objectives.Multinomial:
    """Return the mean loss over scikit-learn's 8 x 8 images."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return wp.objectives.Multinomial(images[:rows] / 16.0, labels[:rows])


def traced(G: Any, H: Any, passes: float, options: dict[str, Any]) -> np.ndarray:
    """Run until the data have been read ``passes`` times; return passes, F and certified gap."""
    rows: list[tuple[float, float, float]] = []

    def note(at: Any) -> None:
        rows.append((at.state.rows / G.n, at.history["fun"][-1], at.gap))
        if rows[-1][0] >= passes:
            raise StopIteration

    wp.minimize_composite(G, H, tol=0, callback=note, progress=False, **options)
    return np.array(rows).T


def solve(rows: int = 1797, passes: float = 40.0, tol: float = 1e-7) -> tuple[float, dict]:
    """Return the minimum, to within ``tol``, and the traces of the runs."""
    G = digits(rows)
    H = wp.regularizers.SquaredNorm(1.0 / G.n)
    best = wp.minimize_composite(G, H, variance_reduction=True, tol=tol, progress=False)
    return best.fun, {name: traced(G, H, passes, options) for name, options in RUNS.items()}


def draw(axes: list, best: float, traces: dict) -> None:
    """Draw distances to the minimum and certified gaps."""
    for name, (read, values, gaps) in traces.items():
        (line,) = axes[0].semilogy(read, np.maximum(values - best, 1e-8), label=name)
        axes[1].semilogy(read, gaps, color=line.get_color())
    for ax, title in zip(axes, ("F(y) - min F", "certified gap"), strict=True):
        ax.set(title=title, xlabel="passes over the data")
    axes[0].legend(fontsize=8)


if __name__ == "__main__":
    need("sklearn", "sklearn")
    best, traces = solve()
    for name, (read, values, gaps) in traces.items():
        print(f"{name}: F - min F = {values[-1] - best:.1e}, certified {gaps[-1]:.1e}, ", end="")
        print(f"{read[-1]:.0f} passes")
    picture(__file__, draw, best, traces)
