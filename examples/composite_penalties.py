"""What a penalty does to the pixels of handwritten digits (needs scikit-learn).

    minimise (1/n) sum_i loss(X' a_i, digit_i) + H(X),   a column of 64 pixels per digit

A ridge uses all pixels, an elastic net drops coefficients, groups drop pixels for all ten digits at
once. Gradients come from minibatches with variance reduction.

    python examples/composite_penalties.py [folder for the picture]
"""

from __future__ import annotations

import numpy as np
from _picture import need, picture
from composite_digits import digits

import wolfpack as wp
from wolfpack.regularizers import ElasticNet, GroupLasso, SquaredNorm

PIXELS = np.repeat(np.arange(64), 10).reshape(64, 10)
PENALTIES = {
    "ridge": SquaredNorm(2e-3),
    "elastic net": ElasticNet(2e-3, 2e-3),
    "groups": GroupLasso(PIXELS, 1.5e-3, 2e-3),
}


def solve(rows: int = 1797, tol: float = 1e-4) -> tuple[dict[str, wp.Result], dict[str, float]]:
    """Return a result for each penalty, and the share of digits that it tells rightly."""
    G = digits(rows)
    answers = {
        name: wp.minimize_composite(G, H, variance_reduction=True, tol=tol, progress=False)
        for name, H in PENALTIES.items()
    }
    right = {name: np.argmax(G.A @ a.x, axis=1) == G.labels for name, a in answers.items()}
    return answers, {name: float(hits.mean()) for name, hits in right.items()}


def pixels_used(x: np.ndarray) -> int:
    """Return how many pixels have a coefficient for some digit."""
    return int(np.count_nonzero(abs(x).sum(axis=1)))


def draw(axes: list, answers: dict[str, wp.Result], right: dict[str, float]) -> None:
    """Draw the coefficients of the digit 3."""
    for ax, (name, result) in zip(axes, answers.items(), strict=True):
        three = result.x[:, 3].reshape(8, 8)
        ax.imshow(three, cmap="RdBu_r", vmin=-abs(three).max(), vmax=abs(three).max())
        title = f"{name}: {pixels_used(result.x)} pixels, {right[name]:.1%} right"
        ax.set_title(title, fontsize=9)
        ax.axis("off")


if __name__ == "__main__":
    need("sklearn", "sklearn")
    answers, right = solve()
    for name, result in answers.items():
        used = pixels_used(result.x)
        print(
            f"{name}: F = {result.fun:.5f} within {result.gap:.1e}, {used} of 64 pixels, ", end=""
        )
        print(f"{right[name]:.1%} right")
    picture(__file__, draw, answers, right, columns=3)
