"""From the description of a composite run to its problem, its solver and its gradients."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .. import theory
from ..arrays import Array, Streams
from ..gradients import Draws, ExactGradients, Gradients, InTurn
from ..gradients.minibatches import Minibatches, accelerating_batch, steady_pace
from ..gradients.rows import FIXED, Blocks, Importance, Uniform
from ..objectives import Batches, Objective, Stochastic
from ..objectives._matrix import entries
from ..objectives.finite_sum import FiniteSum
from ..problem import CompositeProblem
from ..problem.checks import check_count, check_positive
from ..regularizers import Regularizer
from ..regularizers.pairs import composite_problem
from ..solvers import SearchedComposite

_SHRINK = 0.5  # of steps, whenever fixed blocks or rounds that depend on each other get nowhere
_LEAST = 1e-12  # of G's own beta, where a smaller one is searched
_BLOCKS = 4096  # more blocks than this cost more than they save


def assemble(
    config: Any, parts: tuple[Any, ...], y0: Array
) -> tuple[CompositeProblem, Any, Gradients]:
    """Return the problem of the parts G, H, w, the solver, and the gradients that it asks for.

    Parameters
    ----------
    config : CompositeConfig
        What the user asked for.
    parts : tuple
        G, H and w.
    y0 : array
        Where the run begins.
    """
    G, H, w = parts
    solver, gradients = _gradients(config, G, H, w, y0)
    solver = _solver(config, solver, gradients)
    searched = isinstance(solver, SearchedComposite)
    return _problem(config.beta, parts, gradients, y0, searched), solver, gradients


def _gradients(
    config: Any, G: Objective, H: Regularizer, w: Any, y0: Array
) -> tuple[Any, Gradients]:
    """Return the solver, its batch a number where Theorem 1 chooses it, and its gradients."""
    solver = config.solver
    if solver.batch == "theory":
        one = _source(G, 1, config)
        problem = _problem(config.beta, (G, H, w), one, y0)
        sigma2 = one.variance(y0, 1, problem.norm)
        m = theory.batch_for(0.5 * config.limits.tol, problem.beta, problem.mu, sigma2)
        solver = replace(solver, batch=min(m, one.most))
    if config.reduced and solver.batch is None and isinstance(G, FiniteSum) and G.batch is None:
        plain = composite_problem(G, H, w)
        beta = (G.rough_smoothness() if plain.norm == "l2" else plain.beta) or H.mu
        # "blocks" and "windows" are as noisy as uniform choices
        weighted = config.sampling == "importance" or (
            config.sampling is None and not issparse(G.A)
        )
        likely = "importance" if weighted else "uniform"
        m = accelerating_batch(Minibatches(G, 1, 0, likely), beta, H.mu)
        # a pass in four rounds or fewer is better made with the whole sum
        exact = 4 * m >= G.n
        return solver, ExactGradients(G, config.seed) if exact else _source(G, m, config)
    # growing batches begin with few draws
    batch = solver.batch
    size: Any = 1 if batch == "auto" else batch
    if callable(batch):
        size = batch(0)
        check_count("batch(0)", size)
    if config.beta == "search" and isinstance(G, FiniteSum) and (size or G.batch) == G.n:
        return solver, ExactGradients(G, config.seed)
    return solver, _source(G, size, config)


def _source(G: Objective, size: Any, config: Any) -> Gradients:
    """Return the source of gradients: random draws, minibatches or exact ones."""
    fixed = not callable(config.solver.batch) and config.solver.batch != "auto"
    sampled = config.sampling not in (None, "uniform") or config.reduced is not None
    if isinstance(G, FiniteSum):
        size = G.batch if size is None else size
        if size is None:
            if config.sampling is not None and not config.reduced:
                raise ValueError(
                    f"sampling={config.sampling!r} needs a batch, or variance_reduction=True, "
                    "which chooses one: without it a round sees all rows"
                )
            return ExactGradients(G, config.seed)
        if config.sampling in FIXED and not fixed:
            raise ValueError(
                f"sampling={config.sampling!r} needs a batch that stays the same in all rounds"
            )
        sampling = _sampling(config, G, size, fixed)
        return Minibatches(G, size, config.seed, sampling, config.reduced or False)
    if sampled:
        raise TypeError(
            "sampling and variance_reduction need a finite sum with its rows at hand, found "
            f"{type(G).__name__}"
        )
    if isinstance(G, Stochastic):
        return Draws(G, size or 1, config.seed)
    if isinstance(G, Batches):
        if not fixed:
            raise ValueError("minibatches that come in turn need a batch that stays the same")
        return InTurn(G, size or 1, config.seed)
    if size is not None:
        raise TypeError(f"batch needs a finite sum or random gradients, found {type(G).__name__}")
    return ExactGradients(G, config.seed)


def _sampling(config: Any, G: FiniteSum, size: int, fixed: bool) -> str:
    """Return how rows are drawn: the user's choice, or what suits the data."""
    if config.sampling is not None or config.reduced is None:
        return config.sampling or "uniform"
    if issparse(G.A):
        # rows of sparse matrices are slow to collect, and blocks of them need not be
        return "blocks" if fixed and G.n <= _BLOCKS * size else "importance"
    weighted, even = (rows(G, size, Streams(0)).noise(size) for rows in (Importance, Uniform))
    if even > weighted:
        return "importance"
    return "windows" if fixed and _in_memory(entries(G.A)) else "uniform"


