r"""What a state would have sold without its tax: a synthetic control for each state, in one call.

    minimise (1/2) ||A_i w - b_i||^2   over   w >= 0, sum_j w_j = 1,   for every state i

The years before the tax choose a mixture of the other states that follows state i; later, it says
what state i would have done without it (Abadie, Diamond and Hainmueller 2010). Only state 0 has the
tax: the fits of the others, in the same call, show how large a difference may be by chance.

    python examples/synthetic_controls.py [folder for the picture]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from _picture import picture

import wolfpack as wp


class Panel(NamedTuple):
    """Sales (years, states), the first year with the tax, and what it took from state 0."""

    sales: np.ndarray
    start: int
    effect: np.ndarray


def panel(states: int = 40, years: int = 31, start: int = 19, noise: float = 1.0) -> Panel:
    """Return sales that follow three common trends, and are made here."""
    rng = np.random.default_rng(4)
    trends = 100.0 + np.cumsum(rng.normal(0.0, 3.0, (years, 3)), axis=0)
    shares = rng.dirichlet(np.ones(3), states)
    effect = 1.5 * np.maximum(np.arange(years) - start + 1, 0)
    sales = trends @ shares.T + rng.normal(0.0, noise, (years, states))
    return Panel(sales - np.outer(effect, np.arange(states) == 0), start, effect)


def solve(data: Panel, tol: float = 1e-6) -> tuple[np.ndarray, wp.ManyResult]:
    """Return the differences (states, years) from the synthetic controls, and all fits."""
    states = data.sales.shape[1]
    others = np.array([np.delete(np.arange(states), i) for i in range(states)])
    donors = np.moveaxis(data.sales[: data.start, others], 1, 0)  # (states, years, states - 1)
    f = wp.objectives.LeastSquares(donors, data.sales[: data.start].T)
    result = wp.minimize_many(f, wp.sets.Simplex(states - 1), tol=tol)
    mixtures = np.einsum("tij,ij->it", data.sales[:, others], result.x)
    return data.sales.T - mixtures, result


def ratios(differences: np.ndarray, start: int) -> np.ndarray:
    """Return how much larger differences are after the start than before, for each state."""
    squares = differences**2
    return np.sqrt(squares[:, start:].mean(axis=1) / squares[:, :start].mean(axis=1))


def draw(axes: list, data: Panel, differences: np.ndarray) -> None:
    """Draw sales beside those of the mixture, and the differences of all states."""
    years = np.arange(len(data.sales))
    axes[0].plot(years, data.sales[:, 0], label="state 0")
    axes[0].plot(years, data.sales[:, 0] - differences[0], "--", label="its mixture of states")
    axes[0].axvline(data.start, color="0.6", linewidth=1)
    axes[0].set(title="sales", xlabel="year")
    axes[1].plot(years, differences[1:].T, color="0.8", linewidth=0.7)
    axes[1].plot(years, differences[0], label="state 0")
    axes[1].plot(years, -data.effect, "k:", label="the truth")
    axes[1].set(title="difference from the mixture", xlabel="year")
    for ax in axes:
        ax.legend(fontsize=8)


if __name__ == "__main__":
    data = panel()
    differences, result = solve(data)
    sizes, lost = ratios(differences, data.start), -differences[0, data.start :].sum()
    print(f"{result.message} Sales lost: {lost:.0f}, in truth {data.effect.sum():.0f}; ", end="")
    print(f"{(sizes >= sizes[0]).sum()} of {len(result)} states differ by so much")
    picture(__file__, draw, data, differences)
