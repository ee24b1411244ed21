"""The front doors: `minimize` and, for composite problems, `minimize_composite`."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from .. import noise as noise_laws
from ..arrays import (
    Array,
    as_float_array,
    check_finite,
    check_shape,
    describe,
    is_foreign,
    like,
    same_place,
    without_graphs,
)
from ..engines import Policy
from ..loop import Limits, Result
from ..loop.run import Options
from ..objectives import as_objective
from ..objectives._move import on_device
from ..problem import Problem
from ..problem.checks import check_positive
from ..sets import Set
from ..smoothing import make_smoothing
from ..solvers import (
    Anytime,
    AwayStep,
    BlendedPairwise,
    Corrective,
    FullyCorrective,
    LazyFrankWolfe,
    Momentum,
    Pairwise,
    ParallelFrankWolfe,
    Projected,
    RestartedParallelFrankWolfe,
    Sliding,
    conjugate,
    frank_wolfe,
)
from .choose import choose
from .execute import Config, as_checkpoint, execute

POLICY = tuple(field.name for field in fields(Policy))

METHODS: dict[str, Callable[..., Any]] = {
    "anytime": Anytime,
    "corrective": Corrective,
    "projected": Projected,
    "pfw": ParallelFrankWolfe,
    "r-pfw": RestartedParallelFrankWolfe,
    "fw": frank_wolfe.open_loop,
    "fw-short": frank_wolfe.short_step,
    "fw-ls": frank_wolfe.line_search,
    "away": AwayStep,
    "pairwise": Pairwise,
    "bpcg": BlendedPairwise,
    "fcfw": FullyCorrective,
    "lazy": LazyFrankWolfe,
    "momentum": Momentum,
    "cgs": Sliding,
    "conjugate": conjugate.conjugate,
    "biconjugate": conjugate.biconjugate,
}

_EVERYWHERE = ["L", "device", "record_every", "smoothing", "sampling", "block", *POLICY]


def minimize(
    f: Any,
    K: Set,
    x0: Any = None,
    method: Any = "auto",
    tol: float = 1e-4,
    rtol: float | None = None,
    m: int | str | None = None,
    noise: Any = "auto",
    engine: Any = None,
    seed: int = 0,
    max_rounds: int | None = None,
    max_seconds: float | None = None,
    max_lmo: int | None = None,
    callback: Callable[[Result], Any] | None = None,
    checkpoint: Any = None,
    progress: bool | None = None,
    raise_on_failure: bool = False,
    **options: Any,
) -> Result:
    r"""Minimise a smooth convex function over a compact convex set, with a certificate.

    *Solves* :math:`\min_{x \in K} f(x)` through gradients of f and linear oracles of K alone.

    Parameters
    ----------
    f : Objective or callable
        An objective of `wolfpack.objectives`, or a callable x -> (value, gradient).
    K : Set
        A set of `wolfpack.sets`; `wolfpack.sets.Oracle` wraps a linear oracle of your own.
    x0 : array, optional
        Feasible starting point; the set's own by default. It is never written to. Integers become
        float64; float32 and float64 are kept.
    method : str or solver object
        "auto" (see `wolfpack.explain`), "anytime" (accelerated, nothing to choose), "corrective"
        (keeps vertices and weighs them), "projected" (accelerated projected gradient), "pfw"
        (Algorithm 2 of the paper), "r-pfw" (Algorithm 3), "fw" (step 2/(k+2)), "fw-short" (short
        step), "fw-ls" (exact line search), "away" (away steps), "pairwise", "bpcg" (blended
        pairwise), "fcfw" (fully corrective), "lazy" (with a cache of vertices), "momentum", "cgs"
        (conditional gradient sliding), "conjugate", "biconjugate", or a solver object.
    tol, rtol : float
        Stop when the certified gap is at most ``tol``, or at most ``rtol * |f(x)|``.
    m : int or str, optional
        Perturbed oracles per round, for methods that draw them.
    noise : str or Noise, optional
        Law of the perturbations: "gumbel", "gaussian", "logistic", an object, or "auto", the set's
        own. None makes "anytime" draw no noise at all (momentum Frank-Wolfe) and is "auto" for
        methods that cannot do without.
    engine : None, str, Executor, Client or Engine
        Where the oracles of a round run: None for this process, "threads[:n]", "processes[:n]",
        "dask[:n or address]", "ray[:n or address]", "mpi", any `concurrent.futures.Executor` (or a
        function that makes one), a Dask client, an engine of `wolfpack.engines`, or "auto", which
        measures the oracle. The result has the same bits everywhere.
    seed : int
        Same seed, same bits.
    max_rounds, max_seconds, max_lmo : optional
        Limits; 100,000 rounds when none is given. They are looked at between rounds, so that the
        last round may overstep ``max_seconds`` and ``max_lmo``; ``max_seconds`` counts the
        solver's own time, without certificates, history and callbacks.
    callback : callable, optional
        Called as ``callback(intermediate_result)`` after each recorded round. Raising StopIteration
        ends the run. Its ``x`` is a read-only view of the best point; its ``state`` is the
        solver's own, not to be written to.
    checkpoint : str, Path or Checkpoint, optional
        File to save the run to, every 30 seconds and at its end; `wolfpack.Checkpoint` chooses how
        often. `wolfpack.resume` continues from it.
    progress : bool, optional
        Show a progress line: always, never, or (None) on a terminal when the run lasts.
    raise_on_failure : bool
        Raise `ConvergenceError` instead of returning an unsuccessful result.
    **options
        ``L`` (smoothness constant, when the objective does not know it), ``device`` (where to run,
        in PyTorch's words: "cuda" moves dense NumPy data there), ``record_every`` (certify
        and record every so many rounds), ``smoothing`` ("ambient", "lifted" or "image": noise on
        coordinates, on the scores of vertices, on the observations), ``sampling`` ("iid",
        "antithetic" or "sobol"), ``block`` (answers per block of draws, the unit of work that is
        given to a worker), ``oracle_timeout``, ``stragglers``, ``quorum``, ``mode`` and
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
    objective = as_objective(f)
    if not isinstance(K, Set):
        raise TypeError(f"K must be a set (wolfpack.sets), found {type(K).__name__}")
    limits = Limits(tol, rtol, max_rounds, max_seconds, max_lmo)
    talk = Options(callback, progress, options.pop("record_every", 1))
    L = options.pop("L", None)
    check_positive("L", L, optional=True)
    L = None if L is None else float(L)
    device = options.pop("device", None)
    if device is not None:
        objective = on_device(objective, device)
        x0 = x0 if x0 is None or is_foreign(x0) else like(x0, objective.like)
    with without_graphs(x0):
        start = _starting_point(objective, K, x0)
    K = K.at(start)
    remark = ""
    if isinstance(method, str) and method == "auto":
        choice = choose(objective, K, {"m": m, "noise": noise, "engine": engine, **options})
        method, remark = choice.method, f" method='auto' chose {choice.method!r}: {choice.reason}."
        options = choice.options | options
        m = options.pop("m", m)
    smoothing, sampling = options.pop("smoothing", None), options.pop("sampling", "iid")
    policy = Policy(**{name: options.pop(name) for name in POLICY if name in options})
    block = options.pop("block", None)
    name, solver = solver_of(method, {"m": m, **options}, METHODS, _EVERYWHERE)
    if hasattr(solver, "for_set"):
        solver = solver.for_set(K)
    ways = smoothing_of(name, solver, (objective, K), noise, smoothing)
    saved = noise, smoothing, sampling, block, policy, seed, L, limits, talk.record_every
    config = Config(name, solver, *saved, checkpoint=as_checkpoint(checkpoint))
    result = execute(config, Problem(objective, K, L), ways, start, talk, engine)
    result.message += remark
    if raise_on_failure and not result.success:
        raise ConvergenceError(result)
    return result


