"""Compact convex sets, each known through its linear oracle."""

from ._base import Set
from .birkhoff import Birkhoff
from .box import Box
from .capped_simplex import CappedSimplex
from .convex_hull import ConvexHull
from .dag_flow import DagFlow
from .flow_polytope import FlowPolytope
from .group_l1_ball import GroupL1Ball
from .hypersimplex import Hypersimplex
from .k_sparse import KSparse
from .l1_ball import L1Ball
from .l2_ball import L2Ball
from .linear_program import LinearProgram
from .linf_ball import LinfBall
from .lp_ball import LpBall
from .matroid_base import MatroidBase
from .minkowski_sum import MinkowskiSum
from .mixed_integer import MixedInteger
from .operator_norm_ball import OperatorNormBall
from .oracle import Oracle
from .permutahedron import Permutahedron
from .product import Product
from .scale import Scale
from .schatten_ball import SchattenBall
from .simplex import Simplex
from .spanning_tree import SpanningTree
from .spectrahedron import Spectrahedron
from .trace_norm_ball import TraceNormBall
from .translate import Translate
from .transport_polytope import TransportPolytope
from .weighted_l1_ball import WeightedL1Ball

__all__ = [
    "Birkhoff",
    "Box",
    "CappedSimplex",
    "ConvexHull",
    "DagFlow",
    "FlowPolytope",
    "GroupL1Ball",
    "Hypersimplex",
    "KSparse",
    "L1Ball",
    "L2Ball",
    "LinearProgram",
    "LinfBall",
    "LpBall",
    "MatroidBase",
    "MinkowskiSum",
    "MixedInteger",
    "OperatorNormBall",
    "Oracle",
    "Permutahedron",
    "Product",
    "Scale",
    "SchattenBall",
    "Set",
    "Simplex",
    "SpanningTree",
    "Spectrahedron",
    "TraceNormBall",
    "Translate",
    "TransportPolytope",
    "WeightedL1Ball",
]
