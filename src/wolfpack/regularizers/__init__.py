"""The simple term H and the mirror map w of composite problems, min G + H."""

from __future__ import annotations

from ._base import Regularizer
from .entropy import Entropy
from .indicators import BallRidge, BoxRidge, IndicatorRidge, SimplexRidge
from .mirrors import EntropyMirror, Euclidean, Mirror, PNormMirror, Same, Shifted
from .norms import ElasticNet, GroupLasso, NuclearNorm, SparseGroupLasso, SquaredNorm
from .product import Product, ProductMirror
from .squared_pnorm import SquaredPNorm
from .total_variation import TotalVariation

__all__ = [
    "BallRidge",
    "BoxRidge",
    "ElasticNet",
    "Entropy",
    "EntropyMirror",
    "Euclidean",
    "GroupLasso",
    "IndicatorRidge",
    "Mirror",
    "NuclearNorm",
    "PNormMirror",
    "Product",
    "ProductMirror",
    "Regularizer",
    "Same",
    "Shifted",
    "SimplexRidge",
    "SparseGroupLasso",
    "SquaredNorm",
    "SquaredPNorm",
    "TotalVariation",
]
