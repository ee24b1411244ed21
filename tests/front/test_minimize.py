"""The front door: results, limits, callbacks, bad input."""

from __future__ import annotations

import math
import signal

import numpy as np
import pytest

import wolfpack as wp
from problems import minimum, paper_simplex, small_logistic, small_simplex

NAN, INF = math.nan, math.inf


def test_result_has_scipy_names_and_a_certificate():
    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, tol=1e-6)
    assert res.success
    assert res.status == "converged"
    assert res.gap == pytest.approx(res.fun - res.lower_bound)
    assert res.gap <= 1e-6
    assert res.fun == pytest.approx(f.value(res.x))
    assert res.fun - minimum("small_simplex") <= res.gap + 1e-8
    assert {"nit", "nfev", "njev", "nlmo", "seconds", "message", "history"} <= set(res)


def test_history_columns_have_equal_length():
    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, method="fw", tol=0, max_rounds=20)
    assert {"round", "seconds", "fun", "lower_bound", "gap", "nfev", "njev", "nlmo"} <= set(
        res.history
    )
    assert {len(column) for column in res.history.values()} == {21}
    np.testing.assert_array_equal(res.history["round"], np.arange(21))
    best = np.minimum.accumulate(res.history["fun"]) - np.maximum.accumulate(
        res.history["lower_bound"]
    )
    np.testing.assert_allclose(res.history["gap"], best)
    with pytest.raises(KeyError, match="the columns are"):
        _ = res.history["gaps"]


def test_record_every_keeps_the_last_round():
    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, method="fw", tol=0, max_rounds=25, record_every=10)
    assert res.history["round"].tolist() == [0, 10, 20, 25]


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({"max_rounds": 5}, "max_rounds"),
        ({"max_lmo": 5}, "max_lmo"),
        ({"max_seconds": 1e-9}, "max_seconds"),
        ({"max_rounds": 0}, "max_rounds"),
    ],
)
def test_limits_end_the_run_with_a_valid_answer(limits, status):
    f, K, x0 = paper_simplex()
    res = wp.minimize(f, K, x0, method="fw", tol=0, **limits)
    assert res.status == status
    assert not res.success
    assert status.removeprefix("max_") in res.message or "limit" in res.message
    assert K.contains(res.x)
    assert res.lower_bound <= minimum("paper_simplex")


def test_relative_tolerance():
    f, K, x0 = paper_simplex()
    res = wp.minimize(f, K, x0, method="fw-ls", tol=0, rtol=5e-2)
    assert res.success
    assert 0 < res.gap <= 5e-2 * res.fun


def test_rounding_level_is_stalled_not_endless():
    f = wp.objectives.Quadratic(1.0, np.zeros(3), r=7.0)
    K = wp.sets.Box(-np.ones(3), np.ones(3))
    res = wp.minimize(f, K, np.array([0.3, 0.0, 0.0]), method="fw-ls", tol=0)
    assert res.status == "stalled"
    assert res.gap <= 1e-13
    assert "rounding" in res.message


def test_callback_sees_results_and_can_stop():
    f, K, x0 = small_simplex()
    seen = []

    def callback(intermediate_result):
        seen.append((intermediate_result.nit, intermediate_result.gap))
        if intermediate_result.nit == 7:
            raise StopIteration

    res = wp.minimize(f, K, x0, method="fw", tol=0, max_rounds=50, callback=callback)
    assert res.status == "callback_stop"
    assert res.nit == 7
    assert [k for k, _ in seen] == list(range(8))
    assert seen[-1][1] == res.gap


def test_keyboard_interrupt_returns_the_best_so_far():
    f, K, x0 = small_simplex()

    def callback(result):
        if result.nit == 5:
            signal.raise_signal(signal.SIGINT)

    res = wp.minimize(f, K, x0, method="fw", tol=0, max_rounds=50, callback=callback)
    assert res.status == "interrupted"
    assert res.nit == 5
    assert K.contains(res.x)


