"""Other libraries on the same problems, where they are installed.

copt (Frank-Wolfe, accelerated proximal gradient), jaxopt (projected gradient), POT (conditional
gradient over transport plans), CVXPY with Clarabel, SciPy's SLSQP, and for the logistic problem
scikit-learn and skglm (`penalised`). Libraries with a callback are followed step by step. Of CVXPY
the last point counts. The others run repeatedly with more and more iterations, each run timed by
itself. Imports, compilation and our own certificates are not timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
from scipy import optimize
from scipy.sparse import coo_array

from ..arrays import Array
from .cases import Case
from .penalised import liblinear, skglm
from .referee import Referee, Rival

LIBRARIES = {"copt": "copt", "jaxopt": "jaxopt", "POT": "ot", "CVXPY": "cvxpy"}
LIBRARIES |= {"Clarabel": "clarabel", "scikit-learn": "sklearn", "skglm": "skglm"}
"""Libraries that are compared, and a module of each that shows whether it is installed."""


def missing() -> list[str]:
    """Return the libraries that are not installed."""
    return [name for name, module in LIBRARIES.items() if find_spec(module) is None]


def rivals(case: Case) -> Iterator[Rival]:
    """Yield those that are installed and apply to the case."""
    kind = type(case.K).__name__
    if find_spec("copt") and kind in ("Simplex", "L1Ball", "TraceNormBall"):
        yield Rival("copt accelerated projected gradient", _copt_projected)
        if kind != "Simplex":  # its simplex has an oracle that its Frank-Wolfe cannot call
            yield Rival("copt Frank-Wolfe", partial(_copt_frank_wolfe, variant="vanilla"))
        if kind == "L1Ball":
            yield Rival("copt pairwise", partial(_copt_frank_wolfe, variant="pairwise"))
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


def _copt_constraint(K: Any) -> Any:
    from copt import constraint

    kind = type(K).__name__
    if kind == "TraceNormBall":
        return constraint.TraceBall(K.r, K.shape)
    return constraint.SimplexConstraint(K.r) if kind == "Simplex" else constraint.L1Ball(K.r)


def _flat(case: Case) -> Callable[[Array], tuple[float, Array]]:
    """Return f as a function of vectors, with its gradient."""

    def fun(x: Array) -> tuple[float, Array]:
        value, gradient = case.f.value_and_gradient(np.asarray(x).reshape(case.K.shape))
        return value, gradient.reshape(-1)

    return fun


_COPT = {"jac": True, "tol": 0, "max_iter": 10**6}


def _copt_projected(referee: Referee) -> None:
    import copt

    case = referee.case
    prox = _copt_constraint(case.K).prox
    options = {**_COPT, "accelerated": True, "callback": lambda state: referee.see(state["x"])}
    referee.start_clock()
    copt.minimize_proximal_gradient(_flat(case), case.K.start().reshape(-1), prox, **options)


def _copt_frank_wolfe(referee: Referee, variant: str) -> None:
    import copt

    case = referee.case
    ball, start, rep = _copt_constraint(case.K), case.K.start().reshape(-1), None
    lmo = ball.lmo
    if variant == "pairwise":
        # its active set begins with one vertex
        lmo, vertex = ball.lmo_pairwise, case.K.lmo(np.ones(case.K.shape))
        start, rep = vertex.to_dense(), (float(np.sign(vertex.value)), int(vertex.index))
    options = {**_COPT, "step": "backtracking", "callback": lambda state: referee.see(state["x"])}
    referee.start_clock()
    copt.minimize_frank_wolfe(_flat(case), start, lmo, x0_rep=rep, variant=variant, **options)


def _jax_value(case: Case) -> Callable[[Array], Array]:
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


def _jaxopt(referee: Referee) -> None:
    import jax
    import jaxopt
    from jaxopt import projection

    case = referee.case
    onto = {"Simplex": projection.projection_simplex, "L1Ball": projection.projection_l1_ball}
    solver = jaxopt.ProjectedGradient(_jax_value(case), onto[type(case.K).__name__], tol=0.0)
    x, r = np.asarray(case.K.start(), dtype=float), case.K.r
    update = jax.jit(solver.update)
    state = solver.init_state(x, hyperparams_proj=r)
    jax.block_until_ready(update(*update(x, state, r), r))  # compiles
    referee.start_clock()
    while True:
        x, state = update(x, state, r)
        referee.see(x.block_until_ready())


def _pot(referee: Referee) -> None:
    import ot

    n, t = referee.case.K.shape[0], referee.case.data["target"]
    a, no_cost = np.full(n, 1.0 / n), np.zeros((n, n))

    def f(G: Array) -> float:
        return 0.5 * float(((n * G - t) ** 2).sum())

    def gradient(G: Array) -> Array:
        return n * (n * G - t)

    for rounds in (10, 30, 100, 300, 1000, 3000):
        limits = {"numItermax": rounds, "stopThr": 0, "stopThr2": 0}
        referee.start_clock()
        plan = ot.optim.cg(a, a, no_cost, 1.0, f, gradient, **limits)
        referee.see(n * plan, rounds)


def _slsqp(referee: Referee) -> None:
    case, d = referee.case, referee.case.K.dimension
    total = {"type": "eq", "fun": lambda x: x.sum() - case.K.r, "jac": lambda x: np.ones(d)}
    optimize.minimize(
        _flat(case),
        case.K.start(),
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * d,
        constraints=[total],
        options={"maxiter": 1000, "ftol": 1e-15},
        callback=referee.see,
    )


def _flow(x: Any, case: Case, cp: ModuleType) -> list[Any]:
    tails, heads = np.array(case.data["edges"]).T
    nodes, m = case.data["nodes"], len(tails)
    signs, columns = np.repeat([1.0, -1.0], m), np.tile(np.arange(m), 2)
    incidence = coo_array((signs, (np.r_[tails, heads], columns)), shape=(nodes, m)).tocsr()
    supply = np.zeros(nodes)
    supply[0], supply[-1] = 1.0, -1.0
    return [x >= 0, incidence @ x == supply]


_CONSTRAINTS: dict[str, Callable[[Any, Case, ModuleType], list[Any]]] = {
    "Simplex": lambda x, case, cp: [x >= 0, cp.sum(x) == case.K.r],
    "L1Ball": lambda x, case, cp: [cp.norm1(x) <= case.K.r],
    "Birkhoff": lambda x, case, cp: [x >= 0, cp.sum(x, axis=0) == 1, cp.sum(x, axis=1) == 1],
    "DagFlow": _flow,
    "Spectrahedron": lambda x, case, cp: [x >> 0, cp.trace(x) == case.K.r],
    "TraceNormBall": lambda x, case, cp: [cp.normNuc(x) <= case.K.r],
    "KSparse": lambda x, case, cp: [cp.norm1(x) <= case.K.k * case.K.r, cp.abs(x) <= case.K.r],
}


def _cvxpy(referee: Referee) -> None:
    import cvxpy as cp

    K, data, kind = referee.case.K, referee.case.data, type(referee.case.K).__name__
    x = cp.Variable(K.shape, symmetric=kind == "Spectrahedron")
    if "labels" in data:
        loss = cp.sum(cp.logistic(-cp.multiply(data["labels"], data["A"] @ x)))
    elif "target" in data:
        loss = 0.5 * cp.sum_squares(x - data["target"])
    else:
        loss = 0.5 * cp.sum_squares(data["A"] @ x - data["b"])
    problem = cp.Problem(cp.Minimize(loss), _CONSTRAINTS[kind](x, referee.case, cp))
    referee.start_clock()
    problem.solve(solver=cp.CLARABEL)
    # interior points miss the constraints by their tolerance
    referee.see(K.project(x.value) if K.has("project") else x.value, None)
