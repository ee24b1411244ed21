"""What a stranger does to `minimize`: odd arguments, failures in mid-run, writing into arrays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import wolfpack as wp
from wolfpack.front.methods import METHODS, PARTICULAR

GRADIENTS = [name for name in METHODS if name not in PARTICULAR]
rng = np.random.default_rng(0)
A, b = rng.standard_normal((20, 6)), rng.standard_normal(20)
K = wp.sets.Simplex(6)


def least_squares() -> wp.objectives.LeastSquares:
    return wp.objectives.LeastSquares(A, b)


@pytest.mark.parametrize("progress", ["x", 1, 0.0, []])
def test_progress_is_a_truth_value_or_none(progress):
    with pytest.raises(TypeError, match="progress must be True or False or None, found"):
        wp.minimize(least_squares(), K, progress=progress)


@pytest.mark.parametrize("L", [1e12, 1e300])
def test_an_absurd_L_does_not_stop_projected_gradients(L):
    assert wp.minimize(least_squares(), K, method="projected", L=L).success


@pytest.mark.parametrize("method", [name for name in METHODS if name != "block"])
@pytest.mark.parametrize("data", [np.float32, np.float64])
def test_single_precision_is_kept(method, data):
    f = wp.objectives.LeastSquares(A.astype(data), b.astype(data))
    x0 = np.full(6, 1 / 6, dtype=np.float32)
    assert wp.minimize(f, K, x0, method=method, tol=1e-2, max_rounds=30).x.dtype == np.float32


class Fails:
    """Least squares that raises at its n-th evaluation."""

    def __init__(self, n: int) -> None:
        self.left, self.f = n, least_squares()

    def __call__(self, x):
        self.left -= 1
        if self.left < 0:
            raise ZeroDivisionError("out of luck")
        return self.f.value_and_gradient(x)


@pytest.mark.parametrize("method", ["fw", "corrective", "anytime"])
def test_an_exception_in_mid_run_brings_the_best_so_far(method, tmp_path):
    with pytest.raises(ZeroDivisionError, match="out of luck") as caught:
        wp.minimize(Fails(12), K, method=method, tol=0)
    partial = caught.value.result  # pyright: ignore[reportAttributeAccessIssue]
    f = least_squares()
    best = wp.minimize(f, K, tol=1e-9)
    assert partial.fun == pytest.approx(f.value(partial.x))
    assert partial.lower_bound <= best.fun <= partial.fun
    assert partial.status == wp.Status.INTERRUPTED
    assert not partial.success
    assert partial.method == method
    assert partial.message.startswith("ZeroDivisionError ended the run in round")
    assert "attribute 'result'" in caught.value.__notes__[-1]
    assert wp.load(partial.save(tmp_path / "partial")).fun == partial.fun


def test_composite_problems_bring_theirs(tmp_path):
    H = wp.regularizers.SquaredNorm(0.1)
    with pytest.raises(ZeroDivisionError) as caught:
        wp.minimize_composite(Fails(12), H, y0=np.zeros(6), beta=least_squares().L, tol=0)
    partial = caught.value.result  # pyright: ignore[reportAttributeAccessIssue]
    assert partial.nit > 2
    assert wp.load(partial.save(tmp_path / "partial")).fun == partial.fun


def test_an_exception_at_the_start_has_nothing_to_bring():
    with pytest.raises(ZeroDivisionError) as caught:
        wp.minimize(Fails(0), K, method="fw")
    assert not hasattr(caught.value, "result")


def test_an_exception_of_the_callback_brings_it_too():
    def callback(intermediate_result):
        if intermediate_result.nit == 5:
            raise KeyError("five")

    with pytest.raises(KeyError) as caught:
        wp.minimize(least_squares(), K, method="fw", callback=callback)
    assert caught.value.result.nit == 5  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("method", GRADIENTS)
def test_callbacks_see_points_that_cannot_be_written_to_and_stay(method):
    seen = []

    def callback(intermediate_result):
        with pytest.raises(ValueError, match="read-only"):
            intermediate_result.x[0] = 7.0
        seen.append((intermediate_result.x, intermediate_result.x.copy()))

    result = wp.minimize(least_squares(), K, method=method, max_rounds=25, callback=callback)
    assert len(seen) > 2
    for view, copy in seen:
        np.testing.assert_array_equal(view, copy)
    result.x[0] = 7.0  # the answer is the user's own


@pytest.mark.parametrize("kind", ["dense", "large", "sparse", "fortran", "narrow"])
def test_data_that_change_later_change_nothing(kind):
    make = {
        "dense": lambda: A.copy(),
        "large": lambda: np.tile(A, (600, 2)),
        "sparse": lambda: sparse.csr_array(np.where(abs(A) > 0.5, A, 0.0)),
        "fortran": lambda: np.asfortranarray(A),
        "narrow": lambda: A.astype(np.float16),
    }[kind]
    data = make()
    target = rng.standard_normal(data.shape[0])
    f, same = (wp.objectives.LeastSquares(made, target.copy()) for made in (data, make()))
    x = np.ones(data.shape[1])
    if kind == "sparse":
        data.data[:] = 9.0
    else:
        data[:] = 9.0
    for one, other in zip(f.value_and_gradient(x), same.value_and_gradient(x), strict=True):
        np.testing.assert_array_equal(one, other)
    assert f.L == same.L


def test_right_hand_sides_and_linear_terms_are_copied_too():
    target, c, Q = b.copy(), rng.standard_normal(6), np.eye(6)
    makers = [
        lambda: wp.objectives.LeastSquares(A, target),
        lambda: wp.objectives.Quadratic(Q, c),
        lambda: wp.objectives.Huber(A, target, 1.0),
    ]
    made = [make() for make in makers]
    before = [f.value(np.ones(6)) for f in made]
    target[:], c[:], Q[:] = 3.0, 3.0, 3.0
    assert [f.value(np.ones(6)) for f in made] == before


def test_read_only_data_and_mapped_files_are_not_copied(tmp_path):
    fixed = A.copy()
    fixed.flags.writeable = False
    assert np.shares_memory(wp.objectives.LeastSquares(fixed, b).A, fixed)
    np.save(tmp_path / "A.npy", A)
    mapped = np.load(tmp_path / "A.npy", mmap_mode="r+")
    for given in (mapped, np.asarray(mapped)):
        assert np.shares_memory(wp.objectives.LeastSquares(given, b).A, mapped)


def test_a_round_that_would_exceed_a_limit_is_not_begun():
    result = wp.minimize(least_squares(), K, method="anytime", m=64, tol=0, max_lmo=100)
    assert result.status == wp.Status.MAX_LMO
    assert result.nit == 1
    assert 64 < result.nlmo <= 100


@pytest.mark.parametrize("method", ["fw", "fw-short", "fw-ls", "lazy", "momentum"])
@pytest.mark.parametrize("K", [wp.sets.L2Ball(5), wp.sets.Box(-np.ones(5), np.ones(5))])
def test_single_precision_is_kept_by_dense_vertices(method, K):
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((9, 5)).astype("f"), rng.standard_normal(9).astype("f")
    f = wp.objectives.LeastSquares(A, b)
    assert wp.minimize(f, K, method=method, max_rounds=3).x.dtype == np.float32


def test_f_may_use_the_memory_of_its_gradient_again():
    rng = np.random.default_rng(0)
    F = wp.objectives.LeastSquares(rng.standard_normal((9, 5)), rng.standard_normal(9))
    memory = np.zeros(5)

    def f(x):
        value, memory[:] = F(x)
        return value, memory

    options = {"method": "projected", "tol": 1e-8}
    found, expected = (wp.minimize(g, wp.sets.L1Ball(5), **options) for g in (f, lambda x: F(x)))
    assert found.status == expected.status == "converged"
    assert found.nit == expected.nit


@pytest.mark.parametrize("method", GRADIENTS)
def test_f_may_write_into_its_argument(method):
    F = least_squares()

    def f(x):
        found = F(x)
        x[:] = 7.0
        return found

    options = {"method": method, "tol": 1e-6, "max_rounds": 25, "L": F.L}
    found, expected = (wp.minimize(g, K, **options) for g in (f, lambda x: F(x)))
    np.testing.assert_array_equal(found.x, expected.x)
    assert found.fun == expected.fun


@pytest.mark.parametrize("size", [1e-290, 1e-300, 1e-310, 1e-320])
@pytest.mark.parametrize("known", [True, False])
def test_values_that_underflow_end_a_run(size, known):
    def f(x):
        r = A @ x - b
        return 0.5 * size * float(r @ r), size * (A.T @ r)

    g = wp.objectives.LeastSquares(size**0.5 * A, size**0.5 * b) if known else f
    result = wp.minimize(g, K, method="fcfw", tol=0, max_rounds=500)
    assert result.status == wp.Status.STALLED
    assert size * wp.minimize(least_squares(), K, tol=1e-10).gap <= result.gap < 1e-289


def test_a_loss_that_rounds_to_zero_is_no_gap_of_zero():
    f = wp.objectives.Logistic(np.eye(2, dtype="f"), np.ones(2, dtype="f"))
    x0 = np.full(2, 150.0, dtype="f")
    result = wp.minimize(f, wp.sets.Box([100.0, 100.0], [200.0, 200.0]), x0, tol=0, method="fw")
    assert result.fun == 0.0
    # the loss is exp(-150) there and less elsewhere
    assert result.gap >= np.exp(-150.0) - np.exp(-200.0)
    assert result.status == wp.Status.STALLED


@pytest.mark.parametrize("method", ["pfw", "r-pfw", "fw", "anytime"])
@pytest.mark.parametrize("unit", [1e-160, 1e-270, 1e-305])
def test_tiny_units_end_in_a_status(method, unit):
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((24, 4)), rng.standard_normal(24)
    f = wp.objectives.LeastSquares(A * unit, b * unit)
    res = wp.minimize(f, wp.sets.Simplex(4), method=method, tol=0.0, max_rounds=20)
    assert res.status in ("stalled", "max_rounds")
    assert np.isfinite(res.gap)
