"""Hostile inputs are refused in a clear sentence, or run to a result that is true."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import wolfpack as wp
from hostile import api, areas
from hostile.calls import ESTIMATORS, calls
from hostile.judge import FalseClaim, Outcome, judge, refusal

pytestmark = pytest.mark.filterwarnings("ignore")  # users see warnings, and no error

PUBLIC = (wp.sets, wp.objectives, wp.regularizers, wp.solvers, wp.theory)
NO_CALL = {
    "Descending",
    *("Set", "Objective", "Regularizer", "Mirror"),  # to be extended, not called
    *("Estimate", "Settings", "Norm"),  # returned by formulas
    *("from_torch", "from_jax", "from_cvxpy"),  # need libraries that take seconds to import
}


def test_every_public_callable_is_called():
    known = {name.rpartition(": ")[2] for name in calls()}
    names = {name for module in PUBLIC for name in module.__all__}
    missing = {name for name in names - NO_CALL if callable(_public(name))} - known
    assert not missing
    assert known >= {"resume", "load", "explain", "Checkpoint", "minimize/auto"}
    if find_spec("sklearn") is not None:
        assert known >= {*ESTIMATORS}


def _public(name: str) -> object:
    return next(getattr(module, name) for module in PUBLIC if hasattr(module, name))


@pytest.mark.parametrize("name", calls())
def test_the_valid_arguments_are_valid(name):
    calls()[name]()


def check(runs: int, seed: int) -> None:
    tally = areas.Tally()
    for area, given, verdict in areas.sample(runs, seed):
        tally.add(area, given, verdict)
    assert not tally.bad, "\n".join(tally.bad[:20])
    assert sum(map(sum, (c.values() for c in tally.counts.values()))) >= runs - len(areas.SOURCES)


def test_a_sample_of_hostile_inputs():
    check(1500, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_many_hostile_inputs():
    # in a process of its own, whose children inherit nothing that other tests have left
    code = "from hostile.test_hostile import check; check(20_000, seed=2)"
    folders = [str(Path(__file__).parents[1]), *sys.path]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=env, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]


def from_inside(values):
    return np.ones(3) @ np.ones(values)


def claims_too_much():
    raise FalseClaim("x is infeasible")


@pytest.mark.parametrize(
    ("call", "outcome"),
    {
        "refused": (lambda: wp.sets.Simplex(3, radius=-1), Outcome.REFUSED),
        "raw": (lambda: from_inside(4), Outcome.RAW),
        "no raise": (lambda: wp.arrays.inner(np.ones(2), np.ones(3)), Outcome.RAW),
        "ran": (lambda: wp.sets.Simplex(3), Outcome.RAN),
        "false": (claims_too_much, Outcome.FALSE),
    }.values(),
)
def test_the_judge(call, outcome):
    assert judge(call, {"radius"}).outcome is outcome


def test_the_judge_wants_the_name_of_the_argument():
    with pytest.raises(ValueError, match="radius") as caught:
        wp.sets.Simplex(3, radius=math.nan)
    assert refusal(caught.value, {"radius"}).outcome is Outcome.REFUSED
    assert refusal(caught.value, {"total"}).outcome is Outcome.RAW


def test_hangs_and_crashes_cost_one_input_each():
    def work(kind):
        if kind == "crash":
            import os
            import signal

            os.kill(os.getpid(), signal.SIGSEGV)
        return judge(lambda: [None for _ in iter(lambda: kind == "hang", False)], seconds=0.2)

    from hostile.workers import judged

    found = [verdict.outcome for _, verdict in judged(["a", "crash", "hang", "b"], work)]
    assert found == [Outcome.RAN, Outcome.CRASH, Outcome.HANG, Outcome.RAN]


def test_singles_cover_every_argument():
    seen = {(given.call, given.changes[0][0]) for given in api.singles()}
    assert seen == {
        (name, argument) for name, call in calls().items() for argument in call.arguments
    }


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tol": "1e-4"}, "tol must be a number >= 0, found '1e-4'"),
        ({"max_rounds": 10**400, "tol": 10**400}, "tol must be a number >= 0, found 1000"),
        ({"checkpoint": ""}, "checkpoint must be a path that is not empty"),
        ({"method": wp.solvers.Corrective}, "a class: call it to make an object"),
        ({"method": wp.solvers.SearchedComposite()}, "pass it to minimize_composite"),
        ({"method": "fw", "sampling": "sobol"}, "has no use for sampling='sobol'"),
        ({"method": "fw", "block": 4}, "has no use for block=4"),
        ({"stragglers": {}}, "stragglers must be 'wait' or 'drop'"),
        ({"f": lambda x: (1.0, 1j * x)}, "the gradient of f must be .* found complex numbers"),
        ({"f": lambda x: (1.0, np.ma.masked_array(x, x > 0))}, "without masked entries, found 3"),
    ],
)
def test_front_doors_refuse(settings, said):
    arguments = {"f": lambda x: (float(x @ x), 2.0 * x), "K": wp.sets.Simplex(3)} | settings
    with pytest.raises((TypeError, ValueError), match=said):
        wp.minimize(**arguments)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda A: np.ma.masked_array(A, A > 0), "masked entries"),
        (lambda A: A.astype(np.longdouble), "would lose digits"),
        (lambda A: A.astype(complex), "complex numbers"),
        (lambda A: A.astype(object), "Python objects"),
        (lambda A: A.astype("int64").astype("datetime64[s]"), "dates"),
        (lambda A: 1e160 * A, "at most 1e\\+151 in size"),
    ],
)
def test_arrays_that_would_lose_something_are_refused(change, said):
    A = np.eye(3)
    with pytest.raises(TypeError, match=f"A must .*{said}"):
        wp.objectives.LeastSquares(change(A), np.ones(3))


@pytest.mark.parametrize("sampling", ["antithetic", "sobol"])
def test_trees_are_drawn_from_coupled_points(sampling):
    K = wp.sets.SpanningTree([(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)])
    f = wp.objectives.Quadratic(1.0, -np.arange(5.0))
    assert wp.minimize(f, K, method="corrective", m=4, sampling=sampling, tol=1e-6).success


def test_explain_refuses_unknown_settings():
    f, K = wp.objectives.LeastSquares(np.eye(3), np.ones(3)), wp.sets.Simplex(3)
    with pytest.raises(TypeError, match="no method of minimize has an option 'tool'"):
        wp.explain(f, K, tool=1)


@pytest.mark.parametrize("radius", [math.nan, -1, 0, "a"])
def test_estimators_check_their_parameters_in_fit(radius):
    pytest.importorskip("sklearn")
    model = wp.estimators.MatrixCompletion(radius=radius)
    with pytest.raises(ValueError, match="radius must be a positive finite number"):
        model.fit(np.eye(3))
    with pytest.raises(ValueError, match="X must have an entry that is not NaN"):
        wp.estimators.MatrixCompletion().fit(np.full((3, 3), np.nan))


def test_fits_keep_single_precision():
    pytest.importorskip("sklearn")
    X = np.random.default_rng(0).standard_normal((30, 3)).astype(np.float32)
    for kind in ("SimplexRegressor", "AcceleratedRegressor"):
        assert getattr(wp.estimators, kind)().fit(X, X[:, 0]).coef_.dtype == np.float32
