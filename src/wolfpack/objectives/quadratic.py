"""General convex quadratics, with the matrix as an array or as a linear operator."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import eye_array

from ..arrays import (
    Array,
    fetch,
    inner,
    is_double,
    is_foreign,
    lazy_inner,
    namespace,
    norm,
    same_place,
    to_host,
)
from ..problem import Evaluation, Minorant, QuadraticForm, accumulation, axes_of, sum_unit, unit_of
from ..problem.checks import as_float, is_number, number, shown
from ..problem.rounding import FAR, MODEL, UNIT
from ..problem.stacked import length_of
from ._base import Objective, as_data, check_place, settle
from ._carrier import Carrier, QuadraticCarrier, is_worth
from ._double import as_double, double_twin
from ._matrix import Matrix, as_matrix, entries, has_rows, on_host, place_of, squares
from ._spectrum import MAX_DENSE, largest_eigenvalue

if TYPE_CHECKING:
    from ..atoms import Atoms
    from ..sets import Set


class _Seen:
    """The point that was evaluated last, f and <c, x> there; once asked for, its norm and the
    rounding error of the sum that is f.
    """

    __slots__ = ("error", "length", "linear", "value", "x")

    def __init__(
        self,
        x: Array = None,
        value: float | None = None,
        linear: float | None = None,
        length: float | None = None,
    ) -> None:
        self.x, self.value, self.linear, self.length = x, value, linear, length
        self.error: float | None = None


class Quadratic(Objective):
    r"""A convex quadratic, :math:`f(x) = \tfrac12 \langle x, Q x\rangle + \langle c, x\rangle + r`.

    Parameters
    ----------
    Q : array (d, d), sparse matrix, linear operator, or positive number
        Symmetric positive semidefinite. A number stands for that multiple of the identity, for x
        of any shape; ``Quadratic(1.0, -t, 0.5 * (t @ t))`` is the projection onto K of t.
    c : array (d,) or any shape with a number for Q
        Linear term.
    r : float
        Constant term.

    Notes
    -----
    The dual point of the certificate is the u with y = Q u + c, which is the average of the
    iterates, and f*(Q u + c) = <u, Q u>/2 - r.
    """

    _seen = _Seen()
    stack_axes: ClassVar[dict[str, int]] = {"Q": 2, "c": 1, "r": 0}
    rational_data = True

    @classmethod
    def varying_arguments(cls, arguments: dict[str, Any]) -> tuple[str, ...]:
        Q, c, r = (axes_of(arguments.get(name)) for name in cls.stack_axes)
        found = tuple(name for name, more in (("Q", Q in (1, 3)), ("r", r == 1)) if more)
        if Q in (2, 3):
            c_varies = c == 2
        else:  # a number stands for a matrix of any size, and c may have any shape
            c_varies = (
                bool(found)
                and c > 0
                and length_of(arguments["c"]) == length_of(arguments[found[0]])
            )
        return (*found, "c") if c_varies else found

    def __init__(self, Q: Matrix | float, c: Array, r: float = 0.0) -> None:
        self.c = as_data(c, "c")
        self.r = number(r, "r")
        if not self.c.size or not self.c.ndim:
            raise ValueError(f"c must be an array that is not empty, found shape {self.c.shape}")
        self.shape = tuple(self.c.shape)
        self.like = self.c
        self.Q = self._check_matrix(Q)
        # <x, Q x> is finite only if Q x is: 0 times infinity is NaN
        self.checked = is_foreign(self.c) or is_number(Q) or is_double(self.Q)
        if has_rows(self.Q) and self.shape[0] <= MAX_DENSE:
            _ = self.L  # refuses a negative eigenvalue at once, where all are cheap to compute

    def _check_matrix(self, Q: Matrix | float) -> Matrix | float:
        if is_number(Q):
            if not as_float(Q) > 0 or math.isinf(as_float(Q)):
                raise ValueError(f"Q must be a positive number or a matrix, found {shown(Q)}")
            return float(Q)
        if self.c.ndim != 1:
            raise ValueError(f"with a matrix Q, c must be a vector, found shape {self.shape}")
        matrix, _ = as_matrix(Q, "Q")
        place = place_of(matrix)
        if is_foreign(self.c) or is_foreign(place):
            same_place(c=self.c, Q=place)
        n = self.c.shape[0]
        if tuple(matrix.shape) != (n, n):
            raise ValueError(f"Q must have shape {(n, n)} to match c, found {tuple(matrix.shape)}")
        if has_rows(matrix) and _asymmetry(entries(matrix), entries(matrix.T)) > 1e-10:
            raise ValueError("Q must be symmetric, found one that is not: use (Q + Q.T) / 2")
        return matrix

    def _apply(self, x: Array) -> Array:
        Q = self.Q
        if type(Q) is np.ndarray:
            return Q.dot(x)  # spares a quarter of the time of a small product
        return Q * x if isinstance(Q, float) else Q @ x

    @cached_property
    def _is_fresh(self) -> bool:
        """Whether the product with Q is a new array, which a user's operator need not return."""
        return type(self.Q) in (float, np.ndarray)

    @cached_property
    def _is_distance(self) -> bool:
        """Whether Q is the identity, so that f is half a squared distance and a constant."""
        return type(self.Q) is float and self.Q == 1.0

    @cached_property
    def L(self) -> float:
        return self.Q if isinstance(self.Q, float) else largest_eigenvalue(self.Q, self.like)

    def evaluate(self, x: Array) -> Evaluation:
        check_place(self.like, x)
        if self._is_distance and type(x) is np.ndarray is type(self.c):  # with one pass less
            square, linear = inner(x, x), inner(self.c, x)
            value = 0.5 * square + linear + self.r
            self._seen = _Seen(x, value, linear, math.sqrt(square))
            return Evaluation(value, x + self.c, x)
        Qx = self._apply(x)
        if type(Qx) is np.ndarray is type(self.c):
            linear = inner(self.c, x)
            value = 0.5 * inner(x, Qx) + linear + self.r
            self._seen = _Seen(x, value, linear)
            fresh = self._is_fresh and Qx.dtype == self.c.dtype
            return Evaluation(value, np.add(Qx, self.c, out=Qx if fresh else None), x)
        gradient = Qx + self.c
        value = 0.5 * lazy_inner(x, Qx) + lazy_inner(self.c, x)
        number, _ = settle(value, lazy_inner(x, gradient), gradient)
        return Evaluation(number + self.r, gradient, x)

    def _value(self, x: Array, Qx: Array) -> float:
        return 0.5 * inner(x, Qx) + inner(self.c, x) + self.r

    def evaluate_product(self, x: Array, Qx: Array) -> Evaluation:
        """Return the evaluation at x, given Q x."""
        return Evaluation(self._value(x, Qx), Qx + self.c, x)

    def carrier(self, x: Array) -> Carrier | None:
        return None if type(x) is not np.ndarray else self._carrier

    @cached_property
    def _carrier(self) -> Carrier | None:
        plain = not is_foreign(self.c) and self.c.dtype == np.float64
        return QuadraticCarrier(self, self._size) if plain and is_worth(self.Q) else None

    def drift_error(self, drift: float, dual: Array, K: Set) -> float:
        return drift * (K.diameter + 0.5 * norm(dual))

    def conjugate_bound(self, dual: Array) -> float:
        return 0.5 * inner(dual, self._apply(dual)) - self.r

    def slope(self, dual: Array, averaged: bool) -> Array | None:
        if self.in_double is not None:
            return self.in_double.slope(as_double(dual), True)
        return self._apply(dual) + self.c if averaged else None

    @cached_property
    def in_double(self) -> Quadratic | None:
        """The same quadratic in double precision, None where it is that already or too large."""
        return None if isinstance(self.Q, float) else double_twin(self, ("Q",))

    def minorant(self, dual: Array, y: Array, K: Set) -> Minorant:
        """Return the tangent at u = ``dual``, v -> f(u) + <Q u + c, v - u> (Lemma E4)."""
        if self.in_double is not None:
            return self.in_double.minorant(as_double(dual), y, K)
        seen, length, error = self._known(dual)
        steepness = norm(y)
        if is_double(y):
            unit, product = UNIT, self._double_errors[1]
        else:
            unit = unit_of(y)
            product = self._product_error(unit)
        off = product * self._size * length + unit * steepness
        if isinstance(self.Q, float) or K.radius > FAR * K.diameter:
            value = self.value(dual) if seen.value is None else seen.value
            return Minorant(value, dual, error + off * K.diameter, None, steepness)
        # Q u = y - c, which spares a product; the error of y counts for <u, y>/2 as well
        product = inner(dual, y)
        linear = inner(dual, self.c) if seen.linear is None else seen.linear
        level = 0.5 * (product + linear) + self.r
        return Minorant(level, dual, error + off * (K.diameter + 0.5 * length), product, steepness)

    def value_error(self, x: Array, at: Evaluation, K: Set | None) -> float:
        if self.in_double is not None:
            x, twin = as_double(x), self.in_double
            return abs(at.value - twin.value(x)) + twin._sum_error(x, norm(x))
        _, length, error = self._known(x)
        return error + 0.5 * length * at.drift

    def _known(self, x: Array) -> tuple[_Seen, float, float]:
        """Return what is known at x, its norm, and the rounding error of the sum that is f."""
        seen = self._seen
        if seen.x is not x:
            seen = _Seen()
        length, error = seen.length, seen.error
        if length is None:
            seen.length = length = norm(x)
        if error is None:
            seen.error = error = self._sum_error(x, length)
        return seen, length, error

    def _sum_error(self, x: Array, length: float) -> float:
        """Return the error of <x, Q x>/2 + <c, x> + r, whose three terms may cancel."""
        quadratic = 0.5 * self._size * length * length
        sums, product = self._double_errors if is_double(x) else self._errors(x)
        error = sums * (quadratic + self._c_norm * length) + 2.0 * UNIT * abs(self.r)
        return error + product * quadratic

    def _errors(self, x: Array) -> tuple[float, float]:
        """Return the relative errors of sums over x and of Q x."""
        sums = (accumulation(math.prod(self.c.shape)) + 3.0) * sum_unit(x)
        unit = unit_of(x)
        sums += 0.0 if type(x) is np.ndarray else 2.0 * unit  # products are rounded on devices
        return sums, self._product_error(unit)

    @cached_property
    def _double_errors(self) -> tuple[float, float]:
        return self._errors(np.empty(0))

    def _product_error(self, unit: float) -> float:
        """Return the error of Q x, relative to the norm of Q times that of x."""
        if isinstance(self.Q, float):
            # In single precision the number Q is rounded as well, before the product is.
            rounded = unit > UNIT and float(np.float32(self.Q)) != self.Q
            return 0.0 if self.Q == 1.0 else (2.0 if rounded else 1.0) * unit
        return unit * (MODEL if self._is_operator else accumulation(self.c.shape[0]) + 1.0)

    @cached_property
    def _is_operator(self) -> bool:
        return not (isinstance(self.Q, float) or has_rows(self.Q))

    @cached_property
    def _c_norm(self) -> float:
        return norm(self.c)

    @cached_property
    def _size(self) -> float:
        """The Frobenius norm of Q, its factor of the identity, or an operator's spectral norm."""
        if isinstance(self.Q, float):
            return self.Q
        return self.L if self._is_operator else math.sqrt(float(squares(self.Q, 0).sum()))

    def quadratic_form(self) -> QuadraticForm | None:
        c = np.asarray(to_host(self.c), dtype=np.float64).reshape(-1)
        P = eye_array(c.size) * self.Q if isinstance(self.Q, float) else on_host(self.Q)
        return None if P is None else QuadraticForm(P, c)

    def curvature(self, x: Array, d: Array) -> float:
        return inner(d, self._apply(d))

    def hessian_product(self, x: Array, d: Array) -> Array:
        return self._apply(d)

    def hessian_of_vertex(self, x: Array, v: Atoms) -> Array:
        carrier = self.carrier(x)
        return self._apply(v.to_dense()) if carrier is None else carrier.of_vertex(v)[0]


def _asymmetry(Q: Array, transpose: Array) -> float:
    """Return the largest entry of Q - Q' relative to that of Q; 0 for float32 rounding errors."""
    if is_foreign(Q):
        xp = namespace(Q)
        found, scale = fetch(xp.max(xp.abs(Q - transpose)), xp.max(xp.abs(Q)))
    else:
        found, scale = abs(Q - transpose).max(), abs(Q).max()
    found = float(found) / max(float(scale), 1e-300)
    single = "float32" in str(Q.dtype)
    return 0.0 if single and found <= 64.0 * 2.0**-23 else found
