"""Array helpers: the one place that knows which array library is in use.

Everything above this package works on arrays through operators and the functions exported here,
so that NumPy and any other library of the Array API standard can be served by the same code.
"""

from __future__ import annotations

from ._convert import as_float_array, check_finite, check_shape
from ._gather import (
    bincount,
    concat,
    cumsum,
    repeat,
    reshape,
    rows,
    scatter_add,
    searchsorted,
    sum_last,
    take,
    take_along,
    topk,
    wide_dtype,
)
from ._ops import all_finite, device_inner, epsilon, fetch, inner, inners, matmul, norm, softmax
from ._place import (
    arange,
    describe,
    device_of,
    eye,
    full,
    host_dtype,
    is_foreign,
    library,
    like,
    namespace,
    same_place,
    size,
    to_host,
    zeros,
)
from ._streams import Streams
from ._structured import LowRank, SparseMatrix, Structured

__all__ = [
    "LowRank",
    "SparseMatrix",
    "Streams",
    "Structured",
    "all_finite",
    "arange",
    "as_float_array",
    "bincount",
    "check_finite",
    "check_shape",
    "concat",
    "cumsum",
    "describe",
    "device_inner",
    "device_of",
    "epsilon",
    "eye",
    "fetch",
    "full",
    "host_dtype",
    "inner",
    "inners",
    "is_foreign",
    "library",
    "like",
    "matmul",
    "namespace",
    "norm",
    "repeat",
    "reshape",
    "rows",
    "same_place",
    "scatter_add",
    "searchsorted",
    "size",
    "softmax",
    "sum_last",
    "take",
    "take_along",
    "to_host",
    "topk",
    "wide_dtype",
    "zeros",
]
