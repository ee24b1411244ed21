r"""Bring your own set: growth curves, by a linear oracle of five lines.

    minimise (1/2) ||x - b||^2   over   0 <= x_1 <= x_2 <= ... <= x_n <= 1

The vertices of the set are the steps from 0 to 1 at one place, so the best one is found by a sum
from the right. Everything else (smoothing, certificates, engines) works with that alone.

    python examples/own_set.py [folder for the picture]
"""

from __future__ import annotations

import numpy as np
from _picture import picture

import wolfpack as wp


def best_step(g: np.ndarray) -> np.ndarray:
    """Return the steps of smallest <g, v>, for one direction or for a batch of them."""
    n = g.shape[-1]
    rest = np.cumsum(g[..., ::-1], axis=-1)[..., ::-1]  # of a step to 1 at each place
    rest = np.concatenate([rest, np.zeros((*g.shape[:-1], 1))], axis=-1)  # and of no step
    return (np.arange(n) >= rest.argmin(axis=-1)[..., None]).astype(float)


def growing(x: np.ndarray) -> bool:
    """Tell whether x is in the set; without it, membership is judged with the oracle."""
    return bool((np.diff(x, prepend=0.0, append=1.0) >= -1e-9).all())


def solve(n: int = 100, tol: float = 1e-6) -> tuple[np.ndarray, wp.Result]:
    """Return noisy measurements of a growth curve and the nearest curve that grows."""
    K = wp.sets.Oracle(best_step, shape=n, radius=n**0.5, batched=True, contains=growing)
    time = np.linspace(-4.0, 4.0, n)
    b = 1 / (1 + np.exp(-1.5 * time)) + np.random.default_rng(0).normal(0.0, 0.12, n)
    f = wp.objectives.Quadratic(1.0, -b, 0.5 * float(b @ b))
    return b, wp.minimize(f, K, method="fcfw", tol=tol)


def draw(axes: list, b: np.ndarray, result: wp.Result) -> None:
    """Draw measurements and curve, and the certificate."""
    axes[0].plot(b, ".", color="0.6", label="measured")
    axes[0].step(np.arange(len(b)), result.x, where="mid", label="nearest growing curve")
    axes[0].legend(fontsize=8)
    axes[1].semilogy(result.history["round"], np.maximum(result.history["gap"], 1e-16), ".-")
    axes[1].set(xlabel="rounds", title="certified gap")


if __name__ == "__main__":
    b, result = solve()
    print(f"f = {result.fun:.6f}, gap {result.gap:.1e}, {result.nlmo} oracle calls")
    picture(__file__, draw, b, result)
