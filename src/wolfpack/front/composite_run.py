"""What `minimize_composite` and its resumption share: a run from its description."""

from __future__ import annotations

import inspect
import math
import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .. import theory
from ..arrays import (
    Array,
    Streams,
    as_float_array,
    check_finite,
    check_shape,
    is_foreign,
    like,
    to_host,
    zeros,
)
from ..gradients import Gradients
from ..loop import Limits, Result, Status, run
from ..loop.checkpoint import Checkpoint, Saver
from ..loop.run import Options
from ..objectives import Function, Objective, Stochastic
from ..objectives.finite_sum import FiniteSum
from ..problem import CompositeProblem
from ..regularizers import Regularizer, Same, Shifted
from ..regularizers.pairs import as_mirror, minimization_step
from .composite_parts import assemble

_LIMITS = (Status.MAX_ROUNDS, Status.MAX_SECONDS, Status.STALLED)


class CompositeFingerprint(NamedTuple):
    """What is compared before a run is continued: the types, the shape, and one question each."""

    smooth: str
    simple: str
    shape: tuple[int, ...]
    value: float
    slopes: float
    minimum: float

    def difference(self, other: CompositeFingerprint) -> str:
        """Return what tells ``other`` apart, in words; an empty string if nothing does."""
        asked = (
            "G at a fixed point",
            "the slopes of G's rows there",
            "min <u, y> + H(y) at a fixed u",
        )
        words = ("G", "H", "the shape of y", *asked)
        for what, old, new in zip(words, self, other, strict=True):
            # machines may differ in the last digits; problems differ in the first
            if old != new and not (isinstance(old, float) and _close(old, new)):
                return f"{what} was {old}, now it is {new}"
        return ""


def _close(a: Any, b: Any) -> bool:
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-12) or a != a or b != b


@dataclass(frozen=True)
class CompositeConfig:
    """What a checkpoint keeps of the arguments of `minimize_composite`.

    Attributes
    ----------
    method, solver : str, object
        Name of the method, and the solver with its options.
    y0 : array or None
        The start, as given.
    w : str or None
        The mirror map's name; a map of the user's own is to be passed again.
    beta : float, "stable", "search" or None
        The user's smoothness constant.
    variance : float or None
        The user's bound on the variance.
    sampling, reduced, scale : str or None, str or None, object
        How gradients are drawn, and in which units.
    seed : int
        Seed of the random streams.
    limits : Limits
        Tolerances and limits.
    record_every : int or None
        How often F is evaluated and certified.
    checkpoint : Checkpoint or None
        Where and how often the run is saved.
    fingerprint : CompositeFingerprint or None
        Of the problem, when checkpoints are written.
    """

    method: str
    solver: Any
    y0: Any
    w: Any
    beta: Any
    variance: float | None
    sampling: str | None
    reduced: str | None
    scale: Any
    seed: int
    limits: Limits
    record_every: int | None
    checkpoint: Checkpoint | None = None
    fingerprint: CompositeFingerprint | None = None


def execute_composite(config: CompositeConfig, G: Any, H: Any, talk: Options) -> Result:
    """Run what ``config`` describes, from its start or on from ``talk.origin``."""
    began = time.perf_counter()
    smooth, scales = rescale(smooth_part(G, config.beta), config.scale)
    check_regularizer(H)
    start = config.y0 if config.y0 is None or scales is None else config.y0 / scales
    y0, w = first_point(smooth, H, start, config.w)
    problem, solver, gradients = assemble(config, (smooth, H, w), y0)
    if talk.origin is not None:
        problem.best_bound = talk.origin.best["lower_bound"]  # with its rounding, which is restored
    if config.fingerprint is None and config.checkpoint is not None:
        config = replace(config, fingerprint=fingerprint(G, H, y0))
    every = _once_per_pass(solver, gradients) if config.record_every is None else None
    talk = replace(
        talk,
        spent=time.perf_counter() - began,
        record_every=config.record_every if every is None else every,
        saver=None if config.checkpoint is None else Saver(config.checkpoint, config),
    )
    task: Any = problem, solver, y0, gradients, config.limits, talk
    result = run(*task)
    result.method = config.method
    _add_noise_level(result, problem, gradients, y0, config.variance)
    _polish(result, problem, config.limits)
    result.passes = result.state.rows / gradients.per_pass
    if scales is not None:
        result.x, result.scale = like(scales, result.x) * result.x, scales
    return result


