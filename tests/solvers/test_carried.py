"""Products with f's matrix that are carried along steps: right, bounded, and seldom computed."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.atoms import Affine, BlockAtoms, Dense, OneHot, Permutation, RankOne, Sparse
from wolfpack.objectives import _carrier
from wolfpack.objectives._carrier import Carrier, by_columns
from wolfpack.problem import Problem
from wolfpack.smoothing import Oracles
from wolfpack.solvers.parts import carried
from wolfpack.solvers.parts.carried import Carried, shift
from wolfpack.solvers.parts.hull import Hull

METHODS = {"away": wp.solvers.AwayStep, "pairwise": wp.solvers.Pairwise}
METHODS["bpcg"] = wp.solvers.BlendedPairwise


def enclosing_ball(n: int = 240, d: int = 12) -> tuple[wp.objectives.Quadratic, wp.sets.Simplex]:
    points = np.random.default_rng(0).standard_normal((n, d))
    f = wp.objectives.Quadratic(2.0 * points @ points.T, -(points**2).sum(axis=1))
    return f, wp.sets.Simplex(n)


def regression(n: int = 160, d: int = 250) -> tuple[wp.objectives.LeastSquares, wp.sets.L1Ball]:
    rng = np.random.default_rng(1)
    A = rng.standard_normal((n, d))
    return wp.objectives.LeastSquares(A, A[:, :9].sum(axis=1)), wp.sets.L1Ball(d, 5.0)


def classification() -> tuple[wp.objectives.Logistic, wp.sets.L1Ball]:
    rng = np.random.default_rng(2)
    A = rng.standard_normal((200, 180))
    return wp.objectives.Logistic(A, np.sign(A[:, 0] + 0.1 * A[:, 1])), wp.sets.L1Ball(180, 4.0)


CASES = {"quadratic": enclosing_ball, "least squares": regression, "logistic": classification}


@pytest.fixture(autouse=True)
def _carry_small_matrices(monkeypatch):
    monkeypatch.setattr(_carrier, "WORTH", 2**14)


@pytest.fixture
def products(monkeypatch):
    """Count the full products with the matrix."""
    count, plain = [0], Carrier.full_product

    def counted(self, x):
        count[0] += 1
        return plain(self, x)

    monkeypatch.setattr(Carrier, "full_product", counted)
    return count


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("method", METHODS)
def test_the_matrix_is_multiplied_seldom_and_the_answer_is_the_same(
    method, name, products, monkeypatch
):
    f, K = CASES[name]()
    res = wp.minimize(f, K, method=method, tol=1e-5, max_rounds=300)
    assert res.nit > 15
    # one fresh product at the start, those of the starting point, and refreshments
    assert products[0] <= 3 + res.nit // 8
    monkeypatch.setattr(_carrier, "WORTH", np.inf)
    before = products[0]
    f, K = CASES[name]()
    plain = wp.minimize(f, K, method=method, tol=1e-5, max_rounds=300)
    assert products[0] == before
    assert abs(res.fun - plain.fun) <= res.gap + plain.gap
    assert res.lower_bound <= plain.fun
    assert plain.lower_bound <= res.fun


def exact(f, x: np.ndarray) -> tuple[float, np.ndarray]:
    """Value and gradient in extended precision."""
    x = x.astype(np.longdouble)
    if isinstance(f, wp.objectives.Quadratic):
        Qx = f.Q.astype(np.longdouble) @ x
        return 0.5 * x @ Qx + f.c @ x, Qx + f.c
    A = f.A.astype(np.longdouble)
    residual = A @ x - f.b
    return 0.5 * residual @ residual, A.T @ residual


@pytest.mark.parametrize("name", ["quadratic", "least squares"])
@pytest.mark.parametrize("method", METHODS)
def test_drift_is_bounded_and_counted(method, name, monkeypatch):
    monkeypatch.setattr(carried, "REFRESH", 1e3)  # let it drift for long
    f, K = CASES[name]()
    problem, solver = Problem(f, K), METHODS[method]()
    oracles = Oracles(problem)
    state = solver.init(problem, K.start(), oracles)
    best, drifts, errors = -np.inf, [], []
    for _ in range(120):
        state = solver.step(problem, state, oracles)
        value, _ = exact(f, state.x)
        assert abs(state.at.value - value) <= problem.value_error(state.x, state.at.value, state.at)
        z = state.x.astype(np.longdouble)
        z = f.carrier(state.x).matrix.astype(np.longdouble) @ z
        errors.append(float(np.linalg.norm(state.carried.product - z)))
        drifts.append(state.carried.error)
        assert errors[-1] <= drifts[-1]
        best = max(best, state.bound)
        assert best <= value
    assert max(drifts) > 0
    assert max(errors) > 1e-16  # there is something to bound
    assert drifts[-1] > drifts[0]


@pytest.mark.parametrize(("source", "target"), [(None, 2), (1, None), (1, 2)])
def test_a_step_scales_the_error_that_is_there(source, target):
    f, K = enclosing_ball()
    hull = Hull.start(K.start()).extend(OneHot(np.array([5, 8]), 1.0, (240,)))[0]
    hull = hull.pruned(np.array([0.3, 0.4, 0.3]))
    x, carrier = hull.point(), f.carrier(K.start())
    assert carrier is not None
    e = np.linspace(0.0, 1e-3, 240)
    at = Carried(f.Q @ x + e, float(np.linalg.norm(e)), 1.0)
    along = shift(carrier, at, hull, source, target)
    x_next = hull.transfer(0.25, source, target).point()
    d = hull.direction(x, source, target)
    _, found = along.step(Problem(f, K), x, d, 0.25, x_next)
    error = np.linalg.norm(found.product - f.Q @ x_next)
    assert error <= found.error
    assert found.error == pytest.approx(error, rel=1e-6)


def test_a_drift_beyond_the_limit_is_replaced(monkeypatch):
    f, K = enclosing_ball()
    products, plain = [0], Carrier.product

    def counted(self, x):
        products[0] += 1
        return plain(self, x)

    monkeypatch.setattr(Carrier, "product", counted)
    monkeypatch.setattr(carried, "REFRESH", 0.0)
    res = wp.minimize(f, K, method="away", tol=0.0, max_rounds=20)
    assert products[0] > res.nit


def test_a_certificate_counts_the_drift():
    f, K = enclosing_ball()
    problem = Problem(f, K)
    at = problem.evaluate(K.start())
    vertex = K.lmo(at.gradient)
    fresh = problem.dual_bound(at.gradient, at.dual, vertex)
    drifted = problem.dual_bound(at.gradient, at.dual, vertex, drift=1e-3)
    assert fresh - drifted >= 1e-3 * K.diameter * (1 - 1e-9)
    errors = [problem.value_error(K.start(), at.value, at._replace(drift=d)) for d in (0.0, 1e-3)]
    assert errors[1] - errors[0] == pytest.approx(0.5e-3 * np.linalg.norm(K.start()))
    g, L = regression()
    at = Problem(g, L).evaluate(L.start())
    errors = [g.value_error(L.start(), at._replace(drift=d), L) for d in (0.0, 1e-3)]
    assert errors[1] - errors[0] >= 1e-3 * np.linalg.norm(at.dual)


def vertices() -> dict[str, tuple[object, tuple[int, int]]]:
    rng = np.random.default_rng(3)
    u, v = rng.standard_normal(9), rng.standard_normal(4)
    one = OneHot(np.array(7), -2.5, (9,))
    sparse = Sparse(np.array([3, 5, 0]), np.array([1.5, -1.0, 0.0]), (24,))
    return {
        "one-hot": (one, (9, 1)),
        "one-hot in a matrix": (OneHot(np.array(13), 2.0, (9, 4)), (9, 4)),
        "sparse": (sparse, (24, 1)),
        "moved": (Affine(one, 3.0), (9, 1)),
        "permutation": (Permutation(rng.permutation(9)), (9, 9)),
        "two in a column": (Sparse(np.array([1, 9, 34]), 2.0, (9, 4)), (9, 4)),
        "blocks": (BlockAtoms([one, OneHot(np.array(2), 1.0, (15,))]), (24, 1)),
        "rank one": (RankOne(u, v, 3.0), (9, 4)),
    }


@pytest.mark.parametrize("name", vertices())
def test_products_of_vertices_are_those_of_dense_arrays(name):
    vertex, (d, _) = vertices()[name]
    A = np.random.default_rng(4).standard_normal((6, d))
    found = by_columns(A, A.T, vertex)
    assert found is not None
    np.testing.assert_allclose(found[0], A @ vertex.to_dense(), atol=1e-14)
    entries = vertex.entries()
    if entries is not None:
        dense = np.zeros(vertex.size)
        np.add.at(dense, *entries)
        np.testing.assert_array_equal(dense.reshape(vertex.vertex_shape), vertex.to_dense())


def test_a_vertex_without_structure_takes_a_full_product(products):
    f, K = enclosing_ball()
    carrier = f.carrier(K.start())
    assert carrier is not None
    dense = Dense(np.full(240, 1 / 240), (240,))
    moved = Affine(OneHot(np.array(3), 1.0, (240,)), 1.0, np.ones(240))
    for v in (dense, moved):
        product, error = carrier.of_vertex(v)
        np.testing.assert_allclose(product, f.Q @ v.to_dense(), atol=1e-12)
        assert error > 0
    assert products[0] >= 1


@pytest.mark.parametrize("method", ["corrective", "fcfw"])
def test_corrections_evaluate_f_from_the_images_of_vertices(method, products):
    f, K = regression()
    res = wp.minimize(f, K, method=method, tol=1e-8)
    assert res.success
    assert products[0] <= 2  # those of the starting point
    value, _ = exact(f, res.x)
    assert abs(res.fun - value) <= res.gap
    hull = res.state.hull if method == "corrective" else res.state.active
    points = np.array([hull.vertex(i) for i in range(len(hull.weights))])
    np.testing.assert_allclose(hull.images, points @ f.A.T, atol=1e-12)
    np.testing.assert_allclose(hull.gram, points @ f.A.T @ f.A @ points.T, atol=1e-9)


def test_a_point_with_few_entries_takes_their_columns(products):
    f, K = enclosing_ball()
    x, carrier = np.zeros(240), f.carrier(K.start())
    x[[3, 17, 200]] = 0.2, 0.3, 0.5
    assert carrier is not None
    np.testing.assert_allclose(carrier.product(x), f.Q @ x, atol=1e-13)
    assert products[0] == 0
    res = wp.minimize(f, K, method="corrective", tol=1e-9)
    assert abs(exact(f, res.x)[0] - res.fun) <= res.gap
    assert products[0] < 0.5 * res.nit


def test_small_matrices_and_other_precisions_are_not_carried():
    assert wp.objectives.LeastSquares(np.eye(5), np.ones(5)).carrier(np.ones(5)) is None
    single = np.ones((200, 200), dtype=np.float32)
    f = wp.objectives.LeastSquares(single, np.ones(200, dtype=np.float32))
    assert f.carrier(np.ones(200, dtype=np.float32)) is None
    assert wp.objectives.Quadratic(1.0, np.ones(10**5)).carrier(np.ones(10**5)) is None


def test_a_scaled_objective_carries_its_own_matrix():
    f, _ = regression()
    assert f.carrier(np.ones(250)) is not None
    other = f.scaled(np.full(250, 2.0))
    carrier = other.carrier(np.ones(250))
    assert carrier is not None
    np.testing.assert_array_equal(carrier.product(np.ones(250)), 2.0 * (f.A @ np.ones(250)))
