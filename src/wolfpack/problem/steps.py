"""What a round of a Frank-Wolfe method may do, as histories name it."""

from __future__ import annotations

STEPS = ("", "start", "fw", "away", "pairwise", "cached", "correction", "other")
"""Kinds of steps.

"" where a method has none to tell apart, "start" the first point, "fw" towards an answer of the
oracle, "away" from an active vertex, "pairwise" from one vertex to another, "cached" towards a
vertex seen before, "correction" all weights at once, and "other" what a solver of your own calls
otherwise.
"""
