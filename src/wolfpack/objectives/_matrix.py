"""The matrices of objectives: dense, sparse, or linear operators known by their products."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import LinearOperator

from ..arrays import (
    Array,
    as_float_array,
    check_finite,
    check_size,
    check_sparse,
    is_foreign,
    library,
    namespace,
    own,
    to_host,
)
from ..problem import accumulation, sum_unit, unit_of
from ._narrow import Narrow, is_narrow

Matrix: TypeAlias = Any
"""A dense or sparse matrix of any array library, or a linear operator, with products ``A @ x``.

No static type covers them all, so the alias documents what is meant and checks nothing.
"""

Product = Callable[[Array], Array]

_ENTRIES_PER_CHECK = 2**22
_COPIED_TRANSPOSE = 2**16  # entries of the largest dense matrix whose transpose is copied
_PRODUCTS_BEFORE_CONVERSION = 64


class Operator:
    """A linear map given by its products x -> A x and theta -> A' theta."""

    def __init__(self, shape: tuple[int, ...], apply: Product, adjoint: Product) -> None:
        self.shape = tuple(shape)
        self._apply, self._adjoint = apply, adjoint

    def __matmul__(self, x: Array) -> Array:
        return self._apply(x)

    @property
    def T(self) -> Operator:
        return Operator(self.shape[::-1], self._adjoint, self._apply)


class SparseTranspose:
    """The transpose of a CSR matrix, which is converted to CSR after many products.

    Each entry of a product is the same sum in the same order in both forms. After the conversion a
    product takes two thirds of the time; the conversion costs as much as dozens of products.
    """

    def __init__(self, A: csr_array) -> None:
        self.shape = A.shape[::-1]
        self._matrix, self._left = A.T, _PRODUCTS_BEFORE_CONVERSION

    def __matmul__(self, x: Array) -> Array:
        if self._left:
            self._left -= 1
            if self._left == 0:
                self._convert()
        return self._matrix @ x

    @property
    def columns(self) -> Any:
        """The matrix itself, with the entries of each column side by side."""
        self._convert()
        return self._matrix.T

    def _convert(self) -> None:
        self._left, self._matrix = 0, self._matrix.tocsr()


class JaxMatrix:
    """A dense matrix of JAX with products in full precision.

    By default XLA may multiply float32 matrices with ten bits of mantissa.
    """

    def __init__(self, array: Array) -> None:
        self.array = array
        self.shape, self.dtype = array.shape, array.dtype

    def __matmul__(self, x: Array) -> Array:
        return namespace(x).matmul(self.array, x, precision="highest")

    @property
    def T(self) -> JaxMatrix:
        return JaxMatrix(self.array.T)


def as_matrix(A: Matrix, name: str) -> tuple[Matrix, Matrix]:
    """Return A and A' in forms with ``@``, checked: 2 axes, not empty, finite where that is known.

    A is dense or sparse of NumPy, SciPy, PyTorch, JAX, CuPy or another library of the Array API
    standard; an object with ``shape``, ``@`` and ``T``; or one with ``shape``, ``matvec`` and
    ``rmatvec``. Writable NumPy arrays and sparse matrices are copied (`own`), so that A and A' stay
    the same. The indices of sparse matrices are checked (`check_sparse`). ``name`` is what the user
    calls A.
    """
    if isinstance(A, LinearOperator):
        pair = A, A.adjoint()
    elif issparse(A):
        check_sparse(A, name)
        matrix = A.tocsr(copy=True)
        data = check_size(check_finite(as_float_array(matrix.data, name), name), name)
        # sums and squares of integers overflow
        matrix = matrix.astype(data.dtype, copy=False)
        matrix.sum_duplicates()
        pair = matrix, SparseTranspose(matrix)
    elif isinstance(A, np.ndarray):
        pair = _dense(A, name)
    elif is_sparse_tensor(A):
        pair = _sparse_tensor(A, name)
    else:
        pair = _operator(A, name) or _dense(A, name)
    if 0 in pair[0].shape:
        raise ValueError(f"{name} must not be empty, found shape {tuple(pair[0].shape)}")
    return pair


def place_of(A: Matrix) -> Array:
    """Return an empty array of the library, type and device that A multiplies, None if unknown."""
    if isinstance(A, JaxMatrix | Narrow):
        array = A.array[:0, 0]
        return namespace(array).astype(array, A.dtype)
    if isinstance(A, np.ndarray):
        return A[:0, 0]
    if is_foreign(A):
        return A.values()[:0] if is_sparse_tensor(A) else A[:0, 0]
    return np.empty(0) if issparse(A) or isinstance(A, LinearOperator) else None


def is_dense(A: Matrix) -> bool:
    """Tell whether ``A`` holds all its entries in one array, which `entries` returns."""
    return isinstance(A, np.ndarray | JaxMatrix) or (is_foreign(A) and not is_sparse_tensor(A))


def entries(A: Matrix) -> Array:
    """Return the array of a dense matrix."""
    return A.array if isinstance(A, JaxMatrix) else A


def has_rows(A: Matrix) -> bool:
    """Tell whether rows and columns of ``A`` can be taken: dense arrays and SciPy's matrices."""
    return is_dense(A) or issparse(A)


