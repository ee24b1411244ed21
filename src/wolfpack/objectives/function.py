"""Objectives given by Python functions: exact gradients, or random ones."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array, Structured, as_float_array, inner, is_foreign, same_place, spare
from ..problem import Evaluation
from ..problem.checks import (
    as_float,
    as_shape,
    constant,
    flag,
    function,
    is_number,
    nonnegative,
    optional,
    shown,
)
from ._base import Objective, conjugate_evaluation


class Function(Objective):
    """An objective from a callable ``x -> (value, gradient)``.

    Parameters
    ----------
    fun : callable
        Returns the value and the gradient of a smooth convex function at x. It gets a copy of x,
        which it may write to.
    L : float, optional
        Lipschitz constant of the gradient, if known.
    shape : int or tuple of int, optional
        Shape of x, if fixed.
    convex : bool, optional
        Whether the function is convex, if known. With False `wolfpack.minimize` searches for a
        stationary point. With None its result says that the certificate assumes convexity.
    error : float
        Relative rounding error of values and of the entries of gradients. Certificates count it.
        They assume at least 64 rounding units, about 1.4e-14 in double precision; pass more if
        ``fun`` is less accurate, for instance 1e-5 if it works in single precision inside.
    absolute_error : float
        Absolute rounding error of values, beside the relative one: where large terms cancel, as in
        ``x @ x / 2 - t @ x + t @ t / 2``, pass about 1e-15 times the largest of them.
    gradient_error : float
        The same for gradients, in the Euclidean norm.

    Examples
    --------
    >>> import numpy as np
    >>> f = Function(lambda x: (0.5 * float(x @ x), x), L=1.0)
    >>> f.value(np.array([3.0, 4.0]))
    12.5
    """

    checked = True
    tested = False
    convex: bool | None = None
    joint = True

    def __init__(
        self,
        fun: Callable[[Array], tuple[float, Array]],
        L: float | None = None,
        shape: tuple[int, ...] | None = None,
        error: float = 0.0,
        convex: bool | None = None,
        absolute_error: float = 0.0,
        gradient_error: float = 0.0,
    ) -> None:
        self.fun = function(fun, "fun")
        self.convex = optional(flag)(convex, "convex")
        self.L, self.shape = constant(L, "L"), optional(as_shape)(shape, "shape")
        self.error = nonnegative(error, "error")
        self.absolute_error = nonnegative(absolute_error, "absolute_error")
        self.gradient_error = nonnegative(gradient_error, "gradient_error")

    def __repr__(self) -> str:
        name = getattr(self.fun, "__qualname__", None) or type(self.fun).__name__
        shape = "" if self.shape is None else f", x of shape {tuple(self.shape)}"
        return f"{type(self).__name__}({name.rpartition('.')[2]}{shape})"

    def evaluate(self, x: Array) -> Evaluation:
        try:
            # a copy: f may write into its argument
            answer = self.fun(spare(x))
        except Exception as error:
            shape = tuple(x.shape)
            error.add_note(
                f"raised by f, which got x of shape {shape}, to return (value, gradient)"
            )
            raise
        try:
            value, gradient = answer
        except (TypeError, ValueError):
            raise TypeError(f"f(x) must return (value, gradient), found {shown(answer)}") from None
        return _checked(value, gradient, x)


def _plain(value: Any, gradient: Any, x: Array) -> bool:
    """Tell whether f has answered as it mostly does, so that nothing has to be converted."""
    if type(value) is not float or not (type(x) is np.ndarray is type(gradient)):
        return False
    return gradient.dtype == np.float64 and gradient.shape == x.shape


def _checked(value: Array, gradient: Array, x: Array) -> Evaluation:
    if _plain(value, gradient, x):
        product = inner(x, gradient)
        if math.isfinite(value) and math.isfinite(product):
            return Evaluation(value, gradient.copy(), product - value)
        return conjugate_evaluation(value, x, gradient.copy())
    if not (is_foreign(value) and not value.shape):
        number = as_float(value)
        if math.isnan(number) and not is_number(value):
            raise TypeError(
                f"f(x) must return (value, gradient) with a number first, found {shown(value)}"
            )
        value = number
    shape = getattr(gradient, "shape", None)
    if tuple(shape or ()) != tuple(x.shape):
        found = type(gradient).__name__ if shape is None else shape
        raise ValueError(f"the gradient of f must have x's shape {tuple(x.shape)}, found {found}")
    if not (is_foreign(gradient) or isinstance(gradient, Structured)):
        # a copy: f may use the same memory again
        gradient = np.array(as_float_array(gradient, "the gradient of f"))
    if is_foreign(x) or is_foreign(gradient):
        same_place(x=x, **{"the gradient of f": gradient})
    return conjugate_evaluation(value, x, gradient)


class Stochastic(Objective):
    r"""A smooth convex function known through random gradients.

    Parameters
    ----------
    draw : callable
        ``(y, rng) -> g`` with :math:`E g = \nabla G(y)`; ``rng`` is a `numpy.random.Generator`, and
        all randomness must come from it.
    beta, variance : float, optional
        Lipschitz constant of grad G, and a bound on :math:`E\|g - \nabla G(y)\|_*^2` for one draw;
        the variance is estimated when it is not given.
    shape : tuple of int, optional
        Shape of y.
    value : callable, optional
        ``y -> G(y)``, for the history. Without it the values of F are unknown (NaN). There is no
        certificate in either case; `wolfpack.minimize` gives bounds in expectation and with a
        probability.

    Examples
    --------
    >>> import numpy as np
    >>> G = Stochastic(lambda y, rng: y + rng.uniform(-1, 1, y.shape), beta=1.0, variance=2 / 3)
    >>> G.draw(np.ones(2), np.random.default_rng(0)).shape
    (2,)
    """

    has_gradients, random = False, True

    def __init__(
        self,
        draw: Callable[[Array, np.random.Generator], Array],
        beta: float | None = None,
        variance: float | None = None,
        shape: tuple[int, ...] | None = None,
        value: Callable[[Array], float] | None = None,
    ) -> None:
        self.draw = function(draw, "draw")
        self.L = self.beta = constant(beta, "beta")
        self.variance = optional(nonnegative)(variance, "variance")
        self.shape = optional(as_shape)(shape, "shape")
        self.has_values = value is not None
        self._value = optional(function)(value, "value")

    def evaluate(self, x: Array) -> Evaluation:
        """Return the value, NaN when it is unknown; the exact gradient is not known."""
        return Evaluation(math.nan if self._value is None else self._number(x), None, None)

    def _number(self, x: Array) -> float:
        assert self._value is not None
        found = self._value(spare(x))
        number = as_float(found)
        if math.isnan(number) and not is_number(found):
            raise TypeError(f"value(y) must return a number, found {shown(found)}")
        return number


def arguments_of(f: object) -> int:
    """Return how many arguments without a default a callable takes; 0 for what is none."""
    if not callable(f) or isinstance(f, type):
        return 0
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return 1
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in plain and p.default is inspect.Parameter.empty for p in parameters)
