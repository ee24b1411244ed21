"""The front door of composite problems: `minimize_composite`."""

from __future__ import annotations

import time
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np

from ..arrays import Array, as_float_array, check_finite
from ..engines import EngineLike
from ..gradients import REDUCTIONS, SAMPLINGS
from ..loop import Callback, Limits, Result
from ..loop.checkpoint import Checkpoint
from ..loop.run import Options
from ..objectives import Batches, Objective
from ..problem import MirrorMap, Solver
from ..problem.checks import checked, choice, count, either, extent, flag, optional, positive, shown
from ..problem.checks import seed as seed_kind
from ..regularizers import Regularizer
from ..solvers import ConvergingComposite, NewtonComposite, SearchedComposite, StochasticComposite
from .choose_composite import choose_composite
from .config import CompositeSettings, Config, as_checkpoint
from .execute import concluded, execute
from .methods import make_solver
from .partitioned import with_workers
from .prepare import as_smooth, check_regularizer, prepare_composite


def _accelerated(batch: Any = None) -> Solver[Any]:
    return StochasticComposite(batch)


def _converging(batch: Any = None) -> Solver[Any]:
    return ConvergingComposite(batch)


def _newton(batch: Any = None) -> Solver[Any]:
    return NewtonComposite(batch)


METHODS = {"accelerated": _accelerated, "converging": _converging, "newton": _newton}
"""The methods of `minimize_composite`; their parameters are their options."""
_LEFT_OPEN = object()
_BETAS = ("stable", "search")
_COMMON_OPTIONS = [
    "record_every",
    "max_passes",
    "sampling",
    "variance_reduction",
    "scale",
    "checks",
]


