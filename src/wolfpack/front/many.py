"""The front door of many problems of one kind: `minimize_many`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import (
    ArgumentError,
    Array,
    as_float_array,
    check_finite,
    is_foreign,
    like,
    namespace,
    reshape,
    same_place,
    to_host,
    without_graphs,
)
from ..checks import BatchAudit
from ..engines import EngineLike
from ..loop import Limits
from ..loop.many import BatchRun
from ..loop.many_result import ManyResult
from ..loop.progress import Progress
from ..objectives import Function, LeastSquares, Objective, Quadratic
from ..objectives.batched import BatchedObjective, Lifted
from ..objectives.batched import batched as batched_objectives
from ..objectives.finite_sum import SignLoss
from ..problem import Stacked
from ..problem.checks import checked, flag, instance, optional, shown
from ..problem.checks import seed as seed_kind
from ..problem.stacked import is_sequence
from ..sets import Box, ConvexHull, Set, Simplex
from ..sets.batched import BatchedSet, batched, parts_of
from .execute import ConvergenceError
from .instances import solve_one_by_one

NAME = "projected"


@dataclass(frozen=True)
class Problems:
    """The arguments of a call, brought to one form.

    ``f`` is a stack, a list or a callable on a batch; ``K`` a set, a stack or a list; ``x0`` is
    (B, *shape) or None; ``place`` is an array of the library, device and type of the points.
    """

    count: int
    shape: tuple[int, ...]
    f: Any
    K: Any
    x0: Array | None
    place: Array


@checked(
    seed=seed_kind,
    checks=flag,
    raise_on_failure=flag,
    progress=optional(flag),
    method=instance(str, "the name of a method"),
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
        quadratics over bounds, a search of their faces. "auto" does the same where f and K have a
        batched form, and runs ``minimize(method="auto")`` for each problem elsewhere. Other names
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
        Options of the method, for problems that are solved one by one.

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
        problems = _problems(f, K, x0)
        at_once = None
        reason = f"method {method!r} takes one problem at a time"
        if method in ("auto", NAME):
            at_once = _together(problems)
            reason = at_once if isinstance(at_once, str) else ""
        if at_once is not None and not isinstance(at_once, str):
            _refuse_options(options)
            run = _batch_run(*at_once, problems, limits, began, checks)
            result = _follow(run, at_once[0], problems, callback, progress)
        else:
            if not isinstance(problems.f, Stacked | list):
                raise TypeError(
                    f"f is a callable on a batch, which needs sets with a batched form: {reason}; "
                    "pass a list of callables, one for each problem"
                )
            settings = {"tol": tol, "rtol": rtol, "seed": seed, "max_rounds": max_rounds}
            settings |= {"max_lmo": max_lmo, "method": method, "checks": checks, **options}
            result = solve_one_by_one(
                problems, settings, engine, max_seconds, began, callback, progress, reason
            )
    if raise_on_failure and not result.success.all():
        raise ConvergenceError(result)
    return result


def _some_array(f: Any, x0: Any) -> Array | None:
    values = [x0, *(f.arguments.values() if isinstance(f, Stacked) else ())]
    return next((value for value in values if is_foreign(value)), None)


def _refuse_options(options: dict[str, Any]) -> None:
    if options:
        raise TypeError(
            f"method {NAME!r} of minimize_many has no options, found {sorted(options)}: leave them "
            "out, or name a method of minimize, which then runs for each problem"
        )


def _problems(given_f: Any, given_K: Any, x0: Any) -> Problems:
    """Return the arguments in one form, after checks of everything that they share."""
    f: Any = [*given_f] if isinstance(given_f, list | tuple) else given_f
    region: Any = [*given_K] if isinstance(given_K, list | tuple) else given_K
    _check_kinds(f, region)
    shape = _shape(f, region)
    f, region = _stacked_as(f, shape), _sets_as(region, shape)
    x0 = None if x0 is None else as_float_array(x0, "x0")
    counts: dict[str, int] = {}
    for name, value in (("f", f), ("K", region)):
        if isinstance(value, Stacked | list):
            counts[name] = _length(value)
    if x0 is not None and x0.ndim == len(shape) + 1:
        counts["x0"] = x0.shape[0]
    if not counts:
        raise TypeError(
            "the number of problems is unknown: f is one callable, K one set and x0 no batch; pass "
            f"x0 of shape (B, {', '.join(map(str, shape))})"
        )
    (first, count), *others = counts.items()
    for name, other in others:
        if other != count:
            raise ArgumentError(
                f"{name} must hold {count} problems, as {first} does, found {other}"
            )
    if count == 0:
        raise ArgumentError(f"{first} must hold at least one problem, found none")
    place = _place(f, x0)
    if x0 is not None:
        x0 = _start_given(x0, count, shape, place)
    return Problems(count, shape, f, region, x0, place)


def _length(value: Any) -> int:
    return len(value)


def _check_kinds(f: Any, K: Any) -> None:
    for name, value, kind, what in (
        ("f", f, Objective, "objectives"),
        ("K", K, Set, "sets"),
    ):
        if is_sequence(value):
            if not value:
                raise ArgumentError(f"{name} must hold at least one problem, found an empty list")
            for i, part in enumerate(value):
                if not (isinstance(part, kind) or (name == "f" and callable(part))):
                    raise ArgumentError(
                        f"{name} must be a list of {what}, found {shown(part)} at {name}[{i}]"
                    )
        elif name == "K" and not (
            isinstance(value, Set) or (isinstance(value, Stacked) and issubclass(value.kind, Set))
        ):
            raise ArgumentError(f"K must be a set, or a list of them, found {shown(value)}")
        elif name == "f" and not (callable(value) or isinstance(value, Stacked)):
            raise ArgumentError(
                "f must be an objective with stacked data, a list of objectives or a callable on "
                f"a batch, found {shown(value)}"
            )


def _shape(f: Any, K: Any) -> tuple[int, ...]:
    """Return the shape of one point, from the objectives or else from the sets."""
    known = _shape_of(f, "f")
    found = _shape_of(K, "K")
    assert found is not None
    alike = known == found and isinstance(f, Objective) and not isinstance(f, Function)
    if alike and isinstance(K, Box | ConvexHull) and len(found) > 1:
        return found[1:]  # data and bounds alike have a leading axis
    if known is None or known == found:
        return found
    if isinstance(K, Box | ConvexHull) and len(found) == len(known) + 1 and found[1:] == known:
        return known  # a leading axis of bounds or points
    if isinstance(f, Objective) and len(known) == len(found) + 1:
        return found  # a leading axis of data
    raise ArgumentError(f"f takes x of shape {known}, K has shape {found}")


def _shape_of(value: Any, name: str) -> tuple[int, ...] | None:
    if is_sequence(value):
        shapes = [_shape_of(part, name) for part in value]
        known = next((shape for shape in shapes if shape is not None), None)
        for i, shape in enumerate(shapes):
            if shape not in (None, known):
                raise ArgumentError(
                    f"{name}[{i}] must have points of shape {known}, as {name}[0] has, found "
                    f"{shape}: the problems of one call have one shape"
                )
        return known
    if isinstance(value, Stacked):
        return _stack_shape(value)
    return tuple(value.shape) if getattr(value, "shape", None) is not None else None


def _stack_shape(value: Any) -> tuple[int, ...]:
    """Return the shape of the points of a stack, without making an objective."""
    if issubclass(value.kind, Set):
        return tuple(value[0].shape)
    kind: Any = value.kind
    matrix = value.arguments[next(iter(kind.stack_axes))]
    if kind is Quadratic:
        c = value.arguments["c"]
        shape = tuple(c.shape) if hasattr(c, "shape") else np.shape(c)
        return shape[1:] if "c" in value.varying else shape
    return (matrix.shape[-1],) if kind.row_data else tuple(value[0].shape)


def _stacked_as(f: Any, shape: tuple[int, ...]) -> Any:
    """Return data that were read as those of matrices x as data of many problems."""
    own: Any = f.shape if isinstance(f, Objective) else None
    if isinstance(f, LeastSquares | SignLoss) and len(own) == 2 and len(shape) == 1:
        name = f.row_data
        data = getattr(f, name)
        if data.shape[0] != data.shape[1]:
            raise ArgumentError(
                f"{name} must have shape (B, {f.n}), one row for each problem, found "
                f"{tuple(data.shape)}"
            )
        matrix = next(iter(f.stack_axes))
        reduction = "mean" if f.weight != 1.0 or f.n == 1 else "sum"
        arguments = {matrix: f.A, name: data, "reduction": reduction}
        return Stacked(type(f), arguments, (name,))
    if isinstance(f, Quadratic) and isinstance(f.Q, float) and len(own) == len(shape) + 1:
        return Stacked(Quadratic, {"Q": f.Q, "c": f.c, "r": f.r}, ("c",))
    if isinstance(f, Objective) and not isinstance(f, Function):
        raise ArgumentError(
            f"f must have data with a leading axis, one entry for each problem, found one "
            f"{type(f).__name__} for x of shape {f.shape}: use minimize for one problem"
        )
    return f


def _sets_as(K: Any, shape: tuple[int, ...]) -> Any:
    """Return a set whose parameters have a leading axis as a stack."""
    if isinstance(K, Box) and len(K.shape) > len(shape):
        return Stacked(Box, {"lower": K.lower, "upper": K.upper}, ("lower", "upper"))
    if isinstance(K, ConvexHull) and len(K.shape) > len(shape):
        return Stacked(ConvexHull, {"points": K.points}, ("points",))
    return K


def _place(f: Any, x0: Array | None) -> Array:
    """Return an array of the library, device and type that points must have."""
    given: dict[str, Array] = {}
    if isinstance(f, Stacked):
        given = {name: value for name, value in f.arguments.items() if hasattr(value, "dtype")}
    elif is_sequence(f) and isinstance(f[0], Objective) and f[0].like is not None:
        for i, part in enumerate(f):
            same_place(**{"the data of f[0]": f[0].like, f"the data of f[{i}]": part.like})
        given = {"the data of f": f[0].like}
    found = [value for value in given.values() if np.ndim(value) > 0 or is_foreign(value)]
    if x0 is not None:
        if found and (is_foreign(found[0]) or is_foreign(x0)):
            same_place(**{"the data of f": found[0], "x0": x0})
        return found[0] if found else x0
    return found[0] if found else np.zeros(0)


def _start_given(x0: Array, count: int, shape: tuple[int, ...], place: Array) -> Array:
    if tuple(x0.shape) not in (shape, (count, *shape)):
        raise ArgumentError(
            f"x0 must have shape {(count, *shape)}, or {shape} for all problems, found "
            f"{tuple(x0.shape)}"
        )
    check_finite(x0, "x0")
    xp = namespace(x0)
    if not is_foreign(x0) and not is_foreign(place):
        x0 = x0.astype(place.dtype, copy=False)
    return xp.broadcast_to(x0, (count, *shape)) if tuple(x0.shape) == shape else x0


def _together(problems: Problems) -> tuple[BatchedObjective, BatchedSet] | str:
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


def _hull(K: Any, count: int, model: BatchedObjective) -> Any:
    """Return problems over convex hulls as problems of the weights of the points."""
    parts: list[Any] = parts_of(K, count)
    if any(type(part) is not ConvexHull for part in parts):
        return None
    if len({part.table.shape for part in parts}) > 1:
        return None
    points = like(np.stack([part.table for part in parts]), model.place)
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
    return BatchRun(model, K, x, limits, began, audit)


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
        callback(run.result(shaped(), NAME, "so far"))

    try:
        run.run(bar, None if callback is None else tell)
    finally:
        bar.close()
    result = run.result(shaped(), NAME, "")
    text = summary(result, f"solved at once by {NAME!r}", model.convex is None)
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
