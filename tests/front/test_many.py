"""Many problems in one call: the same answers as one by one, proved, in every order and company."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import wolfpack as wp
from backends import JAX, TORCH, TORCH32

objectives, sets = wp.objectives, wp.sets
B, N, D = 5, 12, 6
RNG = np.random.default_rng(7)
A, RHS = RNG.normal(size=(B, N, D)), RNG.normal(size=(B, N))
SIGNS = np.where(RNG.random((B, N)) < 0.5, -1.0, 1.0)
RADII = RNG.uniform(0.5, 2.0, B)
Q = A.mT @ A / N
C = RNG.normal(size=(B, D))
POINTS = RNG.normal(size=(B, 9, D))

LOSSES: dict[str, Any] = {
    "least squares": objectives.LeastSquares(A, RHS),
    "shared matrix": objectives.LeastSquares(A[0], RHS, reduction="mean"),
    "wide": objectives.LeastSquares(A[:, :1], RHS[:, :1]),
    "logistic": objectives.Logistic(A, SIGNS),
    "labels 0/1": objectives.Logistic(A, (SIGNS > 0).astype(float)),
    "hinge": objectives.SquaredHinge(A, SIGNS),
    "huber": objectives.Huber(A, RHS, delta=0.5),
    "quantile": objectives.Quantile(A, RHS, q=0.3),
    "quadratic": objectives.Quadratic(Q, C, np.arange(B) + 0.5),
    "shared quadratic": objectives.Quadratic(Q[0], C),
    "distance": objectives.Quadratic(2.0, C),
    "distances": objectives.Quadratic(RADII, C),
    "list": [objectives.Huber(A[i], RHS[i], delta=0.5) for i in range(B)],
    "list of quadratics": [objectives.Quadratic(Q[i], C[i], 1.0) for i in range(B)],
}
SETS: dict[str, Any] = {
    "simplex": sets.Simplex(D, radius=RADII),
    "box": sets.Box(-RADII[:, None] * np.ones(D), RADII[:, None] * np.ones(D)),
    "one box": sets.Box(np.zeros(D), np.ones(D)),
    "linf": sets.LinfBall(D, RADII),
    "l1": sets.L1Ball(D, RADII),
    "weighted l1": sets.WeightedL1Ball(np.arange(1.0, D + 1.0)),
    "l2": sets.L2Ball(D, RADII),
    "capped": sets.CappedSimplex(D, 0.3, 0.5 * RADII),
    "caps": sets.CappedSimplex(D, 0.6 * RADII[:, None] * np.ones(D), RADII),
    "hypersimplex": [sets.Hypersimplex(D, k) for k in (1, 2, 3, 2, 5)],
    "k-sparse": sets.KSparse(D, 2, RADII),
    "hull": sets.ConvexHull(POINTS[0]),
    "hulls": sets.ConvexHull(POINTS),
    "product": sets.Product(sets.Simplex(3, RADII), sets.Box(np.zeros(3), np.ones(3))),
}
PAIRS = [(loss, "simplex") for loss in LOSSES] + [("least squares", K) for K in SETS]
PAIRS += [("logistic", K) for K in ("box", "l1", "hulls", "product")]


def instance(value: Any, i: int) -> Any:
    """Return the objective or set of problem i."""
    if isinstance(value, sets.Box) and len(value.shape) == 2:
        return sets.Box(value.lower[i], value.upper[i])
    if isinstance(value, sets.ConvexHull) and len(value.shape) == 2:
        return sets.ConvexHull(value.points[i])
    if isinstance(value, objectives.Quadratic):
        return objectives.Quadratic(value.Q, value.c[i])
    return value if isinstance(value, sets.Set) else value[i]


def assert_same_answers(f: Any, K: Any, res: wp.ManyResult, tol: float) -> None:
    """Compare with `minimize`, whose bounds and values hold for the same problems."""
    assert res.success.all(), res.message
    for i in range(len(res)):
        f_i, K_i = instance(f, i), instance(K, i)
        alone = wp.minimize(f_i, K_i, tol=tol)
        assert K_i.contains(res.x[i])
        assert f_i.value(res.x[i]) == pytest.approx(res.fun[i], abs=1e-12)
        assert res.gap[i] > 0
        assert res.lower_bound[i] <= alone.fun
        assert alone.lower_bound <= res.fun[i] + 1e-13


@pytest.mark.parametrize(("loss", "region"), PAIRS)
def test_answers_are_those_of_minimize(loss: str, region: str) -> None:
    f, K = LOSSES[loss], SETS[region]
    res = wp.minimize_many(f, K, tol=1e-7)
    assert "at once" in res.message
    assert_same_answers(f, K, res, 1e-7)


@pytest.mark.parametrize(
    "K",
    [
        sets.TraceNormBall((4, 4), RADII),
        sets.Spectrahedron(4, RADII),
        sets.Spectrahedron(4, 0.5, equality=False),
        sets.Birkhoff(4),
    ],
    ids=repr,
)
def test_distances_from_matrices(K: Any) -> None:
    M = 3.0 * RNG.normal(size=(B, 4, 4))
    f = objectives.Quadratic(1.0, M + M.mT)
    res = wp.minimize_many(f, K, tol=1e-8)
    assert "at once" in res.message
    assert_same_answers(f, K, res, 1e-8)


@pytest.mark.parametrize("far", [0, 12_345_678])
def test_certificates_hold_for_minima_in_rational_arithmetic(far: int) -> None:
    # over the simplex of two entries, f(x, 1 - x) is a parabola with a known vertex
    A, b = RNG.integers(-4, 5, (40, 3, 2)), far + RNG.integers(-4, 5, (40, 3))
    res = wp.minimize_many(objectives.LeastSquares(A, b), sets.Simplex(2), tol=0.0)
    for i in range(40):
        slope = [Fraction(int(a - c)) for a, c in A[i]]
        rest = [Fraction(int(c - t)) for (_, c), t in zip(A[i], b[i], strict=True)]
        square = sum(s * s for s in slope)
        t = -sum(s * r for s, r in zip(slope, rest, strict=True)) / square if square else Fraction()
        t = min(max(t, Fraction()), Fraction(1))
        least = sum((s * t + r) ** 2 for s, r in zip(slope, rest, strict=True)) / 2
        assert Fraction(res.lower_bound[i]) <= least
        assert res.gap[i] < 1e-11 + 1e-13 * far**2
        assert res.gap[i] > 0
        assert Fraction(res.fun[i]) - least <= Fraction(res.gap[i])
    assert set(res.status) == {wp.Status.STALLED}  # no gap of 0 is claimed


@pytest.mark.parametrize("far", [0.0, 1e7])
@pytest.mark.parametrize("loss", ["least squares", "logistic", "quadratic"])
def test_gaps_allow_for_the_rounding_that_one_run_allows_for(loss: str, far: float) -> None:
    f = LOSSES[loss] if loss != "least squares" else objectives.LeastSquares(A, RHS + far)
    res = wp.minimize_many(f, sets.Simplex(D), tol=0.0, max_rounds=500)
    for i in range(B):
        alone = wp.minimize(f[i], sets.Simplex(D), tol=0.0, method="projected", max_rounds=500)
        assert 0.3 < res.gap[i] / alone.gap < 3.0


def test_no_problem_notices_its_company() -> None:
    f, K = LOSSES["least squares"], sets.Simplex(D)
    res = wp.minimize_many(f, K, tol=1e-9)
    order = RNG.permutation(B)
    shuffled = wp.minimize_many(objectives.LeastSquares(A[order], RHS[order]), K, tol=1e-9)
    assert np.array_equal(shuffled.x, res.x[order])
    assert np.array_equal(shuffled.gap, res.gap[order])
    for i in range(B):
        alone = wp.minimize_many(objectives.LeastSquares(A[i : i + 1], RHS[i : i + 1]), K, tol=1e-9)
        assert alone.fun[0] == pytest.approx(res.fun[i], abs=res.gap[i] + alone.gap[0])
        assert alone.nit[0] == res.nit[i]


@pytest.mark.parametrize("region", ["l2", "k-sparse", "hull"])
def test_shuffling_changes_no_bit_where_problems_share_a_matrix(region: str) -> None:
    # all rows at once are multiplied with the matrix, which rounds them by their place
    count = 100
    b = np.random.default_rng(11).normal(size=(count, N))
    one: Any = {"l2": sets.L2Ball(D), "k-sparse": sets.KSparse(D, 2), "hull": SETS["hull"]}[region]
    order = np.random.default_rng(12).permutation(count)
    for f in (
        lambda rows: objectives.LeastSquares(A[0], b[rows]),
        lambda rows: objectives.Quadratic(Q[0], b[rows][:, :D]),
        lambda rows: objectives.Huber(A[0], b[rows], delta=0.5),
    ):
        res, shuffled = (
            wp.minimize_many(f(rows), one, tol=1e-9) for rows in (np.arange(count), order)
        )
        assert np.array_equal(shuffled.x, res.x[order])
        assert np.array_equal(shuffled.gap, res.gap[order])
        assert np.array_equal(shuffled.nit, res.nit[order])
        assert not np.array_equal(res.x, res.x[order])


@pytest.mark.parametrize("where", ["A", "b"])
def test_a_problem_with_nan_ends_alone(where: str) -> None:
    data = {"A": A.copy(), "b": RHS.copy()}
    data[where][2, 1] = np.nan
    res = wp.minimize_many(objectives.LeastSquares(**data), sets.Simplex(D), tol=1e-8)
    whole = wp.minimize_many(LOSSES["least squares"], sets.Simplex(D), tol=1e-8)
    others = np.arange(B) != 2
    assert res.status[2] == "nonfinite"
    assert res.gap[2] == np.inf
    assert not res.success[2]
    assert np.array_equal(res.x[others], whole.x[others])
    assert res.success[others].all()


@pytest.mark.parametrize("region", ["simplex", "hull", "l1", "l2"])
def test_a_problem_with_nan_ends_alone_beside_a_shared_matrix(region: str) -> None:
    b = np.random.default_rng(13).normal(size=(9, N))
    one: Any = {
        "simplex": SIMPLEX,
        "hull": SETS["hull"],
        "l1": sets.L1Ball(D),
        "l2": sets.L2Ball(D),
    }
    whole = wp.minimize_many(objectives.LeastSquares(A[0], b), one[region], tol=1e-8)
    for i in (0, 4, 8):
        bad = b.copy()
        bad[i, 2] = np.nan
        res = wp.minimize_many(objectives.LeastSquares(A[0], bad), one[region], tol=1e-8)
        others = np.arange(9) != i
        assert res.status[i] == "nonfinite"
        assert res.success[others].all()
        np.testing.assert_allclose(res.x[others], whole.x[others], atol=1e-6)


@pytest.mark.parametrize("kind", ["underdetermined", "repeated columns", "walks", "optimum inside"])
def test_faces_of_l1_balls_are_searched(kind: str) -> None:
    rng, count = np.random.default_rng(17), 6
    data, b = rng.normal(size=(count, 10, 20)), rng.normal(size=(count, 10))
    K: Any = sets.L1Ball(20, rng.uniform(0.5, 2.0, count))
    if kind == "repeated columns":
        data[:, :, 10:] = data[:, :, :10]
    if kind == "walks":  # columns are nearly dependent: gradient steps take hundreds of rounds
        data, b = data.cumsum(axis=1), b.cumsum(axis=1)
    if kind == "optimum inside":
        b = 0.1 * data[:, :, 3]
        K = sets.WeightedL1Ball(np.linspace(0.5, 2.0, 20))
    f = objectives.LeastSquares(data, b)
    res = wp.minimize_many(f, K, tol=1e-8)
    assert res.nit.max() <= 24
    assert_same_answers(
        f, K if isinstance(K, sets.Set) else [K[i] for i in range(count)], res, 1e-8
    )
    start = np.zeros((count, 20))  # from a point of the user's, gradient steps are taken
    given = wp.minimize_many(f, K, x0=start, tol=1e-6)
    assert given.success.all()
    np.testing.assert_allclose(given.fun, res.fun, atol=1e-6)


def test_singular_and_hard_problems_end_by_themselves() -> None:
    data, b = A.copy(), RHS.copy()
    data[0] = 0.0
    data[1, :, 1:] = data[1, :, :1]  # all columns are one
    data[2] *= np.logspace(0, 6, D)
    res = wp.minimize_many(objectives.LeastSquares(data, b), sets.Simplex(D), rtol=1e-7)
    assert res.success.all(), res.message
    f = LOSSES["least squares"]
    loose = wp.minimize_many(f, sets.L2Ball(D), tol=1e-8)
    assert len(set(loose.nit)) > 1  # each has its own end


def test_data_that_overflow_end_alone() -> None:
    data = A.copy()
    data[3] *= 1e160
    f = objectives.LeastSquares(data, RHS)
    for K in (sets.Simplex(D), sets.L2Ball(D)):
        res = wp.minimize_many(f, K, tol=1e-8)
        assert res.status[3] == "nonfinite"
        assert res.success[[0, 1, 2, 4]].all()


def test_sparse_data_for_all_problems_run_one_by_one() -> None:
    f = objectives.LeastSquares(sparse.csr_array(A[0]), RHS)
    res = wp.minimize_many(f, sets.Simplex(D), tol=1e-8)
    assert "A is no dense array" in res.message
    dense = wp.minimize_many(LOSSES["shared matrix"], sets.Simplex(D), tol=1e-8)
    np.testing.assert_allclose(res.x, dense.x, atol=1e-4)


def residuals(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rest = np.einsum("bnd,bd->bn", A, X) - RHS
    return 0.5 * (rest * rest).sum(axis=1), np.einsum("bnd,bn->bd", A, rest)


def test_a_callable_takes_the_whole_batch() -> None:
    K, start = sets.Simplex(D), np.full((B, D), 1.0 / D)
    res = wp.minimize_many(residuals, K, x0=start, tol=1e-6)
    assert_same_answers(LOSSES["least squares"], K, res, 1e-6)
    assert "convex" in res.message

    def broken(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = residuals(X)
        values[3] = np.nan
        return values, gradients

    res = wp.minimize_many(broken, K, x0=start, tol=1e-6)
    assert [str(status) for status in res.status] == ["converged"] * 3 + ["nonfinite", "converged"]
    backwards = wp.minimize_many(
        lambda X: (residuals(X)[0], -residuals(X)[1]), K, x0=start, max_rounds=99
    )
    assert not backwards.success.any()


@pytest.mark.parametrize("engine", [None, "threads:2"])
def test_what_has_no_batched_form_runs_one_by_one(engine: str | None) -> None:
    f, K = LOSSES["least squares"], sets.LpBall(D, 3, radius=RADII)
    res = wp.minimize_many(f, K, tol=1e-5, engine=engine)
    assert "one by one" in res.message
    assert "LpBall has no batched form" in res.message
    for i in range(B):
        alone = wp.minimize(f[i], K[i], tol=1e-5)
        assert np.array_equal(alone.x, res.x[i])
        assert (alone.gap, alone.nit) == (res.gap[i], res.nit[i])
    mixed = [f[0], objectives.Logistic(A[1], SIGNS[1])]
    assert "not of one kind" in wp.minimize_many(mixed, sets.Simplex(D)).message
    poisson = wp.minimize_many(objectives.Poisson(A, abs(RHS)), sets.Simplex(D))
    assert poisson.success.all()
    assert "Poisson has no batched form" in poisson.message


@pytest.mark.slow
def test_processes_give_the_same_bits() -> None:
    K = sets.LpBall(D, 3)
    for f in (LOSSES["least squares"], LOSSES["list"]):
        here, there = (wp.minimize_many(f, K, engine=engine) for engine in (None, "processes:2"))
        assert np.array_equal(here.x, there.x)
        assert np.array_equal(here.gap, there.gap)


def test_limits_hold_for_all() -> None:
    f, K = LOSSES["least squares"], sets.L2Ball(D)
    rounds = wp.minimize_many(f, K, tol=0.0, max_rounds=3)
    assert set(rounds.status) == {wp.Status.MAX_ROUNDS}
    assert (rounds.nit == 3).all()
    assert np.isfinite(rounds.gap).all()
    assert set(wp.minimize_many(f, K, tol=0.0, max_seconds=0).status) == {wp.Status.MAX_SECONDS}
    calls = wp.minimize_many(f, K, tol=0.0, max_lmo=2)
    assert set(calls.status) == {wp.Status.MAX_LMO}
    assert (calls.nlmo == 2).all()
    with pytest.raises(wp.ConvergenceError):
        wp.minimize_many(f, K, tol=0.0, max_rounds=1, raise_on_failure=True)


def test_callback_sees_the_share_solved() -> None:
    seen: list[int] = []

    def look(res: wp.ManyResult) -> None:
        seen.append(int(res.success.sum()))
        if len(seen) == 3:
            raise StopIteration

    res = wp.minimize_many(LOSSES["logistic"], sets.Simplex(D), tol=1e-9, callback=look)
    assert len(seen) == 3
    assert set(res.status) <= {wp.Status.CALLBACK_STOP, wp.Status.CONVERGED}


def test_progress_shows_the_share_solved(capsys: pytest.CaptureFixture[str]) -> None:
    wp.minimize_many(LOSSES["least squares"], sets.Simplex(D), progress=True)
    assert f"0 of {B} solved" in capsys.readouterr().err


def test_results_are_rows_files_and_pickles(tmp_path: Any) -> None:
    res = wp.minimize_many(LOSSES["least squares"], sets.Simplex(D), tol=1e-8)
    one = res[-1]
    assert isinstance(one, wp.Result)
    assert np.array_equal(one.x, res.x[4])
    assert one.gap == res.gap[4]
    assert one.success
    assert one.history["gap"][0] == res.gap[4]
    assert len(list(res)) == len(res) == B
    for wrong in (B, -B - 1, 1.5, "0"):
        with pytest.raises(IndexError, match="from 0 to 4"):
            res[wrong]
    for other in (pickle.loads(pickle.dumps(res)), wp.load(res.save(tmp_path / "many"))):
        assert np.array_equal(other.x, res.x)
        assert np.array_equal(other.gap, res.gap)
        assert (other.status == res.status).all()
        assert other[0].status is wp.Status.CONVERGED
        assert other.message == res.message


SIMPLEX = sets.Simplex(D)
START = np.full((B, D), 1.0 / D)
ONE_OUTSIDE = np.vstack([START[1:], np.ones((1, D))])
MISTAKES: list[tuple[Any, str]] = [
    (lambda: objectives.LeastSquares(A, RHS[:4]), "b must have a leading axis of length 5"),
    (lambda: objectives.LeastSquares([A[0], A[1][:5]], RHS[:2]), r"A\[1\] must have the shape"),
    (lambda: objectives.LeastSquares(A[:0], RHS[:0]), "A must hold at least one problem"),
    (lambda: sets.Simplex(D, [1.0, -1.0])[1], "problem 1: radius must be a positive"),
    (lambda: wp.minimize_many([], SIMPLEX), "f must hold at least one problem"),
    (lambda: wp.minimize_many(LOSSES["logistic"], []), "K must hold at least one problem"),
    (lambda: wp.minimize_many(LOSSES["wide"], sets.Simplex(D, RADII[:4])), "K must hold 5"),
    (lambda: wp.minimize_many(LOSSES["wide"], sets.Simplex(4)), "K has shape"),
    (lambda: wp.minimize_many(LOSSES["wide"], SIMPLEX, x0=START[:3]), "x0 must hold 5 problems"),
    (lambda: wp.minimize_many(LOSSES["wide"], SIMPLEX, x0=ONE_OUTSIDE), r"x0\[4\] must be in"),
    (lambda: wp.minimize_many(LOSSES["wide"], SIMPLEX, x0=START[0, :3]), "x0 must have shape"),
    (lambda: wp.minimize_many(LOSSES["wide"], SIMPLEX, x0=START * np.nan), r"x0\[0\] has 6 NaN"),
    (lambda: wp.minimize_many(LOSSES["wide"], SIMPLEX, m=3), "has no options, found"),
    (lambda: wp.minimize_many(LOSSES["wide"], SIMPLEX, method=3), "method must be the name"),
    (lambda: wp.minimize_many(LOSSES["wide"], SIMPLEX, method="nope"), "method must be one of"),
    (lambda: wp.minimize_many(LOSSES["wide"], [SIMPLEX] * 4 + [3]), r"found 3 at K\[4\]"),
    (lambda: wp.minimize_many(LOSSES["wide"], 3), "K must be a set, or a list"),
    (lambda: wp.minimize_many(3, SIMPLEX), "f must be an objective with stacked data"),
    (lambda: wp.minimize_many(LOSSES["wide"][0], SIMPLEX), "use minimize for one problem"),
    (lambda: wp.minimize_many(residuals, SIMPLEX), "number of problems is unknown"),
    (lambda: wp.minimize_many(lambda X: 3.0, SIMPLEX, x0=START), "must return .values, gradients"),
    (lambda: wp.minimize_many(lambda X: (X[0], X), SIMPLEX, x0=START), r"values of shape \(5,\)"),
    (lambda: wp.minimize_many(objectives.Logistic(A, RHS), SIMPLEX), r"labels\[0\] must be"),
    (
        lambda: wp.minimize_many(objectives.LeastSquares(A, RHS[:, :7]), SIMPLEX),
        "b must have one entry per row of A, 12",
    ),
    (
        lambda: wp.minimize_many(objectives.Quadratic(-Q, C), SIMPLEX),
        r"Q\[0\] must be positive semidefinite",
    ),
    (
        lambda: wp.minimize_many([LOSSES["wide"][0], objectives.Quadratic(1.0, C[0, :3])], SIMPLEX),
        r"f\[1\] must have points of shape",
    ),
    (
        lambda: wp.minimize_many(LOSSES["wide"], SIMPLEX, engine="bogus"),
        "unknown engine 'bogus'",
    ),
    (
        lambda: sets.Box(np.zeros((B, D)), 1.0 - 2.0 * np.outer(np.arange(B) == 3, np.ones(D))),
        r"in 6 of 30 coordinates, first at \[3, 0\]",
    ),
    (lambda: wp.minimize(LOSSES["wide"], SIMPLEX), "pass it to minimize_many"),
    (lambda: wp.minimize(LOSSES["wide"][0], sets.Simplex(D, RADII)), "pass them to minimize_many"),
]


@pytest.mark.parametrize(("mistake", "sentence"), MISTAKES)
def test_mistakes_get_one_sentence(mistake: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence) as caught:
        mistake()
    assert "\n" not in str(caught.value)


@pytest.mark.extras
@pytest.mark.parametrize("name", ["torch", "torch32", "jax"])
def test_other_libraries_give_the_same_answers(name: str) -> None:
    backend = {"torch": TORCH, "torch32": TORCH32, "jax": JAX}[name]
    pytest.importorskip(backend.library)
    tol = 1e-4 if backend.eps > 1e-10 else 1e-8
    with backend.active():
        f = objectives.LeastSquares(backend.array(A), backend.array(RHS))
        for region in ("simplex",) if name == "jax" else ("simplex", "product", "hulls", "l1"):
            K = SETS[region]
            res = wp.minimize_many(f, K, tol=tol)
            exact = wp.minimize_many(LOSSES["least squares"], K, tol=1e-10)
            assert res.success.all(), res.message
            x = np.asarray(backend.host(res.x), dtype=float)
            assert all(instance(K, i).contains(x[i], 1e3 * backend.eps) for i in range(B))
            assert (res.lower_bound <= exact.fun).all()
            assert (res.fun <= exact.fun + tol).all()
        with pytest.raises(TypeError, match="one library"):
            wp.minimize_many(f, SIMPLEX, x0=START)


@pytest.mark.parametrize("turn", [1, -1])
def test_a_list_may_mix_objectives_and_callables(turn):
    target = np.array([0.9, 0.3, 0.0])
    own = wp.objectives.Quadratic(1.0, -target, 0.5 * float(target @ target))
    both = [own, lambda x: (0.5 * float((x - target) @ (x - target)), x - target)][::turn]
    res = wp.minimize_many(both, wp.sets.Simplex(3), tol=1e-6)
    np.testing.assert_allclose(res.x, [[0.8, 0.2, 0.0]] * 2, atol=1e-2)
    assert res.success.all()
