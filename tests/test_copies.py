"""Every public class survives pickling and copying: a pool of processes can send it around."""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import multiprocessing
import pickle
import pkgutil
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import wolfpack as wp
from contracts.registry import CASES
from wolfpack import (
    engines,
    estimators,
    loop,
    noise,
    objectives,
    regularizers,
    sets,
    solvers,
    theory,
)
from wolfpack.arrays import LowRank, SparseMatrix, Streams
from wolfpack.front.choose import choose
from wolfpack.front.methods import METHODS
from wolfpack.loop.checkpoint import Checkpoint
from wolfpack.solvers.composite import Policies, StepBound

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((12, 5)), RNG.standard_normal(12)
SIGNS = np.sign(B)
PACKAGES = [wp, engines, noise, objectives, regularizers, sets, solvers, theory, loop]
if find_spec("sklearn") is not None:
    PACKAGES.append(estimators)


def alike(a: Any, b: Any) -> bool:
    """Tell whether two objects have equal types and equal contents, all the way down."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a).__module__.partition(".")[0] == "cvxpy":  # which numbers parameters anew
        return re.sub(r"param\d+", "param", str(a)) == re.sub(r"param\d+", "param", str(b))
    if inspect.ismethod(a):
        return a.__func__ is b.__func__ and alike(a.__self__, b.__self__)
    if hasattr(a, "saved_fields"):
        return alike(a.saved_fields(), b.saved_fields())
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if sparse.issparse(a):
        return alike(a.tocoo().data, b.tocoo().data) and alike(a.tocoo().coords, b.tocoo().coords)
    if isinstance(a, dict):
        return list(a) == list(b) and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, BaseException) and not alike(a.args, b.args):
        return False
    names = [*getattr(a, "__dict__", {}), *getattr(type(a), "__slots__", ())]
    if names or isinstance(a, BaseException) or type(a).__eq__ is object.__eq__:
        return all(alike(getattr(a, name), getattr(b, name)) for name in names)
    return a == b or (a != a and b != b)


def corner(g: np.ndarray) -> np.ndarray:
    return -np.sign(g)


def rank(subset: Any) -> int:
    return min(len(subset), 2)


def half_square(x: np.ndarray) -> tuple[float, np.ndarray]:
    return 0.5 * float(x @ x), x


def draw(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return y + rng.random(y.shape)


def finished(**options: Any) -> wp.Result:
    f = objectives.LeastSquares(A, B)
    return wp.minimize(f, sets.Simplex(5), tol=1e-3, **options)


def failed() -> wp.ConvergenceError:
    return wp.ConvergenceError(finished(method="fw", max_rounds=2))


def with_result() -> Exception:
    """Return what a run raises when f does, with the best point so far in it."""

    def bad(x: np.ndarray) -> tuple[float, np.ndarray]:
        if x[0] > 0.9:
            raise RuntimeError("no value there")
        return -float(x[0]), -np.eye(5)[0]

    with pytest.raises(RuntimeError, match="no value there") as caught:
        wp.minimize(bad, sets.Simplex(5), method="fw")
    return caught.value


def finite_sum() -> objectives.Objective:
    return objectives.Huber(sparse.csr_array(A), B, batch=3)


R = regularizers
GROUPS = [[0, 1], [2, 3, 4]]
INSTANCES: dict[str, Callable[[], Any]] = {
    **{f"set {case.name}": case.small for case in CASES},
    "Oracle": lambda: sets.Oracle(corner, 3, 2.0),
    "MatroidBase": lambda: sets.MatroidBase(rank, 4),
    "LeastSquares": lambda: objectives.LeastSquares(A, B),
    "Logistic": lambda: objectives.Logistic(A, SIGNS),
    "SquaredHinge": lambda: objectives.SquaredHinge(A, SIGNS),
    "Multinomial": lambda: objectives.Multinomial(A, np.arange(12) % 3),
    "Huber": finite_sum,
    "Poisson": lambda: objectives.Poisson(A, np.arange(12.0), 3.0),
    "Quantile": lambda: objectives.Quantile(A, B, 0.5, 0.1),
    "Quadratic": lambda: objectives.Quadratic(A.T @ A, A[0]),
    "Weighted": lambda: objectives.Weighted(finite_sum(), np.ones(12)),
    "Partitioned": lambda: objectives.Partitioned("huber", [(A, B), (A[:5], B[:5])]),
    "MatrixCompletion": lambda: objectives.MatrixCompletion([0, 1], [1, 0], [1.0, 2.0], (2, 2)),
    "BPR": lambda: objectives.BPR(np.ones(3), np.ones(3)),
    "DOptimal": lambda: objectives.DOptimal(A),
    "AOptimal": lambda: objectives.AOptimal(A),
    "LogUtility": lambda: objectives.LogUtility(abs(A)),
    "Function": lambda: objectives.Function(half_square),
    "Stochastic": lambda: objectives.Stochastic(draw),
    "Batches": lambda: objectives.Batches("huber", [(A, B)]),
    "SquaredNorm": lambda: R.SquaredNorm(1.0),
    "ElasticNet": lambda: R.ElasticNet(1.0, 1.0),
    "BoxRidge": lambda: R.BoxRidge(-np.ones(5), np.ones(5), 1.0),
    "BallRidge": lambda: R.BallRidge(5, 1.0),
    "SimplexRidge": lambda: R.SimplexRidge(5, 1.0),
    "IndicatorRidge": lambda: R.IndicatorRidge(sets.L1Ball(5), 1.0),
    "GroupLasso": lambda: R.GroupLasso(GROUPS, 1.0, 1.0),
    "SparseGroupLasso": lambda: R.SparseGroupLasso(GROUPS, 1.0, 1.0, 1.0),
    "NuclearNorm": lambda: R.NuclearNorm(1.0, 1.0),
    "TotalVariation": lambda: R.TotalVariation(1.0, 1.0),
    "SquaredPNorm": lambda: R.SquaredPNorm(1.0, 1.5),
    "Entropy": lambda: R.Entropy(1.0),
    "Difference": lambda: objectives.Difference(
        objectives.LeastSquares(A, B), objectives.Quadratic(1.0, np.ones(5))
    ),
    "regularizer Product": lambda: R.Product((R.SquaredNorm(1.0), 2), (R.Entropy(1.0), 3)),
    "Euclidean": R.Euclidean,
    "EntropyMirror": R.EntropyMirror,
    "PNormMirror": lambda: R.PNormMirror(1.5),
    "ProductMirror": lambda: R.ProductMirror(R.Product((R.SquaredNorm(1.0), 2))),
    "Same": lambda: R.Same(R.ElasticNet(1.0, 1.0), np.zeros(5)),
    "Shifted": lambda: R.Shifted(R.Euclidean(), np.ones(5)),
    **{law: lambda law=law: noise.LAWS[law](scale=np.linspace(1.0, 2.0, 5)) for law in noise.LAWS},
    **{
        f"solver {name}": cls
        for name, cls in inspect.getmembers(solvers, inspect.isclass)
        if cls is not solvers.Descending
    },
    "solver Descending": lambda: solvers.Descending(solvers.AwayStep()),
    "policies": lambda: solvers.StochasticComposite(policies=Policies(StepBound(0.1, 0.5))),
    "Policy": lambda: engines.Policy(stragglers="drop", quorum=0.5),
    "EngineLog": lambda: finished(method="anytime", m=4, engine="threads:2").engine,
    "Span": lambda: engines.Span(1, "w", 0, 1, 0.0, 1.0),
    "Stats": lambda: engines.Stats(2, spans=(engines.Span(1, "w", 0, 1, 0.0, 1.0),)),
    "EngineChoice": lambda: engines.EngineChoice(None, False, "few draws"),
    "Checkpoint": lambda: Checkpoint("run.ckpt", rounds=4),
    "Limits": lambda: loop.Limits(1e-3),
    "Status": lambda: wp.Status.CONVERGED,
    "Settings": lambda: theory.parameters_for(
        1e-2, L=1.0, R=1.0, M=1.0, m=4, initial_gap=1.0, s1=1.0
    ),
    "Choice": lambda: choose(objectives.LeastSquares(A, B), sets.Simplex(5), {}),
    "LowRank": lambda: LowRank(A[:, :2], np.array([2.0, 1.0]), A[:4, :2]),
    "SparseMatrix": lambda: SparseMatrix(np.array([0]), np.array([1]), np.array([2.0]), (2, 2)),
    "Norm": lambda: theory.Norm(1.0, 2.0, 4.0),
    "Estimate": lambda: theory.Estimate(1.0, 0.1),
    "Streams": lambda: Streams(7),
    "ManyResult": lambda: wp.minimize_many(
        objectives.LeastSquares(A, np.stack([B, 2.0 * B])), sets.Simplex(5)
    ),
    "PathResult": lambda: wp.path(
        lambda t: objectives.LeastSquares(A, t * B), sets.Simplex(5), [1.0, 2.0]
    ),
    "pair": lambda: wp.between(sets.Simplex(5), sets.L1Ball(5)),
    "History": lambda: finished(method="fw").history,
    **{
        f"result of {m}": lambda m=m: finished(method=m, max_rounds=9)
        for m in METHODS
        if m != "block"
    },
    "composite result": lambda: wp.minimize_composite(
        finite_sum(), R.ElasticNet(0.1, 0.1), max_rounds=9, variance_reduction=True
    ),
    "result of low rank": lambda: wp.minimize(
        objectives.MatrixCompletion([0, 1], [1, 0], [1.0, 2.0], (20, 20)),
        sets.TraceNormBall((20, 20), 2.0),
        method=solvers.LowRankCorrective(),
        max_rounds=5,
    ),
    "ConvergenceError": failed,
    "exception with a result": with_result,
}


if find_spec("sklearn") is not None:
    INSTANCES |= {f"estimator {name}": getattr(estimators, name) for name in estimators.__all__}
    INSTANCES["fitted"] = lambda: estimators.SimplexRegressor().fit(A, B)


@pytest.mark.parametrize("name", INSTANCES)
def test_round_trips(name):
    thing = INSTANCES[name]()
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        assert alike(thing, pickle.loads(pickle.dumps(thing, protocol)))
    assert alike(thing, copy.copy(thing))
    assert alike(thing, copy.deepcopy(thing))


ENGINES = {
    "local": engines.Local,
    "threads": lambda: engines.Threads(2),
    "processes": lambda: engines.Processes(2),
    "dask": lambda: engines.Dask(2),
    "ray": lambda: engines.Ray(2),
    "executor": lambda: engines.Executor(ThreadPoolExecutor, 2),
}


@pytest.mark.parametrize("name", ["local", "threads", "processes", "dask", "ray"])
def test_a_copy_of_an_engine_is_a_new_one_with_its_settings(name):
    engine = ENGINES[name]()
    for other in (pickle.loads(pickle.dumps(engine)), copy.copy(engine), copy.deepcopy(engine)):
        assert type(other) is type(engine)
        assert other.name == engine.name


def test_a_copy_of_an_engine_that_works_has_workers_of_its_own():
    options: dict[str, Any] = {"method": "anytime", "m": 4, "max_rounds": 3}
    with contextlib.closing(engines.Threads(2)) as engine:
        first = finished(engine=engine, **options)
        with contextlib.closing(copy.deepcopy(engine)) as other:
            assert alike(finished(engine=other, **options).x, first.x)


def test_engines_around_objects_of_the_user_say_that_they_cannot_be_copied():
    with pytest.raises(TypeError, match="make a new engine where it is used"):
        pickle.dumps(ENGINES["executor"]())


def importable(name: str) -> bool:
    """Tell whether a module can be imported: some need libraries that may not be there."""
    try:
        return not name.endswith("__main__") and importlib.import_module(name) is not None
    except ImportError:
        return False


EXCEPTIONS = sorted(
    {
        kind
        for module in pkgutil.walk_packages(wp.__path__, "wolfpack.")
        if importable(module.name)
        for kind in vars(importlib.import_module(module.name)).values()
        if inspect.isclass(kind)
        and issubclass(kind, BaseException)
        and kind.__module__.startswith("wolfpack.")
        and kind is not wp.ConvergenceError
    },
    key=lambda kind: kind.__qualname__,
)


@pytest.mark.parametrize("kind", EXCEPTIONS, ids=lambda kind: kind.__name__)
def test_exceptions_and_warnings_round_trip(kind):
    error = kind("what happened")
    error.add_note("in round 3")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert alike(error, other)
        assert str(other) == "what happened"


def test_the_result_of_an_unsuccessful_run_comes_back_from_a_pool():
    f, K = objectives.LeastSquares(A, B), sets.Simplex(5)
    options = {"method": "fw", "tol": 0, "max_rounds": 2, "raise_on_failure": True}
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        task = pool.apply_async(wp.minimize, (f, K), options)
        with pytest.raises(wp.ConvergenceError, match="max_rounds") as caught:
            task.get(timeout=120)  # an exception that cannot be unpickled would never come
    assert caught.value.result.nit == 2


def test_every_public_class_is_tried():
    made = {type(make()) for make in (*INSTANCES.values(), *ENGINES.values())}
    named = {
        getattr(package, name)
        for package in PACKAGES
        for name in package.__all__
        if inspect.isclass(getattr(package, name))
    }
    protocols = {engines.Engine, engines.RankEngine}
    live = {engines.Driver, engines.Mpi, engines.DataWorkers}  # parts of a run that goes on
    abstract = {kind for kind in named if inspect.isabstract(kind)} | {noise.Noise, R.Mirror}
    assert named - made - set(EXCEPTIONS) - protocols - live - abstract == set()
