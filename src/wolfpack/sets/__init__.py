"""Compact convex sets, each known through its linear oracle."""

from ._base import Set
from ._modelled import from_cvxpy
from .birkhoff import Birkhoff
from .box import Box
from .capped_simplex import CappedSimplex
from .convex_hull import ConvexHull
from .dag_flow import DagFlow
from .ellipsoid import Ellipsoid
from .fantope import Fantope
from .flow_polytope import FlowPolytope
from .group_l1_ball import GroupL1Ball
from .hermitian_spectrahedron import HermitianSpectrahedron
from .hypersimplex import Hypersimplex
from .image import Image
from .k_norm_ball import KNormBall
from .k_sparse import KSparse
from .knapsack import Knapsack
from .l1_ball import L1Ball
from .l2_ball import L2Ball
from .linear_program import LinearProgram
from .linf_ball import LinfBall
from .lp_ball import LpBall
from .matching import Matching
from .matroid_base import MatroidBase
from .minkowski_sum import MinkowskiSum
from .mixed_integer import MixedInteger
from .operator_norm_ball import OperatorNormBall
from .oracle import Oracle
from .ordered_weighted_l1 import OrderedWeightedL1
from .permutahedron import Permutahedron
from .product import Product
from .scale import Scale
from .schatten_ball import SchattenBall
from .simplex import Simplex
from .spanning_tree import SpanningTree
from .spectrahedron import Spectrahedron
from .symmetric import Symmetric
from .trace_norm_ball import TraceNormBall
from .translate import Translate
from .transport_polytope import TransportPolytope
from .unit_hypersimplex import UnitHypersimplex
from .unit_simplex import UnitSimplex
from .weighted_l1_ball import WeightedL1Ball

__all__ = [
    "Birkhoff",
    "Box",
    "CappedSimplex",
    "ConvexHull",
    "DagFlow",
    "Ellipsoid",
    "Fantope",
    "FlowPolytope",
    "GroupL1Ball",
    "HermitianSpectrahedron",
    "Hypersimplex",
    "Image",
    "KNormBall",
    "KSparse",
    "Knapsack",
    "L1Ball",
    "L2Ball",
    "LinearProgram",
    "LinfBall",
    "LpBall",
    "Matching",
    "MatroidBase",
    "MinkowskiSum",
    "MixedInteger",
    "OperatorNormBall",
    "Oracle",
    "OrderedWeightedL1",
    "Permutahedron",
    "Product",
    "Scale",
    "SchattenBall",
    "Set",
    "Simplex",
    "SpanningTree",
    "Spectrahedron",
    "Symmetric",
    "TraceNormBall",
    "Translate",
    "TransportPolytope",
    "UnitHypersimplex",
    "UnitSimplex",
    "WeightedL1Ball",
    "from_cvxpy",
]
