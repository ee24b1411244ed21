"""Sets as they answer arrays of other libraries than NumPy, perhaps on another device.

`wolfpack.sets.Set.at` finds the twin of a set here. Twins of sets of vectors and matrices answer
where the arrays are; all other sets are asked on the host.
"""

from __future__ import annotations

from typing import Any

from .._base import Set
from .._combination import Combination
from ..box import Box
from ..capped_simplex import CappedSimplex
from ..convex_hull import ConvexHull
from ..hypersimplex import Hypersimplex
from ..k_sparse import KSparse
from ..l1_ball import L1Ball
from ..l2_ball import L2Ball
from ..linf_ball import LinfBall
from ..lp_ball import LpBall
from ..operator_norm_ball import OperatorNormBall
from ..oracle import Oracle
from ..schatten_ball import SchattenBall
from ..simplex import Simplex
from ..spectrahedron import Spectrahedron
from ..trace_norm_ball import TraceNormBall
from ..weighted_l1_ball import WeightedL1Ball
from ._base import Twin, moved
from .balls import BoxTwin, EuclideanTwin, LpTwin
from .hulls import HullTwin
from .own import OracleTwin
from .selections import CappedTwin, KSparseTwin
from .simplices import L1Twin, SimplexTwin
from .spectral import SchattenTwin, SpectrahedronTwin, TraceTwin

TWINS: dict[type[Set], type[Twin]] = {
    Simplex: SimplexTwin,
    L1Ball: L1Twin,
    WeightedL1Ball: L1Twin,
    L2Ball: EuclideanTwin,
    LpBall: LpTwin,
    Box: BoxTwin,
    LinfBall: BoxTwin,
    KSparse: KSparseTwin,
    CappedSimplex: CappedTwin,
    Hypersimplex: CappedTwin,
    ConvexHull: HullTwin,
    Oracle: OracleTwin,
    TraceNormBall: TraceTwin,
    Spectrahedron: SpectrahedronTwin,
    SchattenBall: SchattenTwin,
    OperatorNormBall: SchattenTwin,
}


def twin_of(K: Set, x: Any) -> Set:
    """Return ``K`` as it answers arrays of the library, device and type of ``x``."""
    if isinstance(K, Combination):
        return moved(K, x)
    return TWINS.get(type(K), Twin)(K, x)
