"""Squared error on the observed entries of a matrix."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from ..arrays import (
    Array,
    Layout,
    LowRank,
    SparseMatrix,
    as_plain,
    as_type,
    fetch,
    inner,
    inners,
    is_foreign,
    lazy_inner,
    like,
    namespace,
    norm,
    reshape,
    scatter_add,
    take,
    to_host,
    zeros,
)
from ..problem import Evaluation, Minorant, QuadraticForm, accumulation, sum_unit, unit_of
from ..problem.checks import as_matrix_shape, shown
from ._base import Objective, as_data, as_point, check_place, settle
from ._matrix import Operator

if TYPE_CHECKING:
    from ..sets import Set

_BLOCK = 2**18  # entries of the matrices that are solved at a time


class MatrixCompletion(Objective):
    r"""Half the squared error on observed entries, over pairs (i, j) in Omega.

    .. math:: f(X) = \tfrac12 \sum_{(i,j)\in\Omega} (\sigma_i X_{ij} \tau_j - b_{ij})^2

    Parameters
    ----------
    rows, columns : int arrays (n,)
        Positions of the observed entries, each at most once.
    values : array (n,)
        The observed entries b. X must be of the same library and device.
    shape : tuple (p, q)
        Shape of X.
    scales : pair of arrays (p,) and (q,), or "counts", optional
        The positive numbers sigma and tau, 1 by default. A bound on the trace norm of X is then one
        on a weighted trace norm of the completed matrix Z with the entries sigma_i X_ij tau_j,
        which `completed` returns. "counts" takes 1 / sqrt((n_i + 1) / c) for a row with n_i
        entries, where c is the mean of n_i + 1, and the same for columns. That is for rows and
        columns of which some are observed much more often than others, as in ratings.

    Notes
    -----
    Without scales the gradient is the residual on Omega and zero elsewhere, L = 1, and with the
    residual theta
    :math:`f^*(\theta) = \tfrac12\|\theta\|^2 + \langle b, \theta\rangle`. For an array X the
    gradient is an array. For a `LowRank` X, which methods use where the set allows it, the gradient
    is a `SparseMatrix`, and no p x q array is ever made: memory O((p + q) rank + n).

    Sources
        R. Salakhutdinov, N. Srebro, Collaborative filtering in a non-uniform world: learning with
        the weighted trace norm, NIPS 2010.

    Examples
    --------
    >>> import numpy as np
    >>> f = MatrixCompletion([0, 1], [1, 0], [3.0, 4.0], (2, 2))
    >>> f.value(np.zeros((2, 2)))
    12.5
    """

    shape: tuple[int, int]
    factored = True
    L = 1.0
    scales: tuple[Array, Array] | None = None
    _factors: Array | None = None  # sigma_i tau_j of the observed entries

    def __init__(
        self,
        rows: Array,
        columns: Array,
        values: Array,
        shape: tuple[int, int],
        scales: tuple[Array, Array] | str | None = None,
    ) -> None:
        self.shape = p, q = as_matrix_shape(shape, "shape")
        i, j = _as_positions(rows, "rows", p), _as_positions(columns, "columns", q)
        b = as_data(values, "values")
        if not (b.ndim == 1 and tuple(b.shape) == i.shape == j.shape):
            raise ValueError(
                "rows, columns and values must be vectors of one length, found shapes "
                f"{i.shape}, {j.shape} and {tuple(b.shape)}"
            )
        if not i.size:
            raise ValueError("values must not be empty, found none")
        order = np.lexsort((j, i))
        self.rows, self.columns = i[order], j[order]
        self.values = take(b, like(order, b))
        self.like, self.checked = self.values[:0], is_foreign(b)
        self._flat = like(self.rows * q + self.columns, b) if self.checked else None
        self._layout = Layout(like(self.rows, b), like(self.columns, b), self.shape)
        repeated = (np.diff(self.rows) == 0) & (np.diff(self.columns) == 0)
        if repeated.any():
            k = int(repeated.argmax())
            raise ValueError(
                f"entry ({self.rows[k]}, {self.columns[k]}) is given more than once in rows and "
                "columns: average its values first"
            )
        if scales is not None:
            self.scales = self._as_scales(scales)
            row_scales, column_scales = map(to_host, self.scales)
            self._factors = like(row_scales[self.rows] * column_scales[self.columns], self.like)
            self.L = self.spectral_norm_squared

    def completed(self, x: Array) -> Array:
        """Return the completed matrix that belongs to X: X itself, or the same without scales.

        Examples
        --------
        >>> import numpy as np
        >>> f = MatrixCompletion([0, 1], [1, 0], [3.0, 4.0], (2, 2), scales=([1.0, 2.0], [1, 3]))
        >>> f.completed(np.ones((2, 2)))
        array([[1., 3.],
               [2., 6.]])
        """
        x = as_point(x, self.shape)
        if self.scales is None:
            return x
        left, right = self.scales
        if isinstance(x, LowRank):
            return LowRank(left[:, None] * x.U, x.s, right[:, None] * x.V)
        return left[:, None] * x * right

    def _as_scales(self, scales: Any) -> tuple[Array, Array]:
        """Return positive scales of rows and columns, like the values."""
        if isinstance(scales, str) and scales == "counts":
            ends = zip((self.rows, self.columns), self.shape, strict=True)
            counts = [np.bincount(at, minlength=n) + 1.0 for at, n in ends]
            found = [np.sqrt(count.mean() / count) for count in counts]
        else:
            if not (isinstance(scales, tuple | list) and len(scales) == 2):
                raise TypeError(
                    "scales must be a pair of vectors, one number for each row and one for each "
                    f"column, 'counts' or None, found {shown(scales)}"
                )
            found = [as_data(part, "scales") for part in scales]
            for part, n, lines in zip(found, self.shape, ("rows", "columns"), strict=True):
                if tuple(part.shape) != (n,) or float(to_host(part).min()) <= 0.0:
                    raise ValueError(
                        f"scales must hold {n} positive numbers for the {lines}, found shape "
                        f"{tuple(part.shape)} and the smallest {float(to_host(part).min()):g}"
                    )
        left, right = (as_type(like(part, self.like), self.like.dtype) for part in found)
        return left, right

    def evaluate(self, x: Array) -> Evaluation:
        check_place(self.like, x)
        residual = self._observe(x) - self.values
        value, gradient = 0.5 * lazy_inner(residual, residual), self._place(residual, x)
        if isinstance(gradient, SparseMatrix):  # its entries are finite if their squares are
            value = fetch(value)[0]
        elif self.checked:
            value = settle(value, lazy_inner(x, gradient), gradient)[0]
        return Evaluation(value, gradient, residual)

    def value(self, x: Array) -> float:
        check_place(self.like, x)
        residual = self._observe(x) - self.values
        return 0.5 * inner(residual, residual)

    @cached_property
    def spectral_norm_squared(self) -> float:
        """The squared norm of the map from X to its observed entries."""
        return 1.0 if self._factors is None else float(to_host(self._factors).max()) ** 2

    def conjugate_bound(self, dual: Array) -> float:
        square, product = inners((dual, dual), (self.values, dual))
        return 0.5 * square + product

    def minorant(self, dual: Array, y: Array, K: Set) -> Minorant:
        """Return v -> <theta, v> - f*(theta); the residual theta is the slope itself."""
        length = norm(dual)
        error = self._sum_units(dual) * length * (0.5 * length + self._b_norm)
        if self._factors is not None:
            # the slope is the scaled residual, from which rounding may have moved y
            exact = self._factors * dual
            off = norm(self._entries(y) - exact) + 4.0 * unit_of(dual) * norm(exact)
            error += off * K.radius
        return Minorant(-self.conjugate_bound(dual), None, error)

    def value_error(self, x: Array, at: Evaluation, K: Set | None) -> float:
        # an entry of X = U diag(s) V' is a sum of as many terms as X has factors
        length, off = norm(at.dual), 0.0
        if isinstance(x, LowRank):
            terms = accumulation(x.rank) + 2.0
            size = float(abs(to_host(x.s)).sum()) * _largest(x.U) * _largest(x.V)
            off = terms * unit_of(at.dual) * size
        if self._factors is not None:
            off = math.sqrt(self.spectral_norm_squared) * off + 4.0 * unit_of(at.dual) * (
                length + self._b_norm
            )
        return off * (length + 0.5 * off) + 2.0 * self._sum_units(at.dual) * abs(at.value)

    def _sum_units(self, theta: Array) -> float:
        """Return the relative error of a sum over the observations."""
        return 2.0 * unit_of(theta) + (accumulation(len(self.rows)) + 2.0) * sum_unit(theta)

    @cached_property
    def _b_norm(self) -> float:
        return norm(self.values)

    def quadratic_form(self) -> QuadraticForm:
        p, q = self.shape
        observed, values = self.rows * q + self.columns, np.asarray(to_host(self.values), float)
        factors = 1.0 if self._factors is None else np.asarray(to_host(self._factors), float)
        weights, c = np.zeros(p * q), np.zeros(p * q)
        weights[observed], c[observed] = factors * factors, -factors * values
        return QuadraticForm(diags_array(weights), c)

    def curvature(self, x: Array, d: Array) -> float:
        image = self._observe(d)
        return inner(image, image)

    def hessian_product(self, x: Array, d: Array) -> Array:
        return self._place(self._observe(d), d)

    def slope_along(self, x: Array, d: Array) -> Callable[[float], float]:
        image = self._observe(d)
        residual = self._observe(x) - self.values
        slope, curvature = inners((residual, image), (image, image))
        return lambda t: slope + t * curvature

    @property
    def loss_smoothness(self) -> float:
        """The Lipschitz constant of the gradient of the loss, half a sum of squares."""
        return 1.0

    @property
    def image_shape(self) -> tuple[int, ...]:
        return (len(self.rows),)

    @property
    def A(self) -> Operator:
        """The map from X to its observed entries, as ``A @ X``."""
        return Operator((len(self.rows), *self.shape), self._observe, self._place)

    def pull_back(self, theta: Array) -> Array:
        if self.checked:
            return namespace(theta).stack([self._place(theta[i, :]) for i in range(theta.shape[0])])
        out = np.zeros((len(theta), *self.shape), dtype=theta.dtype)
        out[:, self.rows, self.columns] = theta if self._factors is None else self._factors * theta
        return out

    def best_factor(self, factor: Array, ridge: float, transposed: bool = False) -> Array | None:
        if is_foreign(self.values):
            return None
        weights, values = self._regressions[transposed]
        try:
            return _ridge_regressions(weights, values, factor, ridge)
        except np.linalg.LinAlgError:
            return None

    @cached_property
    def _regressions(self) -> tuple[tuple[csr_array, csr_array], tuple[csr_array, csr_array]]:
        """The weights and the weighted values of the entries by rows, and by columns."""
        factors = np.ones_like(self.values) if self._factors is None else self._factors
        by_rows = (
            self._layout.host_matrix(factors**2),
            self._layout.host_matrix(factors * self.values),
        )
        return by_rows, (by_rows[0].T.tocsr(), by_rows[1].T.tocsr())

    def _observe(self, x: Array) -> Array:
        found = self._entries(x)
        return found if self._factors is None else self._factors * found

    def _entries(self, x: Array) -> Array:
        """Return the entries of a matrix on Omega."""
        if isinstance(x, SparseMatrix):
            return x.data
        if isinstance(x, LowRank):
            return x.entries(self._layout.rows, self._layout.columns)
        if self._flat is not None:
            return take(reshape(x, (-1,)), self._flat)
        return x[self.rows, self.columns]

    def _place(self, theta: Array, x: Array = None) -> Array:
        """Return the matrix that is theta on Omega, scaled: sparse where ``x`` is `LowRank`."""
        theta = theta if self._factors is None else self._factors * theta
        sparse = SparseMatrix.at(self._layout, theta)
        if isinstance(x, LowRank):
            return sparse
        if self._flat is None:
            return sparse.to_dense()
        p, q = self.shape
        return reshape(scatter_add(zeros((p * q,), theta), self._flat, theta), (p, q))


def _largest(factor: Array) -> float:
    """Return the largest norm of a column of a factor, which is 1 up to rounding."""
    return math.sqrt(
        float(to_host(namespace(factor).sum(factor * factor, axis=0)).max(initial=0.0))
    )


def _ridge_regressions(weights: csr_array, values: csr_array, V: Array, ridge: float) -> np.ndarray:
    """Return the rows u_i that minimise (1/2) sum_j w_ij <u_i, v_j>^2 - <b_i, V u_i> + ridge.

    The matrices sum_j w_ij v_j v_j' of all rows come from one sparse product.
    """
    k, n = V.shape[1], weights.shape[0]
    i, j = np.triu_indices(k)
    products, targets = V[:, i] * V[:, j], values @ V
    square = np.empty((k, k), dtype=np.intp)
    square[i, j] = square[j, i] = np.arange(len(i))
    U = np.empty((n, k), dtype=V.dtype)
    step = max(1, _BLOCK // (k * k))
    for low in range(0, n, step):
        rows = slice(low, low + step)
        grams = (weights[rows] @ products)[:, square.ravel()].reshape(-1, k, k)
        grams[:, range(k), range(k)] += ridge
        U[rows] = np.linalg.solve(grams, targets[rows, :, None])[:, :, 0]
    return U


def _as_positions(positions: Array, name: str, size: int) -> Array:
    array = np.asarray(to_host(positions)) if is_foreign(positions) else as_plain(positions, name)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, found dtype {array.dtype}")
    if array.size and (array.min() < 0 or array.max() >= size):
        raise ValueError(
            f"{name} must lie between 0 and {size - 1}, found {array.min()} to {array.max()}"
        )
    return array.astype(np.intp, copy=False)
