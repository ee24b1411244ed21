"""Array helpers: the one place that knows which array library is in use.

Everything above this package works on arrays through operators and the functions exported here,
so that NumPy and any other library of the Array API standard can be served by the same code.
"""

from __future__ import annotations

from ._convert import as_float_array, check_finite, check_shape
from ._ops import all_finite, epsilon, inner, namespace, norm, softmax
from ._streams import Streams
from ._structured import LowRank, SparseMatrix, Structured

__all__ = [
    "LowRank",
    "SparseMatrix",
    "Streams",
    "Structured",
    "all_finite",
    "as_float_array",
    "check_finite",
    "check_shape",
    "epsilon",
    "inner",
    "namespace",
    "norm",
    "softmax",
]
