"""Batches of problems with gradients: our layers beside qpth, cvxpylayers, jaxopt and POT.

    python benchmarks/layers.py

Three tasks, each of them on the same data for all libraries that are installed:

- quadratics: least squares over the simplex, 60 x 39 (synthetic controls), and their gradients in
  the target;
- projections onto the simplex and the Birkhoff polytope, and their gradients;
- transport plans between uniform weights, by what each library has for a batch of them.

Times are processor time on one thread for each problem, the best of three runs after one that
compiles. Accuracy is measured from the answers alone, in NumPy: for quadratics the duality gap of
the answer, moved into the simplex, and the largest difference of gradients from those of the
optimality conditions on the support; for projections the largest difference from those that sets
compute one by one, which meet their constraints to 1e-13.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import numpy as np
from many import controls
from pages import table
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

import wolfpack as wp

Rows = list[list[str]]


def installed(*names: str) -> bool:
    """Tell whether all these packages can be imported."""
    return all(importlib.util.find_spec(name) is not None for name in names)


def seconds(run: Callable[[], Any], repeats: int = 3) -> tuple[Any, float]:
    """Return what a function returns, and the least processor time of a few calls."""
    found, times = run(), []
    for _ in range(repeats):
        began = time.process_time()
        found = run()
        times.append(time.process_time() - began)
    return found, min(times)


def per_problem(total: float, count: int) -> str:
    """Return microseconds for each problem."""
    return f"{1e6 * total / count:,.0f}"


def torch_of(*arrays: Any) -> list[Any]:
    import torch

    return [torch.tensor(a) for a in arrays]


def pulled(answer: Callable[[Any], Any], b: Any, weights: Any) -> Callable[[], Any]:
    """Return a function that computes answers and gradients of <answers, weights> by PyTorch."""
    import torch

    def run() -> Any:
        leaf = torch.tensor(b, requires_grad=True)
        x = answer(leaf)
        (x * torch.tensor(weights)).sum().backward()
        assert leaf.grad is not None
        return x.detach().numpy(), leaf.grad.numpy()

    return run


# quadratics over the simplex


def simplex_gaps(A: Any, b: Any, x: Any) -> Any:
    """Return duality gaps of points that are moved into the simplex, relative to the values."""
    x = np.clip(x, 0.0, None)
    x = x / x.sum(axis=1, keepdims=True)
    rest = np.einsum("bnd,bd->bn", A, x) - b
    g = np.einsum("bnd,bn->bd", A, rest)
    gap = (g * x).sum(axis=1) - g.min(axis=1)
    return gap / (0.5 * (rest * rest).sum(axis=1))


def simplex_gradients(A: Any, b: Any, weights: Any) -> Any:
    """Return the gradients of <x*, weights> in b, from the optimality conditions on the support."""
    found = []
    for i in range(len(A)):
        f = wp.objectives.LeastSquares(A[i], b[i])
        x = wp.minimize(f, wp.sets.Simplex(A.shape[2]), tol=1e-13, method="corrective").x
        free = x > 1e-9
        k = int(free.sum())
        kkt = np.zeros((k + 1, k + 1))
        kkt[:k, :k] = A[i][:, free].T @ A[i][:, free]
        kkt[:k, k] = kkt[k, :k] = 1.0
        found.append(A[i][:, free] @ np.linalg.solve(kkt, np.append(weights[i][free], 0.0))[:k])
    return np.array(found)


def quadratics(count: int = 256) -> Rows:
    """Return the rows of least squares over the simplex, forward and backward."""
    A, b = controls(count, 60, 39)
    weights = np.random.default_rng(1).normal(size=(count, 39))
    exact = simplex_gradients(A, b, weights)
    rows: Rows = []

    def add(name: str, run: Callable[[int], Callable[[], Any]], number: int = count) -> None:
        (x, slopes), both = seconds(run(number))
        gap = simplex_gaps(A[:number], b[:number], x).max()
        error = abs(slopes - exact[:number]).max() / abs(exact).max()
        rows.append([name, per_problem(both, number), f"{gap:.0e}", f"{error:.0e}"])
        print(rows[-1], flush=True)

    add("wolfpack, `Solution`", lambda k: pulled(_ours(A[:k]), b[:k], weights[:k]))
    if installed("qpth"):
        add("qpth", lambda k: pulled(_qpth(A[:k]), b[:k], weights[:k]))
    if installed("cvxpylayers", "diffcp"):
        add("cvxpylayers", lambda k: pulled(_cvxpylayers(A[:k]), b[:k], weights[:k]), 32)
    if installed("jaxopt"):
        add("jaxopt, `ProjectedGradient`", lambda k: _jaxopt(A[:k], b[:k], weights[:k]), 16)
    return rows


def _ours(A: Any) -> Callable[[Any], Any]:
    (A,) = torch_of(A)

    def objective(x: Any, theta: Any) -> Any:
        return 0.5 * ((A @ x[:, :, None])[:, :, 0] - theta).square().sum(1)

    return wp.layers.Solution(wp.sets.Simplex(A.shape[2]), objective)


def _qpth(A: Any) -> Callable[[Any], Any]:
    import torch
    from qpth.qp import QPFunction

    (A,) = torch_of(A)
    d = A.shape[2]
    one = torch.ones(1, d, dtype=A.dtype)
    G, h = -torch.eye(d, dtype=A.dtype), torch.zeros(d, dtype=A.dtype)
    solve = QPFunction(verbose=-1)

    def answer(b: Any) -> Any:
        p = -(A.mT @ b[:, :, None])[:, :, 0]
        return solve(A.mT @ A, p, G, h, one, torch.ones(1, dtype=A.dtype))

    return answer


def _cvxpylayers(A: Any) -> Callable[[Any], Any]:
    import cvxpy as cp
    from cvxpylayers.torch import CvxpyLayer

    (A,) = torch_of(A)
    _, n, d = A.shape
    x, data, target = cp.Variable(d), cp.Parameter((n, d)), cp.Parameter(n)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(data @ x - target)), [x >= 0, cp.sum(x) == 1])
    # with its default, LSQR, the gradients of this problem have relative errors of 0.3
    settings = {"eps": 1e-12, "max_iters": 100_000, "mode": "dense"}
    layer = CvxpyLayer(problem, parameters=[data, target], variables=[x])
    return lambda b: layer(A, b, solver_args=settings)[0]


def _jaxopt(A: Any, b: Any, weights: Any) -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp
    from jaxopt import ProjectedGradient
    from jaxopt.projection import projection_simplex

    jax.config.update("jax_enable_x64", True)
    A, w = jnp.asarray(A), jnp.asarray(weights)

    def value(x: Any, A: Any, b: Any) -> Any:
        return 0.5 * jnp.sum((A @ x - b) ** 2)

    solver = ProjectedGradient(value, projection_simplex, tol=1e-6, maxiter=5_000)

    def answer(A: Any, b: Any) -> Any:
        start = jnp.full(A.shape[1], 1.0 / A.shape[1])
        return solver.run(start, None, A, b).params

    def total(b: Any) -> Any:
        x = jax.vmap(answer)(A, b)
        return (x * w).sum(), x

    run = jax.jit(jax.grad(total, has_aux=True))

    def both() -> Any:
        slopes, x = run(jnp.asarray(b))
        return np.asarray(x), np.asarray(slopes)

    return both


# projections


def projections() -> Rows:
    """Return the rows of projections, forward and backward."""
    rows: Rows = []
    rng = np.random.default_rng(2)
    for K, count, maps in (
        (wp.sets.Simplex(1000), 1000, "projection_simplex"),
        (wp.sets.Birkhoff(16), 256, "projection_birkhoff"),
    ):
        z, weights = rng.normal(size=(2, count, *K.shape))
        exact = np.stack([K.project(z[i]) for i in range(16)])

        def add(name: str, run: Callable[[], Any], K: Any = K, exact: Any = exact) -> None:
            (x, _), both = seconds(run)
            error = abs(x[:16] - exact).max()
            rows.append([repr(K), name, per_problem(both, len(x)), f"{error:.0e}"])
            print(rows[-1], flush=True)

        add("wolfpack, `Solution`", pulled(wp.layers.Solution(K), z, weights))
        if installed("jaxopt"):
            few = slice(None) if K.dimension > 256 else slice(16)  # the other map is slow
            add(f"jaxopt, `{maps}`", _jaxopt_projection(maps, z[few], weights[few]))
    return rows


def _jaxopt_projection(name: str, z: Any, weights: Any) -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp
    import jaxopt.projection

    jax.config.update("jax_enable_x64", True)
    project, w = getattr(jaxopt.projection, name), jnp.asarray(weights)

    def total(z: Any) -> Any:
        x = jax.vmap(project)(z)
        return (x * w).sum(), x

    run = jax.jit(jax.grad(total, has_aux=True))

    def both() -> Any:
        slopes, x = run(jnp.asarray(z))
        return np.asarray(x), np.asarray(slopes)

    return both


# transport


def transport(count: int = 64, n: int = 32) -> Rows:
    """Return the rows of transport plans whose cost is near the least one.

    Ours are the plans nearest to -C/eps, which are certified; POT's batches those of Sinkhorn's
    method with an entropy of weight eps, until a step changes sums by less than ``tol``.
    """
    rng = np.random.default_rng(3)
    points = rng.normal(size=(2, count, n, 2))
    C = ((points[0][:, :, None] - points[1][:, None]) ** 2).sum(axis=3)
    least = np.array([c[linear_sum_assignment(c)].sum() for c in C])
    rows: Rows = []

    def add(name: str, run: Callable[[], Any], number: int = count) -> None:
        X, total = seconds(run, 1)
        excess = (C[:number] * X).sum(axis=(1, 2)) / least[:number] - 1.0
        lost = abs(X.sum(axis=1) - 1.0).max(), abs(X.sum(axis=2) - 1.0).max()
        rows.append([name, per_problem(total, number), f"{excess.max():.1e}", f"{max(lost):.0e}"])
        print(rows[-1], flush=True)

    def ours(eps: float) -> Callable[[], Any]:
        f = wp.objectives.Quadratic(1.0, C / eps)
        return lambda: wp.minimize_many(f, wp.sets.Birkhoff(n), tol=1e-3).x

    for eps in (0.3, 0.03):
        add(f"wolfpack, nearest plan to -C/{eps:g}", ours(eps))
    if installed("ot"):
        import ot

        def pot(eps: float, tol: float) -> Callable[[], Any]:
            settings = {"method": "log_sinkhorn", "grad": "detach", "max_iter": 10_000}
            return lambda: n * ot.solve_batch(C, reg=eps, tol=tol, **settings).plan

        for eps in (0.1, 0.03):
            for tol in (1e-3, 1e-5):
                add(f"POT, `solve_batch`, entropy {eps:g}, to {tol:g}", pot(eps, tol))
        uniform = np.full(n, 1.0 / n)
        loop = lambda: np.stack([n * ot.emd(uniform, uniform, c) for c in C])  # noqa: E731
        add("POT, loop of `emd`", loop)
    exact = lambda: np.stack([_assignment(c) for c in C])  # noqa: E731
    add("SciPy, loop of assignments", exact)
    return rows


def _assignment(c: Any) -> Any:
    X = np.zeros_like(c)
    X[linear_sum_assignment(c)] = 1.0
    return X


def main() -> None:
    """Measure and print."""
    import torch

    torch.set_num_threads(1)
    with threadpool_limits(1):
        tables = [
            (["layer", "us a problem, with gradients", "gap", "gradient"], quadratics()),
            (["set", "layer", "us a problem, with gradients", "error"], projections()),
            (["plans", "us a problem", "cost above the least", "sums"], transport()),
        ]
    for headings, rows in tables:
        print(f"\n{table(headings, rows)}")


if __name__ == "__main__":
    main()
