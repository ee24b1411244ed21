"""Cases that need an optional package: estimators, and arrays of PyTorch and JAX."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import wolfpack as wp
from bits.problems import labels, rng, sparse_table, table, targets, title

A = table(60, 6, seed=30)


def classifier(X: Any = A, **options: Any) -> Any:
    y = labels(A) if X is A else np.where(np.arange(80) % 3, 1, -1)
    return wp.estimators.AcceleratedClassifier(random_state=0, tol=1e-3, **options).fit(X, y)


def three_classes(**options: Any) -> Any:
    y = rng(31).integers(0, 3, 60)
    return wp.estimators.AcceleratedClassifier(random_state=0, tol=1e-3, **options).fit(A, y)


def regressor(*loss: str, **options: Any) -> Any:
    y = abs(targets(A)).round() if loss == ("poisson",) else targets(A)
    weights = options.pop("sample_weight", None)
    model = wp.estimators.AcceleratedRegressor(*loss, random_state=0, tol=1e-3, **options)
    return model.fit(A, y, sample_weight=weights)


def stream() -> Any:
    model = wp.estimators.AcceleratedClassifier(random_state=0)
    for part in np.array_split(np.arange(60), 3):
        model.partial_fit(A[part], labels(A)[part], classes=[-1, 1])
    return model


def warm() -> Any:
    model = wp.estimators.AcceleratedRegressor(random_state=0, warm_start=True, tol=1e-2)
    return model.fit(A, targets(A)).set_params(tol=1e-4).fit(A, targets(A))


def completed() -> Any:
    X = rng(32).standard_normal((12, 2)) @ rng(33).standard_normal((2, 7))
    X[rng(34).random(X.shape) < 0.2] = np.nan
    return wp.estimators.MatrixCompletion(rank=2, random_state=0).fit(X)


def shares() -> Any:
    return wp.estimators.SimplexRegressor(2.0, random_state=0, tol=1e-5).fit(A, targets(A))


def low_rank() -> Any:
    Y = A @ rng(35).standard_normal((6, 3))
    return wp.estimators.TraceNormRegressor(radius=3.0, random_state=0, tol=1e-4).fit(A, Y)


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "estimator classifier": classifier,
    "estimator classifier, elastic net": partial(
        classifier, penalty="elasticnet", alpha=0.01, l1_ratio=0.7
    ),
    "estimator classifier, squared hinge in batches": partial(
        classifier, loss="squared_hinge", batch_size=8
    ),
    "estimator classifier, sparse": lambda: classifier(sparse_table(), batch_size=8),
    "estimator classifier, three classes": three_classes,
    "estimator classifier, class weights": partial(three_classes, class_weight="balanced"),
    "estimator classifier, stream": stream,
    "estimator regressor": regressor,
    "estimator regressor, no intercept": partial(regressor, fit_intercept=False, batch_size=8),
    "estimator regressor, huber": partial(regressor, "huber"),
    "estimator regressor, quantile": partial(regressor, "quantile", quantile=0.3),
    "estimator regressor, poisson": partial(regressor, "poisson"),
    "estimator regressor, sample weights": partial(
        regressor, sample_weight=np.linspace(0.0, 2.0, 60)
    ),
    "estimator regressor, warm start": warm,
    "estimator matrix completion": completed,
    "estimator simplex": shares,
    "estimator trace norm": low_rank,
}


def array(library: str, x: Any) -> Any:
    """Return a NumPy array in another library, in its own type."""
    if library == "torch":
        return import_module("torch").tensor(x)
    return import_module("jax.numpy").asarray(x)


METHODS: list[tuple[str, dict[str, Any]]] = [
    ("anytime", {"m": 4}),
    ("anytime", {"m": "exact"}),
    ("corrective", {"m": 4}),
    ("fw-ls", {}),
    ("away", {}),
    ("r-pfw", {"m": 4}),
    ("projected", {}),
]


def elsewhere(library: str, method: str, **options: Any) -> Any:
    B = A.astype(np.float32)
    f = wp.objectives.LeastSquares(array(library, B), array(library, targets(B)))
    K = wp.sets.Simplex(6)
    return wp.minimize(
        f, K, method=method, tol=0.0, max_rounds=8, progress=False, record_every=1, **options
    )


def composite_elsewhere(library: str, **options: Any) -> Any:
    B = A.astype(np.float32)
    G = wp.objectives.LeastSquares(array(library, B), array(library, targets(B)))
    H = wp.regularizers.ElasticNet(0.3, 0.5)
    return wp.minimize_composite(G, H, tol=0.0, max_rounds=12, progress=False, **options)


def differentiated(library: str) -> Any:
    goal = array(library, np.linspace(-1.0, 1.0, 6, dtype=np.float32))
    make = wp.objectives.from_torch if library == "torch" else wp.objectives.from_jax
    f = make(lambda x: ((x - goal) ** 2).sum(), shape=(6,), like=goal)
    return wp.minimize(
        f, wp.sets.L1Ball(6), method="fw-ls", tol=0.0, max_rounds=8, progress=False, record_every=1
    )


ARRAYS: dict[str, Callable[[], Any]] = {}
for _library in ("torch", "jax"):
    for _method, _options in METHODS:
        _name = title(_library, _method, **_options)
        ARRAYS[_name] = partial(elsewhere, _library, _method, **_options)
    ARRAYS |= {
        f"{_library} composite": partial(composite_elsewhere, _library),
        f"{_library} composite, search": partial(composite_elsewhere, _library, beta="search"),
        f"{_library} composite, minibatches": partial(composite_elsewhere, _library, batch=8),
        f"{_library} composite, svrg": partial(
            composite_elsewhere, _library, batch=8, variance_reduction="svrg"
        ),
        f"{_library} from autodiff": partial(differentiated, _library),
    }

CASES = ESTIMATORS | ARRAYS
NEEDS: dict[str, str] = {
    **dict.fromkeys(ESTIMATORS, "sklearn"),
    **{name: name.split()[0] for name in ARRAYS},
}
