"""Frank-Wolfe methods in exact rational arithmetic, on arrays of Fractions."""

from __future__ import annotations

from .objectives import as_exact_objective
from .run import METHODS, minimize_exactly
from .sets import as_exact_set

__all__ = ["METHODS", "as_exact_objective", "as_exact_set", "minimize_exactly"]
