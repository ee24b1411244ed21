"""The front door of many problems of one kind: `minimize_many`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import (
    ArgumentError,
    Array,
    is_foreign,
    like,
    namespace,
    reshape,
    to_host,
    without_graphs,
)
from ..checks import BatchAudit
from ..engines import EngineLike, choose_engine
from ..loop import Limits
from ..loop.many import BatchRun
from ..loop.many_result import ManyResult
from ..loop.progress import Progress
from ..noise import get as get_noise
from ..objectives.batched import BatchedObjective, Lifted
from ..objectives.batched import batched as batched_objectives
from ..problem import Stacked
from ..problem.checks import checked, flag, function, instance, optional
from ..problem.checks import seed as seed_kind
from ..sets import ConvexHull, L1Ball, Simplex, WeightedL1Ball
from ..sets.batched import BatchedSet, batched, parts_of
from ..solvers.batched import BATCHED_METHODS, BatchedAnytime, BatchedMethod, BatchedProjected
from .execute import ConvergenceError
from .instances import solve_one_by_one
from .many_arguments import Problems, as_problems

MAX_VERTICES = 256
"""Vertices of an l1 ball up to which faces are searched for the minimum of a quadratic."""


@checked(
    seed=seed_kind,
    checks=flag,
    raise_on_failure=flag,
    progress=optional(flag),
    method=instance(str, "the name of a method"),
    callback=optional(function),
)
def minimize_many(
    f: Any,
    K: Any,
    x0: Array | None = None,
    method: str = "auto",
    tol: float = 1e-4,
    rtol: float | None = None,
    seed: int = 0,
    engine: EngineLike = None,
    max_rounds: int | None = None,
    max_seconds: float | None = None,
    max_lmo: int | None = None,
    callback: Callable[[ManyResult], object] | None = None,
    progress: bool | None = None,
    raise_on_failure: bool = False,
    checks: bool = True,
    **options: Any,
) -> ManyResult:
    r"""Minimise many smooth convex functions, each over its set, in one call.

    *Solves* :math:`\min_{x \in K_i} f_i(x)` for i = 1, ..., B. Each problem has its own
    certificate, its own step sizes and its own end.

    Parameters
    ----------
    f : objective with stacked data, list of objectives, or callable
        ``LeastSquares(A, b)`` with A of shape (B, n, d), or (n, d) for all problems, and b of shape
        (B, n); other losses and `Quadratic` alike. A list has one objective for each problem. A
        callable takes a batch X of shape (B, \*shape) and returns values (B,) and gradients
        (B, \*shape).
    K : Set, set with stacked parameters, or list of sets
        One set for all problems, or one for each: ``Simplex(d, radius=r)`` with r of shape (B,),
        ``Box(lower, upper)`` with bounds of shape (B, d), a list.
    x0 : array (B, \*shape) or (\*shape), optional
        Feasible starting points, or one for all.
    method : str
        "projected" solves all problems at once, by accelerated projected gradient steps and, for
        quadratics over bounds, a search of their faces. "anytime" solves them at once as well, by
        accelerated Frank-Wolfe steps without projections. "auto" is "projected" where f and K have
        a batched form, and runs ``minimize(method="auto")`` for each problem elsewhere. Other names
        are methods of `minimize`, which run for each problem.
    tol, rtol : float
        A problem ends when its certified gap is at most ``tol``, or ``rtol * |f(x)|``.
    seed : int
        Seed of methods that draw random numbers, for each problem.
    engine : optional
        Where problems run that are solved one by one, as in `minimize`: the same bits everywhere.
    max_rounds, max_lmo : int, optional
        Limits for each problem; 100,000 rounds when no limit is given.
    max_seconds : float, optional
        Limit for the whole call.
    callback : callable, optional
        Called with the `ManyResult` so far after each certificate. StopIteration ends the run.
    progress : bool, optional
        Show how many problems are solved: always, never, or (None) on a terminal.
    raise_on_failure : bool
        Raise `ConvergenceError` unless every problem has converged.
    checks : bool
        Test functions of your own, as `minimize` does: the gradients of a callable on a batch at
        the start, and gradients and convexity at the answers. ``res.message`` tells what was found.
    **options
        Options of the method. "anytime" takes all problems at once with ``m`` (answers a round, or
        "auto", "exact", "theory"), ``kappa`` and ``noise``; other options, and other methods, run
        for each problem.

    Returns
    -------
    ManyResult
        With ``x``, ``fun``, ``gap``, ``lower_bound``, ``status`` and ``nit``, one entry for each
        problem. ``message`` says whether they were solved at once or one by one, and why.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> A = np.random.default_rng(0).standard_normal((100, 20, 5))
    >>> f = wp.objectives.LeastSquares(A, A[:, :, 0])
    >>> res = wp.minimize_many(f, wp.sets.Simplex(5), tol=1e-8)
    >>> bool(res.success.all()), res.x.shape, bool(res[7].gap <= 1e-8)
    (True, (100, 5), True)
    """
    began = time.perf_counter()
    limits = Limits(tol, rtol, max_rounds, max_seconds, max_lmo)
    with without_graphs(_some_array(f, x0)):
        problems = as_problems(f, K, x0)
        steps = _batched_method(method, options, seed)
        with np.errstate(over="ignore", invalid="ignore"):  # data that overflow end as nonfinite
            parts = steps if isinstance(steps, str) else _together(problems, steps)
        if not isinstance(parts, str):
            assert not isinstance(steps, str)
            if not ((isinstance(engine, str) and engine == "auto") or callable(engine)):
                choose_engine(engine, None, None)  # which is not needed, but must be one
            with np.errstate(over="ignore", invalid="ignore"):
                run = _batch_run(steps, *parts, problems, limits, began, checks)
            result = _follow(run, parts[0], problems, callback, progress)
        else:
            if not isinstance(problems.f, Stacked | list):
                raise TypeError(
                    f"f is a callable on a batch, which needs a batched form: {parts}; pass a "
                    "list of callables, one for each problem"
                )
            settings = {"tol": tol, "rtol": rtol, "seed": seed, "max_rounds": max_rounds}
            settings |= {"max_lmo": max_lmo, "method": method, "checks": checks, **options}
            result = solve_one_by_one(
                problems, settings, engine, max_seconds, began, callback, progress, parts
            )
    if raise_on_failure and not result.success.all():
        raise ConvergenceError(result)
    return result


def _some_array(f: Any, x0: Any) -> Array | None:
    values = [x0, *(f.arguments.values() if isinstance(f, Stacked) else ())]
    return next((value for value in values if is_foreign(value)), None)


def _batched_method(method: str, options: dict[str, Any], seed: int) -> BatchedMethod | str:
    """Return the method that takes steps of all problems, or why they are solved one by one."""
    name = "projected" if method == "auto" else method
    if name not in BATCHED_METHODS:
        return f"method {method!r} takes one problem at a time"
    if name == "projected":
        if options:
            raise TypeError(
                f"method {name!r} of minimize_many has no options, found {sorted(options)}: leave "
                "them out, or name a method of minimize, which then runs for each problem"
            )
        return BatchedProjected()
    others = sorted(set(options) - {"m", "kappa", "noise"})
    if others:
        return f"option {others[0]!r} takes one problem at a time"
    noise = options.get("noise")
    law = None if noise is None else get_noise(noise)
    return BatchedAnytime(options.get("m", "auto"), options.get("kappa", "auto"), law, seed)


def _together(
    problems: Problems, method: BatchedMethod
) -> tuple[BatchedObjective, BatchedSet] | str:
    """Return objectives and sets as batches, and a map from their points; or why there are none."""
    count, place = problems.count, problems.place
    model = batched_objectives(problems.f, count, problems.shape, place)
    if isinstance(model, str):
        return model
    if model.convex is False:
        raise ArgumentError(
            "f must be convex, found a function with convex=False: pass a list of functions, one "
            "for each problem, to search for stationary points"
        )
    if method.searches_faces and problems.x0 is None and _has_faces(problems.K, count, model):
        lifted = _hull(problems.K, count, model)
        assert lifted is not None
        return lifted
    K = batched(problems.K, count, model.place)
    if K is not None:
        model.on(K)
        return model, K
    hull = _hull(problems.K, count, model)
    if hull is None:
        kind = problems.K.kind if isinstance(problems.K, Stacked) else type(problems.K)
        listed = isinstance(problems.K, list)
        name = "the list of sets" if listed else kind.__name__
        return f"{name} has no batched form"
    return hull


def _has_faces(K: Any, count: int, model: BatchedObjective) -> bool:
    """Tell whether quadratics over l1 balls are better seen as problems of weights of vertices.

    The faces of the simplex of weights are searched for the minimum, which gradient steps approach
    slowly where columns are nearly dependent. On devices small systems are what is slow.
    """
    if model.hessian is None or is_foreign(model.place) or 2 * model.dimension > MAX_VERTICES:
        return False
    return all(isinstance(part, L1Ball | WeightedL1Ball) for part in parts_of(K, count))


def _vertices(K: Any) -> np.ndarray | None:
    """Return the points of which a set is the convex hull, None where they are not listed."""
    if isinstance(K, L1Ball | WeightedL1Ball):
        corners = np.diag(np.broadcast_to(K.reach, K.shape).reshape(-1))
        return np.concatenate([corners, -corners])
    return K.table if type(K) is ConvexHull else None


def _hull(K: Any, count: int, model: BatchedObjective) -> Any:
    """Return problems over convex hulls as problems of the weights of the points."""
    parts: list[Any] = parts_of(K, count)
    tables = [_vertices(part) for part in parts]
    if any(table is None for table in tables):
        return None
    if len({table.shape for table in tables if table is not None}) > 1:
        return None
    points = like(np.stack([table for table in tables if table is not None]), model.place)
    weights = batched(Simplex(points.shape[1]), count, model.place)
    assert weights is not None
    outer = _Hulls(parts, count, weights)
    model.on(outer)
    lifted = Lifted(model, points if len(parts) > 1 else points[0, ...], outer.radius)
    lifted.on(weights)
    return lifted, weights


class _Hulls:
    """What certificates need to know of convex hulls."""

    def __init__(self, parts: list[Any], count: int, weights: BatchedSet) -> None:
        self.radius = _repeated([part.radius for part in parts], count, weights)
        self.diameter = _repeated([part.diameter for part in parts], count, weights)

    def absolute_support(self, C: Array) -> Array:
        """Return ||c|| R for each row."""
        return namespace(C).sqrt(namespace(C).sum(C * C, axis=1)) * self.radius


def _repeated(values: list[float], count: int, K: BatchedSet) -> Array:
    array = np.asarray(values, dtype=np.float64)
    return like(np.repeat(array, count) if len(array) < count else array, K.radius)


def _batch_run(
    method: BatchedMethod,
    model: BatchedObjective,
    K: BatchedSet,
    problems: Problems,
    limits: Limits,
    began: float,
    checks: bool,
) -> BatchRun:
    """Return the run of all problems at once, at its start."""
    x = _starting_points(problems, K, model.plain is not model)
    audit = None
    if checks and not model.tested:
        audit = BatchAudit(model, K, parts_of(problems.K, problems.count))
    return BatchRun(method, model, K, x, limits, began, audit)


def _follow(
    run: BatchRun,
    model: BatchedObjective,
    problems: Problems,
    callback: Callable[[ManyResult], object] | None,
    progress: bool | None,
) -> ManyResult:
    """Follow a run to its end and return its answers."""
    bar = Progress(progress, problems.count)

    def shaped() -> Array:
        return reshape(model.points_of(run.answers()), (problems.count, *problems.shape))

    def tell() -> None:
        assert callback is not None
        callback(run.result(shaped(), "so far"))

    try:
        run.run(bar, None if callback is None else tell)
    finally:
        bar.close()
    result = run.result(shaped(), "")
    text = summary(result, f"solved at once by {run.method.name!r}", model.convex is None)
    result.message = " ".join([text, *run.remarks])
    return result


def summary(result: ManyResult, how: str, assumed: bool = False) -> str:
    """Return the message of a result: how it was made, and how the problems ended."""
    ends = Counter(str(status) for status in result.status)
    listed = ", ".join(f"{number} {status}" for status, number in ends.most_common())
    noun = "problem" if len(result) == 1 else "problems"
    text = f"{len(result)} {noun} {how}: {listed}."
    if assumed:
        text += " The certificates assume that f is convex, which a callable does not declare."
    return text


def _starting_points(problems: Problems, K: BatchedSet, lifted: bool) -> Array:
    """Return the starting points as rows; x0 is checked against every set."""
    if problems.x0 is None or lifted:
        if problems.x0 is not None:
            raise ArgumentError(
                "x0 is of no use over convex hulls, whose points are weighed: leave x0 out"
            )
        start = K.start()
    else:
        start = reshape(problems.x0, (problems.count, -1))
        outside = np.asarray(to_host(K.violation(start)), dtype=np.float64)
        radius = np.asarray(to_host(K.radius), dtype=np.float64)
        eps = 1e-9 if "64" in str(start.dtype) else 1e-4
        bad = ~(outside <= eps * np.maximum(1.0, radius))
        if bad.any():
            i = int(bad.argmax())
            more = f" ({int(bad.sum())} of {len(bad)} are)" if bad.sum() > 1 else ""
            raise ArgumentError(
                f"x0[{i}] must be in its set, found a violation of {outside[i]:.3g}{more}"
            )
    return start if start.dtype == K.place.dtype else namespace(start).astype(start, K.place.dtype)
