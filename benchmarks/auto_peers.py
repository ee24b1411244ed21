"""The best tools of others for the problems of benchmarks/auto.py, as a user would call them.

A peer gets the arrays of a problem and returns a point; the caller certifies it. Iterative peers
are called with growing limits on iterations until the certificate meets the tolerance, and the time
of the call that meets it counts, with one certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize, nnls

from wolfpack import objectives, sets
from wolfpack.objectives import Objective
from wolfpack.sets import Set

Peer = Callable[[int], np.ndarray]
"""Takes the number of iterations to make at most, and returns the point found."""

DIRECT = 0
"""The only number of iterations for peers that run to their own end."""


def peers(f: Objective, K: Set) -> dict[str, Peer]:
    """Return the peers that apply, by name."""
    found: dict[str, Peer] = {}
    if K.has("project"):
        found["bare FISTA"] = lambda steps: bare_fista(f, K, steps)
    if isinstance(K, sets.Box | sets.LinfBall):
        found["SciPy L-BFGS-B"] = lambda steps: l_bfgs_b(f, K, steps)
    if type(K) is sets.Simplex and isinstance(f, objectives.LeastSquares):
        found["SciPy nnls"] = lambda steps: scaled_nnls(f.A, f.b, K.r)
    if type(K) is sets.Simplex and K.dimension <= 100:
        found["SciPy SLSQP"] = lambda steps: slsqp(f, K, steps)
    if find_spec("clarabel") and K.has("polyhedron") and K.dimension <= 2000:
        form = f.quadratic_form()
        size = 0 if form is None else int((form.P if form.factor is None else form.factor).size)
        if form is not None and size <= 400_000:
            found["Clarabel"] = lambda steps: clarabel(f, K)
    if find_spec("copt") and type(K) in (sets.Simplex, sets.L1Ball, sets.TraceNormBall):
        found["copt APGD"] = lambda steps: copt_apgd(f, K, steps)
    return found


def bare_fista(f: Objective, K: Set, steps: int) -> np.ndarray:
    """Beck and Teboulle's method with a step found by backtracking, in twenty lines of NumPy."""
    x = y = K.start()
    t, L = 1.0, 1.0
    for _ in range(steps):
        value, gradient = f.value_and_gradient(y)
        while True:
            x_next = K.project(y - gradient / L)
            d = x_next - y
            if f.value(x_next) <= value + np.vdot(gradient, d) + 0.5 * L * np.vdot(d, d) + 1e-12:
                break
            L *= 2.0
        t_next = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        y = x_next + (t - 1.0) / t_next * (x_next - x)
        x, t = x_next, t_next
    return x


def l_bfgs_b(f: Objective, K: Any, steps: int) -> np.ndarray:
    """SciPy's solver for bounds."""
    low, high = (K.lower, K.upper) if isinstance(K, sets.Box) else (-K.r, K.r)
    bounds = Bounds(np.full(K.shape, low).ravel(), np.full(K.shape, high).ravel())
    options = {"maxiter": steps, "ftol": 0.0, "gtol": 0.0, "maxfun": 10**6}
    start = K.start().ravel()
    found = minimize(
        _flat(f, K), start, jac=True, bounds=bounds, method="L-BFGS-B", options=options
    )
    return np.clip(found.x, bounds.lb, bounds.ub).reshape(K.shape)


def scaled_nnls(A: np.ndarray, b: np.ndarray, radius: float) -> np.ndarray:
    """SciPy's nonnegative least squares, with the sum as a heavy row."""
    heavy = 1e4 * np.abs(A).max()
    rows = np.vstack([A, np.full((1, A.shape[1]), heavy)])
    x, _ = nnls(rows, np.append(b, heavy * radius))
    return x * (radius / x.sum())


def slsqp(f: Objective, K: Any, steps: int) -> np.ndarray:
    """SciPy's sequential quadratic programming."""
    total = {"type": "eq", "fun": lambda x: x.sum() - K.r, "jac": lambda x: np.ones_like(x)}
    bounds = [(0.0, None)] * K.dimension
    options = {"maxiter": steps, "ftol": 1e-15}
    found = minimize(
        _flat(f, K),
        K.start().ravel(),
        jac=True,
        bounds=bounds,
        constraints=[total],
        method="SLSQP",
        options=options,
    )
    x = np.maximum(found.x, 0.0)
    return (x * (K.r / x.sum())).reshape(K.shape)


def clarabel(f: Objective, K: Set) -> np.ndarray:
    """Clarabel on the same matrices; its answer is made feasible as ours is."""
    from wolfpack.solvers.parts.interior_point import program_of, solve

    polyhedron = K.polyhedron()
    form = f.quadratic_form()
    assert form is not None
    z = solve(program_of(form, polyhedron), 1e-11, 60.0)
    return K.start() if z is None else polyhedron.round(z[: polyhedron.n]).reshape(K.shape)


def copt_apgd(f: Objective, K: Any, steps: int) -> np.ndarray:
    """The accelerated proximal gradient method of copt, with its line search."""
    import copt

    x0 = K.start().ravel()
    found = copt.minimize_proximal_gradient(
        _flat(f, K),
        x0,
        prox=lambda x, step: K.project(x.reshape(K.shape)).ravel(),
        jac=True,
        tol=0,
        max_iter=steps,
        accelerated=True,
    )
    return K.project(found.x.reshape(K.shape))


def _flat(f: Objective, K: Set) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Return f as a function of vectors, with its gradient."""

    def fun(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = f.value_and_gradient(x.reshape(K.shape))
        return float(value), np.asarray(gradient).reshape(-1)

    return fun