@checked(
    beta=optional(either(extent, *_BETAS)),
    variance=optional(positive),
    seed=seed_kind,
    raise_on_failure=flag,
    sampling=optional(choice(*SAMPLINGS)),
    record_every=optional(either(count, "auto")),
    checks=flag,
)
@with_workers(0, "G")
def minimize_composite(
    G: Objective | Callable[..., Any],
    H: Regularizer,
    y0: Array | None = None,
    method: str | StochasticComposite = "auto",
    tol: float = 1e-4,
    rtol: float | None = None,
    w: str | MirrorMap | None = None,
    batch: int | str | Callable[[int], int] | None = None,
    beta: float | str | None = None,
    variance: float | None = None,
    seed: int = 0,
    max_rounds: int | None = None,
    max_seconds: float | None = None,
    callback: Callback | None = None,
    checkpoint: str | PathLike[str] | Checkpoint | None = None,
    progress: bool | None = None,
    raise_on_failure: bool = False,
    engine: EngineLike = None,
    watch: str | PathLike[str] | None = None,
    **options: Any,
) -> Result:
    r"""Minimise a smooth convex function plus a simple strongly convex one.

    *Solves* :math:`\min_y F(y) = G(y) + H(y)` from exact or stochastic gradients of G, by
    Algorithm 1 of the paper.

    Parameters
    ----------
    G : Objective or callable
        An objective of `wolfpack.objectives`; with its own ``batch=`` (or the one given here) its
        gradients are those of random minibatches; `wolfpack.objectives.Batches` takes generators of
        minibatches and data loaders. Or a callable: ``y -> (value, gradient)``, exact, or
        ``(y, rng) -> gradient``, random (see `wolfpack.objectives.Stochastic`).
    H : Regularizer
        The simple term, of `wolfpack.regularizers`.
    y0 : array, optional
        The start, in the domain of H; by default the minimiser z0 of ``w`` where that is given,
        else that of H. It is never written to.
    method : str or solver object
        "auto" chooses what the next paragraph lists, where it is not given (`wolfpack.explain` and
        ``message`` say how). "newton" is Algorithm 1 with a searched beta, restarted at Newton
        steps. "accelerated" is Algorithm 1 as printed: fast, down to a neighbourhood that the
        variance of the gradients sets. "converging" has polynomial weights, and goes to the minimum
        itself.
    tol, rtol : float
        Stop when the certified gap is at most ``tol``, or at most ``rtol * |F(y)|``.
    batch : int, callable or "auto", optional
        Rows of a sum, calls of a random gradient, or minibatches of a source, averaged in a round:
        a number, a function of the round, or a number that grows with the measured variance
        ("auto", converging form). Such gradients are noisy, unless ``variance_reduction=True``.
    max_rounds, max_seconds : optional
        Limits, as in `minimize`; 100,000 rounds when none is given. See ``max_passes`` below.
    callback, checkpoint, progress, raise_on_failure, watch
        As in `minimize`; `wolfpack.resume` takes G and H in place of f and K.
    seed : int
        Same seed, same bits.
    engine : as for `minimize`, optional
        Where the blocks of a `wolfpack.objectives.Partitioned` are computed.

    Other Parameters
    ----------------
    w : str or mirror map, optional
        "euclidean", "entropy", "same" (w = H), a map of `wolfpack.regularizers.mirrors`, or your
        own: an object with ``nu``, ``z0`` and ``prox(H, g, lam)``. H's own geometry by default.
        With ``y0`` it is shifted so that its minimiser is y0.
    beta : float, "stable" or "search", optional
        Lipschitz constant of grad G in the norm of H and w. By default "search" for exact
        gradients, else G's own (always with method="accelerated"). Where G has
        none it is estimated by power iteration on differences of gradients, and raised when a run
        disproves it. "stable" bounds the steps, so that small minibatches, whose variance grows
        with y, do not make the iterates diverge (Theorem C4 of the documentation). "search"
        (accelerated form) replaces beta by the curvature that the run meets. With exact gradients
        each round is tested, and repeated with a larger beta if it fails, so that Theorem 1 holds
        with the beta_k that were found (Theorem C3). With minibatches the steps are bounded as by
        "stable" and gradients stay unbiased, but nothing proves that the curvature of a batch is
        that of G.
    variance : float, optional
        sigma^2, a bound on the variance of a round's gradient in the dual norm. By default what G
        declares, or the larger of two estimates from repeated draws, at the first and the best
        point.
    **options
        ``max_passes``: limit on the observations that rounds read, in passes over the data.
        ``variance_reduction``: control variates from each row's gradient where it was last seen
        (True or "saga"), or around an anchor that moves every two passes ("svrg", also True for
        `Batches`). It bounds the steps as beta="stable" does. Without a batch it takes the smallest
        one that costs no acceleration, or all rows with beta="search". ``scale``: "auto" (by
        default where nothing says how gradients are taken) solves the same problem in other units
        where columns differ much (a callback then sees u = y / s, and ``res.scale`` is s); None
        never does; "columns", or positive numbers s, solve another problem: H acts on u = y / s,
        and y = s u is returned. ``sampling``, for finite sums: "uniform", "importance", "shuffle",
        "blocks", "turns" or "windows" (see the guide). ``record_every``: evaluate F and certify
        every so many rounds; by default ("auto") once per pass over the data, and more seldom in
        long runs or with exact gradients (see the guide on limits). ``checks``: False leaves a G of
        your own unchecked (see the guide on certificates). And the options of the method.

    Returns
    -------
    Result
        ``x`` is the best y that was evaluated (after one proximal gradient step, where H makes
        zeros, groups, low rank or flat pieces that averages do not have), ``fun`` F there (NaN when
        G tells no values) and ``gap`` its certificate (infinite where there is none). Also
        ``sigma2``, ``neighbourhood`` = sigma^2/(2 sqrt(mu beta)) or less where steps are bounded,
        the constants ``beta``, ``mu``, ``nu`` of the run, and ``passes``, the observations that its
        rounds read over the size of the data.
        ``njev`` counts the gradients of rounds and of estimates during the run, ``nfev`` the full
        evaluations.

    Notes
    -----
    Theorem 1 supposes a bounded variance. The gradients of small batches of least squares have one
    that grows with y: with too few rows the iterates may diverge, and ``message`` says so. Take
    larger batches, ``beta="stable"`` or a bounded domain (`BallRidge`, `BoxRidge`).

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> G = wp.objectives.LeastSquares(np.eye(2), np.array([3.0, 0.5]))
    >>> res = wp.minimize_composite(G, wp.regularizers.ElasticNet(1.0, mu=1.0), tol=1e-8)
    >>> res.x.round(3), bool(res.gap <= 1e-8)
    (array([1., 0.]), True)
    """
    began = time.perf_counter()
    every, max_passes = options.pop("record_every", None), options.pop("max_passes", None)
    reduction, sampling = options.pop("variance_reduction", None), options.pop("sampling", None)
    scale, remark = options.pop("scale", _LEFT_OPEN), ""
    checks = options.pop("checks", True)
    if isinstance(method, str) and method == "auto":
        check_regularizer(H)
        given = {"w": w, "batch": batch, "beta": beta, "sampling": sampling}
        given |= {"variance_reduction": reduction}
        given |= {} if scale is _LEFT_OPEN else {"scale": scale}
        choice = choose_composite(as_smooth(G, beta), H, given)
        method = choice.method
        beta = choice.options.get("beta", beta)
        reduction = choice.options.get("variance_reduction", reduction)
        scale = choice.options.get("scale", scale)
        remark = choice.remark
    reduction = _reduction(reduction, isinstance(G, Batches))
    name, solver = make_solver(method, {"batch": batch, **options}, METHODS, _COMMON_OPTIONS)
    if not isinstance(solver, StochasticComposite):
        raise TypeError(f"method must be a name or a composite solver, found {shown(method)}")
    if beta == "search" and method not in ("accelerated", SearchedComposite()):
        raise ValueError(
            "beta='search' chooses the solver: pass method='accelerated', with batch=... if you "
            "like, or method=SearchedComposite()"
        )
    if y0 is not None:
        y0 = check_finite(as_float_array(y0, "y0"), "y0")
    settings = CompositeSettings(
        y0=y0,
        w=w,
        beta="stable" if reduction is not None and beta is None else beta,
        variance=variance,
        sampling=sampling,
        reduction=reduction,
        scale=None if scale is _LEFT_OPEN else scale,
        remark=remark,
        checks=checks,
    )
    limits = Limits(tol, rtol, max_rounds, max_seconds, max_passes=max_passes)
    config = Config(name, solver, seed, limits, every, settings, as_checkpoint(checkpoint))
    view = Options(callback, progress, began=began, watch=watch)
    config, task, view = prepare_composite(config, settings, G, H, view)
    return concluded(execute(config, task, view, engine), raise_on_failure)


def _reduction(given: Any, in_turn: bool) -> str | None:
    """Return the name of a control variate, None for none; sources in turn have one kind."""
    if given is None or isinstance(given, bool | np.bool_):
        return REDUCTIONS[in_turn] if given else None
    name = either(flag, *REDUCTIONS)(given, "variance_reduction")
    if in_turn and name == "saga":
        raise TypeError("variance_reduction='saga' needs a finite sum with its rows, found Batches")
    return name
