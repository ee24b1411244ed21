"""The simple term H and the mirror map w of composite problems, min G + H."""

from __future__ import annotations

from ._base import Regularizer
from .elastic_net import ElasticNet
from .entropy import Entropy
from .indicators import BallRidge, BoxRidge, IndicatorRidge, SimplexRidge
from .mirrors import EntropyMirror, Euclidean, Mirror, Same, Shifted
from .squared_norm import SquaredNorm

__all__ = [
    "BallRidge",
    "BoxRidge",
    "ElasticNet",
    "Entropy",
    "EntropyMirror",
    "Euclidean",
    "IndicatorRidge",
    "Mirror",
    "Regularizer",
    "Same",
    "Shifted",
    "SimplexRidge",
    "SquaredNorm",
]
