r"""Optimal designs of experiments: how often to measure what, so that estimates are accurate.

Candidates are vectors :math:`v_1, \dots, v_n` of :math:`R^d`, and a design x gives candidate i the
share x_i of all measurements. The information matrix :math:`M(x) = \sum_i x_i v_i v_i^\top` is
linear in x, and the covariance of the least-squares estimate is proportional to its inverse. Both
criteria here are functions F of M alone. With :math:`\Theta = \nabla F(M)`

.. math:: \nabla_i f(x) = v_i^\top \Theta v_i, \qquad f^*\bigl((v_i^\top\Theta v_i)_i\bigr) \le
    F^*(\Theta),

so that the averaged Theta is the dual point of the certificate.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..arrays import Array, epsilon, is_foreign, like, namespace, norm, to_host
from ..problem import Evaluation, Minorant
from ..problem.rounding import UNIT, accumulation, unit_of
from ._base import Objective, check_place
from ._matrix import Matrix, as_matrix, entries, is_dense, place_of, squares

if TYPE_CHECKING:
    from ..sets import Set

_SPARSE = 4
"""Designs with at least so many times fewer entries than candidates are summed over these alone."""


class Spectrum(NamedTuple):
    """The eigenvalues of an information matrix M = U diag(values) U', and U; both on the host."""

    values: np.ndarray
    vectors: np.ndarray

    def power(self, exponent: float) -> np.ndarray:
        """Return the matrix M^exponent."""
        return (self.vectors * self.values**exponent) @ self.vectors.T