def test_nonfinite_in_mid_run_returns_the_best_so_far():
    f, K, x0 = small_simplex()
    calls = []

    def fun(x):
        calls.append(1)
        value, gradient = f(x)
        return (NAN, gradient) if len(calls) > 6 else (value, gradient)

    res = wp.minimize(fun, K, x0, method="fw", tol=0, max_rounds=50)
    assert res.status == "nonfinite"
    assert not res.success
    assert np.isfinite(res.fun)
    assert K.contains(res.x)
    assert res.lower_bound <= minimum("small_simplex")


def test_nonfinite_at_the_start_is_an_error():
    K = wp.sets.Simplex(3)
    with pytest.raises(ValueError, match="not finite at the starting point"):
        wp.minimize(lambda x: (INF, x), K, method="fw")


def test_infinite_gradient_counts_as_nonfinite():
    f, K, x0 = small_simplex()
    calls = []

    def fun(x):
        calls.append(1)
        value, gradient = f(x)
        return value, gradient * (INF if len(calls) == 4 else 1.0)

    res = wp.minimize(fun, K, x0, method="fw", tol=0, max_rounds=9, checks=False)
    assert res.status == "nonfinite"


@pytest.mark.parametrize("method", ["pfw", "r-pfw", "fw-short"])
def test_too_small_L_is_noticed(method):
    f, K, x0 = paper_simplex()
    options = {"alpha": 0.1} if method == "pfw" else {}
    with pytest.warns(UserWarning, match="L = .* is too small.*pass a larger L"):
        res = wp.minimize(f, K, x0, method=method, L=f.L / 100, tol=0, max_rounds=50, **options)
    assert "too small" in res.message
    assert res.lower_bound <= minimum("paper_simplex") <= res.fun


def test_right_L_is_not_suspected():
    f, K, x0 = paper_simplex()
    res = wp.minimize(f, K, x0, method="fw-short", L=f.L, tol=0, max_rounds=2000)
    assert "too small" not in res.message


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_dtypes_of_x0(dtype):
    f, K, _ = small_simplex()
    x0 = np.eye(8)[2].astype(dtype)
    before = x0.copy()
    res = wp.minimize(f, K, x0, tol=1e-4)
    assert res.success
    np.testing.assert_array_equal(x0, before)


def test_read_only_x0_is_fine():
    f, K, x0 = small_simplex()
    x0 = x0.copy()
    x0.flags.writeable = False
    assert wp.minimize(f, K, x0, tol=1e-3).success


def test_unknown_L_is_explained():
    f, K, x0 = small_simplex()
    with pytest.raises(wp.CapabilityError, match=r"needs L.*pass L="):
        wp.minimize(f.value_and_gradient, K, x0, method="pfw")