class ConvergenceError(RuntimeError):
    """A run did not reach its tolerance; ``result`` holds what it found."""

    def __init__(self, result: Result) -> None:
        super().__init__(f"{result.status}: {result.message}")
        self.result = result


def _starting_point(objective: Any, K: Set, x0: Any) -> Array:
    """Return a feasible start, checked, that no solver will write to."""
    if objective.shape is not None and tuple(objective.shape) != tuple(K.shape):
        raise ValueError(f"f takes x of shape {objective.shape}, K has shape {K.shape}")
    place = getattr(objective, "like", None)
    if x0 is None:
        return K.start() if place is None else like(K.start(), place)
    if is_foreign(place) or is_foreign(x0):
        same_place(**{"the data of f": place, "x0": x0})
    x0 = as_float_array(x0, "x0")
    if is_foreign(x0) and describe(x0).split()[1] not in ("float32", "float64"):
        raise TypeError(f"x0 must be float32 or float64, found {describe(x0)}")
    x0 = check_shape(check_finite(x0, "x0"), K.shape, "x0")
    violation = K.violation(x0)
    if not violation <= 1e-6 * max(1.0, K.radius):
        raise ValueError(
            f"x0 is outside {K}: it violates the constraints by {violation:.3g}; "
            "leave x0 out to start from K.start()"
        )
    return x0 + 0.0  # a copy: what f or a callback writes to is not the user's array


def solver_of(
    method: Any, options: dict[str, Any], methods: dict[str, Callable[..., Any]], others: list[str]
) -> tuple[str, Any]:
    """Return the method's name and its solver with the given options.

    ``others`` names the options that belong to no method, for the error message.
    """
    given = {
        name: int(value) if isinstance(value, np.integer) else value
        for name, value in options.items()
        if value is not None
    }
    if not isinstance(method, str):
        if not hasattr(method, "step"):
            raise TypeError(f"method must be a name or a solver object, found {method!r}")
        if given:
            raise TypeError(f"options {sorted(given)} must be set in the solver object itself")
        return method.name, method
    if method not in methods:
        close = difflib.get_close_matches(method, methods, 1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ValueError(f"unknown method {method!r}{hint}; known: {', '.join(methods)}")
    known = list(inspect.signature(methods[method]).parameters)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise TypeError(
            f"method {method!r} has no option {', '.join(map(repr, unknown))}; it has "
            f"{', '.join([*known, *others])}"
        )
    return method, methods[method](**given)


def smoothing_of(name: str, solver: Any, pair: tuple[Any, Set], noise: Any, kind: Any) -> Any:
    """Return how a method's questions are perturbed, None for one that perturbs none."""
    objective, K = pair
    if isinstance(noise, str) and noise == "lifted":
        noise, kind = "auto", kind or "lifted"
    automatic = isinstance(noise, str) and noise == "auto"
    if not getattr(solver, "samples", False):
        if kind is not None or not (automatic or noise is None):
            raise TypeError(f"method {name!r} draws no noise; leave noise and smoothing out")
        return None
    if noise is None and getattr(solver, "noiseless", False):
        return None
    if kind is None:
        kind = "lifted" if automatic and K.closed_forms[:1] == ("lifted",) else "ambient"
    if kind == "lifted" and not automatic:
        raise TypeError("smoothing='lifted' has a noise of its own; leave noise out")
    law = noise_laws.get(K.default_noise if automatic or noise is None else noise)
    return make_smoothing(kind, objective, K, law)
