"""Cases of `minimize_composite`: every way to draw gradients, every beta, every regulariser."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import wolfpack as wp
from bits.problems import labels, rng, sparse_table, table, targets, title

R = wp.regularizers
N, D = 60, 8
A = table(N, D, seed=20)


def squares(**options: Any) -> Any:
    return wp.objectives.LeastSquares(A, targets(A), reduction="mean", **options)


def logistic(**options: Any) -> Any:
    return wp.objectives.Logistic(A, labels(A), **options)


def sparse(**options: Any) -> Any:
    S = sparse_table()
    return wp.objectives.Logistic(S, np.where(np.arange(80) % 3, 1, -1), **options)


def narrow(**options: Any) -> Any:
    return wp.objectives.Logistic(A.astype(np.float32), labels(A), **options)


def classes(**options: Any) -> Any:
    return wp.objectives.Multinomial(A, rng(21).integers(0, 3, N), **options)


SMOOTH = {
    "squares": squares,
    "logistic": logistic,
    "sparse": sparse,
    "float32": narrow,
    "classes": classes,
}


def solve(name: str, H: Any = None, rounds: int = 30, **options: Any) -> wp.Result:
    """Run a smooth term of the list with an elastic net, unless another H is given."""
    H = R.ElasticNet(0.02, 0.05) if H is None else H
    settings: dict[str, Any] = {"tol": 0.0, "max_rounds": rounds, "seed": 5} | options
    if rounds > 40 and "batch" not in settings:
        settings["record_every"] = 1  # longer runs of exact gradients do not record every round
    return wp.minimize_composite(SMOOTH[name](), H, progress=False, **settings)


def growing(k: int) -> int:
    return 2 + k


SAMPLINGS = ("uniform", "importance", "shuffle", "blocks", "turns", "windows")
ALL = "squares logistic sparse float32 classes"

RUNS: list[tuple[str, dict[str, Any]]] = [
    (ALL, {}),
    (ALL, {"method": "converging"}),
    (ALL, {"beta": "search"}),
    ("squares logistic", {"beta": 9.0}),
    ("squares logistic", {"beta": "stable"}),
    ("squares logistic", {"method": "converging", "beta": 9.0}),
    ("squares logistic", {"beta": "search", "tol": 1e-6, "rounds": 300}),
    ("squares logistic", {"tol": 1e-6, "rounds": 300}),
    ("squares logistic", {"record_every": 7}),
    (ALL, {"batch": 5}),
    (ALL, {"batch": 5, "method": "converging"}),
    *(
        ("squares logistic sparse", {"batch": 7, "sampling": sampling} | more)
        for sampling in SAMPLINGS
        for more in (
            {},
            {"beta": "stable"},
            {"beta": "search"},
            {"variance_reduction": "saga"},
            {"variance_reduction": "svrg"},
        )
    ),
    *(
        ("logistic", {"batch": 7, "sampling": sampling, "method": "converging"})
        for sampling in SAMPLINGS
    ),
    (ALL, {"batch": 6, "variance_reduction": "saga"}),
    (ALL, {"batch": 6, "variance_reduction": "svrg"}),
    (ALL, {"variance_reduction": True}),
    ("squares logistic", {"batch": 6, "variance_reduction": True, "method": "converging"}),
    ("squares logistic", {"batch": 6, "variance_reduction": "saga", "beta": 9.0}),
    ("squares logistic", {"batch": 6, "variance_reduction": "saga", "beta": "search"}),
    ("squares logistic", {"variance_reduction": "svrg", "beta": "search"}),
    ("squares logistic sparse", {"batch": 1, "variance_reduction": "saga", "rounds": 150}),
    ("squares logistic", {"batch": 1, "beta": "stable", "rounds": 150}),
    ("squares logistic", {"batch": growing}),
    ("squares logistic", {"batch": growing, "method": "converging"}),
    ("squares logistic", {"batch": growing, "variance_reduction": "saga"}),
    ("squares logistic", {"batch": growing, "sampling": "importance"}),
    ("squares logistic sparse", {"batch": "auto", "method": "converging"}),
    ("squares logistic", {"batch": 60, "beta": "search"}),
    ("squares logistic", {"batch": 5, "variance": 2.0}),
    ("squares logistic classes", {"scale": "columns"}),
    ("squares logistic", {"scale": "columns", "batch": 6, "variance_reduction": "saga"}),
    ("squares logistic", {"scale": "columns", "beta": "search"}),
    ("squares logistic", {"w": "euclidean"}),
    ("squares logistic", {"w": "same"}),
    ("squares logistic", {"w": "same", "batch": 5}),
]


def shown(options: dict[str, Any]) -> dict[str, Any]:
    return {name: getattr(value, "__name__", value) for name, value in options.items()}


GROUPS = [[0, 1, 2], [3], [4, 5, 6, 7]]
TERMS: dict[str, tuple[str, Callable[[], Any]]] = {
    "BallRidge": ("logistic", lambda: R.BallRidge(D, 0.1, 0.8)),
    "BoxRidge": ("logistic", lambda: R.BoxRidge(np.full(D, -0.2), np.full(D, 0.3), 0.1)),
    "ElasticNet with weights": ("logistic", lambda: R.ElasticNet(np.linspace(0, 0.1, D), 0.1)),
    "Entropy": ("squares", lambda: R.Entropy(0.3)),
    "GroupLasso": ("logistic", lambda: R.GroupLasso(GROUPS, 0.05, 0.1)),
    "IndicatorRidge": ("logistic", lambda: R.IndicatorRidge(wp.sets.L1Ball(D, 0.7), 0.1)),
    "NuclearNorm": ("classes", lambda: R.NuclearNorm(0.02, 0.05)),
    "Product": (
        "logistic",
        lambda: R.Product((R.ElasticNet(0.05, 0.1), 3), (R.SquaredNorm(0.2), 5)),
    ),
    "Product of geometries": (
        "squares",
        lambda: R.Product((R.Entropy(0.3), 4), (R.SquaredNorm(0.2), 4)),
    ),
    "SimplexRidge": ("squares", lambda: R.SimplexRidge(D, 0.2, 1.5)),
    "SparseGroupLasso": ("logistic", lambda: R.SparseGroupLasso(GROUPS, 0.02, 0.05, 0.1)),
    "SquaredNorm": ("squares", lambda: R.SquaredNorm(0.1)),
    "SquaredPNorm": ("logistic", lambda: R.SquaredPNorm(0.2, p=1.5)),
    "TotalVariation": ("squares", lambda: R.TotalVariation(0.3, 0.1)),
}


def with_term(name: str, **options: Any) -> wp.Result:
    smooth, make = TERMS[name]
    return solve(smooth, make(), rounds=20, **options)


def entropy_mirror() -> wp.Result:
    return solve("squares", R.SimplexRidge(D, 0.2), w="entropy", rounds=20)


def given_mirror() -> wp.Result:
    return solve("logistic", R.ElasticNet(0.02, 0.05), w=R.Euclidean(np.full(D, 0.1)), rounds=20)


def started(**options: Any) -> wp.Result:
    return solve("logistic", y0=np.linspace(-0.5, 0.5, D), rounds=20, **options)


def source() -> list[tuple[Any, Any]]:
    return [(A[i : i + 12], labels(A)[i : i + 12]) for i in range(0, N, 12)]


def from_batches(make: Callable[[], Any], **options: Any) -> wp.Result:
    G = wp.objectives.Batches("logistic", make(), **options.pop("of", {}))
    settings: dict[str, Any] = {"tol": 0.0, "max_rounds": 20, "progress": False} | options
    return wp.minimize_composite(G, R.SquaredNorm(0.1), **settings)


def noisy(y: Any, rng: np.random.Generator) -> Any:
    return A.T @ (A @ y - targets(A)) / N + 0.1 * rng.standard_normal(D)


def exactly(y: Any) -> tuple[float, Any]:
    r = A @ y - targets(A)
    return float(0.5 * r @ r / N), A.T @ r / N


def from_callable(G: Any, **options: Any) -> wp.Result:
    settings: dict[str, Any] = {"tol": 0.0, "max_rounds": 20, "seed": 4} | options
    return wp.minimize_composite(G, R.SquaredNorm(0.1), np.zeros(D), progress=False, **settings)


def stochastic(**options: Any) -> wp.Result:
    G = wp.objectives.Stochastic(
        noisy, beta=4.0, variance=0.1, shape=(D,), value=lambda y: exactly(y)[0]
    )
    return from_callable(G, **options)


def weighted() -> wp.Result:
    G = wp.objectives.Weighted(logistic(), np.linspace(0.0, 2.0, N))
    return wp.minimize_composite(
        G, R.SquaredNorm(0.1), batch=6, variance_reduction=True, max_rounds=20, progress=False
    )


CASES: dict[str, Callable[[], Any]] = {
    **{
        title("composite", name, **shown(options)): partial(solve, name, **options)
        for names, options in RUNS
        for name in names.split()
    },
    **{f"composite H {name}": partial(with_term, name) for name in TERMS},
    **{f"composite H {name}, minibatches": partial(with_term, name, batch=6) for name in TERMS},
    **{f"composite H {name}, search": partial(with_term, name, beta="search") for name in TERMS},
    "composite w=entropy": entropy_mirror,
    "composite w=Euclidean(z0)": given_mirror,
    "composite from y0": started,
    "composite from y0, search": partial(started, beta="search"),
    "composite Batches of a list": partial(from_batches, source),
    "composite Batches of a list, converging": partial(from_batches, source, method="converging"),
    "composite Batches of a list, two at once": partial(from_batches, source, batch=2),
    "composite Batches of a function": partial(from_batches, lambda: lambda: iter(source())),
    "composite Batches of a generator": partial(from_batches, lambda: iter(source())),
    "composite Batches not evaluated": partial(from_batches, source, of={"evaluate": False}),
    "composite random callable": partial(from_callable, noisy),
    "composite random callable, batch": partial(from_callable, noisy, batch=3, beta=5.0),
    "composite random callable, converging": partial(
        from_callable, noisy, method="converging", batch="auto"
    ),
    "composite exact callable": partial(from_callable, exactly),
    "composite exact callable, search": partial(from_callable, exactly, beta="search"),
    "composite exact callable, converging": partial(from_callable, exactly, method="converging"),
    "composite Stochastic": stochastic,
    "composite Weighted": weighted,
}
