r"""The problems of the paper's experiments, from the authors' random numbers.

The authors seed NumPy's legacy generator and draw, in this order:

- simplex, n = 200, d = 50: A = randn(n, d); x = rand(d), scaled to sum 1.5; b = A x; x_0 = rand(d),
  scaled to sum 1. The unconstrained minimiser x lies outside the simplex.
- trace ball, p = 10, q = 8: C = randn(p, p); X = randn(p, q), scaled to nuclear norm 1.5; D = C X;
  X_0 = randn(p, q), scaled to nuclear norm 0.5.

Figure 1 has seed 42. Figure 2 has seed 43, set again for each of its two problems. Figure 3, which
is not the paper's, adds the projection onto the simplex of 1.5 times a random probability vector in
dimension 10,000, from a vertex.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np

from ..front.minimize import minimize
from ..objectives import LeastSquares, Quadratic
from ..sets import Set, Simplex, TraceNormBall


@dataclass(frozen=True)
class Instance:
    """One problem: min f(x) = (1/2) ||A x - b||^2 over x in K, from ``x0`` in K.

    ``name`` is its key in `INSTANCES`, ``seed`` that of the legacy generator. ``noise`` is the law
    of the perturbations: Gumbel on the simplex, Gaussian on the trace ball. ``target`` is the point
    to be projected, where the problem is a projection.
    """

    name: str
    seed: int
    f: LeastSquares | Quadratic
    K: Set
    x0: np.ndarray
    noise: str
    target: np.ndarray | None = None

    @property
    def spectral_L(self) -> float:
        """The smallest valid constant, the spectral norm of A'A."""
        return self.f.L

    @property
    def frobenius_L(self) -> float:
        """The Frobenius norm of A'A, which the authors use on the trace ball."""
        assert isinstance(self.f, LeastSquares)
        return float(np.linalg.norm(self.f.A.T @ self.f.A))

    @cached_property
    def initial_gap(self) -> float:
        """A certified upper bound on f(x_0) - min f, at most 0.1% of f(x_0) above it."""
        start = self.f.value(self.x0)
        best = minimize(self.f, self.K, self.x0, method="r-pfw", tol=1e-3 * start, progress=False)
        return start - best.lower_bound


def simplex(seed: int, n: int = 200, d: int = 50) -> Instance:
    """Least squares on the simplex."""
    random = np.random.RandomState(seed)
    A = random.randn(n, d)
    x = random.rand(d)
    b = A @ (1.5 * x / x.sum())
    x0 = random.rand(d)
    x0 = x0 / x0.sum()
    return Instance(f"simplex-{seed}", seed, LeastSquares(A, b), Simplex(d), x0, "gumbel")


def trace_ball(seed: int, p: int = 10, q: int = 8) -> Instance:
    """Generalised matrix completion on the trace-norm ball."""
    random = np.random.RandomState(seed)
    C = random.randn(p, p)
    X = random.randn(p, q)
    D = C @ (1.5 * X / np.linalg.norm(X, "nuc"))
    X0 = random.randn(p, q)
    X0 = 0.5 * X0 / np.linalg.norm(X0, "nuc")
    ball = TraceNormBall((p, q))
    return Instance(f"trace-{seed}", seed, LeastSquares(C, D), ball, X0, "gaussian")


def projection(seed: int, d: int = 10_000) -> Instance:
    """Projection onto the simplex, whose solution has thousands of nonzeros."""
    t = np.random.RandomState(seed).rand(d)
    t = 1.5 * t / t.sum()
    x0 = np.zeros(d)
    x0[0] = 1.0
    f = Quadratic(1.0, -t, 0.5 * float(t @ t))
    return Instance(f"projection-{seed}", seed, f, Simplex(d), x0, "gumbel", target=t)


INSTANCES: dict[str, Callable[[], Instance]] = {
    "simplex-42": partial(simplex, 42),
    "simplex-43": partial(simplex, 43),
    "trace-43": partial(trace_ball, 43),
    "projection-0": partial(projection, 0),
}


@cache
def instance(name: str) -> Instance:
    """Return the problem of that name in `INSTANCES`."""
    return INSTANCES[name]()
