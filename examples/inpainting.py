r"""Fill in the missing pixels of a photograph: completion with a bound on the trace norm.

    minimise (1/2) sum over known pixels of (X_ij - Y_ij)^2   over   ||X||_tr <= r

A vertex of the trace-norm ball is one rank-one matrix, from one pair of singular vectors.

    python examples/inpainting.py [folder for the picture]
"""

from __future__ import annotations

import numpy as np
from _picture import picture

import wolfpack as wp


def photograph(step: int) -> np.ndarray:
    """Return Matplotlib's photograph of Grace Hopper in grey, means of step x step pixels."""
    from matplotlib import cbook, image

    pixels = image.imread(cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)).mean(axis=2)
    h, w = (n // step for n in pixels.shape)
    blocks = pixels[: h * step, : w * step].reshape(h, step, w, step)
    return blocks.mean(axis=(1, 3)) / 255.0


def complete(Y: np.ndarray, known: np.ndarray, radius: float) -> wp.Result:
    """Complete Y from its known entries, to a thousandth of their energy."""

    def misfit(X: np.ndarray) -> tuple[float, np.ndarray]:
        residual = np.where(known, X - Y, 0.0)
        return 0.5 * float(np.vdot(residual, residual)), residual

    f = wp.objectives.Function(misfit, L=1.0, shape=Y.shape)
    K = wp.sets.TraceNormBall(Y.shape, radius=radius)
    tol = 1e-3 * f.value(np.zeros(Y.shape))
    return wp.minimize(f, K, method="anytime", noise=None, tol=tol, max_rounds=5000)


def solve(step: int = 4, share: float = 0.5) -> tuple[np.ndarray, np.ndarray, wp.Result]:
    """Hide a share of the pixels and complete the rest; return picture, mask and result."""
    Y = photograph(step)
    known = np.random.default_rng(0).random(Y.shape) >= share
    return Y, known, complete(Y, known, radius=0.65 * float(np.linalg.norm(Y, "nuc")))


def error(X: np.ndarray, Y: np.ndarray, known: np.ndarray) -> float:
    """Return the root mean square error on the hidden pixels."""
    return float(np.sqrt(np.mean((X - Y)[~known] ** 2)))


def draw(axes: list, Y: np.ndarray, known: np.ndarray, result: wp.Result) -> None:
    """Draw the photograph, what was known of it, and the completion."""
    titles = "photograph", "known pixels", f"completed, error {error(result.x, Y, known):.3f}"
    for ax, image, title in zip(axes, (Y, np.where(known, Y, 1.0), result.x), titles, strict=True):
        ax.imshow(image, cmap="gray", vmin=0, vmax=1)
        ax.set_title(title, fontsize=10)
        ax.axis("off")


if __name__ == "__main__":
    Y, known, result = solve()
    flat = np.full_like(Y, Y[known].mean())
    print(f"{Y.shape[0]} x {Y.shape[1]} pixels, {result.nit} rounds: gap {result.gap:.2g}")
    print(f"error on hidden pixels {error(result.x, Y, known):.3f}, of a flat grey ", end="")
    print(f"{error(flat, Y, known):.3f}")
    picture(__file__, draw, Y, known, result, columns=3, dpi=64)
