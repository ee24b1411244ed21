"""Sets as they answer arrays of other libraries than NumPy, perhaps on another device.

`wolfpack.sets.Set.at` calls `twin_of`. The code of some sets serves all array libraries: their twin
is a copy with constants on the device. Other sets of vectors and matrices have a twin here, with
code of its own. All other sets answer on the host.
"""

from __future__ import annotations

from .._base import Array, Set
from .._combination import Combination
from ..box import Box
from ..capped_simplex import CappedSimplex
from ..convex_hull import ConvexHull
from ..hypersimplex import Hypersimplex
from ..image import Image
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
from ..symmetric import Symmetric
from ..trace_norm_ball import TraceNormBall
from ..weighted_l1_ball import WeightedL1Ball
from ._base import Twin, moved
from .balls import EuclideanTwin, KSparseTwin
from .own import OracleTwin
from .simplices import HullTwin, L1Twin, SimplexTwin
from .spectral import SchattenTwin, SpectrahedronTwin, TraceTwin

TWINS: dict[type[Set], type[Twin]] = {
    Simplex: SimplexTwin,
    L1Ball: L1Twin,
    WeightedL1Ball: L1Twin,
    L2Ball: EuclideanTwin,
    KSparse: KSparseTwin,
    ConvexHull: HullTwin,
    Oracle: OracleTwin,
    TraceNormBall: TraceTwin,
    Spectrahedron: SpectrahedronTwin,
    SchattenBall: SchattenTwin,
    OperatorNormBall: SchattenTwin,
    Image: Twin,
    Symmetric: Twin,
}


PORTABLE = (Box, CappedSimplex, Hypersimplex, LinfBall, LpBall)
"""Sets whose own code serves all array libraries; only their constants must be on the device."""


def twin_of(K: Set, x: Array) -> Set:
    """Return ``K`` as it answers arrays of the library, device and type of ``x``."""
    twin = TWINS.get(type(K))
    if twin is None and (isinstance(K, Combination) or type(K) in PORTABLE):
        return moved(K, x)
    return (twin or Twin)(K, x)