BAD_CALLS = {
    "x0 NaN": ({"x0": np.array([NAN, 1.0])}, ValueError, "x0 has 1 NaN or infinite entries of 2"),
    "x0 shape": ({"x0": np.ones(3)}, ValueError, r"x0 must have shape \(2,\), found \(3,\)"),
    "x0 outside": ({"x0": np.array([2.0, 0.0])}, ValueError, "x0 is outside .* by 1"),
    "x0 text": ({"x0": ["a", "b"]}, TypeError, "x0 must be an array of real numbers"),
    "x0 complex": ({"x0": np.array([1j, 0])}, TypeError, "x0 must be an array of real numbers"),
    "L zero": ({"method": "pfw", "L": 0.0}, ValueError, "L must be a positive finite number"),
    "L infinite": ({"method": "pfw", "L": INF}, ValueError, "L must be a positive finite number"),
    "L text": ({"method": "pfw", "L": "big"}, ValueError, "L must be a positive finite number"),
    "alpha": ({"method": "pfw", "alpha": -1.0}, ValueError, "alpha must be a positive finite"),
    "alpha NaN": ({"method": "pfw", "alpha": NAN}, ValueError, "alpha must be a positive finite"),
    "m": ({"method": "pfw", "m": 0}, ValueError, "m must be an integer >= 1"),
    "m for fw": ({"method": "fw", "m": 3}, TypeError, "'fw' has no option 'm'; it has ell"),
    "noise for fw": ({"method": "fw", "noise": "gumbel"}, TypeError, "draws no noise"),
    "noise": ({"method": "pfw", "noise": "pink"}, ValueError, "gaussian"),
    "M": ({"method": "pfw", "M": "sharpest"}, ValueError, "'paper' or 'sharp'"),
    "constants": ({"method": "pfw", "constants": "own"}, ValueError, "'paper' or 'sharp'"),
    "method": ({"method": "pwf"}, ValueError, "method must be one of .*'pwf' .did you mean 'pfw'"),
    "method object": ({"method": 3}, TypeError, "method must be a name or a solver object"),
    "option": ({"method": "pfw", "alpah": 1.0}, TypeError, "no option 'alpah'; it has alpha"),
    "tol": ({"tol": -1.0}, ValueError, "tol must be a number >= 0"),
    "tol NaN": ({"tol": NAN}, ValueError, "tol must be a number >= 0"),
    "rtol": ({"rtol": "small"}, ValueError, "rtol must be a number >= 0"),
    "max_rounds": ({"max_rounds": -1}, ValueError, "max_rounds must be an integer >= 0"),
    "max_rounds float": ({"max_rounds": 1.5}, TypeError, "max_rounds must be an integer >= 0"),
    "max_rounds truth": ({"max_rounds": True}, ValueError, "max_rounds must be an integer >= 0"),
    "max_seconds truth": ({"max_seconds": True}, ValueError, "max_seconds must be a number >= 0"),
    "seed": ({"method": "pfw", "seed": -1}, ValueError, "seed must be an integer >= 0"),
    "seed text": ({"method": "pfw", "seed": "a"}, TypeError, "seed must be an integer"),
    "callback": ({"callback": 3}, TypeError, "callback must be callable"),
    "record_every": ({"record_every": 0}, ValueError, "record_every must be an integer >= 1"),
    "record_every truth": ({"record_every": True}, ValueError, "record_every must be an integer"),
    "smoothing": ({"method": "pfw", "smoothing": "x"}, ValueError, "smoothing must be one of"),
    "sampling": ({"method": "pfw", "sampling": "x"}, ValueError, "sampling must be one of"),
    "shrink": ({"method": "r-pfw", "shrink": 1.5}, ValueError, "shrink must be a number in"),
    "restart": ({"method": "r-pfw", "restart": "x"}, ValueError, "restart must be"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_calls_have_one_clear_message(name):
    arguments, error, text = BAD_CALLS[name]
    f = wp.objectives.LeastSquares(np.eye(2), np.ones(2))
    with pytest.raises(error, match=text):
        wp.minimize(f, wp.sets.Simplex(2), **arguments)


BAD_DATA = {
    "NaN in A": (lambda: wp.objectives.LeastSquares([[NAN, 1.0]], [1.0]), "A has 1 NaN"),
    "inf in b": (lambda: wp.objectives.LeastSquares([[1.0, 1.0]], [INF]), "b has 1 NaN"),
    "b shape": (lambda: wp.objectives.LeastSquares(np.ones((2, 2)), np.ones(3)), "b must have"),
    "A vector": (lambda: wp.objectives.LeastSquares(np.ones(3), np.ones(3)), "must be a matrix"),
    "A empty": (lambda: wp.objectives.LeastSquares(np.ones((0, 3)), np.ones(0)), "not be empty"),
    "Q shape": (lambda: wp.objectives.Quadratic(np.eye(2), np.ones(3)), "Q must have shape"),
    "Q skew": (lambda: wp.objectives.Quadratic([[0, 1], [0, 0]], [1, 1]), "must be symmetric"),
    "Q negative": (lambda: wp.objectives.Quadratic(-np.eye(2), np.ones(2)).L, "semidefinite"),
    "Q number": (lambda: wp.objectives.Quadratic(-1.0, np.ones(2)), "positive number"),
    "labels": (lambda: wp.objectives.Logistic(np.eye(3), [0, 1, 2]), "-1/\\+1 or 0/1"),
    "labels shape": (lambda: wp.objectives.Logistic(np.eye(3), [0, 1]), "labels must have shape"),
    "reduction": (lambda: wp.objectives.Logistic(np.eye(2), [0, 1], "max"), "'mean' or 'sum'"),
    "batch": (lambda: wp.objectives.Logistic(np.eye(2), [0, 1], batch=3), "batch must be"),
    "empty set": (lambda: wp.sets.Simplex(0), "at least 1"),
    "radius": (lambda: wp.sets.Simplex(3, radius=-1.0), "radius must be a positive finite number"),
    "empty box": (lambda: wp.sets.Box(np.ones(2), np.zeros(2)), "the box is empty"),
}


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data_has_one_clear_message(name):
    make, text = BAD_DATA[name]
    with pytest.raises(ValueError, match=text):
        make()


def test_f_and_K_must_fit():
    f, _, _ = small_simplex()
    with pytest.raises(ValueError, match=r"f takes x of shape \(8,\), K has shape \(5,\)"):
        wp.minimize(f, wp.sets.Simplex(5))
    with pytest.raises(TypeError, match="f must be an objective"):
        wp.minimize(3, wp.sets.Simplex(5))
    with pytest.raises(TypeError, match="K must be a set"):
        wp.minimize(f, np.eye(8))


@pytest.mark.parametrize(
    ("fun", "text"),
    [
        (lambda x: 1.0, "must return .value, gradient"),
        (lambda x: (x, x), "number"),
        (lambda x: (1.0, x[:2]), "the gradient of f must have x's shape"),
        (lambda x: (1.0, None), "the gradient of f must have x's shape"),
    ],
)
def test_callables_must_return_value_and_gradient(fun, text):
    with pytest.raises((TypeError, ValueError), match=text):
        wp.minimize(fun, wp.sets.Simplex(3), method="fw")


def test_raise_on_failure():
    f, K, x0 = small_simplex()
    with pytest.raises(wp.ConvergenceError, match="max_rounds") as caught:
        wp.minimize(f, K, x0, method="fw", tol=0, max_rounds=3, raise_on_failure=True)
    assert caught.value.result.nit == 3


def test_solver_objects_are_methods():
    f, K, x0 = small_simplex()
    solver = wp.solvers.ParallelFrankWolfe(alpha=1e-3, m=32)
    res = wp.minimize(f, K, x0, method=solver, tol=0, max_rounds=10)
    assert res.method == "pfw"
    assert set(res.history["m"][1:]) == {32}
    with pytest.raises(TypeError, match="solver object, in which options must be set"):
        wp.minimize(f, K, x0, method=solver, m=3)


def test_save_and_load_without_pickle(tmp_path):
    f, K, x0 = small_logistic()
    res = wp.minimize(f, K, x0, tol=1e-3)
    path = res.save(tmp_path / "run")
    again = wp.load(path)
    np.testing.assert_array_equal(again.x, res.x)
    for name in ("fun", "gap", "lower_bound", "nit", "nlmo", "status", "message", "method"):
        assert again[name] == res[name]
    np.testing.assert_array_equal(again.history["gap"], res.history["gap"])
    (tmp_path / "other.npz").write_bytes(b"not a result")
    with pytest.raises(ValueError, match="is not a saved result"):
        wp.load(tmp_path / "other.npz")


def test_to_dict_is_plain():
    import json

    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, method="fw", tol=0, max_rounds=3)
    assert json.loads(json.dumps(res.to_dict()))["nit"] == 3
    assert "state" not in repr(res)


def test_auto_says_what_it_chose_and_explain_says_it_before():
    f, K, x0 = small_simplex()
    choice = wp.explain(f, K)
    res = wp.minimize(f, K, x0)
    assert res.method == choice.plan.methods[0][0]
    assert choice.reason in res.message
    assert "closed-form smoothing" in str(choice)


def test_progress_line_appears_when_asked(capsys):
    f, K, x0 = small_simplex()
    wp.minimize(f, K, x0, method="fw", tol=0, max_rounds=50, progress=True)
    assert "round" in capsys.readouterr().err
    wp.minimize(f, K, x0, method="fw", tol=0, max_rounds=50)
    assert capsys.readouterr().err == ""


def test_oracle_sets_from_a_callable():
    f, _, x0 = small_simplex()
    K = wp.sets.Oracle(lambda g: np.eye(8)[np.argmin(g)], shape=8, radius=1.0)
    for method in ("fw", "anytime"):
        res = wp.minimize(f, K, x0, method=method, tol=1e-2, max_rounds=20_000)
        assert res.success
        assert res.lower_bound <= minimum("small_simplex") + 1e-8


def test_a_steep_start_does_not_spoil_the_certificate():
    def power(x):
        return float((x**6).sum()), 6 * x**5

    K = wp.sets.L1Ball(10, 100.0)
    res = wp.minimize(power, K, np.eye(10)[0] * 100, method="anytime", tol=1e-3, max_rounds=2000)
    assert res.success


@pytest.mark.parametrize("method", ["fw", "fw-ls", "away"])
def test_a_tangent_above_an_earlier_value_shows_that_f_is_not_convex(method):
    def wave(x):
        return float(np.sin(9 * x).sum()), 9 * np.cos(9 * x)

    with pytest.warns(UserWarning, match="not convex"):
        res = wp.minimize(wave, wp.sets.Simplex(4), [0.4, 0.3, 0.2, 0.1], method=method)
    assert not res.success
    assert np.isinf(res.gap)


def test_an_indefinite_quadratic_is_refused():
    with pytest.raises(ValueError, match="positive semidefinite"):
        wp.objectives.Quadratic(np.diag([-1.0, 1.0]), np.zeros(2))


def test_an_oracle_that_is_no_minimiser_is_not_believed():
    answers = iter([[0, 0], [1, 1], [0, 0], [0, 0], [0, 0], [0, 0]])
    K = wp.sets.Oracle(lambda g: np.array(next(answers), float), 2, 2.0)

    def f(x):
        return 0.5 * float(((x - 2) ** 2).sum()), x - 2

    res = wp.minimize(f, K, method="fw", max_rounds=3)
    assert not res.success
    assert np.isinf(res.gap)
    assert "not minimisers" in res.message


def test_f_cannot_write_into_x0():
    def careless(x):
        value = 0.5 * float(((x - 2) ** 2).sum())
        x -= 2
        return value, x

    x0 = np.array([1.0, 0.0, 0.0])
    wp.minimize(careless, wp.sets.Simplex(3), x0, method="fw", max_rounds=3)
    np.testing.assert_array_equal(x0, [1.0, 0.0, 0.0])


@pytest.mark.parametrize("scale", [1e-30, 1e-150])
def test_restarts_end_however_small_f_is(scale):
    H = scale * np.diag([1.0, 3.0, 9.0, 27.0])
    f = wp.objectives.Quadratic(H, -H @ np.array([0.9, 0.5, 0.1, -0.3]))
    res = wp.minimize(f, wp.sets.Simplex(4), method="r-pfw", tol=0, max_rounds=60)
    assert res.nit == 60
    assert res.history["m"].max() <= 2**16


def test_integers_of_numpy_and_integer_gradients_are_welcome():
    K = wp.sets.Simplex(4)
    res = wp.minimize(lambda x: (float(x[0]), np.array([1, 0, 0, 0])), K, tol=1e-6)
    assert res.success
    f, K, x0 = small_simplex()
    res = wp.minimize(f, K, x0, method="anytime", m=np.int64(3), tol=0, max_rounds=2)
    assert res.history["m"][-1] == 3
