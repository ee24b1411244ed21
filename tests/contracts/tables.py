"""Tables of vertices: one per row."""

from __future__ import annotations

import itertools

import numpy as np


def lowest(vertices: np.ndarray):
    """Return g -> min <g, v> over the listed vertices."""
    return lambda g: float((vertices @ g.reshape(-1)).min())


def joined(*tables):
    """Return all vectors made of one row of each table."""
    return np.array([np.concatenate(rows) for rows in itertools.product(*tables)])


def added(*tables):
    """Return all sums of one row of each table."""
    return np.array([sum(rows) for rows in itertools.product(*tables)])
