"""Other libraries on the same problems, where they are installed.

copt (Frank-Wolfe, accelerated proximal gradient), jaxopt (projected gradient), POT (conditional
gradient over transport plans), CVXPY with Clarabel, SciPy's SLSQP, and for the logistic problem
scikit-learn and skglm (`penalised`). Those that can be followed step by step are; CVXPY's last
point counts; the others run again and again with more iterations, each run timed by itself.
Imports, compilation and our own certificates are not timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import optimize

from .cases import Case
from .penalised import liblinear, skglm
from .watch import Enough, Point, Rival, Watcher, gap

__all__ = ["LIBRARIES", "Enough", "Point", "Rival", "Watcher", "gap", "missing", "rivals"]

LIBRARIES = {
    "copt": "copt",
    "jaxopt": "jaxopt",
    "POT": "ot",
    "CVXPY": "cvxpy",
    "Clarabel": "clarabel",
    "scikit-learn": "sklearn",
    "skglm": "skglm",
}
"""Libraries that are compared, and the modules by which they are known to be installed."""


def missing() -> list[str]:
    """Return the libraries that are not installed."""
    return [name for name, module in LIBRARIES.items() if find_spec(module) is None]


def rivals(case: Case) -> Iterator[Rival]:
    """Yield those that are installed and apply to the case."""
    kind = type(case.K).__name__
    if find_spec("copt") and kind in ("Simplex", "L1Ball", "TraceNormBall"):
        yield Rival("copt accelerated projected gradient", _copt_projected)
        if kind != "Simplex":  # its simplex has an oracle that its Frank-Wolfe cannot call
            yield Rival("copt Frank-Wolfe", _copt_vanilla)
        if kind == "L1Ball":
            yield Rival("copt pairwise", _copt_pairwise)
    if find_spec("jaxopt") and kind in ("Simplex", "L1Ball"):
        yield Rival("jaxopt projected gradient", _jaxopt)
    if find_spec("ot") and kind == "Birkhoff":
        yield Rival("POT conditional gradient", _pot)
    if "labels" in case.data and find_spec("sklearn"):
        yield Rival("scikit-learn liblinear, given the multiplier", liblinear)
    if "labels" in case.data and find_spec("skglm"):
        yield Rival("skglm, given the multiplier", skglm)
    if find_spec("cvxpy") and find_spec("clarabel") and kind in _CONSTRAINTS:
        yield Rival("CVXPY, Clarabel", _cvxpy)
    if kind == "Simplex" and case.K.dimension <= 100:
        yield Rival("SciPy SLSQP", _slsqp)


def _copt_constraint(case: Case) -> Any:
    from copt import constraint

    K = case.K
    kind = type(K).__name__
    if kind == "TraceNormBall":
        return constraint.TraceBall(K.r, K.shape)
    return constraint.SimplexConstraint(K.r) if kind == "Simplex" else constraint.L1Ball(K.r)


def _flat(case: Case) -> Callable[[Any], tuple[float, Any]]:
    shape = case.K.shape

    def fun(x: Any) -> tuple[float, Any]:
        value, gradient = case.f.value_and_gradient(np.asarray(x).reshape(shape))
        return value, gradient.reshape(-1)

    return fun


def _copt_projected(case: Case, target: float, limit: float) -> list[Point]:
    import copt

    watcher, ball = Watcher(case, target, limit), _copt_constraint(case)
    return watcher.follow(
        lambda: copt.minimize_proximal_gradient(
            _flat(case),
            case.K.start().reshape(-1),
            ball.prox,
            jac=True,
            tol=0,
            max_iter=10**6,
            accelerated=True,
            callback=lambda state: watcher.see(state["x"]),
        )
    )


def _copt_frank_wolfe(case: Case, target: float, limit: float, variant: str) -> list[Point]:
    import copt

    watcher, ball = Watcher(case, target, limit), _copt_constraint(case)
    start, rep = case.K.start().reshape(-1), None
    if variant == "pairwise":
        # its active set begins with one vertex
        vertex = case.K.lmo(np.ones(case.K.shape))
        start, rep = vertex.to_dense(), (float(np.sign(vertex.value)), int(vertex.index))
    lmo = ball.lmo_pairwise if variant == "pairwise" else ball.lmo
    return watcher.follow(
        lambda: copt.minimize_frank_wolfe(
            _flat(case),
            start,
            lmo,
            x0_rep=rep,
            variant=variant,
            jac=True,
            step="backtracking",
            tol=0,
            max_iter=10**6,
            callback=lambda state: watcher.see(state["x"]),
        )
    )


def _copt_vanilla(case: Case, target: float, limit: float) -> list[Point]:
    return _copt_frank_wolfe(case, target, limit, "vanilla")


def _copt_pairwise(case: Case, target: float, limit: float) -> list[Point]:
    return _copt_frank_wolfe(case, target, limit, "pairwise")


def _jax_value(case: Case) -> Callable[[Any], Any]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    data = case.data
    if "labels" in data:
        A, b = jnp.asarray(data["A"]), jnp.asarray(data["labels"])
        return lambda x: jnp.logaddexp(0.0, -b * (A @ x)).sum()
    if "target" in data:
        t = jnp.asarray(data["target"])
        return lambda x: 0.5 * ((x - t) ** 2).sum()
    A, b = jnp.asarray(data["A"]), jnp.asarray(data["b"])
    return lambda x: 0.5 * ((A @ x - b) ** 2).sum()


def _jaxopt(case: Case, target: float, limit: float) -> list[Point]:
    import jax
    import jaxopt
    from jaxopt import projection

    onto = {"Simplex": projection.projection_simplex, "L1Ball": projection.projection_l1_ball}
    solver = jaxopt.ProjectedGradient(_jax_value(case), onto[type(case.K).__name__], tol=0.0)
    start, r = np.asarray(case.K.start(), dtype=float), case.K.r
    update = jax.jit(solver.update)
    begin = solver.init_state(start, hyperparams_proj=r)
    jax.block_until_ready(update(*update(start, begin, r), r))  # compiles
    watcher = Watcher(case, target, limit)

    def run() -> None:
        x, state = start, begin
        while True:
            x, state = update(x, state, r)
            watcher.see(x.block_until_ready())

    return watcher.follow(run)


def _pot(case: Case, target: float, limit: float) -> list[Point]:
    import ot

    n, t = case.K.shape[0], case.data["target"]
    a = np.full(n, 1.0 / n)
    watcher = Watcher(case, target, limit)

    def run() -> None:
        for rounds in (10, 30, 100, 300, 1000, 3000):
            watcher.restart()
            plan = ot.optim.cg(
                a,
                a,
                np.zeros((n, n)),
                1.0,
                lambda G: 0.5 * float(((n * G - t) ** 2).sum()),
                lambda G: n * (n * G - t),
                numItermax=rounds,
                stopThr=0,
                stopThr2=0,
            )
            watcher.see(n * plan, rounds)

    return watcher.follow(run)


def _slsqp(case: Case, target: float, limit: float) -> list[Point]:
    watcher, d = Watcher(case, target, limit), case.K.dimension
    total = {"type": "eq", "fun": lambda x: x.sum() - case.K.r, "jac": lambda x: np.ones(d)}
    return watcher.follow(
        lambda: optimize.minimize(
            _flat(case),
            case.K.start(),
            jac=True,
            method="SLSQP",
            bounds=[(0, None)] * d,
            constraints=[total],
            options={"maxiter": 1000, "ftol": 1e-15},
            callback=watcher.see,
        )
    )


def _simplex(x: Any, case: Case, cp: Any) -> list[Any]:
    return [x >= 0, cp.sum(x) == case.K.r]


def _birkhoff(x: Any, case: Case, cp: Any) -> list[Any]:
    return [x >= 0, cp.sum(x, axis=0) == 1, cp.sum(x, axis=1) == 1]


def _flow(x: Any, case: Case, cp: Any) -> list[Any]:
    tails, heads = np.array(case.data["edges"]).T
    nodes, m = case.data["nodes"], len(tails)
    from scipy.sparse import coo_array

    ones = np.ones(m)
    incidence = coo_array(
        (np.r_[ones, -ones], (np.r_[tails, heads], np.r_[np.arange(m), np.arange(m)])),
        shape=(nodes, m),
    ).tocsr()
    supply = np.zeros(nodes)
    supply[0], supply[-1] = 1.0, -1.0
    return [x >= 0, incidence @ x == supply]


_CONSTRAINTS: dict[str, Callable[[Any, Case, Any], list[Any]]] = {
    "Simplex": _simplex,
    "L1Ball": lambda x, case, cp: [cp.norm1(x) <= case.K.r],
    "Birkhoff": _birkhoff,
    "DagFlow": _flow,
    "Spectrahedron": lambda x, case, cp: [x >> 0, cp.trace(x) == case.K.r],
    "TraceNormBall": lambda x, case, cp: [cp.normNuc(x) <= case.K.r],
    "KSparse": lambda x, case, cp: [cp.norm1(x) <= case.K.k * case.K.r, cp.abs(x) <= case.K.r],
}


def _cvxpy(case: Case, target: float, limit: float) -> list[Point]:
    import cvxpy as cp

    data, kind = case.data, type(case.K).__name__
    x = cp.Variable(case.K.shape, symmetric=kind == "Spectrahedron")
    if "labels" in data:
        loss = cp.sum(cp.logistic(-cp.multiply(data["labels"], data["A"] @ x)))
    elif "target" in data:
        loss = 0.5 * cp.sum_squares(x - data["target"])
    else:
        loss = 0.5 * cp.sum_squares(data["A"] @ x - data["b"])
    problem = cp.Problem(cp.Minimize(loss), _CONSTRAINTS[kind](x, case, cp))
    watcher = Watcher(case, target, limit)

    def run() -> None:
        problem.solve(solver=cp.CLARABEL)
        value = x.value
        # interior points miss the constraints by their tolerance
        if case.K.has("project"):
            value = case.K.project(value)
        watcher.see(value, None)

    return watcher.follow(run)
