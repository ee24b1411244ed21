"""The front door of composite problems: `minimize_composite`."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import theory
from .arrays import as_float_array, check_finite, check_shape
from .loop import Limits, Result, run
from .loop.run import Options
from .minimize import ConvergenceError
from .objectives import Function, Objective
from .objectives.finite_sum import FiniteSum
from .objectives.stochastic import Draws, ExactGradients, Gradients, Minibatches, Stochastic
from .regularizers import Regularizer, Same, Shifted
from .regularizers.composite import Composite
from .regularizers.pairs import as_mirror, minimization_step
from .solvers import ConvergingComposite, StochasticComposite
from .solvers._options import check_positive

Array = Any

METHODS: dict[str, Callable[..., Any]] = {
    "accelerated": StochasticComposite,
    "converging": ConvergingComposite,
}


def minimize_composite(
    G: Any,
    H: Regularizer,
    y0: Any = None,
    method: Any = "accelerated",
    tol: float = 1e-4,
    rtol: float | None = None,
    w: Any = None,
    batch: int | str | Callable[[int], int] | None = None,
    beta: float | None = None,
    variance: float | None = None,
    seed: int = 0,
    max_rounds: int | None = None,
    max_seconds: float | None = None,
    callback: Callable[[Result], Any] | None = None,
    progress: bool | None = None,
    raise_on_failure: bool = False,
    **options: Any,
) -> Result:
    r"""Minimise a smooth convex function plus a simple strongly convex one.

    *Solves* :math:`\min_y F(y) = G(y) + H(y)` from exact or stochastic gradients of G, by
    Algorithm 1 of the paper.

    Parameters
    ----------
    G : Objective or callable
        An objective of `wolfpack.objectives`; with its own ``batch=`` (or the one given here) its
        gradients are those of random minibatches. Or a callable: ``y -> (value, gradient)``, exact,
        or ``(y, rng) -> gradient``, random (see `wolfpack.objectives.Stochastic`).
    H : Regularizer
        The simple term, of `wolfpack.regularizers`.
    y0 : array, optional
        Where to begin, in the domain of H; by default at the minimiser z0 of ``w`` where that is
        given, else of H. It is never written to.
    method : str or solver object
        "accelerated" (Algorithm 1: fast, down to a neighbourhood that the variance of the gradients
        sets) or "converging" (polynomial weights: to the minimum itself).
    tol, rtol : float
        Stop when the certified gap is at most ``tol``, or at most ``rtol * |F(y)|``.
    w : str or mirror map, optional
        "euclidean", "entropy", "same" (w = H), a map of `wolfpack.regularizers.mirrors`, or your
        own: an object with ``nu``, ``z0`` and ``prox(H, g, lam)``. H's own geometry by default.
        With ``y0`` it is shifted so that its minimiser is y0.
    batch : int, callable or "auto", optional
        Rows of a sum, or calls of a random gradient, averaged in a round: a number, a function of
        the round, or (converging form) grown from the measured variance.
    beta : float, optional
        Lipschitz constant of grad G in the norm of H and w; G's own by default.
    variance : float, optional
        sigma^2, a bound on the variance of a round's gradient in the dual norm. By default what G
        declares, or the larger of two estimates from repeated draws, at the first and the best
        point.
    seed : int
        Same seed, same bits.
    max_rounds, max_seconds : optional
        Limits; 100,000 rounds when none is given.
    callback, progress, raise_on_failure
        As in `minimize`.
    **options
        ``record_every`` (evaluate F and certify every so many rounds, off the clock; by default
        once per pass over the data), and the options of the method.

    Returns
    -------
    Result
        ``x`` is the best y that was evaluated, ``fun`` F there (NaN when G tells no values) and
        ``gap`` its certificate (infinite where there is none). Also ``sigma2``, ``neighbourhood``
        = sigma^2/(2 sqrt(mu beta)), and the constants ``beta``, ``mu``, ``nu`` of the run.
        ``njev`` counts the gradients of rounds, ``nfev`` the full evaluations off the clock.

    Notes
    -----
    Theorem 1 supposes a bounded variance. The gradients of small batches of least squares have one
    that grows with y: with too few rows the iterates may run away, and ``message`` says so. Take
    larger batches or a bounded domain (`BallRidge`, `BoxRidge`).

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> G = wp.objectives.LeastSquares(np.eye(2), np.array([3.0, 0.5]))
    >>> res = wp.minimize_composite(G, wp.regularizers.ElasticNet(1.0, mu=1.0), tol=1e-8)
    >>> res.x.round(3), bool(res.gap <= 1e-8)
    (array([1., 0.]), True)
    """
    check_positive("beta", beta, optional=True)
    check_positive("variance", variance, optional=True)
    smooth = _smooth_part(G, beta)
    _check_regularizer(H)
    every = options.pop("record_every", None)
    name, solver = _solver(method, {"batch": batch, **options})
    gradients = _gradients(smooth, solver.batch, seed)
    limits = Limits(tol, rtol, max_rounds, max_seconds)
    y0, w = _start(smooth, H, y0, w)
    problem: Any = Composite(smooth, H, w, None if beta is None else float(beta))
    check_positive("beta", problem.beta)
    talk = Options(
        callback, progress, _once_per_pass(solver, gradients) if every is None else every
    )
    result = run(problem, solver, y0, gradients, limits, talk)  # pyright: ignore[reportArgumentType]
    result.method = name
    _add_noise_level(result, problem, gradients, y0, variance)
    if raise_on_failure and not result.success:
        raise ConvergenceError(result)
    return result


def _smooth_part(G: Any, beta: float | None) -> Objective:
    """Return G as an objective; a callable's number of arguments tells exact from random."""
    if isinstance(G, Objective):
        return G
    arguments = _positional(G)
    if arguments == 1:
        return Function(G, L=beta)
    if arguments == 2:
        return Stochastic(G, beta=beta)
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


