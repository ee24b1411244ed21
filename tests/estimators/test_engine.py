"""Estimators whose gradients are computed by the workers of an engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wolfpack.arrays import ArgumentError

pytest.importorskip("sklearn")
from wolfpack import estimators

pytestmark = pytest.mark.extras
RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 5))
Y = X @ RNG.standard_normal(5) + RNG.standard_normal(150)
CLASSES = np.digitize(Y, [-1.0, 1.0])
CASES: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "squares": ("AcceleratedRegressor", Y, {}),
    "huber": ("AcceleratedRegressor", Y, {"loss": "huber", "delta": 0.5}),
    "quantile": ("AcceleratedRegressor", Y, {"loss": "quantile", "quantile": 0.3}),
    "poisson": ("AcceleratedRegressor", RNG.poisson(2.0, 150), {"loss": "poisson"}),
    "logistic": ("AcceleratedClassifier", Y > 0, {}),
    "multinomial": ("AcceleratedClassifier", CLASSES, {}),
    "hinges": ("AcceleratedClassifier", CLASSES, {"loss": "squared_hinge"}),
    "simplex": ("SimplexRegressor", Y, {}),
    "trace norm": ("TraceNormRegressor", np.stack([Y, -Y], 1), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_models_are_those_of_this_process(name):
    kind, targets, options = CASES[name]
    make = getattr(estimators, kind)
    here = make(**options).fit(X, targets)
    two, three = (make(engine=f"threads:{n}", **options).fit(X, targets) for n in (2, 3))
    assert two.result_.engine.name == "threads:2"
    assert two.result_.engine["blocks"].max() == 50  # of three rows
    np.testing.assert_allclose(two.coef_, here.coef_, atol=2e-4)
    assert two.coef_.tobytes() == three.coef_.tobytes()


def test_weights_of_rows_are_for_squared_errors():
    weights = RNG.uniform(0.5, 2.0, 150)
    here = estimators.AcceleratedRegressor().fit(X, Y, weights)
    there = estimators.AcceleratedRegressor(engine="threads:2").fit(X, Y, weights)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=2e-4)
    model = estimators.AcceleratedRegressor(loss="huber", engine="threads:2")
    with pytest.raises(ArgumentError, match=r"engine must be None .* weights, found 'threads:2'"):
        model.fit(X, Y, weights)
    assert model.set_params(engine=None).fit(X, Y, weights).result_.success


def test_what_engines_cannot_do_is_said():
    model = estimators.SimplexRegressor(engine="threads:2")
    with pytest.raises(ArgumentError, match="engine must be None for several targets"):
        model.fit(X, np.stack([Y, -Y], 1))
