"""Arguments of methods, layers, engines and figures that used to fail inside NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

import wolfpack as wp
from hostile.calls import LABELS, A, B

STACK = np.stack([A, A])
F = wp.objectives.LeastSquares(STACK, STACK[:, :, 0])
K = wp.sets.Simplex(3)
BAD_POINTS = {
    "a number": (0.5, r"x must have shape \(3,\), found \(\)"),
    "words": (["a", "b", "c"], "x must be an array of real numbers, found words"),
    "complex": (np.ones(3) * 1j, "x must .* found complex numbers"),
    "masked": (np.ma.masked_array(np.ones(3), [1, 0, 0]), "x must .* masked entries"),
    "long": (np.ones(3, np.longdouble), "x must .* which would lose digits"),
    "objects": (np.array([1, None, 2]), "x must .* Python objects"),
    "sparse": (sparse.csr_array(np.eye(3)), "x must be a dense array"),
    "short": (np.ones(2), r"x must have shape \(3,\), found \(2,\)"),
}
OBJECTIVES = {
    "LeastSquares": wp.objectives.LeastSquares(A, B),
    "Logistic": wp.objectives.Logistic(A, LABELS),
    "Quadratic": wp.objectives.Quadratic(1.0, np.ones(3)),
    "Function": wp.objectives.Function(lambda x: (0.5 * float(x @ x), x), shape=(3,)),
    "Partitioned": wp.objectives.Partitioned("huber", [(A, B), (A, B)]),
}


@pytest.mark.parametrize("method", ["value", "gradient", "value_and_gradient"])
@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("bad", BAD_POINTS)
def test_objectives_refuse_what_is_no_point(name, method, bad):
    x, said = BAD_POINTS[bad]
    with pytest.raises(wp.arrays.ArgumentError, match=said):
        getattr(OBJECTIVES[name], method)(x)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_objectives_take_points_in_any_form(name):
    f, x = OBJECTIVES[name], np.array([1.0, 0.0, 2.0])
    for same in ([1, 0, 2], x.astype(int), x.astype(np.float32), x.astype(">f8"), (1, 0.0, 2)):
        assert f.value(same) == pytest.approx(f.value(x))
        assert f.gradient(same) == pytest.approx(f.gradient(x))
    assert math.isnan(f.value(np.full(3, math.nan)))  # which is no false claim


def test_designs_have_no_value_where_x_is_not_finite():
    f = wp.objectives.DOptimal(A)
    assert f.value(np.full(6, math.nan)) == math.inf
    assert np.isnan(f.gradient(np.full(6, math.nan))).all()


SETS = [
    K,
    wp.sets.Box(np.zeros(3), np.ones(3)),
    wp.sets.Knapsack([1.0, 2.0, 3.0], 4.0, upper=np.ones(3)),
    wp.sets.Product(wp.sets.Simplex(2), wp.sets.L1Ball(1)),
    wp.sets.LinearProgram(A_ub=np.ones((1, 3)), b_ub=[2.0], bounds=[(0, 1)] * 3),
    wp.sets.Image(np.eye(3), wp.sets.Simplex(3)),
    wp.sets.Symmetric(wp.sets.Simplex(3), np.array([[1, 0, 2]])),
]


@pytest.mark.parametrize("region", SETS, ids=lambda K: type(K).__name__)
@pytest.mark.parametrize("bad", BAD_POINTS)
def test_sets_refuse_what_is_no_point(region, bad):
    x, said = BAD_POINTS[bad]
    with pytest.raises(wp.arrays.ArgumentError, match=said):
        region.violation(x)
    assert region.violation([0, 0, 1]) == region.violation(np.array([0.0, 0.0, 1.0]))


def test_methods_of_sets_take_their_arguments_by_name():
    g = np.array([0.5, -1.0, 0.25])
    assert np.array_equal(K.k_best(g=g, k=2).to_dense(), K.k_best(g, 2).to_dense())
    assert np.array_equal(K.smoothed(y=g, alpha=0.5), K.smoothed(g, 0.5))
    assert K.smoothed_support(alpha=0.5, y=g) == K.smoothed_support(g, 0.5)
    assert K.violation(x=g) == K.violation(g)
    with pytest.raises(TypeError, match="missing"):
        K.violation()


@pytest.mark.parametrize("noise", [np.ma.masked, np.zeros((0, 3)), np.array(["a", "b"]), ""])
def test_no_noise_is_falsy(noise):
    box = wp.sets.Box(np.zeros(3), np.ones(3))
    with pytest.raises(ValueError, match="noise"):
        box.smoothed(np.ones(3), 0.5, noise)
    with pytest.raises(ValueError, match="noise"):
        wp.layers.PerturbedArgmax(K, m=4, noise=noise)


def test_the_support_of_a_box_without_noise_is_a_number():
    box = wp.sets.Box(np.zeros(3), np.ones(3))
    assert box.smoothed_support(np.array([0.5, -1.0, 0.0]), 1e-320) == 0.5


def test_prices_are_not_unmasked():
    with pytest.raises(ValueError, match=r"direction must .* masked"):
        K.prices(np.ma.masked_array(np.ones(3), [True, False, False]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"A": 0.5}, "f: A must be"),
        ({"b": math.inf, "A": STACK}, "f: b "),
        ({"A": None}, "f: A must be"),
        ({"b": "words", "A": STACK}, "f: b must be"),
        ({"A": STACK[None]}, "A must"),
        ({"A": np.ma.masked_array(A, A > 0)}, "f: A must .* masked"),
    ],
)
def test_data_that_problems_share_are_checked(given, said):
    data = {"A": STACK, "b": STACK[:, :, 0]} | given
    with pytest.raises(ValueError, match=said):
        wp.minimize_many(wp.objectives.LeastSquares(**data), K)


def test_a_problem_of_data_that_are_not_finite_does_not_stop_the_others():
    broken = STACK.copy()
    broken[0, 0, 0] = math.nan
    res = wp.minimize_many(wp.objectives.LeastSquares(broken, STACK[:, :, 0]), K)
    assert list(res.status) == ["nonfinite", "converged"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"callback": {}}, "callback must be callable or None, found {}"),
        ({"engine": math.nan}, "engine must be None, 'auto'"),
        ({"engine": "thread"}, "unknown engine 'thread'"),
        ({"engine": "threads:0"}, "must name at least 1 worker"),
    ],
)
def test_many_problems_refuse(settings, said):
    with pytest.raises((TypeError, ValueError), match=said):
        wp.minimize_many(F, K, **settings)


def test_the_point_to_check_is_named_as_it_is_passed():
    with pytest.raises(ValueError, match=r"x must have shape \(3,\)"):
        wp.check(OBJECTIVES["Quadratic"], K, np.ones(2), quiet=True)
    with pytest.raises(ValueError, match="x is outside"):
        wp.check(OBJECTIVES["Quadratic"], K, np.ones(3), quiet=True)


def test_layers_refuse_masked_parameters_and_targets():
    theta = np.ma.masked_array(np.ones((2, 3)), np.eye(2, 3) > 0)
    for layer in (wp.layers.Solution(K), wp.layers.PerturbedArgmax(K)):
        with pytest.raises(ValueError, match=r"theta must .* masked"):
            layer(theta)
    loss = wp.layers.FenchelYoungLoss(K)
    for target, said in ((theta, "masked"), (np.ones((2, 3)) * 1j, "complex"), (3, "shape")):
        with pytest.raises(ValueError, match=f"target must .*{said}"):
            loss(np.ones((2, 3)), target)
    with pytest.raises(ValueError, match="target has 1 NaN"):
        loss(np.ones((1, 3)), np.array([[math.nan, 0, 0]]))
    assert loss([[1, 0, 0]], [[1, 0, 0]]) == loss(np.eye(3)[:1], np.eye(3)[:1])


@pytest.mark.parametrize("kind", [wp.engines.Threads, wp.engines.Processes])
@pytest.mark.parametrize("workers", [0, 1.5, True, "2", None, math.nan, np.ones(2)])
def test_engines_need_a_number_of_workers(kind, workers):
    with pytest.raises(ValueError, match="workers must be an integer >= 1"):
        kind(workers)


@pytest.mark.parametrize("kind", [wp.engines.Dask, wp.engines.Ray])
def test_clusters_are_numbers_addresses_or_clients(kind):
    for cluster in (0, -2, 1.5, True, None, "", math.nan, len):
        with pytest.raises(ValueError, match="cluster must be a number of workers, an address"):
            kind(cluster)
    for patience in (0, -1.0, math.nan, "long"):
        with pytest.raises(ValueError, match="patience must be a positive finite number"):
            kind(2, patience)
    assert kind(2).patience > 0


def test_figures_refuse_what_they_cannot_draw(tmp_path):
    pytest.importorskip("matplotlib")
    res = wp.minimize(OBJECTIVES["LeastSquares"], K, max_rounds=3)
    for given, said in (
        ({"results": 3}, "results must be a result or a list of them, found 3"),
        ({"labels": 3}, "labels must be a name or a list of them, found 3"),
        ({"ax": np.zeros(2)}, "ax must be Matplotlib's axes or None"),
    ):
        with pytest.raises(ValueError, match=said):
            wp.plot(**({"results": [res]} | given))
    with pytest.raises(ValueError, match="title must be a text"):
        res.report(tmp_path / "run.html", title=3)
    with pytest.raises(ValueError, match="K must be the set of the run or None, found nan"):
        res.report(tmp_path / "run.html", K=math.nan)
    assert list(tmp_path.iterdir()) == []
