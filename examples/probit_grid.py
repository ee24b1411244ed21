r"""Probit traffic equilibrium on a grid of streets: PFW with sampled drivers.

As in `probit_two_links.py`, x = E argmin over v in K of <t(x) + Delta, v>, but K are the flows
through a network, and a sample of the argmin is the path of one driver, who sees every street's
cost with an error of deviation 1. Paths that share streets share errors, as probit models want it;
no path is ever listed. The drivers of a round are m answers of the linear oracle.

    python examples/probit_grid.py [folder for the picture]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from _picture import picture
from grid_flow import streets

import wolfpack as wp

DEMAND = 2000.0


class Answer(NamedTuple):
    """Streets, flows x, and the mean answer of drivers who see the costs of x, with its error."""

    edges: list
    x: np.ndarray
    drivers: np.ndarray
    error: np.ndarray


def solve(n: int = 4, m: int = 1000, rounds: int = 400, asked: int = 20_000) -> Answer:
    """Find the equilibrium; check it with drivers of its own."""
    edges = streets(n)
    K = wp.sets.Scale(wp.sets.DagFlow(edges, (0, 0), (n - 1, n - 1)), DEMAND)
    rng = np.random.default_rng(5)
    free, capacity = rng.uniform(1.0, 2.0, len(edges)), rng.uniform(600.0, 1500.0, len(edges))

    def beckmann(x: np.ndarray) -> tuple[float, np.ndarray]:
        load = (x / capacity) ** 4
        return float((free * x * (1 + load / 5)).sum()), free * (1 + load)

    slopes = 4 * free / capacity * (DEMAND / capacity) ** 3
    f = wp.objectives.Function(beckmann, L=float(slopes.max()))
    how = {"alpha": 1.0, "noise": "gaussian", "smoothing": "ambient", "m": m}
    x = wp.minimize(f, K, method="pfw", tol=1e-9, max_rounds=rounds, **how).state.x
    errors = rng.standard_normal((asked, len(edges)))
    taken = np.asarray(K.lmo(beckmann(x)[1] + errors))
    return Answer(edges, x, taken.mean(axis=0), taken.std(axis=0) / asked**0.5)


def draw(axes: list, answer: Answer) -> None:
    """Draw flows as widths, and the fixed point."""
    for ends, flow in zip(answer.edges, answer.x, strict=True):
        (a, b), (c, d) = ends
        axes[0].plot([a, c], [b, d], "C0", lw=flow / 120, solid_capstyle="round")
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        place = {"fontsize": 7, "ha": "center", "va": "center", "bbox": box}
        axes[0].text((a + c) / 2, (b + d) / 2, f"{flow:.0f}", **place)
    axes[0].set(title="flows", aspect="equal")
    axes[0].axis("off")
    axes[1].axline((0, 0), slope=1, color="0.7", lw=1)
    axes[1].errorbar(answer.x, answer.drivers, 2 * answer.error, fmt="o", ms=3)
    axes[1].set(xlabel="flow", ylabel="drivers' answer to it", title="fixed point")


if __name__ == "__main__":
    answer = solve()
    worst = abs(answer.x - answer.drivers).max()
    print(
        f"{len(answer.edges)} streets, demand {DEMAND:.0f}: flows and drivers' answers differ ",
        end="",
    )
    print(
        f"by at most {worst:.1f}; two standard errors of the check are {2 * answer.error.max():.1f}"
    )
    picture(__file__, draw, answer)
