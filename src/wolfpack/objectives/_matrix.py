"""The matrices of objectives: dense, sparse, or known by their products alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from ..arrays import Array, as_float_array, check_finite, is_foreign, library, namespace, own
from ._narrow import Narrow, is_narrow

_PIECE = 2**22
_SMALL = 2**16
_OFTEN = 64  # products that a sparse transpose must serve before it pays to turn it


class Operator:
    """A linear map by its products with A and A'.

    Parameters
    ----------
    shape : tuple (n, d)
        Shape of the matrix it stands for.
    apply, adjoint : callable
        ``x -> A x`` and ``theta -> A' theta``, for vectors and for matrices of columns.
    """

    def __init__(self, shape: Any, apply: Callable[[Array], Array], adjoint: Any) -> None:
        self.shape = tuple(shape)
        self._apply, self._adjoint = apply, adjoint

    def __matmul__(self, x: Array) -> Array:
        return self._apply(x)

    @property
    def T(self) -> Operator:
        """The transpose."""
        return Operator(self.shape[::-1], self._adjoint, self._apply)


class Turned:
    """The transpose of a CSR matrix, brought to that form itself once it has been used often.

    Each entry of a product is the same sum in the same order in both forms; turned, products take
    two thirds of the time, and turning takes that of dozens of them.

    Parameters
    ----------
    A : sparse matrix
        In CSR form.
    """

    def __init__(self, A: Any) -> None:
        self.shape = A.shape[::-1]
        self._matrix, self._left = A.T, _OFTEN

    def __matmul__(self, x: Array) -> Array:
        if self._left:
            self._left -= 1
            if self._left == 0:
                self._matrix = self._matrix.tocsr()
        return self._matrix @ x


class JaxMatrix:
    """A dense matrix of JAX, whose products do not fall to the card's shorter numbers.

    By default XLA may multiply float32 matrices with ten bits of mantissa.
    """

    def __init__(self, array: Array) -> None:
        self.array = array
        self.shape, self.dtype = array.shape, array.dtype

    def __matmul__(self, x: Array) -> Array:
        return namespace(x).matmul(self.array, x, precision="highest")

    @property
    def T(self) -> JaxMatrix:
        """The transpose."""
        return JaxMatrix(self.array.T)


def as_matrix(A: Any, name: str) -> tuple[Any, Any]:
    """Return A and A' in forms with ``@``, checked: 2 axes, not empty, finite where that is known.

    Writable NumPy arrays and sparse matrices are copied (`own`), so that A and A' stay the same.

    Parameters
    ----------
    A : array, sparse matrix or linear operator
        Dense or sparse of NumPy, SciPy, PyTorch, JAX, CuPy or another library of the Array API
        standard; an object with ``shape``, ``@`` and ``T``; or one with ``shape``, ``matvec`` and
        ``rmatvec``.
    name : str
        What the user calls it.
    """
    if isinstance(A, LinearOperator):
        pair = A, A.adjoint()
    elif issparse(A):
        matrix = A.tocsr(copy=True)
        data = check_finite(as_float_array(matrix.data, name), name)
        # sums and squares of integers overflow
        matrix = matrix.astype(data.dtype, copy=False)
        matrix.sum_duplicates()
        pair = matrix, Turned(matrix)
    elif is_sparse_tensor(A):
        pair = _sparse_tensor(A, name)
    elif _is_operator(A):
        pair = _operator(A, name)
    else:
        pair = _dense(A, name)
    if 0 in pair[0].shape:
        raise ValueError(f"{name} must not be empty, found shape {tuple(pair[0].shape)}")
    return pair


def place_of(A: Any) -> Array:
    """Return an array of the kind that A multiplies; None where that is not known."""
    if isinstance(A, JaxMatrix | Narrow):
        array = A.array[:0, 0]
        return namespace(array).astype(array, A.dtype)
    if is_sparse_tensor(A):
        return A.values()[:0]
    if _is_array(A):
        return A[:0, 0]
    return np.empty(0) if issparse(A) or isinstance(A, LinearOperator) else None


def is_dense(A: Any) -> bool:
    """Tell whether the entries of ``A`` can be had as one array: `entries` returns it."""
    return isinstance(A, JaxMatrix) or (_is_array(A) and not is_sparse_tensor(A))


def entries(A: Any) -> Array:
    """Return a dense matrix as the array that it is."""
    return A.array if isinstance(A, JaxMatrix) else A


def has_rows(A: Any) -> bool:
    """Tell whether rows and columns of ``A`` can be taken: dense arrays and SciPy's matrices."""
    return is_dense(A) or issparse(A)


