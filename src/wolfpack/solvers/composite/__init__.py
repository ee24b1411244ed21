"""Algorithm 1 and its relatives, for composite problems."""

from __future__ import annotations

from .accelerated import ConvergingComposite, StochasticComposite
from .searched import SearchedComposite

__all__ = ["ConvergingComposite", "SearchedComposite", "StochasticComposite"]
