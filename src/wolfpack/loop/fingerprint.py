"""Telling one problem from another: so that a checkpoint is not continued on the wrong one."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..arrays import is_foreign, like


class Fingerprint(NamedTuple):
    """What is compared before a run is continued.

    Attributes
    ----------
    objective, region : str
        Types of f and K.
    shape : tuple of int
        Shape of x.
    value : float
        f at a fixed point of K, NaN when f cannot be asked there.
    support : float
        s(u) = max <u, v> over K at a fixed direction u.
    """

    objective: str
    region: str
    shape: tuple[int, ...]
    value: float
    support: float

    @classmethod
    def of(cls, objective: Any, K: Any, place: Any = None) -> Fingerprint:
        """Ask f and K one question each, uncounted; f at an array like ``place``, if given."""
        place = getattr(objective, "like", None) if place is None else place
        place = getattr(K, "like", None) if place is None else place
        K = K.at(np.zeros(0)) if hasattr(K, "at") else K
        u = np.random.Generator(np.random.Philox(key=0)).standard_normal(K.shape)
        try:
            start = K.start()
            value = float(objective.value(like(start, place) if is_foreign(place) else start))
        except ArithmeticError:
            value = math.nan
        names = type(objective).__name__, type(K).__name__
        return cls(*names, tuple(K.shape), value, float(K.support(u)))

    def difference(self, other: Fingerprint) -> str:
        """Return what tells ``other`` apart, in words; an empty string if nothing does."""
        for name in ("objective", "region", "shape"):
            old, new = getattr(self, name), getattr(other, name)
            if old != new:
                return f"its {name.replace('region', 'set')} was {old}, now it is {new}"
        questions = {"value": "f(K.start())", "support": "the support of K in a fixed direction"}
        for name, words in questions.items():
            old, new = getattr(self, name), getattr(other, name)
            # machines may differ in the last digits; problems differ in the first
            if not (
                math.isclose(old, new, rel_tol=1e-6, abs_tol=1e-12) or old != old or new != new
            ):
                return f"{words} was {old:.9g}, now it is {new:.9g}"
        return ""
