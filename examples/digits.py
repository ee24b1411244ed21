"""Sparse logistic regression: tell threes from eights by few pixels (needs scikit-learn).

    minimise (1/n) sum_i log(1 + exp(-b_i <a_i, x>))   over   ||x||_1 <= r

A vertex of the l1 ball is one signed pixel, so the radius bounds how many pixels are used.

    python examples/digits.py [folder for the picture]
"""

from __future__ import annotations

import numpy as np
from _picture import need, picture

import wolfpack as wp


def threes_and_eights() -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's 8 x 8 images of threes and eights, centred, and labels -1 and +1."""
    from sklearn.datasets import load_digits

    images, digits = load_digits(return_X_y=True)
    chosen = np.isin(digits, (3, 8))
    features = images[chosen] / 16.0
    return features - features.mean(axis=0), np.where(digits[chosen] == 8, 1.0, -1.0)


def solve(radii: tuple[float, ...] = (2.0, 10.0, 50.0), tol: float = 1e-4) -> dict:
    """Train on the even rows for each radius; return {radius: (result, errors on the odd rows)}."""
    A, b = threes_and_eights()
    f = wp.objectives.Logistic(A[::2], b[::2])
    answers = {}
    for r in radii:
        result = wp.minimize(f, wp.sets.L1Ball(A.shape[1], radius=r), method="bpcg", tol=tol)
        wrong = int(np.sum(np.sign(A[1::2] @ result.x) != b[1::2]))
        answers[r] = result, wrong
    return answers


def draw(axes: list, answers: dict) -> None:
    """Draw the weights of the pixels."""
    for ax, (r, (result, wrong)) in zip(axes, answers.items(), strict=True):
        top = float(abs(result.x).max())
        ax.imshow(result.x.reshape(8, 8), cmap="RdBu_r", vmin=-top, vmax=top)
        used = np.count_nonzero(abs(result.x) > 1e-9)
        ax.set_title(f"r = {r:g}: {used} pixels, {wrong} errors", fontsize=10)
        ax.axis("off")


if __name__ == "__main__":
    need("sklearn", "sklearn")
    answers = solve()
    for r, (result, wrong) in answers.items():
        used = np.count_nonzero(abs(result.x) > 1e-9)
        print(f"r = {r:4g}: loss {result.fun:.4f} (gap {result.gap:.0e}), {used} pixels, ", end="")
        print(f"{wrong} errors on new images")
    picture(__file__, draw, answers, columns=len(answers))
