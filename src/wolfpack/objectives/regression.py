"""Losses of real targets: least squares, Huber, quantiles and counts."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.sparse import eye_array, kron

from ..arrays import (
    Array,
    clip,
    inner,
    inners,
    lazy_inner,
    namespace,
    norm,
    row_norms,
    sum_last,
    to_host,
    xlogy,
)
from ..problem import Evaluation, QuadraticForm
from ..problem.checks import as_float, between, positive
from ._matrix import Matrix, Sizes, on_host
from .finite_sum import FiniteSum, RowLoss, reduction_weight

if TYPE_CHECKING:
    from ..atoms import Atoms
    from ..sets import Set

_LARGEST_EXPONENT = {False: 709.0, True: 88.0}
"""What the exponential takes without overflow, and (True) in single precision."""

_INSIDE = 1.0 - 1e-6
"""Share of the largest slope that is the largest slope itself, up to rounding."""

_log_mean = between(-700, 700, low_open=True, high_open=True)  # of which exp is a float


class LeastSquares(FiniteSum):
    r"""Half the squared residual, :math:`f(x) = \tfrac12 \|A x - b\|^2`.

    Parameters
    ----------
    A : array (n, d), sparse matrix or linear operator
        Data matrix.
    b : array (n,) or (n, q)
        Right-hand side; with (n, q), x is a (d, q) matrix and the norm is Frobenius'.
    batch, reduction
        As for `Logistic`; the default here is the sum.

    Notes
    -----
    Writable NumPy data are copied, here as in all objectives, so that changing them later changes
    nothing; pass read-only arrays (``A.flags.writeable = False``) or memory-mapped files where a
    copy would take too much memory.

    The gradient is A'(Ax - b), :math:`L = \|A'A\|_2` (spectral norm), and
    :math:`f^*(A'\theta) \le \tfrac12\|\theta\|^2 + \langle b, \theta\rangle`.

    Examples
    --------
    >>> import numpy as np
    >>> f = LeastSquares(np.eye(2), np.array([1.0, 0.0]))
    >>> f.value_and_gradient(np.array([0.0, 2.0]))
    (2.5, array([-1.,  2.]))
    """

    stack_axes: ClassVar[dict[str, int]] = {"A": 2, "b": 1}
    row_data = "b"
    columns_allowed = True
    rational_data = True
    quadratic = True

    def __init__(
        self, A: Matrix, b: Array, batch: int | None = None, reduction: str = "sum"
    ) -> None:
        super().__init__(A, batch=batch)
        self.weight = reduction_weight(reduction, self.n)
        self.b = self._data(b, "b")
        if self.b.ndim not in (1, 2) or self.b.shape[0] != self.n:
            raise ValueError(
                f"b must have shape ({self.n},) or ({self.n}, q) to match A of shape "
                f"{tuple(self.A.shape)}, found {tuple(self.b.shape)}"
            )
        self.shape = (self.A.shape[1], *self.b.shape[1:])
        self._b_norm = norm(self.b)

    @property
    def loss_smoothness(self) -> float:
        return self.weight

    def loss(self, z: Array) -> tuple[float, Array]:
        residual = z - self.b
        value = 0.5 * self.weight * lazy_inner(residual, residual)
        return value, residual if self.weight == 1.0 else self.weight * residual

    def conjugate_bound(self, dual: Array) -> float:
        if type(dual) is np.ndarray:
            return 0.5 / self.weight * inner(dual, dual) + inner(self.b, dual)
        square, product = inners((dual, dual), (self.b, dual))
        return 0.5 / self.weight * square + product

    def conjugate_and_error(self, dual: Array, length: float, sizes: Sizes) -> tuple[float, float]:
        half = 0.5 / self.weight * length  # of the square of ||theta||, which is known already
        return half * length + inner(self.b, dual), sizes.terms * length * (half + self._b_norm)

    def stacked_loss(self, z: Array) -> tuple[Array, Array]:
        residual = z - self.b
        return 0.5 * self.weight * sum_last(residual * residual, 1), self.weight * residual

    def stacked_conjugate(self, theta: Array, reach: Array) -> tuple[Array, Array]:
        half, length = 0.5 / self.weight * sum_last(theta * theta, 1), row_norms(theta)
        return half + sum_last(self.b * theta, 1), half + length * row_norms(self.b)

    def row_loss_gradient(self, z: Array, rows: Array) -> Array:
        return self.weight * (z - self._of(self.b, rows))

    def curvatures(self, dual: Array) -> Array:
        return 0.0 * dual + self.weight

    def quadratic_form(self) -> QuadraticForm | None:
        A, root = on_host(self.A), math.sqrt(self.weight)
        if A is None:
            return None
        b = np.asarray(to_host(self.b), dtype=np.float64)
        if b.ndim == 2:  # x is a matrix, flattened row by row
            A = kron(A, eye_array(b.shape[1]), format="csr")
        return QuadraticForm(factor=root * A, target=root * b.reshape(-1))

    def curvature(self, x: Array, d: Array) -> float:
        return self.image_curvature(self.A @ d)

    def image_curvature(self, change: Array) -> float:
        return self.weight * inner(change, change)

    def hessian_product(self, x: Array, d: Array) -> Array:
        return self.weight * (self._At @ (self.A @ d))

    def hessian_of_vertex(self, x: Array, v: Atoms) -> Array:
        carrier = self.carrier(x)
        image = self.A @ v.to_dense() if carrier is None else carrier.of_vertex(v)[0]
        return self.weight * (self._At @ image)


class Huber(RowLoss):
    r"""Huber loss, :math:`f(x) = \frac1n \sum_i h(\langle a_i, x\rangle - b_i)`.

    :math:`h(r) = r^2/2` for :math:`|r| \le \delta` and :math:`\delta |r| - \delta^2/2` beyond.

    Parameters
    ----------
    features, targets, reduction, batch
        As for `Logistic`, with numbers b_i as targets.
    delta : float
        Where the loss turns linear, positive.

    Notes
    -----
    :math:`L = \|A\|_2^2 / n`, and :math:`h^*(t) = t^2/2` for :math:`|t| \le \delta`. Gradients of
    single rows are bounded by :math:`\delta \|a_i\|`, so that their variance is bounded, unlike
    that of least squares.

    Examples
    --------
    >>> import numpy as np
    >>> Huber(np.eye(2), [0.5, 3.0], delta=1.0, reduction="sum").value(np.zeros(2))
    2.625
    """

    unit_smoothness = 1.0

    stack_axes: ClassVar[dict[str, int]] = {"features": 2, "targets": 1}
    row_data = "targets"

    def __init__(
        self,
        features: Matrix,
        targets: Array,
        delta: float = 1.0,
        reduction: str = "mean",
        batch: int | None = None,
    ) -> None:
        super().__init__(features, reduction, batch)
        self.targets = self._targets(targets)
        self.delta = positive(delta, "delta")

    def unit(self, z: Array, rows: Array | slice) -> tuple[Array, Array]:
        residual = z - self._of(self.targets, rows)
        slopes = clip(residual, -self.delta, self.delta)
        return slopes * (residual - 0.5 * slopes), slopes

    def unit_curvature(self, slopes: Array) -> Array:
        return 1.0 * (abs(slopes) < _INSIDE * self.delta)

    def unit_conjugate(self, theta: Array) -> Array:
        theta = clip(theta, -self.delta, self.delta)
        return theta * (0.5 * theta + self.targets)


class Quantile(RowLoss):
    r"""Smoothed pinball loss, :math:`f(x) = \frac1n \sum_i \rho(b_i - \langle a_i, x\rangle)`.

    :math:`\rho(r) = \max_{q-1 \le u \le q} u r - \tfrac\delta2 u^2` is within
    :math:`\tfrac\delta2 \max(q, 1-q)^2` below the pinball loss :math:`\max(q r, (q-1) r)`.

    Parameters
    ----------
    features, targets, reduction, batch
        As for `Huber`.
    q, delta : float
        The quantile, between 0 and 1, and the width of the smoothing, positive, in units of the
        targets.

    Notes
    -----
    :math:`L = \|A\|_2^2 / (n \delta)`.

    Examples
    --------
    >>> import numpy as np
    >>> Quantile(np.eye(2), [1.0, -1.0], q=0.9, delta=1e-6).gradient(np.zeros(2))
    array([-0.45,  0.05])
    """

    stack_axes: ClassVar[dict[str, int]] = {"features": 2, "targets": 1}
    row_data = "targets"

    def __init__(
        self,
        features: Matrix,
        targets: Array,
        q: float = 0.5,
        delta: float = 0.1,
        reduction: str = "mean",
        batch: int | None = None,
    ) -> None:
        super().__init__(features, reduction, batch)
        self.targets = self._targets(targets)
        self.q = between(0, 1, low_open=True, high_open=True)(q, "q")
        self.delta = positive(delta, "delta")
        self.unit_smoothness = 1.0 / self.delta

    def unit(self, z: Array, rows: Array | slice) -> tuple[Array, Array]:
        residual = self._of(self.targets, rows) - z
        u = clip(residual / self.delta, self.q - 1.0, self.q)
        return u * (residual - 0.5 * self.delta * u), -u

    def unit_curvature(self, slopes: Array) -> Array:
        inside = (slopes > -_INSIDE * self.q) & (slopes < _INSIDE * (1.0 - self.q))
        return inside * (1.0 / self.delta)

    def unit_conjugate(self, theta: Array) -> Array:
        theta = clip(theta, -self.q, 1.0 - self.q)
        return theta * (self.targets + 0.5 * self.delta * theta)


class Poisson(RowLoss):
    r"""Poisson loss with a log link, :math:`f(x) = \frac1n \sum_i \bigl(E(\langle a_i, x\rangle) -
    b_i \langle a_i, x\rangle\bigr)`.

    E is the exponential up to ``cap`` and its parabola of second order from there on: the
    exponential itself has no Lipschitz gradient. An x with :math:`\langle a_i, x\rangle \le` cap
    for all i (see `within_cap`) that is optimal here is optimal for the exponential too.

    Parameters
    ----------
    features, counts, reduction, batch
        As for `Logistic`, with numbers b_i >= 0 as counts.
    cap : float, optional
        Largest log of a mean at which E is the exponential; by default log(max b) + 1. A run whose
        answer lies beyond says so in its message. ``math.inf`` is the exponential itself: f then
        has no L and is infinite where the exponential overflows.

    Notes
    -----
    :math:`L = e^{\mathrm{cap}} \|A\|_2^2 / n`, None without a cap, and
    :math:`E^*(s) = s \log s - s` for :math:`0 \le s \le e^{\mathrm{cap}}`.

    Examples
    --------
    >>> import numpy as np
    >>> Poisson(np.eye(2), [0, 3]).gradient(np.zeros(2))
    array([ 0.5, -1. ])
    """

    stack_axes: ClassVar[dict[str, int]] = {"features": 2, "counts": 1}

    def __init__(
        self,
        features: Matrix,
        counts: Array,
        cap: float | None = None,
        reduction: str = "mean",
        batch: int | None = None,
    ) -> None:
        super().__init__(features, reduction, batch)
        self.counts = self._targets(counts, "counts")
        xp = namespace(self.counts)
        smallest, largest = float(xp.min(self.counts)), float(xp.max(self.counts))
        if smallest < 0:
            raise ValueError(f"counts must be at least 0, found {smallest:g}")
        self.uncapped = cap is not None and as_float(cap) == math.inf
        known = math.log(max(largest, 1.0)) + 1.0 if cap is None else cap
        self.cap = math.inf if self.uncapped else _log_mean(known, "cap")
        if self.uncapped and batch is not None:
            raise ValueError("batch needs a smoothness constant: leave cap out or make it finite")
        self.top = math.inf if self.uncapped else math.exp(self.cap)
        self.unit_smoothness = self.top

    @property
    def L(self) -> float | None:
        return None if self.uncapped else super().L

    @cached_property
    def L1(self) -> float | None:
        return None if self.uncapped else super().L1

    def within_cap(self, x: Array) -> bool:
        """Tell whether <a_i, x> <= cap for all rows, where the loss is the exponential's."""
        return self._largest(x) <= self.cap

    def remark(self, x: Array) -> str:
        largest = self._largest(x)
        if largest <= self.cap:
            return ""
        return (
            f" The answer lies beyond Poisson's cap: <a_i, x> reaches {largest:.4g}, and beyond "
            f"cap = {self.cap:.4g} f is a parabola instead of the exponential. Pass a larger cap, "
            "or cap=math.inf for none."
        )

    def _largest(self, x: Array) -> float:
        z = self.A @ x
        return float(namespace(z).max(z))

    def value_error(self, x: Array, at: Evaluation, K: Set) -> float:
        error = super().value_error(x, at, K)
        if not self.uncapped or self.in_double is not None:
            return error
        sizes = self._sizes(at.dual, K)
        if sizes is None:
            return error
        # exp(z + e) <= exp(z) (1 + e + e^2) for e <= 1, and theta tells the means exp(z)
        means = at.dual / self.weight + self.counts
        return error + self.weight * float(namespace(means).max(means)) * sizes.product**2

    def unit(self, z: Array, rows: Array | slice) -> tuple[Array, Array]:
        counts = self._of(self.counts, rows)
        if self.uncapped:
            space, limit = namespace(z), _LARGEST_EXPONENT["float32" in str(z.dtype)]
            means = space.exp(clip(z, None, limit))
            means = space.where(z <= limit, means, math.inf + 0.0 * z)
            return means - counts * z, means - counts
        low = namespace(z).exp(clip(z, None, self.cap))
        over = clip(z - self.cap, 0.0, None)
        slopes = low * (1.0 + over)
        return low * (1.0 + over * (1.0 + 0.5 * over)) - counts * z, slopes - counts

    def unit_curvature(self, slopes: Array) -> Array:
        return clip(slopes + self.counts, 0.0, self.top)

    def unit_conjugate(self, theta: Array) -> Array:
        s = clip(theta + self.counts, 0.0, None)
        if self.uncapped:
            return xlogy(s, s) - s
        low, over = clip(s, None, self.top), clip(s / self.top - 1.0, 0.0, None)
        # beyond the cap z = cap + over, and E*(s) = s z - E(z)
        beyond = s * (self.cap + over) - self.top * (1.0 + over * (1.0 + 0.5 * over))
        return namespace(over).where(over > 0.0, beyond, xlogy(low, low) - low)
