"""The estimators: scikit-learn's own checks, its solutions, streams and bad input."""

from __future__ import annotations

import importlib
import pickle
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from wolfpack import estimators

pytestmark = pytest.mark.extras
pytest.importorskip("sklearn")
datasets: Any = importlib.import_module("sklearn.datasets")
linear_model: Any = importlib.import_module("sklearn.linear_model")
checks: Any = importlib.import_module("sklearn.utils.estimator_checks")

X, Y = datasets.load_digits(return_X_y=True)
X = X / 16.0
DIABETES, PROGRESS = datasets.load_diabetes(return_X_y=True)
DIABETES = DIABETES / DIABETES.std(axis=0)

EVERY = [
    estimators.AcceleratedClassifier(),
    estimators.AcceleratedClassifier(
        "squared_hinge", penalty="elasticnet", batch_size=16, tol=1e-2
    ),
    estimators.AcceleratedRegressor(),
    estimators.MatrixCompletion(max_iter=100),
    estimators.SimplexRegressor(max_iter=200),
    estimators.TraceNormRegressor(max_iter=50),
]


@checks.parametrize_with_checks(EVERY)
def test_the_checks_of_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.mark.parametrize("batch_size", ["auto", 64])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_logistic_regression_of_scikit_learn(batch_size, kind):
    """Without an intercept, which scikit-learn does not penalise, the problems are the same."""
    few = Y < 3
    for rows, labels in ((few, Y[few]), (Y < 2, Y[Y < 2])):
        model = estimators.AcceleratedClassifier(
            alpha=0.01, fit_intercept=False, tol=1e-9, batch_size=batch_size, random_state=0
        ).fit(kind(X[rows]), labels)
        other = linear_model.LogisticRegression(
            C=1 / (0.01 * rows.sum()), fit_intercept=False, tol=1e-8, max_iter=1000
        ).fit(X[rows], labels)
        np.testing.assert_allclose(model.coef_, other.coef_, atol=2e-3)
        np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-3)
        assert model.result_.success


