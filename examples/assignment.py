r"""Who belongs to whom: the doubly stochastic matrix nearest to noisy scores, and its assignment.

    minimise (1/2) ||X - W||_F^2   over   doubly stochastic X

A vertex of the Birkhoff polytope is a permutation, found by solving an assignment problem. The
nearest doubly stochastic matrix is a soft assignment: it says where the scores leave a doubt.

    python examples/assignment.py [folder for the picture]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from _picture import picture

import wolfpack as wp


class Answer(NamedTuple):
    """Scores, the permutation they come from, the soft assignment, the hard one."""

    W: np.ndarray
    truth: np.ndarray
    result: wp.Result
    hard: np.ndarray


def solve(n: int = 30, noise: float = 0.35, tol: float = 1e-4) -> Answer:
    """Hide a permutation in noise; return the soft and the hard assignment."""
    rng = np.random.default_rng(2)
    truth = rng.permutation(n)
    W = np.eye(n)[truth] + noise * rng.standard_normal((n, n))
    K = wp.sets.Birkhoff(n)
    nearest = wp.objectives.Quadratic(1.0, -W, 0.5 * float(np.vdot(W, W)))
    result = wp.minimize(nearest, K, method="fcfw", tol=tol)
    hard = np.asarray(K.lmo(-result.x))  # the assignment that agrees best with it
    return Answer(W, truth, result, hard)


def draw(axes: list, answer: Answer) -> None:
    """Draw scores, soft and hard assignment, people in the order of the truth."""
    order = np.argsort(answer.truth)
    images = {"scores": answer.W, "nearest doubly stochastic": answer.result.x}
    images["assignment"] = answer.hard
    for ax, (title, image) in zip(axes, images.items(), strict=True):
        ax.imshow(image[order], cmap="Blues", vmin=0, vmax=1)
        ax.set_title(title, fontsize=10)
        ax.set(xticks=[], yticks=[])


if __name__ == "__main__":
    answer = solve()
    result, n = answer.result, len(answer.truth)
    right = int(np.sum(answer.hard.argmax(axis=1) == answer.truth))
    print(f"distance {np.sqrt(2 * result.fun):.4f}, gap {result.gap:.1e}, ", end="")
    print(f"{result.nlmo} assignment problems; {right} of {n} assigned rightly")
    picture(__file__, draw, answer, columns=3)