class Design(Objective):
    """A criterion F of the information matrix; subclasses give F, its gradient and conjugate.

    The small matrices are computed on the host in double precision, whatever the arrays are.
    """

    checked = True
    barrier = True

    def __init__(self, V: Matrix) -> None:
        self.A, self._At = as_matrix(V, "V")
        if not is_dense(self.A):
            raise TypeError(
                f"V must be a dense float32 or float64 matrix, found {type(V).__name__}"
            )
        self.V = entries(self.A)
        self.like = place_of(self.A)
        candidates, size = self.V.shape
        self.shape, self.size = (int(candidates),), int(size)
        self._singular = int(size) * epsilon(self.V)

    @abstractmethod
    def _criterion(self, M: Spectrum) -> tuple[float, np.ndarray]:
        """Return F(M) and Theta = grad F(M)."""

    @abstractmethod
    def _curved(self, M: Spectrum, D: np.ndarray) -> np.ndarray:
        """Return the second derivative of F at M applied to each matrix of a batch D."""

    @abstractmethod
    def _conjugate_size(self, values: np.ndarray) -> float:
        """Return how much F* changes, at most, when -Theta changes by its largest eigenvalue."""

    @abstractmethod
    def _slope(self, M: Spectrum, roots: Spectrum) -> Callable[[float], float]:
        """Return t -> <grad F(M + t D), D> where `roots` is the spectrum of M^-1/2 D M^-1/2."""

    def image(self, x: Array) -> Array:
        """Return the information matrix M(x), on the host."""
        check_place(self.like, x)
        used = np.flatnonzero(x) if type(x) is np.ndarray else ()
        if len(used) and _SPARSE * len(used) <= len(x):
            rows = self.V[used]
            M = (rows * x[used, None]).T @ rows
        else:
            M = self._At @ (self.V * x[:, None])
        return np.asarray(to_host(M), dtype=np.float64)

    def evaluate(self, x: Array) -> Evaluation:
        return self.evaluate_image(self.image(x))

    def evaluate_image(self, z: Array) -> Evaluation:
        M = self._spectrum(z)
        if M is None:
            outside = np.full(self.V.shape[0], math.nan)
            gradient = like(outside, self.like) if is_foreign(self.like) else outside
            return Evaluation(math.inf, gradient, np.full(z.shape, math.nan))
        value, theta = self._criterion(M)
        return Evaluation(value, self._quadratic_forms(theta), theta)

    def value(self, x: Array) -> float:
        return self.image_value(self.image(x))

    def image_value(self, z: Array) -> float:
        M = self._spectrum(z)
        return math.inf if M is None else self._criterion(M)[0]

    def image_slopes(self, z: Array) -> Array:
        M = self._spectrum(z)
        return np.full(z.shape, math.nan) if M is None else self._criterion(M)[1]

    def image_gradient(self, at: Evaluation) -> Array:
        return at.dual

    def slope(self, dual: Array, averaged: bool) -> Array | None:
        return self._quadratic_forms(dual) if averaged else None

    def minorant(self, dual: Array, y: Array, K: Set) -> Minorant:
        r"""Return v -> <y, v> - F*(Theta), which is below f for any negative definite Theta.

        Entry i of y is computed up to :math:`2 c(d) u \|\Theta\|_F \|v_i\|^2`, and the conjugate is
        that of a matrix within c(d) u of Theta.
        """
        number = self.conjugate_bound(dual)
        if not math.isfinite(number):
            return Minorant(-math.inf, None, 0.0)
        values = np.linalg.eigvalsh(-dual)
        reach = K.absolute_support(self._squares)
        error = 2.0 * (accumulation(self.size) + 2.0) * unit_of(self.V) * norm(dual) * reach
        error += self._algebra * self._conjugate_size(values)
        return Minorant(-number, None, error)

    def value_error(self, x: Array, at: Evaluation, K: Set) -> float:
        r"""Return a bound on the error of F(M), where M is a computed sum.

        M is computed up to :math:`c(n) u \sum_i |x_i| \|v_i\|^2`, and F changes by at most the norm
        of Theta times that, twice if M is nearly singular.
        """
        size = float(abs(np.asarray(to_host(x))) @ self._squares)
        candidates = self.V.shape[0]
        moved = (accumulation(candidates) + 4.0) * unit_of(self.V) + self._algebra
        norms = norm(at.dual) * math.sqrt(self.size)
        return 2.0 * moved * norms * size + 8.0 * UNIT * (self.size + abs(at.value))

    @property
    def _squares(self) -> np.ndarray:
        """||v_i||^2 for each candidate, on the host."""
        if self._known_squares is None:
            self._known_squares = (squares(self.A, 1),)
        return self._known_squares[0]

    _known_squares: tuple[np.ndarray] | None = None  # a tuple stays on the host when f moves

    @property
    def _algebra(self) -> float:
        """Relative error of the small matrices' algebra, in double precision."""
        return (4.0 * accumulation(self.size) + 8.0) * UNIT

    def hessian_product(self, x: Array, d: Array) -> Array:
        M = self._spectrum(self.image(x))
        assert M is not None
        return self._quadratic_forms(self._curved(M, self.image(d)))

    def image_metric(self, x: Array) -> Callable[[Sequence[Array]], np.ndarray]:
        M = self._spectrum(self.image(x))
        assert M is not None

        def products(images: Sequence[Array]) -> np.ndarray:
            batch = np.stack(images)
            flat = (len(batch), -1)
            return batch.reshape(flat) @ self._curved(M, batch).reshape(flat).T

        return products

    def slope_along(self, x: Array, d: Array) -> Callable[[float], float]:
        M = self._spectrum(self.image(x))
        assert M is not None
        root = M.power(-0.5)
        roots = Spectrum(*np.linalg.eigh(root @ self.image(d) @ root))
        along, lowest, highest = self._slope(M, roots), *roots.values[[0, -1]].tolist()
        # M + t D is singular where t is -1 over the lowest root, which rounding moves a little
        margin = 64.0 * self._singular
        return lambda t: along(t) if 1 + t * lowest > margin * (1 + t * highest) else math.inf

    def _spectrum(self, M: np.ndarray) -> Spectrum | None:
        """Return the eigenvalues of M, None where M is singular to rounding."""
        if not np.isfinite(M).all():
            return None  # LAPACK may fail, or wait for ever
        spectrum = Spectrum(*np.linalg.eigh(0.5 * (M + M.T)))
        inside = spectrum.values[0] > self._singular * spectrum.values[-1]
        return spectrum if inside else None

    def _quadratic_forms(self, T: np.ndarray) -> Array:
        """Return <v_i, T v_i> for all candidates."""
        if type(self.V) is np.ndarray:
            T = T.astype(self.V.dtype, copy=False)
            return np.einsum("ij,ij->i", self.V @ T, self.V)
        product = self.A @ like(T, self.like)
        return namespace(product).sum(product * self.V, axis=1)


