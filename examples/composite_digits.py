"""Handwritten digits from noisy gradients, with certificates (needs scikit-learn).

    minimise (1/n) sum_i loss(X' a_i, digit_i) + H(X),   X one column of 64 pixels per digit

How fast minibatches get there, with and without variance reduction; what the certificate knows of
it without knowing the minimum; and what H does to the pixels: a ridge uses all of them, an elastic
net drops coefficients, groups drop pixels for all ten digits at once.

    python examples/composite_digits.py [folder for the picture]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _picture import picture

import wolfpack as wp
from wolfpack.regularizers import ElasticNet, GroupLasso, SquaredNorm

RUNS: dict[str, dict[str, Any]] = {
    "all rows": {},
    "32 rows, converging": {"method": "converging", "batch": 32},
    "32 rows, reduced": {"batch": 32, "variance_reduction": True},
}
PIXELS = np.repeat(np.arange(64), 10).reshape(64, 10)
PENALTIES = {
    "ridge": SquaredNorm(2e-3),
    "elastic net": ElasticNet(2e-3, 2e-3),
    "groups": GroupLasso(PIXELS, 1.5e-3, 2e-3),
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


def solve(rows: int = 1797, passes: float = 40.0, tol: float = 1e-4) -> tuple[Any, float, Any, Any]:
    """Return G, its minimum with a small ridge, the traces of the runs, and a result per H."""
    G = digits(rows)
    H = SquaredNorm(1.0 / G.n)
    best = wp.minimize_composite(G, H, variance_reduction=True, tol=1e-3 * tol, progress=False)
    traces = {name: traced(G, H, passes, options) for name, options in RUNS.items()}
    answers = {
        name: wp.minimize_composite(G, H, variance_reduction=True, tol=tol, progress=False)
        for name, H in PENALTIES.items()
    }
    return G, best.fun, traces, answers


def pixels_used(x: np.ndarray) -> int:
    """Return how many pixels have a coefficient for some digit."""
    return int(np.count_nonzero(abs(x).sum(axis=1)))


def draw(axes: list, G: Any, best: float, traces: Any, answers: Any) -> None:
    """Draw distances to the minimum and certified gaps, then the coefficients of the digit 3."""
    for name, (read, values, gaps) in traces.items():
        (line,) = axes[0].semilogy(read, np.maximum(values - best, 1e-8), label=name)
        axes[1].semilogy(read, gaps, color=line.get_color())
    for ax, title in zip(axes, ("F(y) - min F", "certified gap"), strict=False):
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("passes over the data")
    axes[0].legend(fontsize=7)
    for ax, (name, result) in zip(axes[2:], answers.items(), strict=True):
        top = float(abs(result.x[:, 3]).max())
        ax.imshow(result.x[:, 3].reshape(8, 8), cmap="RdBu_r", vmin=-top, vmax=top)
        right = (np.argmax(G.A @ result.x, axis=1) == G.labels).mean()
        ax.set_title(f"{name}: {pixels_used(result.x)} pixels, {right:.1%}", fontsize=10)
        ax.axis("off")


if __name__ == "__main__":
    answer = solve()
    for name, result in answer[3].items():
        used = pixels_used(result.x)
        print(f"{name}: F = {result.fun:.5f} within {result.gap:.1e}, {used} of 64 pixels")
    picture(__file__, draw, *answer, columns=5, dpi=70)
