"""Which gradients a composite run uses: exact ones, minibatches, a source's, or a user's draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..arrays import Streams
from ..objectives import Batches, Objective, Stochastic
from ..objectives._matrix import entries, has_rows
from ..objectives.finite_sum import FiniteSum
from ..problem import CapabilityError
from .base import Gradients
from .exact import ExactGradients
from .minibatches import Minibatches
from .rows import FIXED, Importance, Passes, Uniform
from .streams import InTurn
from .user_draws import Draws

_LEAST_BATCH = 16  # a round with fewer rows costs about as much
_SHARE_OF_ROWS = 100  # of which a batch is one, where nobody has chosen it
_MAX_BLOCKS = 4096  # more blocks than this cost more than they save


def make_gradients(
    G: Objective,
    batch: int | None,
    fixed: bool,
    sampling: str | None,
    reduction: str | None,
    seed: int,
) -> Gradients:
    """Return the gradients of G that a run asks for.

    ``batch`` is the number of draws in the first round, None for G's own batch or all rows;
    ``fixed`` tells whether all rounds have that many. ``sampling`` is None for what suits the data.
    """
    if isinstance(G, FiniteSum):
        size = G.batch if batch is None else batch
        if size is None:
            if sampling is not None and reduction is None:
                raise ValueError(
                    f"sampling={sampling!r} needs a batch: without one a round sees all rows. Pass "
                    "batch=..., or variance_reduction=True, which chooses one"
                )
            return ExactGradients(G, seed)
        if sampling in FIXED and not fixed:
            raise ValueError(
                f"sampling={sampling!r} needs a batch that stays the same in all rounds"
            )
        if sampling is None:
            sampling = "uniform" if reduction is None else _quietest(G, size, fixed)
        return Minibatches(G, size, seed, sampling, reduction)
    if sampling not in (None, "uniform"):
        raise TypeError(
            f"samplings like {sampling!r} need a finite sum with its rows at hand, found "
            f"{type(G).__name__}"
        )
    again = isinstance(G, Batches) and G.has_values
    if reduction is not None and not again:
        raise TypeError(
            "variance_reduction needs data that can be read again, found "
            f"{'a source that is read once' if isinstance(G, Batches) else type(G).__name__}"
        )
    if isinstance(G, Stochastic):
        return Draws(G, batch or 1, seed)
    if isinstance(G, Batches):
        if not fixed:
            raise ValueError("minibatches that come in turn need a batch that stays the same")
        return InTurn(G, batch or 1, seed, reduction)
    if batch is not None:
        raise TypeError(f"batch needs a finite sum or random gradients, found {type(G).__name__}")
    return ExactGradients(G, seed)


def random_gradients(f: Objective, batch: int | None, rows: str | None, seed: int) -> Gradients:
    """Return the random gradients of f that a stochastic method of `minimize` reads.

    ``batch`` is None for f's own, or a hundredth of the rows. A method with a table of slopes needs
    ``rows``: "passes", one pass over them after the other, or "uniform", drawn anew in each round.
    """
    if isinstance(f, FiniteSum):
        if not has_rows(f.A):
            raise CapabilityError(
                "methods with random gradients read some rows of f's matrix, and an operator (as "
                "one of data in half precision) has none: choose another method"
            )
        size = batch or f.batch or max(1, f.n // _SHARE_OF_ROWS)
        return Minibatches(f, size, seed, Passes if rows == "passes" else "uniform")
    if rows is not None and isinstance(f, Stochastic | Batches):
        raise TypeError(
            "a table of slopes needs a sum whose rows are at hand, found "
            f"{type(f).__name__}: leave estimate out"
        )
    if isinstance(f, Stochastic):
        return Draws(f, batch or 1, seed)
    if isinstance(f, Batches):
        return InTurn(f, batch or 1, seed)
    raise CapabilityError(
        "methods with random gradients need a sum over rows, a source of minibatches "
        "(wolfpack.objectives.Batches) or random gradients (wolfpack.objectives.Stochastic), "
        f"and f is a {type(f).__name__}: choose another method"
    )


def automatic_batch(G: FiniteSum, sampling: str | None, beta: float, mu: float) -> int | None:
    """Return the least batch that costs no acceleration, None where all rows are better.

    A pass in four rounds or fewer is better made with the whole sum.
    """
    # "blocks" and "windows" are as noisy as uniform choices.
    weighted = sampling == "importance" or (sampling is None and not issparse(G.A))
    likely = "importance" if weighted else "uniform"
    m = max(_LEAST_BATCH, Minibatches(G, 1, 0, likely).accelerating_batch(beta, mu))
    return None if 4 * m >= G.n else m


def _quietest(G: FiniteSum, size: int, fixed: bool) -> str:
    """Return the sampling that suits the data where variance is reduced."""
    if issparse(G.A):
        # Gathering sparse rows is slow; contiguous blocks need no gathering.
        return "blocks" if fixed and G.n <= _MAX_BLOCKS * size else "importance"
    weighted, even = (rows(G, size, Streams(0)).noise(size) for rows in (Importance, Uniform))
    if even > weighted:
        return "importance"
    return "windows" if fixed and _in_memory(entries(G.A)) else "uniform"


def _in_memory(A: Any) -> bool:
    """Tell whether ``A`` is in memory, so that a copy of it is as good as A itself."""
    return not isinstance(A, np.memmap) and not isinstance(getattr(A, "base", None), np.memmap)
