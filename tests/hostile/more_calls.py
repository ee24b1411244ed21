"""Front doors and methods that came later: many problems, differences, checks, layers, results."""

from __future__ import annotations

import math
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np

import wolfpack as wp

from .calls import EDGES, LABELS, MATRIX, RNG, A, B, Call, folder, least_squares, require

STACK = RNG.standard_normal((2, 6, 3))
STACKED = STACK[:, :, 0] + 0.1
SYMMETRIC = MATRIX[:3] + MATRIX[:3].T


def _box() -> Any:
    return wp.sets.Box(np.zeros(3), np.ones(3))


def run_many(A: Any, b: Any, K: Any, lists: bool = False, **settings: Any) -> Any:
    """Minimise two problems and check the claims of each."""
    f: Any = wp.objectives.LeastSquares(A, b)
    f = [f[0], f[1]] if lists else f
    result = wp.minimize_many(f, K, **settings)
    require(isinstance(result, wp.ManyResult), f"the result is a {type(result).__name__}")
    for i in range(len(result.fun)):
        one, x = f[i], np.asarray(result.x[i])
        if result.status[i] == "nonfinite" or math.isnan(result.fun[i]):
            require(result.gap[i] == math.inf, "a problem without a value has a gap")
            continue
        require(bool(np.isfinite(x).all()), "x is not finite")
        region = K if isinstance(K, wp.sets.Set) else K[i]
        require(region.contains(x, 1e-6), "x is infeasible")
        value = one.value(x)
        close = math.isclose(value, result.fun[i], rel_tol=1e-6, abs_tol=1e-9)
        require(close, f"fun is {result.fun[i]}, f(x) is {value}")
        others = [one.value(np.asarray(region.lmo(g).to_dense())) for g in np.eye(3)]
        least = min(value, *filter(math.isfinite, others))
        bound, margin = result.lower_bound[i], 1e-9 * max(1.0, abs(least))
        require(bound <= least + margin, f"{bound} > {least}")
    return result


def run_batch_function(f: Any, **settings: Any) -> None:
    """Minimise a callable on a batch of two problems."""
    x0 = settings.pop("x0", np.full((2, 3), 1.0 / 3.0))
    result = wp.minimize_many(f, wp.sets.Simplex(3), x0=x0, **settings)
    require(bool(np.isfinite(np.asarray(result.x)).all()), "x is not finite")


def run_difference(f: Any, g: Any, K: Any, **settings: Any) -> None:
    """Search a stationary point and check that it is feasible."""
    result = wp.minimize_difference(f, g, K, **settings)
    require(K.contains(np.asarray(result.x), 1e-6), "x is infeasible")
    require(result.gap == math.inf, "no bound is known, yet there is a gap")
    require(not result.success or result.stationarity < math.inf, "success without stationarity")


def run_check(f: Any, K: Any, **settings: Any) -> None:
    """Check a sound problem: nothing must be found."""
    report = wp.check(f, K, quiet=True, **settings)
    library = isinstance(f, wp.objectives.Objective) and f is least_squares()
    require(not library or report.ok, f"a sound problem was accused: {report}")


def finite(value: Any) -> None:
    """An answer must be finite numbers."""
    require(bool(np.isfinite(np.asarray(value, dtype=float)).all()), f"the answer is {value!r}")


def _number(value: Any) -> None:
    """An answer must be a number, which may be too large for a float."""
    require(not np.isnan(np.asarray(value, dtype=float)).any(), f"the answer is {value!r}")


def _dense(atom: Any) -> None:
    finite(atom.to_dense())


def _priced(prices: Any) -> None:
    for value in (prices or {}).values():
        if isinstance(value, dict):
            _priced(value)
            continue
        require(not np.isnan(np.asarray(value, dtype=float)).any(), f"a price is {value!r}")


def _step(value: float) -> None:
    require(not math.isnan(value) and value >= 0, f"the step is {value}")


def _doors() -> list[Call]:
    run: dict[str, Any] = {"x0": np.full(3, 1 / 3), "tol": 1e-4, "rtol": 1e-6, "seed": 0}
    run |= {"max_rounds": 3, "max_seconds": 2.0, "callback": None, "progress": False}
    run |= {"raise_on_failure": False, "checks": True, "max_lmo": 100}
    data: dict[str, Any] = {"A": STACK, "b": STACKED, "K": wp.sets.Simplex(3)}
    many = data | run | {"engine": None, "method": "auto"}
    sampled = data | run | {"method": "anytime", "m": 2, "kappa": 1.0, "noise": "gumbel"}
    callable_ = {"f": _batch, **run, "x0": np.full((2, 3), 1 / 3)}
    simplex = wp.sets.Simplex(3)
    difference: dict[str, Any] = {"f": least_squares(), "g": _half, "K": simplex, **run}
    difference |= {"boosted": False, "accuracy": 1.0, "inner_rounds": 10, "rule": "secant"}
    difference |= {"starts": 1, "record_every": 1, "checkpoint": None, "L": 100.0}
    checked = {"f": least_squares(), "K": simplex, "x": np.full(3, 1 / 3), "seed": 0}
    checked |= {"max_seconds": 2.0}
    return [
        Call("minimize_many", "minimize_many", run_many, many, words=("f", "B")),
        Call("minimize_many", "many/anytime", run_many, sampled, words=("f", "B")),
        Call(
            "minimize_many",
            "many/one by one",
            partial(run_many, lists=True),
            many | {"method": "away"},
            words=("f", "B"),
        ),
        Call("minimize_many", "many/callable", run_batch_function, callable_, words=("K",)),
        Call("minimize_difference", "minimize_difference", run_difference, difference),
        Call("check", "check", run_check, checked),
    ]