WINE, CLASS = datasets.load_wine(return_X_y=True)
COUNTS = np.random.default_rng(0).poisson(np.exp(0.3 * DIABETES[:, 0] + 1.0))
OUTPUTS = np.stack([PROGRESS, -2.0 * PROGRESS, DIABETES[:, 2]], axis=1)
classify, regress = estimators.AcceleratedClassifier, estimators.AcceleratedRegressor
SAME = {
    "ridge": (regress(alpha=0.05), lambda n: linear_model.Ridge(0.05 * n), PROGRESS),
    "outputs": (regress(alpha=0.05), lambda n: linear_model.Ridge(0.05 * n), OUTPUTS),
    "small batches": (
        regress(alpha=0.05, batch_size=32), lambda n: linear_model.Ridge(0.05 * n), PROGRESS
    ),
    "elastic net": (
        regress(penalty="elasticnet", alpha=2.0, l1_ratio=0.9),
        lambda n: linear_model.ElasticNet(2.0, l1_ratio=0.9, tol=1e-8),
        PROGRESS,
    ),
    "lasso": (
        regress(penalty="elasticnet", alpha=2.0, l1_ratio=1.0),
        lambda n: linear_model.Lasso(2.0, tol=1e-8),
        PROGRESS,
    ),
    "counts": (
        regress("poisson", alpha=0.01),
        lambda n: linear_model.PoissonRegressor(alpha=0.01, tol=1e-8),
        COUNTS,
    ),
    "two classes": (
        classify(alpha=0.01),
        lambda n: linear_model.LogisticRegression(C=100 / n, tol=1e-8),
        PROGRESS > 150,
    ),
    "three classes, raw": (
        classify(alpha=0.01),
        lambda n: linear_model.LogisticRegression(C=100 / n, tol=1e-9, solver="newton-cholesky"),
        CLASS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_models_of_scikit_learn(name):
    """Default tolerances, free intercepts, the same penalty: the same model."""
    model, other, y = SAME[name]
    rows = WINE if len(y) == len(WINE) else DIABETES
    other = other(len(y)).fit(rows, y)
    model.set_params(random_state=0).fit(rows, y)
    scale = abs(other.coef_).max()
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-4 * scale)
    np.testing.assert_allclose(model.intercept_, other.intercept_, rtol=1e-4, atol=1e-4 * scale)
    assert model.score(rows, y) == pytest.approx(other.score(rows, y), abs=1e-5)
    assert model.result_.success


def test_elastic_net_of_scikit_learn():
    Z = PROGRESS - PROGRESS.mean()
    model = estimators.AcceleratedRegressor(
        penalty="elasticnet", alpha=2.0, l1_ratio=0.9, fit_intercept=False, tol=1e-10
    ).fit(DIABETES, Z)
    other = linear_model.ElasticNet(alpha=2.0, l1_ratio=0.9, fit_intercept=False, tol=1e-8)
    np.testing.assert_allclose(model.coef_, other.fit(DIABETES, Z).coef_, atol=1e-2)
    assert 0 < np.count_nonzero(model.coef_) < 10


def test_losses_of_regression():
    spread = {}
    for q in (0.1, 0.9):
        model = estimators.AcceleratedRegressor("quantile", quantile=q, delta=5.0, alpha=1e-4)
        spread[q] = (model.fit(DIABETES, PROGRESS).predict(DIABETES) >= PROGRESS).mean()
    assert spread[0.1] == pytest.approx(0.1, abs=0.05)
    assert spread[0.9] == pytest.approx(0.9, abs=0.05)
    counts = np.random.default_rng(0).poisson(np.exp(0.3 * DIABETES[:, 0] + 1.0))
    model = estimators.AcceleratedRegressor("poisson", alpha=1e-4).fit(DIABETES, counts)
    assert model.coef_[0] == pytest.approx(0.3, abs=0.1)
    assert model.predict(DIABETES).mean() == pytest.approx(counts.mean(), rel=0.02)


def test_streams_learn_and_can_be_pickled():
    model = estimators.AcceleratedClassifier(alpha=1e-3, random_state=0)
    order = np.random.default_rng(0).permutation(len(Y))
    for part in np.array_split(order[:1500], 5):
        model = pickle.loads(pickle.dumps(model))
        model.partial_fit(X[part], Y[part], classes=np.unique(Y))
    once = model.score(X[order[1500:]], Y[order[1500:]])
    for _ in range(4):
        model.partial_fit(X[order[:1500]], Y[order[:1500]])
    assert 0.85 < once <= model.score(X[order[1500:]], Y[order[1500:]]) + 0.01
    with pytest.raises(ValueError, match="labels among"):
        model.partial_fit(X, Y + 1)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        estimators.AcceleratedClassifier().partial_fit(X, Y)
    counts = estimators.AcceleratedRegressor("poisson").partial_fit(DIABETES, PROGRESS // 50)
    assert counts.predict(DIABETES).min() > 0


@pytest.mark.parametrize("batch_size", ["auto", 32])
@pytest.mark.parametrize(
    "model",
    [
        estimators.AcceleratedClassifier(),
        estimators.AcceleratedClassifier("squared_hinge", penalty="elasticnet"),
        estimators.AcceleratedRegressor(),
        estimators.AcceleratedRegressor("huber", delta=20.0),
        estimators.AcceleratedRegressor("quantile", delta=20.0),
    ],
)
def test_weights_are_copies_of_rows(model, batch_size):
    rng = np.random.default_rng(0)
    classify = hasattr(model, "decision_function")
    targets = np.digitize(PROGRESS, [100, 180]) if classify else PROGRESS
    counts = rng.integers(0, 4, len(targets))
    model.set_params(alpha=0.1, tol=1e-10, random_state=0, batch_size=batch_size)
    copies = np.repeat(np.arange(len(targets)), counts)
    apart = model.fit(DIABETES[copies], targets[copies]).coef_.copy()
    level = model.intercept_
    for rows in (DIABETES, csr_array(DIABETES)):
        model.fit(rows, targets, sample_weight=counts)
        scale = abs(apart).max()
        np.testing.assert_allclose(model.coef_, apart, atol=1e-3 * scale)
        np.testing.assert_allclose(
            model.intercept_, level, atol=1e-3 * (scale + np.abs(level).max())
        )


def test_class_weights():
    rare = (Y == 8).astype(int)
    plain = estimators.AcceleratedClassifier(alpha=0.05).fit(X, rare)
    fair = estimators.AcceleratedClassifier(alpha=0.05, class_weight="balanced").fit(X, rare)
    assert fair.predict(X).sum() > 1.5 * plain.predict(X).sum()
    factor = len(rare) / (2 * np.bincount(rare))
    given = estimators.AcceleratedClassifier(alpha=0.05, class_weight=dict(enumerate(factor)))
    np.testing.assert_allclose(given.fit(X, rare).coef_, fair.coef_, rtol=1e-9, atol=1e-12)
    both = estimators.AcceleratedClassifier(alpha=0.05).fit(X, rare, sample_weight=factor[rare])
    np.testing.assert_allclose(both.coef_, fair.coef_, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="'balanced' needs all labels at once"):
        fair.partial_fit(X, rare)
    given.partial_fit(X, rare)
    with pytest.raises(ValueError, match=r"[Ss]ample.weight"):
        plain.fit(X, rare, sample_weight=0 * rare)


def test_weighted_streams_skip_rows_without_weight():
    weights = (np.arange(len(Y)) % 2).astype(float)
    half = estimators.AcceleratedRegressor()
    half.partial_fit(X, Y, sample_weight=weights)
    other = estimators.AcceleratedRegressor(batch_size=2)
    other.partial_fit(X[:40], Y[:40], sample_weight=np.zeros(40) + (np.arange(40) < 20))
    assert half.score(X, Y) > 0.3
    assert other.n_iter_ == 10


def test_warm_starts_begin_at_the_solution():
    model = estimators.AcceleratedClassifier(warm_start=True, random_state=0).fit(X, Y)
    first = model.n_iter_
    assert model.fit(X, Y).n_iter_ <= first / 4


def test_low_rank_regression_and_completion():
    rng = np.random.default_rng(0)
    features, W = (
        rng.standard_normal((200, 8)),
        rng.standard_normal((8, 2)) @ rng.standard_normal((2, 6)),
    )
    model = estimators.TraceNormRegressor(radius=np.linalg.norm(W, "nuc"), tol=1e-3)
    model.fit(features, features @ W + 0.1 * rng.standard_normal((200, 6)))
    assert model.score(features, features @ W) > 0.99
    table = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 20)) + 5.0
    holes = np.where(rng.random(table.shape) < 0.3, np.nan, table)
    filled = estimators.MatrixCompletion(rank=3, tol=1e-3).fit_transform(holes)
    missing = np.isnan(holes)
    np.testing.assert_array_equal(filled[~missing], table[~missing])
    error = np.sqrt(np.mean((filled - table)[missing] ** 2))
    assert error < 0.25 * np.std(table[missing])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 0.0}, "alpha must be positive, .* found 0.0.*ridge"),
        ({"penalty": "l1"}, "penalty must be 'l2' or 'elasticnet', found 'l1'"),
        ({"l1_ratio": 1.5}, "l1_ratio must be a number in .0, 1., found 1.5"),
        ({"loss": "hinge"}, "loss must be 'log_loss' or 'squared_hinge', found 'hinge'"),
        ({"alpha": "small"}, "alpha must be positive, .* found 'small'"),
        ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio must be a number in"),
        ({"batch_size": 0}, "batch_size must be an integer >= 1 or 'auto', found 0"),
        ({"batch_size": "big"}, "batch_size must be an integer >= 1 or 'auto', found 'big'"),
        ({"batch_size": 2.5}, "batch_size must be an integer >= 1 or 'auto', found 2.5"),
        ({"batch_size": True}, "batch_size must be an integer >= 1 or 'auto', found True"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1, found 0"),
        ({"tol": -1.0}, "tol must be a number >= 0, found -1.0"),
        ({"class_weight": dict.fromkeys(range(10), 0.0)}, "must not be 0 in all rows"),
    ],
)
def test_bad_parameters(change, message):
    with pytest.raises(ValueError, match=message):
        estimators.AcceleratedClassifier(**change).fit(X[:50], Y[:50])