def _in_memory(A: Any) -> bool:
    """Tell whether a copy of ``A`` is as good as A: not so where it is mapped from a file."""
    return not isinstance(A, np.memmap) and not isinstance(getattr(A, "base", None), np.memmap)


def _solver(config: Any, solver: Any, gradients: Gradients) -> Any:
    """Return the solver; with all rows there is no noise, and a searched beta is the faster one."""
    if not gradients.exact:
        return solver
    whole = config.reduced is not None and solver.batch is None and solver.name == "accelerated"
    return SearchedComposite() if config.beta == "search" or whole else solver


def _problem(
    beta: Any, parts: tuple[Any, ...], gradients: Gradients, y0: Array, searched: bool = False
) -> CompositeProblem:
    """Return the problem with beta: the user's, G's own or a bound on it, or estimated."""
    G, H, w = parts
    problem = composite_problem(
        G, H, w, None if beta is None or isinstance(beta, str) else float(beta)
    )
    problem.searched = searched
    if searched and isinstance(G, FiniteSum):
        return problem  # the search begins with the curvature that it finds
    bounded = beta in ("stable", "search") or getattr(gradients, "reduced", False)
    if bounded and isinstance(gradients, Minibatches):
        problem.pace = steady_pace(gradients)
        rows = gradients.rows
        problem.dependent = not rows.independent
        problem.shrink = _SHRINK if problem.dependent or isinstance(rows, Blocks) else 1.0
        bound = G.smoothness_bound() if problem.norm == "l2" else math.inf
        if problem.L is None and problem.limited(100.0 * bound):
            problem.L = bound  # as good as G's own constant, and found faster
    if problem.L is None:
        problem.L = problem.own_smoothness()
    if problem.L is None:
        found = gradients.smoothness(y0, gradients.batch, problem.norm)
        problem.L, problem.estimated = 2.0 * found if found > 0 else problem.mu, True
    check_positive("beta", problem.beta)
    if beta == "search" and not gradients.exact:
        if not isinstance(gradients, Minibatches):
            raise TypeError(
                "beta='search' needs exact gradients or a finite sum, whose rows tell how much "
                f"noise a small beta would let in; found {type(G).__name__}"
            )
        # where noise allows less than G's own constant there is nothing to look for, and the
        # curvature of one of a few fixed blocks says too little about the others
        alone = isinstance(gradients.rows, Blocks) or problem.limited(problem.beta)
        problem.floor = None if alone else _LEAST * problem.beta
    return problem