def smooth_part(G: Any, beta: Any) -> Objective:
    """Return G as an objective; a callable's number of arguments tells exact from random."""
    if isinstance(G, Objective):
        return G
    arguments = _positional(G)
    known = None if isinstance(beta, str) else beta
    if arguments == 1:
        return Function(G, L=known)
    if arguments == 2:
        return Stochastic(G, beta=known)
    raise TypeError(
        "G must be an objective (wolfpack.objectives), a callable y -> (value, gradient) or a "
        f"callable (y, rng) -> gradient, found {G!r}"
    )


def _positional(G: Any) -> int:
    """Return how many arguments without a default ``G`` takes, 0 if it cannot be called."""
    if not callable(G):
        return 0
    try:
        parameters = inspect.signature(G).parameters.values()
    except (TypeError, ValueError):
        return 1
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in plain and p.default is inspect.Parameter.empty for p in parameters)


def check_regularizer(H: Any) -> None:
    """Refuse what is no regulariser, or is not strongly convex."""
    if not isinstance(H, Regularizer):
        raise TypeError(f"H must be a regulariser (wolfpack.regularizers), found {H!r}")
    if not (math.isfinite(H.mu) and H.mu > 0):
        raise ValueError(
            f"H must be strongly convex, found mu = {H.mu!r}: add a ridge (mu/2)||y||^2 to it"
        )


def rescale(G: Objective, scale: Any) -> tuple[Objective, Array | None]:
    """Return u -> G(s u) and s, shaped like y; G itself and None where nothing is to be scaled."""
    if scale is None:
        return G, None
    if not isinstance(G, FiniteSum):
        raise TypeError(f"scale needs an objective with a data matrix, found {type(G).__name__}")
    if isinstance(scale, str) and scale == "columns":
        scales = G.column_scales()
    else:
        scales = check_finite(as_float_array(scale, "scale"), "scale")
        if scales.shape != (G.A.shape[1],) or scales.min() <= 0:
            raise ValueError(
                f"scale must be None, 'columns' or {G.A.shape[1]} positive numbers, found {scale!r}"
            )
    assert G.shape is not None
    return G.scaled(scales), scales.reshape(-1, *(1,) * (len(G.shape) - 1))


def _check_shapes(shape: Any, H: Regularizer) -> None:
    if H.shape is not None and tuple(H.shape) != tuple(shape):
        raise ValueError(f"G takes y of shape {tuple(shape)}, H has shape {tuple(H.shape)}")


def first_point(G: Objective, H: Regularizer, y0: Any, w: Any) -> tuple[Array, Any]:
    """Return the first point, in the domain of H, and the mirror map that is minimised there."""
    mirror = as_mirror(w, H)
    minimization_step(H, mirror)  # a pair that nobody can solve is the first thing to report
    shape = next((s for s in (G.shape, H.shape) if s is not None), None)
    if y0 is not None:
        y0 = check_finite(as_float_array(y0, "y0"), "y0")
        shape = y0.shape if shape is None else shape
        mirror = Shifted(mirror, check_shape(y0, shape, "y0"))
    elif mirror.z0 is not None:
        y0 = mirror.z0
        shape = y0.shape if shape is None else shape
        check_shape(y0, shape, "the minimiser z0 of w")
    elif shape is None:
        raise ValueError("neither G nor H knows the shape of y: pass y0")
    else:
        _check_shapes(shape, H)
        place = getattr(G, "like", None)
        y0 = H.argmin(zeros(shape, place) if is_foreign(place) else np.zeros(shape))
        mirror = Same(H, 0.0 * y0) if isinstance(mirror, Same) else Shifted(mirror, y0)
    _check_shapes(shape, H)
    if not math.isfinite(H.value(y0)):
        raise ValueError(
            f"y0 is outside the domain of H = {H!r}; leave y0 and w out to start inside"
        )
    return y0, mirror


