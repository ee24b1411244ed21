"""The front door of problems with integer entries: `minimize_integer`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array, as_float_array, is_foreign
from ..engines import EngineLike, Policy
from ..loop import Callback, Limits, Result, Status
from ..loop.checkpoint import Checkpoint
from ..loop.run import Options
from ..objectives import Objective, as_objective
from ..problem import CapabilityError, Counts, Problem
from ..problem.checks import checked, flag, nonnegative, optional, positive, shown, whole
from ..problem.checks import seed as seed_kind
from ..sets import Set
from ..sets._integer import IntegerHull, own_integer
from ..solvers.integer import BranchAndBound, TreeJob, TreeOracles
from .choose import as_set
from .config import Config, ConstrainedSettings, as_checkpoint
from .execute import PreparedRun, concluded, execute
from .fingerprint import constrained_fingerprint
from .start import search_start

DEFAULT_NODES = 1_000_000
"""Limit on nodes of a call that sets no limit."""

_PARALLEL_BATCH = 16
"""Nodes of a round on an engine, whatever its number of workers."""

_DENSE = 500
"""Dimension up to which a quadratic's smallest eigenvalue is computed."""


@checked(
    gap=nonnegative,
    rtol=optional(nonnegative),
    max_nodes=optional(whole(0)),
    max_seconds=optional(nonnegative),
    max_lmo=optional(whole(0)),
    seed=seed_kind,
    raise_on_failure=flag,
    L=optional(positive),
    sigma=optional(nonnegative),
    convex=optional(flag),
    checks=flag,
    batch=optional(whole(1)),
)
def minimize_integer(
    f: Objective | Callable[[Array], tuple[float, Array]],
    K: Set,
    integrality: ArrayLike | None = None,
    gap: float = 1e-6,
    rtol: float | None = None,
    max_nodes: int | None = None,
    max_seconds: float | None = None,
    engine: EngineLike = None,
    checkpoint: str | PathLike[str] | Checkpoint | None = None,
    seed: int = 0,
    *,
    branching: str = "pseudo-cost",
    search: str = "best",
    batch: int | None = None,
    max_lmo: int | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
    raise_on_failure: bool = False,
    L: float | None = None,
    sigma: float | None = None,
    convex: bool | None = None,
    checks: bool = True,
    watch: str | PathLike[str] | None = None,
) -> Result:
    r"""Minimise a smooth convex function over the integer points of a set, by branch and bound.

    *Solves* :math:`\min f(x)` over the x in K with :math:`x_j \in \mathbb{Z}` for the marked j,
    through gradients of f and linear oracles of K with bounds.

    *Guarantee.* ``res.x`` is an integer point of K, and ``res.lower_bound`` is proved to be at most
    the minimum over all of them, at whatever time the run ends.

    Parameters
    ----------
    f : Objective or callable
        A convex objective, or a callable x -> (value, gradient).
    K : Set
        `wolfpack.sets.MixedInteger`, or a set with linear constraints in x itself: boxes,
        simplices, capped simplices, hypersimplices, Birkhoff and transport polytopes, flows, linear
        programs, and products of these.
    integrality : 0/1 or array of 0/1, optional
        Which entries are integers. By default they are those of a `MixedInteger`, also as a factor
        of a product, and all entries of other sets. Factors of a product of which no entry is
        marked may be any sets.
    gap, rtol : float
        Stop when ``res.fun - res.lower_bound`` is at most ``gap``, or ``rtol * |res.fun|``.
    max_nodes, max_seconds, max_lmo : optional
        Limits on nodes, on the caller's clock and on oracle calls; a million nodes if none is set.
    engine : as for `wolfpack.minimize`
        Where nodes are solved. Rounds have ``batch`` nodes, 16 on an engine and 1 without. Without
        an engine the result is the same to the bit every time. With one the same nodes are solved
        whatever the number of workers, and numbers agree up to rounding.
    checkpoint, callback, progress, raise_on_failure, L, convex, checks, watch
        As for `wolfpack.minimize`. `wolfpack.resume` continues from the checkpoint.
    seed : int
        Accepted for symmetry with the other front doors: nothing here is random.
    branching : {"pseudo-cost", "fractional", "strong"}
        Which entry a node is branched on: the one that has raised bounds most so far, the most
        fractional one, or the best of a few that are tried.
    search : {"best", "depth", "hybrid"}
        Which node comes next: the one of the smallest bound, the deepest one, or a part of the node
        solved last while there is one.
    batch : int, optional
        Nodes solved in a round.
    sigma : float, optional
        A constant with which f is strongly convex. It raises the bounds. By default it is computed
        for quadratics of at most 500 entries, and is 0 otherwise.

    Returns
    -------
    Result
        With an integral ``x``, ``fun``, the global ``lower_bound``, ``gap``, ``status``, ``nodes``
        (solved so far, also ``nit``), ``open_nodes``, and ``history``: after each round the nodes
        (column ``round``), the best value, the global bound and the gap.

    Examples
    --------
    The four entries of 0 or 1 nearest to a point, of which two are 1:

    >>> import numpy as np, wolfpack as wp
    >>> f = wp.objectives.Quadratic(1.0, -np.array([0.9, 0.2, 0.6, 0.1]))
    >>> res = wp.minimize_integer(f, wp.sets.Hypersimplex(4, 2))
    >>> res.x, res.success
    (array([1., 0., 1., 0.]), True)
    """
    began = time.perf_counter()
    objective, region = as_objective(f), as_set(K)
    if is_foreign(objective.like):
        raise TypeError(
            f"minimize_integer works on NumPy arrays, found data of f of type "
            f"{type(objective.like).__name__}"
        )
    if (objective.convex if convex is None else convex) is False:
        raise ValueError(
            "f must be convex, found an f declared not to be: the bounds of branch and bound need "
            "convexity"
        )
    if objective.shape is not None and tuple(objective.shape) != tuple(region.shape):
        raise ValueError(f"f takes x of shape {objective.shape}, K has shape {region.shape}")
    if isinstance(engine, str) and engine == "auto":
        raise ValueError(
            "engine must be named for minimize_integer, such as 'processes:4', found 'auto': one "
            "node says too little about the others to choose"
        )
    limits = Limits(
        gap,
        rtol,
        DEFAULT_NODES if max_nodes is None else max_nodes,
        max_seconds,
        max_lmo,
    )
    solver = BranchAndBound(
        gap=gap,
        rtol=rtol,
        branching=branching,
        search=search,
        batch=batch or (1 if engine is None else _PARALLEL_BATCH),
        sigma=_checked_sigma(sigma, objective),
        integer=_positions(integrality, region),
    )
    settings = ConstrainedSettings(
        noise=None,
        smoothing=None,
        sampling="iid",
        block=None,
        policy=Policy(),
        L=L,
        convex=convex,
        checks=checks,
    )
    config = Config(
        method=solver.name,
        solver=solver,
        seed=seed,
        limits=limits,
        record_every=1,
        settings=settings,
        checkpoint=as_checkpoint(checkpoint),
    )
    if config.checkpoint is not None:
        config = config.identified(constrained_fingerprint(objective, region))
    task = prepare_integer(config, settings, objective, region, Counts())
    start, space = task.start, task.problem
    assert isinstance(space, Problem)
    hull = space.set
    assert isinstance(hull, IntegerHull)
    view = Options(
        callback,
        progress,
        began=began,
        checks=checks,
        search=lambda: search_start(space, hull, start),
        watch=watch,
    )
    return concluded(execute(config, task, view, engine), raise_on_failure)


