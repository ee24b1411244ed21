"""Batches of sets: projections, linear minima and violations of many points at once.

`wolfpack.minimize_many` asks them. A set that has no batched form here is asked one by one.
"""

from __future__ import annotations

from typing import Any

from ...arrays import Array
from ...problem import Stacked
from .._base import Set
from ..birkhoff import Birkhoff
from ..box import Box
from ..capped_simplex import CappedSimplex
from ..hypersimplex import Hypersimplex
from ..k_sparse import KSparse
from ..l1_ball import L1Ball
from ..l2_ball import L2Ball
from ..linf_ball import LinfBall
from ..product import Product
from ..simplex import Simplex
from ..spectrahedron import Spectrahedron
from ..trace_norm_ball import TraceNormBall
from ..weighted_l1_ball import WeightedL1Ball
from ._base import BatchedSet, parts_of
from .matrices import Birkhoffs, Spectrahedra, TraceNormBalls
from .vectors import Boxes, CappedSimplices, KSparses, L1Balls, L2Balls, Simplices, of_product

BATCHED: dict[type[Set], Any] = {
    Simplex: Simplices,
    CappedSimplex: CappedSimplices,
    Hypersimplex: CappedSimplices,
    Box: Boxes,
    LinfBall: Boxes,
    L1Ball: L1Balls,
    WeightedL1Ball: L1Balls,
    L2Ball: L2Balls,
    KSparse: KSparses,
    TraceNormBall: TraceNormBalls,
    Spectrahedron: Spectrahedra,
    Birkhoff: Birkhoffs,
}

MAX_ORDER = 128
"""Order up to which the decomposition of a matrix, which projections need, is cheap."""

__all__ = ["BatchedSet", "batched", "parts_of"]


def batched(K: Set | Stacked | list[Set], count: int, place: Array) -> BatchedSet | None:
    """Return the sets of ``count`` problems as one object, None where there is no batched form.

    ``place`` is an array of the library, device and type of the points.
    """
    return _batched(parts_of(K, count), place, count)


def _batched(parts: list[Set], place: Array, count: int) -> BatchedSet | None:
    if len({(type(K), K.shape, *_fixed(K)) for K in parts}) > 1:
        return None
    first = parts[0]
    if isinstance(first, Product):
        return of_product([*parts], place, count, _batched)  # pyright: ignore[reportArgumentType]
    if isinstance(first, TraceNormBall | Spectrahedron) and min(first.shape) > MAX_ORDER:
        return None
    make = BATCHED.get(type(first))
    return None if make is None else make(parts, place, count)


def _fixed(K: Set) -> tuple[Any, ...]:
    """Return the parameters that all sets of a batch share."""
    if isinstance(K, KSparse):
        return (K.k,)
    if isinstance(K, Product):
        return tuple((type(part), part.shape) for part in K.parts)
    return (K.equality,) if isinstance(K, Spectrahedron) else ()
