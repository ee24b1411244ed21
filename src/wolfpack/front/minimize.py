"""The front door of constrained problems: `minimize`."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Generator
from dataclasses import fields, replace
from functools import partial
from inspect import signature
from os import PathLike
from typing import Any

import numpy as np

from ..arrays import (
    Array,
    LowRank,
    as_float_array,
    check_finite,
    check_shape,
    describe,
    is_foreign,
    like,
    same_place,
    without_graphs,
)
from ..engines import DataWorkers, EngineLike, Policy
from ..loop import Callback, Limits, Result
from ..loop.checkpoint import Checkpoint
from ..loop.run import Options
from ..loop.schedule import Schedule
from ..noise import Noise
from ..objectives import Objective, as_objective
from ..objectives._move import on_device
from ..problem import (
    Counts,
    LimitReached,
    Problem,
    Rational,
    Solver,
    counted,
    is_rational_array,
    under_way,
)
from ..problem.checks import (
    between,
    checked,
    choice,
    count,
    flag,
    instance,
    optional,
    positive,
    shown,
)
from ..problem.checks import seed as seed_kind
from ..sets import Set, TraceNormBall
from ..smoothing import SAMPLINGS, SMOOTHINGS, Oracles
from ..solvers import Descending, LowRankCorrective, StochasticComposite
from ..solvers.parts.decomposition import begun_apart
from ..solvers.parts.warm import begun_with, fitted, kept_hull, within
from .choose import as_set, choose
from .config import Config, ConstrainedSettings, as_checkpoint
from .exactly import exactly
from .execute import concluded, execute
from .fingerprint import constrained_fingerprint
from .methods import METHODS, make_solver
from .partitioned import with_workers
from .plan import Plan
from .prepare import prepare_constrained
from .random import CONFIDENCE, for_gradients, schedule_of
from .start import search_start
from .starts import best_of, check_starts, random_start

POLICY = tuple(field.name for field in fields(Policy))
"""Options that say how long a round waits for its workers."""

_COMMON_OPTIONS = ["L", "device", "record_every", "checks", "max_passes", "confidence", "smoothing"]
_COMMON_OPTIONS.extend(["sampling", "block", *POLICY])

_OF_PROBLEM = ("f", "K", "x0", "options", "began")
"""What is no setting."""


@checked(
    seed=seed_kind,
    raise_on_failure=flag,
    L=optional(positive),
    device=optional(instance(str, "the name of a device")),
    smoothing=optional(choice(*SMOOTHINGS)),
    sampling=choice(*SAMPLINGS),
    block=optional(count),
    convex=optional(flag),
    starts=count,
    checks=flag,
    confidence=between(0, 1, low_open=True, high_open=True),
    verbose=flag,
)
@with_workers(0, "f")
def minimize(
    f: Objective | Callable[[Array], tuple[float, Array]],
    K: Set,
    x0: Array | Result | None = None,
    method: str | Solver[Any] | Plan = "auto",
    tol: float | None = None,
    rtol: float | None = None,
    m: int | str | None = None,
    noise: str | Noise | None = "auto",
    engine: EngineLike = None,
    seed: int = 0,
    max_rounds: int | None = None,
    max_seconds: float | None = None,
    max_lmo: int | None = None,
    callback: Callback | None = None,
    checkpoint: str | PathLike[str] | Checkpoint | None = None,
    progress: bool | None = None,
    raise_on_failure: bool = False,
    convex: bool | None = None,
    starts: int = 1,
    verbose: bool = False,
    watch: str | PathLike[str] | None = None,
    **options: Any,
) -> Result:
    r"""Minimise a smooth function over a compact convex set; with a certificate if it is convex.

    *Solves* :math:`\min_{x \in K} f(x)` through gradients of f and linear oracles of K alone.

    Parameters
    ----------
    f : Objective or callable
        An objective of `wolfpack.objectives`, or a callable: x -> (value, gradient), or (x, rng) ->
        a random gradient. With ``batch=`` in a sum over rows, with
        `wolfpack.objectives.Batches` (streams, data loaders) and `Stochastic`, "auto" reads random
        gradients; methods that need whole ones read all data, and the message says so.
    K : Set
        A set of `wolfpack.sets`; `wolfpack.sets.Oracle` wraps a linear oracle of your own.
    x0 : array or Result, optional
        Feasible starting point, at which f is finite. With the `Result` of an earlier run, methods
        that keep vertices begin with those of that run, if they are in K. "away", "pairwise" and
        "bpcg" write a point of a set of the library as a mixture of vertices first, in at most 256
        oracle calls, and weigh them for f. By default it is the set's own or, if f is not finite
        there, a point inside K that is searched for. It is never written to. Integers become
        float64; float32 and float64 are kept. An object array of Fractions, here or in the data of
        f or K, asks for exact arithmetic (see the guide's page on exact problems).
    method : str or solver object
        "auto" (see `wolfpack.explain`), "anytime" (accelerated, nothing to choose), "corrective"
        (keeps vertices and weighs them), "projected" (accelerated projected gradient), "conic"
        (interior points, for a quadratic over linear constraints), "nnls" (least squares over the
        weights of few vertices), "block" (one factor of a product in a round), "dicg" (away steps
        within faces, without an active set), "pfw" (Algorithm 2 of the paper), "r-pfw" (Algorithm
        3), "fw" (step 2/(k+2)), "fw-short" (short step), "fw-ls" (exact line search), "away" (away
        steps), "pairwise", "bpcg" (blended pairwise), "fcfw" (fully corrective), "lazy" (with a
        cache of vertices), "momentum", "cgs" (conditional gradient sliding), "conjugate",
        "biconjugate", "stochastic-anytime" (random gradients and perturbed oracles), "stochastic"
        (random gradients, one oracle), or a solver object.
    tol, rtol : float
        Stop when the certified gap is at most ``tol``, or at most ``rtol * |f(x)|``. With
        ``tol=None``, the default, a gap is small enough that is at most 1e-6 of what could be
        gained at the start, f(x0) less the best bound, or 1e-9 \|f(x)\|, or what rounding errors
        allow. So it does not matter in which units f is measured.
    m : int or str, optional
        Perturbed oracles per round, for methods that draw them.
    noise : str or Noise, optional
        Law of the perturbations: "gumbel", "gaussian", "logistic", an object, or "auto", the set's
        own. None makes "anytime" draw no noise at all (momentum Frank-Wolfe) and is "auto" for
        methods that cannot do without.
    engine : None, str, Executor, Client or Engine
        Where the oracles of a round run, and the blocks of a
        `wolfpack.objectives.Partitioned`: None for this process, "threads[:n]", "processes[:n]",
        "dask[:n or address]", "ray[:n or address]", "mpi", any `concurrent.futures.Executor` (or a
        function that makes one), a Dask client, an engine of `wolfpack.engines`, or "auto", which
        measures the oracle. The result has the same bits everywhere.
    seed : int
        Same seed, same bits.
    max_rounds, max_seconds, max_lmo : optional
        Limits; 100,000 rounds when none is given. ``max_seconds`` is the caller's clock: all that
        happens from the call on counts, and a round in progress is cut, so that the run ends within
        one evaluation of f or one call of the oracle. ``max_lmo`` counts every oracle call, also
        those of certificates and of estimates of constants, and is never exceeded.
    callback : callable, optional
        Called as ``callback(intermediate_result)`` after each recorded round. Raising StopIteration
        ends the run. The arrays of its ``x`` (the best point) and ``state`` are read-only, and its
        ``history`` is the one so far: nothing in it can change the run.
    checkpoint : str, Path or Checkpoint, optional
        File to save the run to, every 30 seconds and at its end; `wolfpack.Checkpoint` chooses how
        often. `wolfpack.resume` continues from it.
    progress : bool, optional
        Show a progress line: always, never, or (None) on a terminal when the run lasts.
    raise_on_failure : bool
        Raise `ConvergenceError` instead of returning an unsuccessful result.
    convex : bool, optional
        True declares f convex, which the certificate needs. False searches for a stationary point:
        f decreases in every round until the Frank-Wolfe gap at x, ``res.stationarity``, is at most
        ``tol``; ``res.gap`` is infinite. None, the default, is what the objective declares. For a
        callable that declares nothing f is taken to be convex, tested for it before a gap is
        returned, and the message says so.
    starts : int
        With ``convex=False``, the number of starts: x0 first, then random points of K that the seed
        determines. The best result is returned, with all of them in ``res.starts``. Limits on
        rounds and oracle calls hold for each start, ``max_seconds`` for all together.
    verbose : bool
        Print a table while the run goes on: round, f, lower bound, gap, oracle calls, seconds.
    watch : str or Path, optional
        Folder, made if it does not exist, into which the result so far is written while the run
        goes on: ``wolfpack watch FOLDER`` shows it as a page, `wolfpack.load` reads its file
        ``progress.npz``.
    **options
        ``L`` (smoothness constant, when the objective does not know it), ``device`` (where to run,
        in PyTorch's words: "cuda" moves dense NumPy data there), ``record_every`` (certify and
        record every so many rounds; "auto", the default, keeps certificates to about a tenth of a
        run and records every round where they are free), ``checks`` (False leaves functions and
        oracles of your own unchecked, see `wolfpack.check`), ``smoothing`` ("ambient", "lifted" or
        "image": noise on coordinates, on the scores of vertices, on the observations), ``sampling``
        ("iid", "antithetic" or "sobol"), ``block`` (answers per block of draws, the unit of work
        that is given to a worker), ``max_passes`` (limit on what random gradients,
        values and proofs read, in passes over the data; one certificate may come on top),
        ``confidence`` (of ``res.probable_gap``, 0.95 by default),
        ``oracle_timeout``, ``stragglers``, ``quorum``, ``mode`` and
        ``staleness`` (see `wolfpack.engines.Policy`), and the options of the method.

    Returns
    -------
    Result
        With ``x``, ``fun``, ``gap``, ``lower_bound``, ``status``, ``history`` and SciPy's counts.

    Raises
    ------
    Exception
        Whatever f, the oracle or the callback raises in mid-run comes out as it is, with the best
        point so far and its certificate in its attribute ``result``.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> f = wp.objectives.LeastSquares(np.eye(3), np.array([0.9, 0.4, 0.1]))
    >>> res = wp.minimize(f, wp.sets.Simplex(3), method="fw-ls", tol=1e-3)
    >>> res.success, bool(res.gap <= 1e-3)
    (True, True)
    """
    began = time.perf_counter()
    if isinstance(f, Rational) or isinstance(K, Rational) or is_rational_array(x0):
        given = {name: value for name, value in locals().items() if name not in _OF_PROBLEM}
        return concluded(exactly(f, K, x0, given | options, began), raise_on_failure)
    objective = as_objective(f, random=True)
    region = as_set(K)
    wanted = {} if tol is None else {"tol": tol}
    limits = Limits(
        rtol=rtol,
        max_rounds=max_rounds,
        max_seconds=max_seconds,
        max_lmo=max_lmo,
        max_passes=options.pop("max_passes", None),
        relative=tol is None,
        root=objective.half_square,
        **wanted,
    )
    declared = objective.convex if convex is None else convex
    check_starts(starts, declared)
    if starts > 1 and checkpoint is not None:
        raise ValueError("a checkpoint holds one run: leave checkpoint out, or starts")
    if starts > 1 and watch is not None:
        raise ValueError("one run can be watched: leave watch out, or starts")
    checks = options.pop("checks", True)
    schedule = Schedule(options.pop("record_every", "auto"))
    view = Options(
        callback,
        progress,
        schedule,
        began=began,
        checks=checks,
        verbose=verbose,
        watch=watch,
    )
    L = options.pop("L", None)
    device = options.pop("device", None)
    counts = _counts_of_preparation(limits, began)
    if isinstance(x0, Result):
        problem = Problem(objective, region, L, counts, convex=declared)
        with counted(counts):
            x0, view = _taken_over(x0, problem, region, view)
    if device is not None:
        objective = on_device(objective, device)
        x0 = x0 if x0 is None or is_foreign(x0) else like(x0, objective.like)
    with without_graphs(x0), counted(counts):
        start = starting_point(objective, region, x0)
    region = region.at(start)
    # the workers of blocks of data say nothing about the method
    for_oracles = None if isinstance(engine, DataWorkers) else engine
    given = {"m": m, "noise": noise, "engine": for_oracles, "convex": convex, **options}
    settings = _settings(noise, L, convex, checks, options)
    reason, opening = "", ""
    if isinstance(method, Plan):
        _refuse_beside_plan(m, options)
    elif isinstance(method, str) and method == "auto":
        chosen = choose(objective, region, given)
        reason = f"{chosen.method!r}: {chosen.reason}"
        opening = "" if chosen.opening is None else chosen.opening[0]
        own = {name: value for name, value in {"m": m, **options}.items() if value is not None}
        method = chosen.plan if not own else Plan(((chosen.method, chosen.options | own),))
    if isinstance(method, Plan):
        name, solver = method.solver(objective, region, limits, _COMMON_OPTIONS, declared)
    else:
        name, solver = make_solver(method, {"m": m, **options}, METHODS, _COMMON_OPTIONS)
        for_set = getattr(solver, "for_set", None)
        solver = solver if for_set is None or declared is False else for_set(region)
    solver = for_gradients(name, solver, objective, declared, limits)
    _check_solver(name, solver, settings)
    if isinstance(start, LowRank) and not (
        objective.factored and isinstance(solver, LowRankCorrective)
    ):
        start = start.to_dense()
    if x0 is not None and view.begin is None and _is_decomposed(solver, region):
        view = replace(view, begin=begun_apart)
    if declared is False:
        solver = Descending(solver)
    config = Config(
        method=name,
        solver=solver,
        seed=seed,
        limits=limits,
        record_every=schedule.every,
        settings=settings,
        checkpoint=as_checkpoint(checkpoint),
    )
    if config.checkpoint is not None:
        config = config.identified(constrained_fingerprint(objective, region))

    def run(number: int, limits: Limits) -> Result:
        """Return the result of one start; the first is x0."""
        x, used, options = start, counts, view
        if number > 0:
            x, calls = random_start(region, seed, number, start)
            used, options = Counts(nlmo=calls), replace(view, began=time.perf_counter())
        task = prepare_constrained(config, settings, objective, region, x, used)
        assert isinstance(task.oracles, Oracles)
        options = replace(options, schedule=schedule_of(task.oracles, schedule.every))
        if x0 is None or number > 0:
            assert isinstance(task.problem, Problem)
            options = replace(options, search=partial(search_start, task.problem, region, x))
        return execute(replace(config, limits=limits), task, options, engine)

    result = run(0, limits) if starts == 1 else best_of(starts, limits, run)
    if isinstance(method, Plan):
        if "plan" not in result:
            result.plan = replace(method, switches=())
        result.message += f" method='auto' chose {reason}." if reason else ""
        if opening == result.method and result.success:
            result.message += f" {opening!r}, which came first, was enough."
    return concluded(result, raise_on_failure)


def _taken_over(earlier: Result, problem: Problem, K: Set, view: Options) -> tuple[Array, Options]:
    """Return the point to begin at, and what lets a method begin with an earlier run's vertices.

    That is the best point of their hull, if f tells how to find it, and else the earlier point.
    """
    foreign = is_foreign(problem.objective.like)
    kept = None if foreign else kept_hull(getattr(earlier, "state", None))
    hull = None if kept is None else within(kept, K)
    if hull is None:
        return earlier.x, view
    with contextlib.suppress(LimitReached):
        hull = fitted(problem, hull)
    return hull.point(), replace(view, begin=partial(begun_with, known=hull))


def _is_decomposed(solver: object, K: Set) -> bool:
    """Tell whether a starting point is written as a mixture of vertices first.

    Oracles of the user's own are spared: they may know no answer to what is not a gradient of f.
    """
    return getattr(solver, "moves_weights", False) and K.tested


def _settings(
    noise: Any, L: Any, convex: bool | None, checks: bool, options: dict[str, Any]
) -> ConstrainedSettings:
    """Take the options that belong to no method out of ``options``."""
    return ConstrainedSettings(
        noise=noise,
        smoothing=options.pop("smoothing", None),
        sampling=options.pop("sampling", "iid"),
        policy=Policy(**{name: options.pop(name) for name in POLICY if name in options}),
        block=options.pop("block", None),
        L=L,
        convex=convex,
        checks=checks,
        confidence=options.pop("confidence", CONFIDENCE),
    )


def _counts_of_preparation(limits: Limits, began: float) -> Counts:
    """Return the counts of a run, with what may be spent on the starting point."""
    counts = Counts()
    seconds, calls = limits.max_seconds, limits.max_lmo
    counts.allow(
        math.inf if seconds is None else began + seconds, math.inf if calls is None else calls
    )
    return counts


def _refuse_beside_plan(m: Any, options: dict[str, Any]) -> None:
    """Refuse options of methods beside a plan, which has its own."""
    beside = sorted(options) if m is None else ["m", *sorted(options)]
    if beside:
        raise TypeError(
            f"method is a plan, which holds the options of its methods, found {beside} beside it: "
            "leave them out"
        )


def _check_solver(name: str, solver: object, settings: ConstrainedSettings) -> None:
    """Refuse a solver of another kind of problem, and options that the solver does not use."""
    if isinstance(solver, StochasticComposite):
        raise TypeError(
            f"method must be a solver of constrained problems, found {shown(solver)}: pass it to "
            "minimize_composite"
        )
    if getattr(solver, "samples", False):
        return
    unused = [] if settings.sampling == "iid" else [f"sampling={settings.sampling!r}"]
    unused += [] if settings.block is None else [f"block={settings.block!r}"]
    if unused:
        raise TypeError(
            f"method {name!r} draws no random numbers, so that it has no use for "
            f"{' and '.join(unused)}: leave them out"
        )


def known_settings() -> list[str]:
    """Return the names of all arguments of `minimize`, with those of all methods."""
    own = [name for name in signature(minimize).parameters if name not in ("f", "K", "options")]
    of_methods = [name for method in METHODS.values() for name in signature(method).parameters]
    return list(dict.fromkeys([*own, *_COMMON_OPTIONS, *of_methods]))


def _own_start(K: Set) -> Array:
    """Return K's own start, which no lack of time prevents: a run without a point has no result."""
    try:
        with _allowed(deadline=math.inf):
            return K.start()
    except LimitReached:
        raise ValueError(
            f"max_lmo must pay for the starting point of {K}, found too few calls for that: pass a "
            "larger max_lmo, or x0"
        ) from None


def _violation(K: Set, x: Array) -> float:
    """Return by how much x is outside K; 0 where more oracle calls would be needed than a tenth."""
    counts = under_way()
    calls = math.inf if counts is None else counts.max_lmo
    try:
        with _allowed(max_lmo=max(1, calls // 10)):
            return K.violation(x)
    except LimitReached:
        return 0.0


@contextlib.contextmanager
def _allowed(deadline: float | None = None, max_lmo: float | None = None) -> Generator[None]:
    """Replace limits of the run under way within the context."""
    counts = under_way()
    if counts is None or not counts.limited:
        yield
        return
    before = counts.deadline, counts.max_lmo
    counts.allow(
        *(old if new is None else new for old, new in zip(before, (deadline, max_lmo), strict=True))
    )
    try:
        yield
    finally:
        counts.allow(*before)


def check_fit(objective: Objective, K: Set) -> None:
    """Refuse a function and a set of points of different shapes."""
    if objective.shape is not None and tuple(objective.shape) != tuple(K.shape):
        raise ValueError(f"f takes x of shape {objective.shape}, K has shape {K.shape}")


def starting_point(objective: Objective, K: Set, x0: Array | None, name: str = "x0") -> Array:
    """Return a feasible start, checked, that no solver will write to.

    It is in factors where f takes it so and it is of low rank: x0, or the set's own, 0.
    """
    check_fit(objective, K)
    place = objective.like
    if x0 is None:
        if objective.factored and isinstance(K, TraceNormBall):  # which starts at 0
            rows, columns = K.shape
            return LowRank.zeros((rows, columns), np.zeros(0) if place is None else place)
        x = _own_start(K)
        return x if place is None else like(x, place)
    if is_foreign(place) or is_foreign(x0):
        same_place(**{"the data of f": place, name: x0})
    start: Array = x0 if isinstance(x0, LowRank) else as_float_array(x0, name)
    if is_foreign(start) and describe(start).split()[1] not in ("float32", "float64"):
        raise TypeError(f"{name} must be float32 or float64, found {describe(start)}")
    start = check_shape(check_finite(start, name), K.shape, name)
    violation = _violation(K, start)
    if not violation <= 1e-6 * max(1.0, K.radius):
        raise ValueError(
            f"{name} is outside {K}: it violates the constraints by {violation:.3g}; "
            f"leave {name} out to start from K.start()"
        )
    # a copy, so that neither f nor a callback writes to the user's array
    return start if isinstance(start, LowRank) else start + 0.0
