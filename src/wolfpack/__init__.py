"""Projection-free convex optimization that turns parallel linear oracles into fewer rounds."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import (
        arrays,
        engines,
        estimators,
        layers,
        noise,
        objectives,
        regularizers,
        sets,
        smoothing,
        solvers,
        theory,
    )
    from .front.between import between
    from .front.check import check
    from .front.choose import explain
    from .front.composite import minimize_composite
    from .front.difference import minimize_difference
    from .front.execute import ConvergenceError
    from .front.integer import minimize_integer
    from .front.many import minimize_many
    from .front.minimize import minimize
    from .front.path import path
    from .front.resume import resume
    from .loop import Result, Status, load
    from .loop.checkpoint import Checkpoint
    from .loop.many_result import ManyResult
    from .loop.path_result import PathResult
    from .problem import CapabilityError
    from .report.curves import plot

__version__ = "0.2.0"

__all__ = [
    "CapabilityError",
    "Checkpoint",
    "ConvergenceError",
    "ManyResult",
    "PathResult",
    "Result",
    "Status",
    "arrays",
    "between",
    "check",
    "engines",
    "estimators",
    "explain",
    "layers",
    "load",
    "minimize",
    "minimize_composite",
    "minimize_difference",
    "minimize_integer",
    "minimize_many",
    "noise",
    "objectives",
    "path",
    "plot",
    "regularizers",
    "resume",
    "sets",
    "smoothing",
    "solvers",
    "theory",
]


_HOMES = {
    "CapabilityError": ".problem",
    "Checkpoint": ".loop.checkpoint",
    "ConvergenceError": ".front.execute",
    "ManyResult": ".loop.many_result",
    "PathResult": ".loop.path_result",
    "Result": ".loop",
    "Status": ".loop",
    "between": ".front.between",
    "check": ".front.check",
    "explain": ".front.choose",
    "load": ".loop",
    "minimize": ".front.minimize",
    "minimize_composite": ".front.composite",
    "minimize_difference": ".front.difference",
    "minimize_integer": ".front.integer",
    "minimize_many": ".front.many",
    "path": ".front.path",
    "plot": ".report.curves",
    "resume": ".front.resume",
}
"""Where the names of this package that are no subpackages come from."""


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, so that ``import wolfpack`` takes no time."""
    if name in _HOMES:
        found = getattr(import_module(_HOMES[name], __name__), name)
    elif not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
        found = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
