"""Is the gradient right, the oracle right, f convex? Tests at points of K alone."""

from __future__ import annotations

from .audit import Audit
from .batch import BatchAudit, Verdict
from .composite import CompositeAudit
from .constrained import ConstrainedAudit
from .convexity import Sample, Tangents, breach
from .finding import Finding
from .oracle import Witness

__all__ = [
    "Audit",
    "BatchAudit",
    "CompositeAudit",
    "ConstrainedAudit",
    "Finding",
    "Sample",
    "Tangents",
    "Verdict",
    "Witness",
    "breach",
]