def check_integer(K: Set, **settings: Any) -> None:
    """Raise for arguments that `minimize_integer` would refuse, without running it."""
    positions = _positions(settings.pop("integrality", None), K)
    own = ("gap", "rtol", "branching", "search", "batch")
    BranchAndBound(**{name: settings.pop(name) for name in own if name in settings})
    optional(whole(0))(settings.get("max_nodes"), "max_nodes")
    integer = np.zeros(K.dimension, dtype=bool)
    integer[list(positions)] = True
    IntegerHull(K, integer)


def prepare_integer(
    config: Config,
    settings: ConstrainedSettings,
    objective: Objective,
    K: Set,
    counts: Counts,
) -> PreparedRun:
    """Return the task of `minimize_integer`, for a new run and for one that is continued."""
    solver: Any = config.solver
    integer = np.zeros(K.dimension, dtype=bool)
    integer[list(solver.integer)] = True
    hull = IntegerHull(K, integer)
    convex = objective.convex if settings.convex is None else settings.convex
    problem = Problem(objective, hull, settings.L, counts, convex=convex)
    limit = config.limits.max_rounds
    job = TreeJob(problem, solver.rules, solver.batch)
    oracles = TreeOracles(problem, job, math.inf if limit is None else limit)

    def conclude(result: Result) -> None:
        state = result.state
        result.nodes = result.nit
        result.open_nodes = len(getattr(state, "open", ()))
        if result.status is Status.MAX_ROUNDS:
            result.message = (
                f"The limit of {config.limits.max_rounds} nodes was reached first: raise max_nodes "
                "or, if this gap will do, gap; the best integer point so far is returned with its "
                "certificate."
            )
        elif result.status is Status.CONVERGED:
            count = "1 node has" if result.nodes == 1 else f"{result.nodes} nodes have"
            result.message = (
                f"No integer point of K is better by more than the gap, which {count} proved."
            )
        else:  # what other methods call tol is the gap here
            result.message = result.message.replace(", or tol if", ", or gap if")
        if convex is None and math.isfinite(result.gap):
            result.message += " The bound assumes that f is convex, which was not declared."

    return PreparedRun(problem, solver, hull.start(), oracles, conclude)


