"""From a call's arguments to the task that the loop runs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from .. import theory
from ..arrays import Array, as_float_array, check_finite, check_shape, is_foreign, like, zeros
from ..gradients import (
    ExactGradients,
    Gradients,
    InTurn,
    Minibatches,
    automatic_batch,
    make_gradients,
)
from ..loop import Result
from ..loop.run import Options
from ..loop.schedule import Schedule
from ..objectives import Batches, Function, Objective, Stochastic
from ..objectives.finite_sum import FiniteSum
from ..objectives.function import arguments_of
from ..problem import CompositeProblem, Counts, Problem, counted
from ..problem.checks import count, instance, positive, shown
from ..regularizers import Mirror, Regularizer, Same, Shifted
from ..regularizers.pairs import as_mirror, composite_problem
from ..sets import Set
from ..smoothing import Oracles
from ..solvers import SearchedComposite, StochasticComposite
from ..solvers.adaptive import Adaptive
from ..solvers.composite import BetaSearch, DriftRestart, Policies, StepBound
from .choose import choose_smoothing
from .choose_composite import automatic_scales
from .config import CompositeSettings, Config, ConstrainedSettings, time_of
from .execute import PreparedRun
from .fingerprint import composite_fingerprint
from .plan import carried_out
from .random import attach_gradients, conclude_random, is_random, unused_batch

_SHRINK = 0.5  # factor by which steps shrink when a run with fixed blocks stalls
_SEARCH_FACTOR = 1.5  # safety factor of a beta that is searched from minibatches


def prepare_constrained(
    config: Config,
    settings: ConstrainedSettings,
    objective: Objective,
    K: Set,
    start: Array | None,
    counts: Counts,
) -> PreparedRun:
    """Return the task of `minimize`; ``start`` is None for a run that is continued."""
    convex = objective.convex if settings.convex is None else settings.convex
    problem = Problem(objective, K, settings.L, counts, convex=convex)
    smoothing = choose_smoothing(
        config.method, config.solver, objective, K, settings.noise, settings.smoothing
    )
    oracles = Oracles(problem, smoothing, config.seed, settings.sampling, settings.block)
    if is_random(config.solver):
        attach_gradients(oracles, config.solver, objective, config.seed, config.limits)

    def conclude(result: Result) -> None:
        if isinstance(config.solver, Adaptive):
            result.plan, result.method = carried_out(config.solver, result)
            if result.plan.switches:
                result.message += f" The methods took turns: {result.plan}."
        if problem.counts.slope is not None:
            result.priced = (K, problem.counts.slope)
        if oracles.gradients is None:
            result.message += unused_batch(result.method, objective)
        else:
            with counted(counts):
                conclude_random(result, problem, oracles.gradients, settings.confidence)
        result.message += objective.remark(result.x) + (K.original or K).remark(result.x)
        if convex is None and math.isfinite(result.gap):
            result.message += (
                " This certificate assumes that f is convex, which was not declared: pass "
                "convex=True if it is, convex=False to search for a stationary point."
            )

    return PreparedRun(problem, config.solver, start, oracles, conclude)


def prepare_composite(
    config: Config,
    settings: CompositeSettings,
    G: object,
    H: Regularizer,
    options: Options,
) -> tuple[Config, PreparedRun, Options]:
    """Return the task of `minimize_composite`, with the config and the options completed."""
    check_regularizer(H)
    given = as_smooth(G, settings.beta)
    if given.convex is False:
        raise ValueError(
            "G must be convex, and it says that it is not: no bound on the minimum can be proved. "
            "minimize(G, K, convex=False) searches for a stationary point over a set K"
        )
    if isinstance(given, Batches):
        with counted(time_of(config, options)):
            given.count()
    smooth, simple, scales = given, H, None
    if isinstance(settings.scale, str) and settings.scale == "auto":
        units = automatic_scales(given, H) if settings.w is None else None
        if units is not None:
            smooth, scales = _rescaled(smooth, units)
            simple = H.scaled(scales)  # the same problem in other units
    elif settings.scale is not None:
        smooth, scales = _rescaled(smooth, settings.scale)
    y0 = settings.y0 if settings.y0 is None or scales is None else settings.y0 / scales
    y0, w = _first_point(smooth, simple, y0, settings.w)
    if isinstance(smooth, FiniteSum) and type(y0) is np.ndarray and y0.dtype == np.float64:
        # Products of a matrix in single precision with y in double would convert it each time.
        smooth = smooth.in_double or smooth
    if config.checkpoint is not None or config.fingerprint is not None:
        config = config.identified(composite_fingerprint(given, H, y0))
    assert isinstance(config.solver, StochasticComposite)
    solver, gradients = _solver_and_gradients(config, settings, config.solver, smooth, simple, w)
    problem = CompositeProblem(smooth, simple, w, w.step(simple))
    with counted(problem.counts):
        policies, beta = _policies(settings, solver, gradients, problem, y0)
    problem = replace(problem, L=beta)
    if solver.policies == Policies() != policies:
        solver = replace(solver, policies=policies)

    chosen = isinstance(solver, SearchedComposite) and settings.reduction is not None
    chosen = chosen and not isinstance(config.solver, SearchedComposite)

    def conclude(result: Result) -> None:
        bound, estimated = solver.policies.bound, policies.raises_beta
        _add_noise_level(result, problem, bound, estimated, gradients, y0, settings.variance)
        if chosen:
            result.message += " Small batches would save nothing: all rows and a searched beta."
        result.message += settings.remark + smooth.remark(result.x)
        if given.convex is None and math.isfinite(result.gap):
            result.message += (
                " This certificate assumes that G is convex, which was not declared: pass "
                "wolfpack.objectives.Function(G, convex=True) if it is."
            )
        result.passes = result.state.reading.rows / gradients.per_pass
        if scales is not None:
            result.x, result.scale = like(scales, result.x) * result.x, scales

    foresees = gradients.exact and not is_foreign(y0)
    schedule = Schedule("auto", _once_per_pass(solver, gradients), patient=foresees)
    if config.record_every not in (None, "auto"):
        schedule = Schedule(config.record_every)
    task = PreparedRun(problem, solver, y0, gradients, conclude)
    return config, task, replace(options, schedule=schedule, checks=settings.checks)


def as_smooth(G: object, beta: float | str | None) -> Objective:
    """Return a callable as an objective; its number of arguments tells exact from random."""
    if isinstance(G, Objective):
        return G
    arguments = arguments_of(G)
    known = None if isinstance(beta, str) else beta
    call: Any = G
    if arguments == 1:
        return Function(call, L=known)
    if arguments == 2:
        return Stochastic(call, beta=known)
    raise TypeError(
        "G must be an objective (wolfpack.objectives), a callable y -> (value, gradient) or a "
        f"callable (y, rng) -> gradient, found {shown(G)}"
    )


def check_regularizer(H: Any) -> None:
    """Refuse what is no regulariser, or is not strongly convex."""
    instance(Regularizer, "a regulariser (wolfpack.regularizers)")(H, "H")
    if not (math.isfinite(H.mu) and H.mu > 0):
        raise ValueError(
            f"H must be strongly convex, found mu = {H.mu!r}: add a ridge (mu/2)||y||^2 to it"
        )


def _rescaled(G: Objective, scale: Any) -> tuple[Objective, Array]:
    """Return u -> G(s u) and s, shaped like y."""
    if not isinstance(G, FiniteSum):
        raise TypeError(f"scale needs an objective with a data matrix, found {type(G).__name__}")
    if isinstance(scale, str) and scale == "columns":
        scales = G.column_scales()
    else:
        scales = check_finite(as_float_array(scale, "scale"), "scale")
        if scales.shape != (G.A.shape[1],) or scales.min() <= 0:
            raise ValueError(
                f"scale must be 'auto', None, 'columns' or {G.A.shape[1]} positive numbers, found "
                f"{shown(scale)}"
            )
    assert G.shape is not None
    return G.scaled(scales), scales.reshape(-1, *(1,) * (len(G.shape) - 1))


def _first_point(G: Objective, H: Regularizer, y0: Array, w: Any) -> tuple[Array, Mirror]:
    """Return the first point, in the domain of H, and the mirror map that is minimised there."""
    mirror = as_mirror(w, H)
    if w is not None:
        mirror.step(H)  # raises first where H and w have no minimisation step
    shape = H.shape if G.shape is None else G.shape
    if shape is not None and H.shape is not None and tuple(H.shape) != tuple(shape):
        raise ValueError(f"G takes y of shape {tuple(shape)}, H has shape {tuple(H.shape)}")
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
        y0 = H.argmin(zeros(shape, G.like) if is_foreign(G.like) else np.zeros(shape))
        return y0, Same(H, 0.0 * y0) if isinstance(mirror, Same) else Shifted(mirror, y0)
    if not math.isfinite(H.value(y0)):
        raise ValueError(
            f"y0 is outside the domain of H = {H!r}; leave y0 and w out to start inside"
        )
    return y0, mirror


def _solver_and_gradients(
    config: Config,
    settings: CompositeSettings,
    solver: StochasticComposite,
    G: Objective,
    H: Regularizer,
    w: Mirror,
) -> tuple[StochasticComposite, Gradients]:
    """Return the solver and the gradients that it asks for.

    With exact gradients a searched beta is another solver, because each round can be tested.
    """
    batch, seed = solver.batch, config.seed
    searched = settings.beta == "search"
    if settings.reduction is not None and batch is None and isinstance(G, FiniteSum):
        if G.batch is None:
            problem: CompositeProblem = composite_problem(G, H, w)
            beta = (G.rough_smoothness() if problem.norm == "l2" else problem.beta) or H.mu
            batch = automatic_batch(G, settings.sampling, beta, H.mu)
            if batch is None:
                plain = type(solver) is StochasticComposite
                return (SearchedComposite() if plain else solver), ExactGradients(G, seed)
    elif isinstance(G, FiniteSum) and (batch or G.batch) == G.n:
        exact = type(solver)() if isinstance(solver, SearchedComposite) else SearchedComposite()
        if searched or type(solver) is type(exact):
            return exact, ExactGradients(G, seed)
    # Batches that grow begin with few draws.
    fixed = not callable(batch) and batch != "auto"
    size: Any = batch if fixed else 1
    if callable(batch):
        size = count(batch(0), "batch(0)")
    gradients = make_gradients(G, size, fixed, settings.sampling, settings.reduction, seed)
    if isinstance(solver, SearchedComposite) and not gradients.exact:
        raise TypeError(
            f"SearchedComposite needs exact gradients, and those of {type(G).__name__} are random "
            "here: pass method='accelerated'"
        )
    if searched and gradients.exact:
        return SearchedComposite(), gradients
    return solver, gradients


def _policies(
    settings: CompositeSettings,
    solver: StochasticComposite,
    gradients: Gradients,
    problem: CompositeProblem,
    y0: Array,
) -> tuple[Policies, float | None]:
    """Return what is added to Algorithm 1, and beta; None for one that a search finds."""
    G: Any = problem.objective
    mu, known = problem.mu, settings.beta
    beta = None if known is None or isinstance(known, str) else float(known)
    if isinstance(solver, SearchedComposite) and isinstance(G, FiniteSum) and beta is None:
        return solver.policies, None
    bound, dependent = None, False
    sampled = isinstance(gradients, Minibatches | InTurn)
    if sampled and (isinstance(known, str) or gradients.reduction):
        eta = gradients.largest_step()
        # Rounds that depend on each other, and blocks, may need shorter steps than that.
        dependent = not gradients.independent
        shrinks = dependent or gradients.in_blocks
        bound = None if eta is None else StepBound(eta, _SHRINK if shrinks else 1.0)
        rough_known = isinstance(G, FiniteSum) and problem.norm == "l2"
        if beta is None and bound is not None and rough_known:
            rough = G.smoothness_bound()
            if bound.slows(mu, 100.0 * rough):
                beta = rough  # as good as G's own constant here, and found faster
    estimated = False
    if beta is None:
        beta = problem.own_smoothness()
    if beta is None:
        found = gradients.smoothness(y0, gradients.batch)
        beta, estimated = 2.0 * found if found > 0 else mu, True
    positive(beta, "beta")
    search = restart = None
    if known == "search" and not gradients.exact:
        if not isinstance(gradients, Minibatches):
            raise TypeError(
                "beta='search' needs exact gradients or a finite sum, whose rows tell how much "
                f"noise a small beta would let in; found {type(G).__name__}"
            )
        # Where noise allows less than G's own constant there is nothing to search for. The
        # curvature of one of a few fixed blocks says too little about the others.
        limited = bound is not None and bound.slows(mu, beta)
        if not (limited or gradients.in_blocks):
            search = BetaSearch(_SEARCH_FACTOR)
    if search is None and bound is not None and (dependent or bound.slows(mu, beta)):
        restart = DriftRestart(impatient=bound.shrink < 1.0)
    return Policies(bound, search, restart, estimated), beta


def _once_per_pass(solver: StochasticComposite, gradients: Gradients) -> int:
    """Return the rounds that make about one pass over the data."""
    if gradients.exact:
        return 1
    if callable(solver.batch) or solver.batch == "auto":
        return math.isqrt(gradients.per_pass)  # the first pass, when batches grow like k
    return max(1, gradients.per_pass // int(gradients.batch))


def _add_noise_level(
    result: Result,
    problem: CompositeProblem,
    bound: StepBound | None,
    estimated: bool,
    gradients: Gradients,
    y0: Array,
    variance: float | None,
) -> None:
    """Add sigma^2 and what it implies to the result, and say so where nothing is certified."""
    if variance is None:
        variance = _variance(result, problem, gradients, y0)
    tuned, G = result.state.tuned, problem.objective
    result.sigma2, result.beta = float(variance), tuned.beta
    result.mu, result.nu = problem.mu, problem.nu
    rho = math.sqrt(problem.mu * result.beta)
    if bound is not None:
        rho = max(rho, bound.damping(problem.mu, result.beta))
    result.neighbourhood = result.sigma2 / (2.0 * rho)
    if estimated:
        result.message += f" beta = {tuned.gamma:.4g} was estimated from differences of gradients."
    if isinstance(G, Stochastic) or not G.has_values:
        result.message += " G gives random gradients alone, so no gap can be certified."
    excess = result.history["fun"] - result.fun
    if np.isfinite(excess[0]) and excess[-1] > 10.0 * excess[0] + abs(result.fun):
        stable = "pass beta='stable', " if bound is None else ""
        result.message += (
            " The iterates diverged, which happens where the variance of gradients grows with y: "
            f"{stable}take larger batches or a bounded domain."
        )


def _variance(result: Result, problem: CompositeProblem, gradients: Gradients, y0: Array) -> float:
    """Return the variance of a gradient of the last round's size, declared or estimated."""
    m, variate = result.state.m, result.state.reading.variate
    declared = problem.objective.variance
    if declared is not None:
        shrink = theory.rho(math.inf, y0.size) if problem.norm == "l1" else 1.0
        return declared * min(1.0, shrink / m)
    points = (y0, result.x) if variate is None else (result.x,)
    return max(gradients.variance(y, m, problem.norm, variate=variate) for y in points)