def fingerprint(G: Any, H: Regularizer, y0: Array) -> CompositeFingerprint:
    """Ask G and H one question each, uncounted."""
    direction = like(Streams(0).at(0).standard_normal(y0.shape), y0)
    value = slopes = math.nan
    if isinstance(G, FiniteSum):
        # not at y0 itself: at 0 most losses have one value, whatever the data
        at = G.evaluate(y0 + direction)
        rows = to_host(at.dual).reshape(-1)
        value, slopes = float(at.value), float(rows @ Streams(0).at(1).standard_normal(rows.size))
    asked = tuple(y0.shape), value, slopes, float(H.minimum(direction))
    return CompositeFingerprint(type(G).__name__, repr(H), *asked)


def _once_per_pass(solver: Any, gradients: Gradients) -> int:
    """Return the rounds that make about one pass over the data."""
    if gradients.exact:
        return 1
    if callable(solver.batch) or solver.batch == "auto":
        return math.isqrt(gradients.per_pass)  # the first pass, when batches grow like k
    return max(1, gradients.per_pass // gradients.batch)


def _polish(result: Result, problem: CompositeProblem, limits: Limits) -> None:
    """Give y the structure of H: one proximal gradient step, which does not increase F.

    Iterates are averages of minimisation steps and have no exact zeros of their own. A run that was
    stopped by a limit may so come within its tolerance.
    """
    H, G = problem.regularizer, problem.objective
    if not (H.structured and H.has("prox") and math.isfinite(result.fun)):
        return
    gradient = G.evaluate(result.x).gradient
    if gradient is None:
        return
    value = math.inf
    for L in (result.beta, None):
        # the last beta is as good as the largest as a rule, which may have to be found first
        L = L or problem.own_smoothness() or problem.beta
        y = H.prox(gradient - L * result.x, L)
        value = G.value(y) + H.value(y)
        result.nfev += 1
        if value <= result.fun:
            break
    result.nfev += 1
    if value <= result.fun:
        result.x, result.fun = y, value
        result.gap = max(0.0, value - result.lower_bound)
        if result.status in _LIMITS and limits.satisfied(result.fun, result.gap):
            advice = result.status.advice, Status.CONVERGED.advice
            result.message = result.message.replace(*advice)
            result.status, result.success = Status.CONVERGED, True


def _add_noise_level(
    result: Result,
    problem: CompositeProblem,
    gradients: Gradients,
    y0: Array,
    variance: float | None,
) -> None:
    """Add sigma^2 and what it implies to the result, and say so where nothing is certified."""
    if variance is None:
        variance = _variance(result, problem, gradients, y0)
    result.sigma2 = float(variance)
    last = getattr(result.state, "beta", None)
    result.beta = problem.beta if last is None else last
    result.mu, result.nu = problem.mu, problem.nu
    result.neighbourhood = result.sigma2 / (2.0 * problem.damping(result.beta))
    if problem.estimated:
        result.message += f" beta = {problem.beta:.4g} was estimated from differences of gradients."
    if isinstance(problem.objective, Stochastic) or not getattr(
        problem.objective, "has_values", True
    ):
        result.message += " G gives random gradients alone, so no gap can be certified."
    excess = result.history["fun"] - result.fun
    if np.isfinite(excess[0]) and excess[-1] > 10.0 * excess[0] + abs(result.fun):
        stable = "pass beta='stable', " if problem.pace is None else ""
        result.message += (
            " The iterates have run away from the minimum, which a variance that grows with y can "
            f"do: {stable}take larger batches or a bounded domain."
        )


def _variance(result: Result, problem: CompositeProblem, gradients: Gradients, y0: Array) -> float:
    """Return the variance of a gradient of the last round's size, declared or estimated."""
    m, anchor = result.state.m, result.state.anchor
    declared = getattr(problem.objective, "variance", None)
    if declared is not None:
        shrink = theory.rho(math.inf, y0.size) if problem.norm == "l1" else 1.0
        return declared * min(1.0, shrink / m)
    points = (y0, result.x) if anchor is None else (result.x,)
    return max(gradients.variance(y, m, problem.norm, anchor=anchor) for y in points)