def _positions(integrality: ArrayLike | None, K: Set) -> tuple[int, ...]:
    """Return the positions of the integer entries, flat."""
    unsaid = integrality is None
    flags = own_integer(K, otherwise=True) if unsaid else _flags(integrality, K)
    if not flags.any():
        raise ValueError(
            f"integrality must mark an entry of x, found none for K = {K!r}: without integers use "
            "wolfpack.minimize"
        )
    return tuple(np.flatnonzero(flags).tolist())


def _flags(integrality: ArrayLike, K: Set) -> Array:
    """Return which entries are integers, flat."""
    marked = as_float_array(integrality, "integrality")
    if marked.shape not in ((), K.shape) or not np.isin(marked, (0.0, 1.0)).all():
        raise ValueError(
            f"integrality must be 0 or 1, or an array of them of shape {K.shape}, found "
            f"{shown(integrality)}"
        )
    flags = np.broadcast_to(marked, K.shape).reshape(-1) == 1.0
    return flags | own_integer(K, otherwise=False)


def _checked_sigma(sigma: float | None, f: Objective) -> float:
    """Return the user's constant, or the one that is computed; refuse one above L."""
    if sigma is None:
        return _strong_convexity(f)
    if f.L is not None and sigma > f.L:
        raise ValueError(
            f"sigma must be at most L = {f.L:.6g}, the constant of smoothness of f, found {sigma:g}"
        )
    return sigma


def _strong_convexity(f: Objective) -> float:
    """Return a constant with which f is strongly convex, 0 where none is known."""
    try:
        form = f.quadratic_form()
    except CapabilityError:
        form = None
    if form is None:
        return 0.0
    matrix: Any = form.P if form.factor is None else form.factor
    n = matrix.shape[1]
    if n > _DENSE or (form.P is None and matrix.shape[0] < n):
        return 0.0
    dense = np.asarray(matrix.todense() if hasattr(matrix, "todense") else matrix, dtype=float)
    least = np.linalg.eigvalsh(dense if form.factor is None else dense.T @ dense)
    rounding = 4.0 * n * np.finfo(np.float64).eps * float(abs(least[-1]))
    return max(0.0, float(least[0]) - rounding)
