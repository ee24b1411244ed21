r"""Traffic through a city grid in which every street slows down as it fills.

    minimise sum_e (t_e x_e + w_e x_e^2 / 2)   over   unit flows from one corner to the other

A vertex is one path. Their number grows exponentially, yet the smoothed oracle is exact: one sweep
of log-sum-exp over the graph averages over all paths.

    python examples/grid_flow.py [folder for the picture]
"""

from __future__ import annotations

import numpy as np
from _picture import picture

import wolfpack as wp

Node = tuple[int, int]


def streets(n: int) -> list[tuple[Node, Node]]:
    """Return the one-way streets of an n x n grid, eastward and northward."""
    nodes = [(i, j) for i in range(n) for j in range(n)]
    steps = [(1, 0), (0, 1)]
    edges = [((i, j), (i + di, j + dj)) for i, j in nodes for di, dj in steps]
    return [(a, b) for a, b in edges if max(b) < n]


def solve(n: int = 12, tol: float = 1e-3) -> tuple[list, wp.Result, wp.sets.DagFlow]:
    """Return the streets, the best flow and the set it was found in."""
    edges = streets(n)
    K = wp.sets.DagFlow(edges, source=(0, 0), target=(n - 1, n - 1))
    rng = np.random.default_rng(4)
    length, width = rng.uniform(0.5, 1.5, len(edges)), rng.uniform(0.2, 1.0, len(edges))
    f = wp.objectives.Quadratic(np.diag(3.0 / width), length)
    return edges, wp.minimize(f, K, tol=tol), K


def draw(axes: list, edges: list, result: wp.Result, K: wp.sets.DagFlow) -> None:
    """Draw flows as widths, and the certificate."""
    from matplotlib.collections import LineCollection

    axes[0].add_collection(LineCollection(edges, linewidths=0.4, colors="0.8"))
    axes[0].add_collection(LineCollection(edges, linewidths=0.1 + 9 * result.x))
    axes[0].autoscale()
    axes[0].set(title=f"{len(edges)} streets, {np.exp(K.log_count):.0f} paths", aspect="equal")
    axes[0].axis("off")
    axes[1].loglog(1 + result.history["round"], result.history["gap"])
    axes[1].set(title="certified gap", xlabel="rounds")


if __name__ == "__main__":
    edges, result, K = solve()
    print(f"{len(edges)} streets, {np.exp(K.log_count):.0f} paths")
    print(f"cost {result.fun:.4f}, proved within {result.gap:.1e}, {result.nit} rounds")
    print(result.message)
    picture(__file__, draw, edges, result, K)
