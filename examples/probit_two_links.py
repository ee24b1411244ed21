r"""Probit traffic equilibrium on two links, to nine digits: PFW with an exact smoothed oracle.

A driver sees every link's cost t_e(x_e) with a Gaussian error of deviation 1 and takes the link
that looks cheaper. In equilibrium the flows that result are x itself,

    x = E argmin over v in K of <t(x) + Delta, v> = grad s_1(-t(x)),

the smoothed argmax of scale alpha = 1 over all divisions K of the demand. With Beckmann's function
f, grad f = t, this is the optimality condition of

    min f(x) + s_1^*(x)     and of its dual     max -f^*(y) - s_1(-y), y = t(x),

which PFW solves if alpha stays 1. (Not min f: its last x counts, not the one of smallest f.)

    python examples/probit_two_links.py [folder for the picture]
"""

from __future__ import annotations

import numpy as np
from _picture import picture
from scipy.special import ndtr

import wolfpack as wp

DEMAND = 2000.0
FREE, CAPACITY = np.array([1.25, 2.5]), np.array([800.0, 1200.0])


def cost(x: np.ndarray) -> np.ndarray:
    """Return the costs t_e = free_e (1 + (x_e / capacity_e)^4)."""
    return FREE * (1 + (x / CAPACITY) ** 4)


def f(first: np.ndarray) -> tuple[float, np.ndarray]:
    """Return Beckmann's function, the integrals of the costs, of the first link's flow."""
    x = np.append(first, DEMAND - first)
    t = cost(x)
    return float((FREE * x * (1 + (x / CAPACITY) ** 4 / 5)).sum()), np.array([t[0] - t[1]])


def solve(rounds: int = 300) -> np.ndarray:
    """Return the flows; of two links only the difference of errors counts, of deviation sqrt 2."""
    slopes = 4 * FREE / CAPACITY * (DEMAND / CAPACITY) ** 3
    beckmann = wp.objectives.Function(f, L=float(slopes.sum()))
    how = {"alpha": 2**0.5, "noise": "gaussian", "m": "exact", "max_rounds": rounds}
    K = wp.sets.Box(0.0, [DEMAND])  # the first link's flow, with a closed form for its smoothing
    first = wp.minimize(beckmann, K, method="pfw", tol=1e-9, **how).state.x
    return np.append(first, DEMAND - first)


def answer(first: np.ndarray) -> np.ndarray:
    """Return how much flow the drivers put on the first link where it carries ``first``."""
    t = np.array([cost(np.array([x, DEMAND - x])) for x in first])
    return DEMAND * ndtr((t[:, 1] - t[:, 0]) / 2**0.5)


def draw(axes: list, x: np.ndarray) -> None:
    """Draw the drivers' answer and its fixed point."""
    first = np.linspace(0.0, DEMAND, 200)
    axes[0].plot(first, answer(first))
    axes[0].plot(first, first, color="0.7", lw=1)
    axes[0].plot(x[0], x[0], "o")
    axes[0].set(xlabel="flow on the first link", ylabel="flow that results")
    axes[0].set_title(f"equilibrium at {x[0]:.6f}")


if __name__ == "__main__":
    x = solve()
    print(f"flows {x[0]:.6f} and {x[1]:.6f}, fixed point to {abs(answer(x[:1]) - x[0])[0]:.0e}")
    picture(__file__, draw, x, columns=1)