def test_streams_keep_their_classes():
    model = estimators.AcceleratedClassifier().partial_fit(X[:50], Y[:50], classes=range(10))
    model.partial_fit(X[:50], Y[:50], classes=range(10))
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        model.partial_fit(X[:50], Y[:50], classes=range(11))


def test_too_few_passes_are_told():
    model = estimators.AcceleratedClassifier(max_iter=2, tol=1e-9, batch_size=1797)
    with pytest.warns(UserWarning, match="raise max_iter or tol"):
        model.fit(X, Y)
    assert 1 <= model.n_iter_ <= 2  # although a round may try more than one beta
    assert not hasattr(estimators.AcceleratedClassifier("squared_hinge"), "predict_proba")


def test_a_missing_scikit_learn_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    for name in [name for name in sys.modules if name.startswith("wolfpack.estimators.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ModuleNotFoundError, match=r"needs scikit-learn: pip install 'wolfpack\["):
        _ = estimators.SimplexRegressor
    with pytest.raises(AttributeError, match="no attribute 'Other'"):
        _ = estimators.Other


@pytest.mark.parametrize("rows", [1, 3, 32])
def test_streams_of_single_rows_do_not_diverge(rows):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 10))
    y = X @ rng.standard_normal(10) + 0.3 * rng.standard_normal(1000)
    model = estimators.AcceleratedRegressor(alpha=1e-3)
    for begin in range(0, 1000, rows):
        model.partial_fit(X[begin : begin + rows], y[begin : begin + rows])
    assert model.score(X, y) > 0.97


def test_several_targets_are_problems_of_their_own():
    from sklearn.exceptions import ConvergenceWarning

    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 6))
    Y = X @ rng.dirichlet(np.ones(6), size=30).T * np.logspace(-3, 3, 30) + 1.0
    Y[:, 4] = 2.0  # nothing to explain
    weights = rng.uniform(0.5, 2.0, 30)
    together = estimators.SimplexRegressor(radius=1.5, tol=1e-10).fit(X, Y, weights)
    for j in (0, 4, 7, 29):
        alone = estimators.SimplexRegressor(radius=1.5, tol=1e-10).fit(X, Y[:, j], weights)
        np.testing.assert_allclose(together.coef_[j], alone.coef_, atol=1e-5)
        np.testing.assert_allclose(together.intercept_[j], alone.intercept_, rtol=1e-5, atol=1e-5)
    with pytest.warns(ConvergenceWarning, match="max_iter = 1 rounds"):
        estimators.SimplexRegressor(tol=1e-12, max_iter=1).fit(X, Y)
