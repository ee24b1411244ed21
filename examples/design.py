r"""Where to measure a quadratic surface: the D-optimal design on a square.

    minimise -log det sum_i x_i v_i v_i'   over   the simplex

Candidate i is a point (s, t) of a grid, with v_i = (1, s, t, s^2, s t, t^2), what a quadratic
surface is fitted by. f is infinite at every vertex: one point alone determines no surface.

    python examples/design.py [folder for the picture]
"""

from __future__ import annotations

import numpy as np
from _picture import picture

import wolfpack as wp


def candidates(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of a grid on the square [-1, 1]^2, and the features of each."""
    axis = np.linspace(-1.0, 1.0, size)
    s, t = (grid.ravel() for grid in np.meshgrid(axis, axis))
    return np.stack([s, t], axis=1), np.stack([np.ones_like(s), s, t, s * s, s * t, t * t], axis=1)


def solve(size: int = 101, rtol: float = 1e-6) -> tuple[np.ndarray, np.ndarray, wp.Result]:
    """Return the points, the variance of the fitted surface at each, and the design."""
    points, V = candidates(size)
    f = wp.objectives.DOptimal(V)
    result = wp.minimize(f, wp.sets.Simplex(len(V)), tol=0, rtol=rtol)
    return points, -f.gradient(result.x), result


def draw(axes: list, points: np.ndarray, variance: np.ndarray, result: wp.Result) -> None:
    """Draw the shares of the measurements, and the variance of what is fitted."""
    used = result.x > 1e-6
    axes[0].scatter(*points[used].T, s=1500 * result.x[used])
    axes[0].set(
        title=f"{used.sum()} of {len(points):,} points are measured", xlabel="s", ylabel="t"
    )
    size = round(len(points) ** 0.5)
    image = axes[1].imshow(variance.reshape(size, size), extent=(-1, 1, -1, 1), origin="lower")
    axes[1].figure.colorbar(image, ax=axes[1])
    axes[1].set(title="variance of the surface", xlabel="s", ylabel="t")


if __name__ == "__main__":
    points, variance, result = solve()
    print(f"{(result.x > 1e-6).sum()} of {len(points):,} points, in {result.nit} rounds; ", end="")
    print(f"gap {result.gap:.1e}; largest variance {variance.max():.4f}, at least 6 in any design")
    picture(__file__, draw, points, variance, result)
