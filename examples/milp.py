"""A fair lottery over feasible plans: a mixed-integer program is the linear oracle.

A day's plan serves some of the customers; each needs hours of several trades, and no trade has
enough for all. A lottery over plans serves customer j with probability x_j, and x is in the convex
hull of the feasible plans. All that is known of it is how to find the best plan for given rewards:

    minimise (1/2) sum_j (x_j - d_j)^2   over   x in conv{plans}

with d_j the service that customer j asked for. The corrective method asks m programs at once and
remembers all plans; more of them in a round mean fewer rounds. They run where ``engine`` says:
``"threads:2"`` here, ``"processes:8"``, ``"dask:tcp://host:8786"``, ``"ray"`` or ``"mpi"``
elsewhere, to the same bits.

    python examples/milp.py [folder for the picture]
"""

from __future__ import annotations

import numpy as np
from _picture import picture

import wolfpack as wp
from wolfpack.solvers.corrective import Corrective

Answer = tuple[np.ndarray, dict[int, wp.Result]]


def plans(customers: int, trades: int) -> wp.sets.MixedInteger:
    """Return the hull of the 0-1 vectors x with hours @ x <= the hours that each trade has."""
    hours = np.random.default_rng(3).integers(1, 9, (trades, customers)).astype(float)
    return wp.sets.MixedInteger(hours, 0.6 * hours.sum(axis=1), bounds=(0, 1))


def solve(customers: int = 14, ms: tuple[int, ...] = (1, 4), engine: str = "threads:2") -> Answer:
    """Return the service asked for and, for each m, the fairest lottery, proved to 1e-6."""
    K = plans(customers, trades=2)
    asked = np.random.default_rng(0).uniform(0.5, 1.0, customers)
    f = wp.objectives.Quadratic(1.0, -asked, 0.5 * float(asked @ asked))
    return asked, {
        m: wp.minimize(f, K, method=Corrective(m=m), tol=1e-6, engine=engine) for m in ms
    }


def draw(axes: list, asked: np.ndarray, results: dict[int, wp.Result]) -> None:
    """Draw the service asked for and given, and the rounds that it took."""
    customers = np.arange(len(asked))
    axes[0].bar(customers, asked, color="0.85", label="asked for")
    axes[0].bar(customers, next(iter(results.values())).x, width=0.5, label="given")
    axes[0].set(xlabel="customer", ylabel="probability of service", title="fair lottery over plans")
    axes[0].legend(fontsize=8, ncols=2, loc="upper center")
    axes[0].set_ylim(0, 1.2)
    for m, result in results.items():
        axes[1].semilogy(result.history["round"], result.history["gap"], ".-", label=f"m = {m}")
    axes[1].set(xlabel="rounds of m integer programs", title="certified gap")
    axes[1].legend(fontsize=8)


if __name__ == "__main__":
    asked, results = solve()
    for m, result in results.items():
        print(f"m = {m}: f = {result.fun:.6f}, gap {result.gap:.0e}, {result.nit} rounds, ", end="")
        print(f"{result.nlmo} integer programs")
    picture(__file__, draw, asked, results)