def _batch(X: Any) -> Any:
    return 0.5 * (X**2).sum(axis=1), X


def _half(x: Any) -> Any:
    return 0.05 * float(x @ x), 0.1 * x


def _sets() -> list[Call]:
    """The methods of sets that know faces, prices and closed forms."""
    calls: list[Call] = []
    g = np.array([0.5, -1.0, 0.25])
    plane = {"A_ub": np.ones((1, 3)), "b_ub": np.array([2.0]), "bounds": [(0.0, 1.0)] * 3}
    regions: dict[str, tuple[Any, Any]] = {
        "Simplex": (wp.sets.Simplex(3), g),
        "Box": (_box(), g),
        "L1Ball": (wp.sets.L1Ball(3), g),
        "LinearProgram": (wp.sets.LinearProgram(**plane), g),
        "DagFlow": (wp.sets.DagFlow(EDGES, 0, 3), np.arange(1.0, 6.0)),
        "FlowPolytope": (
            wp.sets.FlowPolytope(EDGES, [(0, 3, 1.0)], np.full(5, 2.0)),
            np.arange(1.0, 6.0),
        ),
        "Birkhoff": (wp.sets.Birkhoff(3), SYMMETRIC),
        "TransportPolytope": (
            wp.sets.TransportPolytope(np.array([0.5, 0.5]), np.array([0.25, 0.75]), solver="highs"),
            MATRIX[:2, :2].copy(),
        ),
        "Spectrahedron": (wp.sets.Spectrahedron(3), SYMMETRIC),
        "TraceNormBall": (wp.sets.TraceNormBall((4, 3)), MATRIX),
        "Knapsack": (wp.sets.Knapsack([1.0, 2.0, 3.0], 4.0, upper=[1.0, 1.0, 2.0]), g),
        "Product": (wp.sets.Product(wp.sets.Simplex(2), wp.sets.L1Ball(1)), g),
        "Symmetric": (wp.sets.Symmetric(wp.sets.Simplex(3), np.array([[1, 0, 2]])), g),
        "Image": (wp.sets.Image(MATRIX[:3], wp.sets.Simplex(3)), g),
        "Matching": (wp.sets.Matching(EDGES), np.arange(-2.0, 3.0)),
    }
    for name, (K, u) in regions.items():
        point = K.start()
        away = np.asarray(K.lmo(u).to_dense()) - point
        words = ("direction", "directions", "point", "costs")
        methods: list[tuple[str, dict[str, Any], Any]] = [
            ("lmo", {"g": u}, _dense),
            ("support", {"u": u}, finite),
            ("violation", {"x": point}, None),
            ("prices", {"g": u}, _priced),
            ("lmo_face", {"x": point, "g": u}, _dense),
            ("max_step", {"x": point, "d": away}, _step),
            ("k_best", {"g": u, "k": 2}, _dense),
            ("smoothed", {"y": u, "alpha": 0.5, "noise": None}, finite),
            ("smoothed_support", {"y": u, "alpha": 0.5, "noise": None}, _number),
            ("project", {"x": u}, finite),
        ]
        for method, arguments, use in methods:
            if method in ("lmo", "support", "violation") or K.has(method):
                where = f"{name}.{method}!"
                function = getattr(K, method)
                use = use or (lambda found: None)
                calls.append(Call("methods of sets", where, function, arguments, use, words))
    return calls