def squares(A: Matrix, axis: int) -> np.ndarray:
    """Return the sums of squares of columns (axis 0) or rows (axis 1), on the host."""
    if issparse(A):
        squared = type(A)((A.data**2, A.indices, A.indptr), A.shape)
        return (squared.T if axis == 0 else squared) @ np.ones(A.shape[axis])
    if isinstance(A, Narrow):
        return A.squares(axis)
    array = entries(A)
    if type(array) is np.ndarray:
        return np.einsum("ij,ij->j" if axis == 0 else "ij,ij->i", array, array)
    return np.asarray(to_host(namespace(array).sum(array * array, axis=axis)), dtype=np.float64)


def on_host(A: Matrix) -> Matrix:
    """Return a matrix as a float64 array of NumPy or SciPy, None for one known by its products."""
    if issparse(A):
        return A.astype(np.float64)
    return np.asarray(to_host(entries(A)), dtype=np.float64) if is_dense(A) else None


def is_sparse_tensor(A: Matrix) -> bool:
    """Tell whether ``A`` is a sparse tensor of PyTorch."""
    return is_foreign(A) and library(A) == "torch" and "sparse" in str(A.layout)


def _check_axes(A: Matrix, name: str) -> None:
    if len(A.shape) != 2:
        raise ValueError(f"{name} must be a matrix, found shape {tuple(A.shape)}")


def _operator(A: Matrix, name: str) -> tuple[Matrix, Matrix] | None:
    """Return A and A' for a linear operator, None for anything else."""
    words = ("shape", "__array__", "__matmul__", "T", "matvec", "rmatvec")
    found = {word for word in words if hasattr(A, word)}
    if is_foreign(A) or "__array__" in found or "shape" not in found:
        return None
    if found.isdisjoint(("matvec", "__matmul__")):
        return None
    _check_axes(A, name)
    if found >= {"__matmul__", "T"}:
        return A, A.T
    if found >= {"matvec", "rmatvec"}:
        operator = Operator(A.shape, _by_columns(A.matvec), _by_columns(A.rmatvec))
        return operator, operator.T
    raise TypeError(
        f"{name} must be a matrix, or a linear operator with '@' and 'T' or with 'matvec' and "
        f"'rmatvec', found {type(A).__name__}"
    )


def _by_columns(product: Product) -> Product:
    def apply(x: Array) -> Array:
        if x.ndim == 1:
            return product(x)
        columns = [product(x[:, j]) for j in range(x.shape[1])]
        return namespace(columns[0]).stack(columns, axis=1)

    return apply


def _sparse_tensor(A: Array, name: str) -> tuple[Matrix, Matrix]:
    _check_axes(A, name)
    with warnings.catch_warnings():  # PyTorch announces at first use that the layout is in beta
        warnings.filterwarnings("ignore", message="Sparse .* tensor support is in beta")
        check_sparse(A, name)
        matrix = A.to_sparse_csr()
        check_finite(as_float_array(matrix.values(), name), name)
        return matrix, matrix.transpose(0, 1).to_sparse_csr()


def _dense(A: Array, name: str) -> tuple[Matrix, Matrix]:
    narrow = is_narrow(A)
    matrix = own(A if narrow else as_float_array(A, name), A)
    _check_axes(matrix, name)
    _check_rows(matrix, name)
    if isinstance(matrix, np.ndarray):
        # products with a small matrix are faster along its rows than across them
        small = matrix.size <= _COPIED_TRANSPOSE
        return matrix, np.ascontiguousarray(matrix.T) if small else matrix.T
    if narrow:
        matrix = Narrow(matrix)
    elif library(matrix) == "jax":
        matrix = JaxMatrix(matrix)
    return matrix, matrix.T


def _check_rows(A: Array, name: str) -> None:
    """Refuse NaN and infinite entries; large matrices, perhaps mapped from a file, in pieces."""
    n, d = A.shape
    rows = max(1, n if n * d <= _ENTRIES_PER_CHECK else _ENTRIES_PER_CHECK // d)
    for start in range(0, n, rows):
        where = "" if rows >= n else f"[{start}:{min(n, start + rows)}]"
        part = A[start : start + rows, :]
        # a finite sum of squares says that the entries are finite, and small enough to be squared
        if not (type(part) is np.ndarray and math.isfinite(np.vdot(part, part))):
            check_size(check_finite(part, name + where), name + where)


class Sizes(NamedTuple):
    """What the rounding errors of a linear model on a set depend on (docs/theory/rounding.md).

    Attributes
    ----------
    reach : float
        sigma, a bound on || |A| |v| || over the set.
    product, transposed : float
        sigma times the relative errors of products with A and with its transpose.
    terms : float
        Relative error of a sum over observations whose terms take a few operations each.
    offset, second_order : float
        Twice omega sigma, and (beta/2)(gamma sigma)^2.
    """

    reach: float
    product: float
    transposed: float
    terms: float
    offset: float = 0.0
    second_order: float = 0.0


def sizes_of(A: Matrix, error: float, theta: Array, reach: float) -> Sizes:
    """Return the errors of products with A, which are at least ``error``, in theta's precision."""
    rows, columns = A.shape[1], A.shape[0]
    if issparse(A):
        rows = int(np.diff(A.indptr).max(initial=1))
        columns = int(np.bincount(A.indices, minlength=1).max(initial=1))
    unit = unit_of(theta)
    return Sizes(
        reach,
        reach * max(error, (accumulation(rows) + 1.0) * unit),
        reach * max(error, (accumulation(columns) + 1.0) * unit),
        8.0 * unit + accumulation(theta.shape[0]) * sum_unit(theta),
    )
