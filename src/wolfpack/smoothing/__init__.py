"""Smoothed linear oracles: the gradient of s_alpha, sampled or in closed form."""

from __future__ import annotations

from ..noise import Noise
from ..objectives import Objective
from ..problem.checks import shown
from ..sets import Set
from ._base import Smoothing
from .ambient import Ambient
from .draws import SAMPLINGS
from .image_space import ImageSpace
from .lifted import Lifted
from .oracles import Answer, Oracles

__all__ = [
    "SAMPLINGS",
    "SMOOTHINGS",
    "Ambient",
    "Answer",
    "ImageSpace",
    "Lifted",
    "Oracles",
    "Smoothing",
    "make_smoothing",
]

SMOOTHINGS = ("ambient", "lifted", "image")


def make_smoothing(name: str, objective: Objective | None, K: Set, law: Noise) -> Smoothing:
    """Return the smoothing called ``name``.

    "ambient" puts the noise on the coordinates, "lifted" on the vertices' scores, "image" on the
    observations.
    """
    if name == "ambient":
        return Ambient(K, law)
    if name == "lifted":
        return Lifted(K)
    if name == "image":
        return ImageSpace(K, law, objective)
    raise ValueError(f"smoothing must be one of {', '.join(SMOOTHINGS)}, found {shown(name)}")