def _objectives() -> list[Call]:
    """Values, gradients and what else objectives answer."""
    completion = wp.objectives.MatrixCompletion(
        np.array([0, 1, 2]), np.array([0, 1, 0]), np.array([1.0, 2.0, 3.0]), (3, 2), scales="counts"
    )
    x = np.full(3, 0.3)
    objectives: dict[str, Any] = {
        "LeastSquares": (least_squares(), x),
        "Logistic": (wp.objectives.Logistic(A, LABELS), x),
        "Quadratic": (wp.objectives.Quadratic(A.T @ A, np.ones(3)), x),
        "Function": (wp.objectives.Function(_half, shape=(3,)), x),
        "Partitioned": (wp.objectives.Partitioned("huber", [(A, B), (A, B)], delta=0.5), x),
        "DOptimal": (wp.objectives.DOptimal(A), np.full(6, 1 / 6)),
        "MatrixCompletion": (completion, np.ones((3, 2))),
    }
    calls = [
        Call("objectives", f"{name}.{method}", getattr(f, method), {"x": point})
        for name, (f, point) in objectives.items()
        for method in ("value", "gradient", "value_and_gradient")
    ]
    entries: dict[str, Any] = {"rows": np.array([0, 1, 2]), "columns": np.array([0, 1, 0])}
    entries |= {"values": np.array([1.0, 2.0, 3.0]), "shape": (3, 2)}
    scaled = entries | {"scales": (np.ones(3), np.ones(2))}
    return [
        *calls,
        Call("objectives", "MatrixCompletion/scales", wp.objectives.MatrixCompletion, scaled),
        Call(
            "objectives", "MatrixCompletion.completed", completion.completed, {"x": np.ones((3, 2))}
        ),
    ]


def _layers() -> list[Call]:
    theta = np.array([[0.5, -1.0, 0.25], [0.0, 0.1, 0.2]])

    def of(kind: Any) -> Any:
        return lambda theta, **options: finite(kind(**options)(theta))

    def loss(theta: Any, targets: Any, **options: Any) -> None:
        _number(wp.layers.FenchelYoungLoss(**options)(theta, targets))

    K = wp.sets.Simplex(3)
    drawn = {"K": K, "scale": 1.0, "m": 4, "noise": "gumbel", "sampling": "iid", "seed": 0}
    drawn |= {"engine": None, "theta": theta}
    targets = np.eye(3)[:2]
    return [
        Call("layers", "Solution", of(wp.layers.Solution), {"K": K, "theta": theta, "tol": 1e-8}),
        Call("layers", "PerturbedArgmax", of(wp.layers.PerturbedArgmax), drawn),
        Call(
            "layers",
            "FenchelYoungLoss",
            loss,
            {"K": K, "theta": theta, "targets": targets, "reduction": "mean", "m": 4},
            words=("target",),
        ),
    ]


@cache
def _run() -> Any:
    """Return the result whose methods are called."""
    return wp.minimize(least_squares(), wp.sets.Simplex(3), method="corrective", max_rounds=5)


@cache
def _many() -> Any:
    return wp.minimize_many(wp.objectives.LeastSquares(STACK, STACKED), wp.sets.Simplex(3))


def _results() -> list[Call]:
    result, many = _run(), _many()
    path = str(folder() / "saved.npz")
    page: dict[str, Any] = {"path": str(folder() / "page.html"), "K": None, "title": "A run"}
    calls = [
        Call("results", "Result.save", result.save, {"path": path, "state": True}),
        Call("results", "Result.decompose", result.decompose, {"max_vertices": 2}),
        Call("results", "ManyResult.save", many.save, {"path": path}),
        Call("results", "ManyResult[i]", lambda i: many[i], {"i": 0}),
    ]
    if find_spec("matplotlib") is not None:
        drawn: dict[str, Any] = {"x": "round", "kind": "gap", "ax": None}
        listed = {"results": [result], **drawn, "labels": ["one"]}
        calls += [
            Call("results", "Result.report", result.report, page),
            Call("results", "Result.plot", partial(_drawn, result.plot), drawn),
            Call("results", "plot", partial(_drawn, wp.plot), listed),
        ]
    return calls


def _drawn(draw: Any, **options: Any) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    try:
        draw(**options)
    finally:
        plt.close("all")


def _engines() -> list[Call]:
    """The constructors of engines that start nothing, and engines by name."""
    f, K = least_squares(), wp.sets.Simplex(3)
    run = {"engine": "threads:2", "m": 2, "oracle_timeout": 5.0, "stragglers": "wait"}

    def solve(**options: Any) -> None:
        wp.minimize(f, K, method="anytime", max_rounds=2, max_seconds=5.0, **options)

    return [
        Call("engines", "Threads", wp.engines.Threads, {"workers": 2}),
        Call("engines", "Processes", wp.engines.Processes, {"workers": 2, "fork": None}),
        Call(
            "engines", "Dask", wp.engines.Dask, {"cluster": 2, "patience": 5.0}, words=("workers",)
        ),
        Call("engines", "Ray", wp.engines.Ray, {"cluster": 2, "patience": 5.0}, words=("workers",)),
        Call("engines", "engine=", solve, run, words=("oracle",)),
    ]


def more_calls() -> list[Call]:
    """Return the calls of this module."""
    return [*_doors(), *_sets(), *_objectives(), *_layers(), *_results(), *_engines()]
