"""Is the gradient right, the oracle right, f convex? Tests that use points of K alone."""

from __future__ import annotations

from .audit import Audit
from .convexity import Sample, Tangents, breach
from .finding import Finding
from .oracle import Witness

__all__ = ["Audit", "Finding", "Sample", "Tangents", "Witness", "breach"]