class DOptimal(Design):
    r"""D-optimal design, :math:`f(x) = -\log\det \sum_i x_i v_i v_i^\top`.

    Over the simplex its minimiser gives the confidence ellipsoid of smallest volume, and by duality
    the ellipsoid of smallest volume about the points :math:`\pm v_i`.

    Parameters
    ----------
    V : array (n, d)
        One candidate per row, dense.

    Notes
    -----
    f is infinite where the information matrix is singular, as at every vertex of the simplex; it
    has no smoothness constant L. It is self-concordant. Its gradient is
    :math:`-v_i^\top M^{-1} v_i`, and its certificates use
    :math:`F^*(\Theta) = -d - \log\det(-\Theta)`. Along a line the spectrum of
    :math:`M^{-1/2} D M^{-1/2}` gives every slope in O(d), so a line search costs no gradient.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> angles = 2 * np.pi * np.arange(5) / 5
    >>> f = DOptimal(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    >>> wp.minimize(f, wp.sets.Simplex(5)).x.round(3)
    array([0.2, 0.2, 0.2, 0.2, 0.2])

    References
    ----------
    V. Fedorov, Theory of Optimal Experiments, 1972.
    M. Todd, Minimum-Volume Ellipsoids: Theory and Algorithms, SIAM 2016.
    """

    def _criterion(self, M: Spectrum) -> tuple[float, np.ndarray]:
        return -float(np.log(M.values).sum()), -M.power(-1.0)

    def conjugate_bound(self, dual: Array) -> float:
        sign, logarithm = np.linalg.slogdet(-dual)
        return -self.size - float(logarithm) if sign > 0 else math.inf

    def _curved(self, M: Spectrum, D: np.ndarray) -> np.ndarray:
        inverse = M.power(-1.0)
        return inverse @ D @ inverse

    def _conjugate_size(self, values: np.ndarray) -> float:
        return float((values[-1] / values + abs(np.log(values))).sum()) + self.size

    def _slope(self, M: Spectrum, roots: Spectrum) -> Callable[[float], float]:
        values = roots.values
        return lambda t: -float((values / (1.0 + t * values)).sum())


class AOptimal(Design):
    r"""A-optimal design, :math:`f(x) = \operatorname{tr} \bigl(\sum_i x_i v_i v_i^\top\bigr)^{-1}`.

    Over the simplex its minimiser has the smallest mean variance of the d estimates.

    Parameters
    ----------
    V : array (n, d)
        One candidate per row, dense.

    Notes
    -----
    Domain and constants are those of `DOptimal`. The gradient is :math:`-\|M^{-1} v_i\|^2`, and
    :math:`F^*(\Theta) = -2 \operatorname{tr} (-\Theta)^{1/2}`.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> wp.minimize(AOptimal(np.diag([1.0, 2.0])), wp.sets.Simplex(2)).x.round(3)
    array([0.667, 0.333])
    """

    def _criterion(self, M: Spectrum) -> tuple[float, np.ndarray]:
        return float((1.0 / M.values).sum()), -M.power(-2.0)

    def conjugate_bound(self, dual: Array) -> float:
        values = np.linalg.eigvalsh(-dual)
        return -2.0 * float(np.sqrt(values).sum()) if values[0] > 0 else math.inf

    def _curved(self, M: Spectrum, D: np.ndarray) -> np.ndarray:
        inverse, square = M.power(-1.0), M.power(-2.0)
        half = inverse @ D @ square
        return half + half.swapaxes(-1, -2)

    def _conjugate_size(self, values: np.ndarray) -> float:
        return float((values[-1] / np.sqrt(values) + 2.0 * np.sqrt(values)).sum())

    def _slope(self, M: Spectrum, roots: Spectrum) -> Callable[[float], float]:
        values, U = roots
        weights = values * np.einsum("ij,ij->j", U, M.power(-1.0) @ U)
        return lambda t: -float((weights / (1.0 + t * values) ** 2).sum())
