"""One entry of the sets' contract suite, and the independent answers its tests compare with."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from wolfpack.sets import Set


@dataclass(frozen=True)
class Case:
    """A set, twice: small enough to enumerate, and large enough to need a solver.

    What is compared with must not come from the set's own code: vertices are listed by
    `itertools` or written down, minima come from a formula of another kind or from a solver.

    Attributes
    ----------
    name : str
        Name in the test ids.
    small : callable
        Makes the small instance.
    vertices : callable, optional
        Makes the array (N, *shape) of *all* vertices of the small instance.
    small_minimum : callable, optional
        g -> min <g, v> over the small instance, where vertices cannot be listed.
    large : callable, optional
        Makes the larger instance; then one of the two fields below describes it.
    constraints : callable, optional
        x -> list of constraints on the CVXPY variable x (shape of the large instance).
    minimum : callable, optional
        g -> min <g, v> over the large instance, where CVXPY cannot express it.
    perturbed : callable, optional
        (y, alpha, count, rng) -> array (count, *shape) of independent draws of the perturbed
        argmax of the small instance under `closed_forms`[0]; needed when that law is neither a
        coordinate law nor Gumbel noise on the listed vertices.
    k_best_values : callable, optional
        g -> values that `k_best` must find on the small instance, ascending, where they are not
        simply those of the listed vertices.
    family : callable, optional
        (n, rng) -> (set, minimum), a random instance of size about n with its independent minimum;
        the property tests draw from it.
    directions : int
        How many Gaussian directions the test of the boundary asks for; fewer for slow oracles.
    exact_radius, exact_diameter : bool
        Whether the bounds are attained.
    rtol : float
        Relative error allowed to the oracle's value, as a fraction of ||g|| R.
    certify_rtol : float
        How far, as a fraction of ||g|| R, `certify` may stay below the minimum.
    """

    name: str
    small: Callable[[], Set]
    vertices: Callable[[], np.ndarray] | None = None
    small_minimum: Callable[[np.ndarray], float] | None = None
    large: Callable[[], Set] | None = None
    constraints: Callable[[Any], list[Any]] | None = None
    minimum: Callable[[np.ndarray], float] | None = None
    perturbed: Callable[[np.ndarray, float, int, np.random.Generator], np.ndarray] | None = None
    k_best_values: Callable[[np.ndarray], np.ndarray] | None = None
    family: (
        Callable[[int, np.random.Generator], tuple[Set, Callable[[np.ndarray], float]]] | None
    ) = None
    directions: int = 1500
    exact_radius: bool = True
    exact_diameter: bool = True
    rtol: float = 1e-12
    certify_rtol: float = 1e-10

    def min_small(self, g: np.ndarray) -> float:
        """Return min <g, v> over the small instance, independently of its oracle."""
        if self.small_minimum is not None:
            return float(self.small_minimum(g))
        assert self.vertices is not None, f"{self.name}: list the vertices or give small_minimum"
        vertices = self.vertices()
        return float((vertices.reshape(len(vertices), -1) @ g.reshape(-1)).min())

    def min_large(self, g: np.ndarray) -> float:
        """Return min <g, v> over the large instance by its formula or by Clarabel."""
        if self.minimum is not None:
            return float(self.minimum(g))
        return float(solve(self.constraints, g.shape, lambda x: cp.sum(cp.multiply(g, x)))[0])

    def answers(self, K: Set, seed: int = 0) -> np.ndarray:
        """Return points that include the farthest of K: listed vertices or answers to probes."""
        if self.vertices is not None:
            return self.vertices()
        return K.lmo(probes(K, seed)).to_dense()


def solve(
    constraints: Any, shape: tuple[int, ...], objective: Callable[[Any], Any]
) -> tuple[float, np.ndarray]:
    """Minimise objective(x) under the constraints with Clarabel: the value and the solution."""
    assert constraints is not None, "give constraints or minimum"
    x = cp.Variable(shape)
    problem = cp.Problem(cp.Minimize(objective(x)), constraints(x))
    tight = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    with warnings.catch_warnings():
        # on some processors the last digits that are asked for are not reached
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver=cp.CLARABEL, **tight)
    assert problem.status in ("optimal", "optimal_inaccurate"), problem.status
    assert x.value is not None
    return float(problem.value), np.asarray(x.value)  # type: ignore[arg-type]


def probes(K: Set, seed: int = 0, count: int = 60) -> np.ndarray:
    """Return directions: coordinates and their negatives, all ones, and Gaussian ones."""
    eye = np.eye(K.dimension)[:40]
    ones = np.ones((1, K.dimension))
    gaussian = np.random.default_rng(seed).standard_normal((count, K.dimension))
    return np.concatenate([eye, -eye, ones, -ones, gaussian]).reshape(-1, *K.shape)