def _check_regularizer(H: Any) -> None:
    if not isinstance(H, Regularizer):
        raise TypeError(f"H must be a regulariser (wolfpack.regularizers), found {H!r}")
    if not (math.isfinite(H.mu) and H.mu > 0):
        raise ValueError(
            f"H must be strongly convex, found mu = {H.mu!r}: add a ridge (mu/2)||y||^2 to it"
        )


def _solver(method: Any, options: dict[str, Any]) -> tuple[str, Any]:
    """Return the method's name and its solver with the given options."""
    given = {name: value for name, value in options.items() if value is not None}
    if not isinstance(method, str):
        if not isinstance(method, StochasticComposite):
            raise TypeError(f"method must be a name or a composite solver, found {method!r}")
        if given:
            raise TypeError(f"options {sorted(given)} must be set in the solver object itself")
        return method.name, method
    if method not in METHODS:
        close = difflib.get_close_matches(method, METHODS, 1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ValueError(f"unknown method {method!r}{hint}; known: {', '.join(METHODS)}")
    known = list(inspect.signature(METHODS[method]).parameters)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise TypeError(
            f"method {method!r} has no option {', '.join(map(repr, unknown))}; it has "
            f"{', '.join([*known, 'record_every'])}"
        )
    return method, METHODS[method](**given)


def _gradients(G: Objective, batch: Any, seed: int) -> Gradients:
    """Return the source of gradients: random draws, minibatches or exact ones."""
    # growing batches begin with few draws
    size: Any = batch(0) if callable(batch) else 1 if batch == "auto" else batch
    if isinstance(G, Stochastic):
        return Draws(G, size or 1, seed)
    size = getattr(G, "batch", None) if size is None else size
    if size is None:
        return ExactGradients(G, seed)
    if not isinstance(G, FiniteSum):
        raise TypeError(f"batch needs a finite sum or random gradients, found {type(G).__name__}")
    return Minibatches(G, size, seed)


def _once_per_pass(solver: Any, gradients: Gradients) -> int:
    """Return the rounds that make about one pass over the data."""
    if gradients.exact:
        return 1
    if callable(solver.batch) or solver.batch == "auto":
        return math.isqrt(gradients.per_pass)  # the first pass, when batches grow like k
    return max(1, gradients.per_pass // gradients.batch)


def _start(G: Objective, H: Regularizer, y0: Any, w: Any) -> tuple[Array, Any]:
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
        y0 = H.argmin(np.zeros(shape))
        mirror = Same(H, 0.0 * y0) if isinstance(mirror, Same) else Shifted(mirror, y0)
    if H.shape is not None and tuple(H.shape) != tuple(shape):
        raise ValueError(f"G takes y of shape {tuple(shape)}, H has shape {tuple(H.shape)}")
    if not math.isfinite(H.value(y0)):
        raise ValueError(
            f"y0 is outside the domain of H = {H!r}; leave y0 and w out to start inside"
        )
    return y0, mirror


def _add_noise_level(
    result: Result, problem: Composite, gradients: Gradients, y0: Array, variance: float | None
) -> None:
    """Add sigma^2 and what it implies to the result, and say so where nothing is certified."""
    if variance is None:
        variance = _variance(result, problem, gradients, y0)
    result.sigma2 = float(variance)
    result.beta, result.mu, result.nu = problem.beta, problem.mu, problem.nu
    result.neighbourhood = result.sigma2 / (2.0 * math.sqrt(problem.mu * problem.beta))
    if isinstance(problem.objective, Stochastic):
        result.message += " G gives random gradients alone, so no gap can be certified."
    error = result.history["fun"] - result.lower_bound
    if np.isfinite(error[0]) and error[-1] > 10.0 * error[0]:
        result.message += (
            " The iterates have run away from the minimum, which a variance that grows with y can "
            "do: take larger batches or a bounded domain."
        )


def _variance(result: Result, problem: Composite, gradients: Gradients, y0: Array) -> float:
    """Return the variance of a gradient of the last round's size, declared or estimated."""
    m = result.state.m
    declared = getattr(problem.objective, "variance", None)
    if declared is not None:
        shrink = theory.rho(math.inf, y0.size) if problem.norm == "l1" else 1.0
        return declared * min(1.0, shrink / m)
    return max(gradients.variance(y, m, problem.norm) for y in (y0, result.x))
