"""Every parameter of every estimator is checked in `fit`; models have the type of their rows."""

from __future__ import annotations

import importlib
import math
import warnings
from typing import Any

import numpy as np
import pytest

from wolfpack import estimators
from wolfpack.arrays import ArgumentError

pytestmark = pytest.mark.extras
pytest.importorskip("sklearn")
ConvergenceWarning = importlib.import_module("sklearn.exceptions").ConvergenceWarning

RNG = np.random.default_rng(0)
X = RNG.standard_normal((24, 4))
Y = X @ np.array([0.5, 0.2, 0.2, 0.1])
TARGETS = {
    "AcceleratedClassifier": Y > 0,
    "AcceleratedRegressor": Y,
    "MatrixCompletion": None,
    "SimplexRegressor": Y,
    "TraceNormRegressor": Y[:, None],
}
NOTHING_MAY_BE = (math.nan, -1, "a", 1j, [], [1.0], object(), b"a", np.ma.masked, 2**2000)
NUMBERS_MAY_NOT_BE = (True, math.inf, np.ones(2))
COUNTS_MAY_NOT_BE = (0, 1.5)
MAY_BE_0 = {"tol", "l1_ratio", "random_state", "fit_intercept", "warm_start"}
FLAGS = {"fit_intercept", "warm_start"}
WORDS = {"loss", "penalty", "class_weight"}
COUNTS = {"max_iter", "rank", "batch_size"}


def spoiled() -> list[tuple[str, str, Any]]:
    """Return an estimator, a parameter and a value that it may not have, for all of them."""
    found: list[tuple[str, str, Any]] = []
    for name in estimators.__all__:
        for parameter in getattr(estimators, name)().get_params():
            values = list(NOTHING_MAY_BE)
            if parameter not in FLAGS | WORDS:
                values += NUMBERS_MAY_NOT_BE
            values += COUNTS_MAY_NOT_BE if parameter in COUNTS else ()
            if parameter not in MAY_BE_0 | COUNTS:
                values.append(0)
            found += [(name, parameter, value) for value in values]
    return found


def fitted(name: str, rows=X, **parameters: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return getattr(estimators, name)(**parameters).fit(rows, TARGETS[name])


@pytest.mark.parametrize(("name", "parameter", "value"), spoiled())
def test_every_parameter_is_checked_in_fit(name, parameter, value):
    with pytest.raises(ArgumentError, match=rf"^{parameter} must be .*, found "):
        fitted(name, **{parameter: value})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("fair", "class_weight must be a dict of weights by label, 'balanced' or None"),
        ([1.0, 2.0], "class_weight must be a dict of weights by label"),
        ({False: -1.0}, r"class_weight\[False\] must be a number from 0 to .*, found -1.0"),
        ({False: math.nan}, r"class_weight\[False\] must be a number from 0 to .*, found nan"),
        ({False: "a"}, r"class_weight\[False\] must be a number from 0 to .*, found 'a'"),
        ({"no": 2.0}, r"class_weight must name labels among \[False, True\], found 'no'"),
    ],
)
def test_weights_of_classes_are_checked_with_a_sentence(value, said):
    with pytest.raises(ArgumentError, match=said):
        fitted("AcceleratedClassifier", class_weight=value)
    model = estimators.AcceleratedClassifier(class_weight=value)
    with pytest.raises(ArgumentError, match=said):
        model.partial_fit(X, Y > 0, classes=[False, True])


def test_labels_without_a_weight_have_one():
    few = fitted("AcceleratedClassifier", class_weight={True: 3.0}, tol=1e-8)
    all_of_them = {False: 1.0, True: np.array(3.0), "absent from these rows": 2.0}
    more = fitted("AcceleratedClassifier", class_weight=all_of_them, tol=1e-8)
    np.testing.assert_array_equal(few.coef_, more.coef_)


@pytest.mark.parametrize("name", estimators.__all__)
def test_whole_floats_are_counts(name):
    known = getattr(estimators, name)().get_params()
    counts = {key: 3.0 for key in ("max_iter", "rank", "batch_size") if key in known}
    fitted(name, random_state=np.array(7.0), **counts)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", estimators.__all__)
def test_models_have_the_type_of_their_rows(name, kind):
    model = fitted(name, X.astype(kind))
    parts = ("coef_", "components_", "mean_", "completed_")
    learned = [getattr(model, part) for part in parts if hasattr(model, part)]
    assert learned
    assert {part.dtype for part in learned} == {np.dtype(kind)}
    if name == "MatrixCompletion":
        holes = X.astype(kind)
        holes[3, 1] = np.nan
        answer = model.transform(holes)
        assert np.isfinite(answer).all()
    else:
        score = getattr(model, "decision_function", model.predict)
        answer = score(X.astype(kind))
    assert answer.dtype == kind


@pytest.mark.parametrize("name", estimators.__all__)
def test_rows_without_numbers_and_too_large_ones_are_refused(name):
    with pytest.raises(ArgumentError, match=r"^X.* must "):
        fitted(name, np.full_like(X, np.nan))
    with pytest.raises(ArgumentError, match=r"X must have entries of at most 1e\+151"):
        fitted(name, X * 1e160)


@pytest.mark.parametrize("loss", ["squared_error", "huber", "quantile"])
@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_regressors_have_finite_gaps_in_any_unit(loss, unit):
    model = fitted("AcceleratedRegressor", X * unit, loss=loss)
    assert math.isfinite(model.result_.gap)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_trial_betas_count_as_passes(limit):
    for name, loss in (("AcceleratedClassifier", "log_loss"), ("AcceleratedRegressor", "huber")):
        model = fitted(name, X * 1e3, loss=loss, tol=0.0, max_iter=limit)
        assert model.result_.passes <= limit