def is_sparse_tensor(A: Any) -> bool:
    """Tell whether ``A`` is a sparse tensor of PyTorch."""
    return "sparse" in str(getattr(A, "layout", ""))


def _is_array(A: Any) -> bool:
    return isinstance(A, np.ndarray) or is_foreign(A)


def _is_operator(A: Any) -> bool:
    if _is_array(A) or hasattr(A, "__array__") or not hasattr(A, "shape"):
        return False
    return hasattr(A, "matvec") or hasattr(A, "__matmul__")


def _operator(A: Any, name: str) -> tuple[Any, Any]:
    if len(A.shape) != 2:
        raise ValueError(f"{name} must be a matrix, found shape {tuple(A.shape)}")
    if hasattr(A, "__matmul__") and hasattr(A, "T"):
        return A, A.T
    if hasattr(A, "matvec") and hasattr(A, "rmatvec"):
        operator = Operator(A.shape, _by_columns(A.matvec), _by_columns(A.rmatvec))
        return operator, operator.T
    raise TypeError(
        f"{name} must be a matrix, or a linear operator with '@' and 'T' or with 'matvec' and "
        f"'rmatvec', found {type(A).__name__}"
    )


def _by_columns(product: Callable[[Array], Array]) -> Callable[[Array], Array]:
    def apply(x: Array) -> Array:
        if x.ndim == 1:
            return product(x)
        columns = [product(x[:, j]) for j in range(x.shape[1])]
        return namespace(*columns).stack(columns, axis=1)

    return apply


def _sparse_tensor(A: Any, name: str) -> tuple[Any, Any]:
    if A.ndim != 2:
        raise ValueError(f"{name} must be a matrix, found shape {tuple(A.shape)}")
    with warnings.catch_warnings():  # PyTorch announces at first use that the layout is in beta
        warnings.filterwarnings("ignore", message="Sparse .* tensor support is in beta")
        matrix = A.to_sparse_csr()
        check_finite(as_float_array(matrix.values(), name), name)
        return matrix, matrix.transpose(0, 1).to_sparse_csr()


def _dense(A: Any, name: str) -> tuple[Any, Any]:
    matrix = own(A if is_narrow(A) else as_float_array(A, name), A)
    if matrix.ndim != 2:
        raise ValueError(f"{name} must be a matrix, found shape {tuple(matrix.shape)}")
    _check_rows(matrix, name)
    if is_narrow(matrix):
        matrix = Narrow(matrix)
    elif library(matrix) == "jax":
        matrix = JaxMatrix(matrix)
    elif isinstance(matrix, np.ndarray) and matrix.size <= _SMALL:
        # products with a small matrix are faster along its rows than across them
        return matrix, np.ascontiguousarray(matrix.T)
    return matrix, matrix.T


def _check_rows(A: Array, name: str) -> None:
    """Refuse NaN and infinite entries; large matrices, perhaps mapped from a file, in pieces."""
    n, d = A.shape
    rows = max(1, n if n * d <= _PIECE else _PIECE // d)
    for start in range(0, n, rows):
        where = "" if rows >= n else f"[{start}:{min(n, start + rows)}]"
        check_finite(A[start : start + rows, :], name + where)
