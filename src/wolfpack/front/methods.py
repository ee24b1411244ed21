"""The methods of `minimize` by name, and how a name with options becomes a solver."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..problem import Solver
from ..problem.checks import shown
from ..solvers import (
    Anytime,
    AwayStep,
    BlendedPairwise,
    Conic,
    Conjugate,
    Corrective,
    DecompositionInvariant,
    FrankWolfe,
    FullyCorrective,
    LazyFrankWolfe,
    Momentum,
    NonnegativeLeastSquares,
    Pairwise,
    ParallelFrankWolfe,
    Projected,
    RestartedParallelFrankWolfe,
    ShortStep,
    Sliding,
    StochasticAnytime,
    StochasticFrankWolfe,
    block,
    frank_wolfe,
)

METHODS: dict[str, Callable[..., Solver[Any]]] = {
    "anytime": Anytime,
    "corrective": Corrective,
    "projected": Projected,
    "pfw": ParallelFrankWolfe,
    "r-pfw": RestartedParallelFrankWolfe,
    "fw": frank_wolfe.open_loop,
    "fw-short": partial(FrankWolfe, ShortStep()),
    "fw-ls": frank_wolfe.line_search,
    "away": AwayStep,
    "pairwise": Pairwise,
    "bpcg": BlendedPairwise,
    "fcfw": FullyCorrective,
    "lazy": LazyFrankWolfe,
    "momentum": Momentum,
    "cgs": Sliding,
    "block": block.block,
    "dicg": DecompositionInvariant,
    "conic": Conic,
    "nnls": NonnegativeLeastSquares,
    "conjugate": partial(Conjugate, 1),
    "biconjugate": partial(Conjugate, 2),
    "stochastic": StochasticFrankWolfe,
    "stochastic-anytime": StochasticAnytime,
}
"""The methods of `minimize`."""

PARTICULAR = ("block", "conic", "dicg", "nnls", "stochastic", "stochastic-anytime")
"""Methods that need more of f and K, or less, than gradients, linear oracles and projections."""

_SOLVER_PARTS = ("name", "init", "step", "lower_bound")


def make_solver(
    method: str | Solver[Any],
    options: dict[str, Any],
    methods: dict[str, Callable[..., Solver[Any]]],
    others: list[str],
) -> tuple[str, Solver[Any]]:
    """Return the method's name and its solver with the given options.

    ``others`` names the options that belong to no method, for the error message.
    """
    given = {
        name: value.item() if isinstance(value, np.integer) else value
        for name, value in options.items()
        if value is not None
    }
    if not isinstance(method, str):
        if isinstance(method, type) or not all(hasattr(method, part) for part in _SOLVER_PARTS):
            hint = " (a class: call it to make an object)" if isinstance(method, type) else ""
            raise TypeError(
                f"method must be a name or a solver object, found {shown(method)}{hint}"
            )
        if given:
            raise TypeError(
                f"method is a solver object, in which options must be set, found {sorted(given)} "
                "beside it"
            )
        return method.name, method
    if method not in methods:
        close = difflib.get_close_matches(method, methods, 1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ValueError(f"method must be one of {', '.join(methods)}, found {shown(method)}{hint}")
    known = _parameters(methods[method])
    unknown = sorted({*given} - {*known}, key=list(given).index)
    if unknown:
        raise TypeError(
            f"method {method!r} has no option {', '.join(map(repr, unknown))}; it has "
            f"{', '.join([*known, *others])}"
        )
    return method, methods[method](**given)


@lru_cache(maxsize=64)
def _parameters(method: Callable[..., Solver[Any]]) -> tuple[str, ...]:
    """Return the names of a method's options."""
    return tuple(inspect.signature(method).parameters)
