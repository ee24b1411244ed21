"""What every objective shares, and the linear models f(x) = loss(Ax)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np

from ..arrays import (
    Array,
    Structured,
    all_finite,
    as_float_array,
    check_finite,
    check_shape,
    check_size,
    device_of,
    fetch,
    host_dtype,
    inner,
    is_double,
    is_foreign,
    lazy_inner,
    like,
    matmul,
    namespace,
    norm,
    own,
    same_place,
)
from ..problem import (
    CapabilityError,
    Evaluation,
    Minorant,
    Pending,
    QuadraticForm,
    Stackable,
    is_own,
    unit_of,
)
from ..problem.rounding import MODEL
from ._carrier import Carrier, ImageCarrier, is_worth
from ._double import as_double, double_twin
from ._matrix import Matrix, Sizes, as_matrix, has_rows, place_of, sizes_of, squares
from ._narrow import Narrow
from ._spectrum import spectral_norm_squared

if TYPE_CHECKING:
    from ..atoms import Atoms
    from ..sets import Set

T = TypeVar("T")


class Objective(Stackable, ABC):
    """A smooth convex function f, the base class of all objectives.

    A subclass defines `evaluate`. Every other attribute and method has a default; overriding it
    makes a method faster or a certificate tighter, and is never required. A function of the form
    loss(Ax) is a `LinearModel`. A loss that is summed over observations, so that minibatches are
    possible, is a `wolfpack.objectives.finite_sum.RowLoss`.

    Attributes
    ----------
    shape : tuple of int or None
        Shape of x, None when every shape is allowed.
    like : array or None
        An array of the library, type and device that x must have; None when all are allowed.
    checked : bool
        Whether `evaluate` returns the value NaN where the gradient is not finite. The gradient is
        then not checked again, which saves a transfer from another device.
    traceable : bool
        Whether `evaluate_lazily` never waits for a device, so that ``compile=True`` can record
        whole rounds.
    factored : bool
        Whether `evaluate` accepts a `wolfpack.arrays.LowRank` matrix x without making it dense.
    has_values : bool
        Whether f(x) can be computed; False where only random gradients are known.
    has_gradients : bool
        Whether whole gradients can be computed, not only random ones.
    random : bool
        Whether random gradients were asked for: a sum with a batch, a source of minibatches.
    tested : bool
        Whether value and gradient are the library's own. Those of others are checked in a run.
    convex : bool or None
        Whether f is convex. None where it is not declared, as in a class of your own: the result
        then says that its certificate assumes it.
    joint : bool
        Whether value and gradient are computed by one call, as those of a callable are. Where a
        method needs one of them, both are then counted.
    n : int
        Number of observations that one gradient reads; 1 when f is not a sum over observations.
    image_shape : tuple of int or None
        Shape of A x for f(x) = loss(A x), None for other functions.
    L, L1 : float or None
        Lipschitz constant of the gradient in the Euclidean norm, and from the l1 to the l_inf norm;
        None when unknown.
    variance : float or None
        A bound on the variance of one random gradient, None when unknown.
    half_square : bool
        Whether f is half the square of a distance. Tolerances are then of the distance.
    barrier : bool
        Whether f grows without bound towards the edge of its domain. It then has no L, and "auto"
        chooses a method that uses its Hessian.
    error : float
        Relative rounding error of values and gradients, where it is more than 64 rounding units. A
        linear model has here the error of products with its data, relative to the sums of the
        absolute values of their terms.
    absolute_error, gradient_error : float
        Absolute errors of values, and of gradients in the Euclidean norm, beside the relative ones.

    Examples
    --------
    The dual point of `evaluate` is the number f*(grad f(x)) = <x, grad f(x)> - f(x) here:

    >>> import numpy as np, wolfpack as wp
    >>> from wolfpack.problem import Evaluation
    >>> class HalfDistance(wp.objectives.Objective):
    ...     def __init__(self, centre):
    ...         self.centre, self.shape, self.L = centre, centre.shape, 1.0
    ...     def evaluate(self, x):
    ...         gradient = x - self.centre
    ...         value = 0.5 * float(gradient @ gradient)
    ...         return Evaluation(value, gradient, float(x @ gradient) - value)
    >>> wp.minimize(HalfDistance(np.array([2.0, 0.0])), wp.sets.Simplex(2)).fun
    0.5
    """

    shape: tuple[int, ...] | None = None
    like: Array = None
    checked: bool = False
    traceable: bool = False
    factored: bool = False
    has_values: bool = True
    has_gradients: bool = True
    random: bool = False
    joint: bool = False
    n: int = 1
    image_shape: tuple[int, ...] | None = None
    L: float | None = None
    L1: float | None = None
    variance: float | None = None
    half_square: bool = False
    barrier: bool = False
    error: float = 0.0
    absolute_error: float = 0.0
    gradient_error: float = 0.0
    # These follow from the other attributes; a checkpoint's fingerprint of f leaves them out.
    _derived: ClassVar[tuple[str, ...]] = (
        *("like", "checked", "L", "L1"),
        *("error", "absolute_error", "gradient_error"),
    )

    tested: bool = cast(
        "bool",
        property(lambda self: is_own(self), doc="Whether f is one of the library's own, tested."),
    )
    convex: bool | None = cast(
        "bool | None",
        property(
            lambda self: self.tested or None,
            doc="Whether f is convex: True for the library's own, None where nobody has said so.",
        ),
    )

    def __repr__(self) -> str:
        parts = [] if self.shape is None else [f"x of shape {tuple(self.shape)}"]
        parts += [f"{self.n:,} observations"] if self.n > 1 else []
        return f"{type(self).__name__}({', '.join(parts)})"

    @abstractmethod
    def evaluate(self, x: Array) -> Evaluation:
        """Return value, gradient and dual point at ``x``."""

    def evaluate_lazily(self, x: Array) -> Evaluation:
        """Evaluate without waiting for a device, on which the value may stay as a `Pending`."""
        return self.evaluate(x)

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return ``(f(x), grad f(x))``."""
        return self.value_and_gradient(x)

    def value(self, x: Array) -> float:
        """Return f(x)."""
        return self.evaluate(x).value

    def gradient(self, x: Array) -> Array:
        """Return grad f(x)."""
        return self.evaluate(x).gradient

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Return ``(f(x), grad f(x))``."""
        return self.evaluate(x)[:2]

    def image(self, x: Array) -> Array:
        """Return the linear function of ``x`` that f depends on: A x for loss(A x), else x."""
        return x

    def evaluate_image(self, z: Array) -> Evaluation:
        """Return value, gradient and dual point at every x whose image is ``z``."""
        return self.evaluate(z)

    def image_value(self, z: Array) -> float:
        """Return f at every x whose image is ``z``."""
        return self.value(z)

    def image_slopes(self, z: Array) -> Array:
        """Return the gradient of f as a function of the image, at ``z``."""
        return self.gradient(z)

    def image_gradient(self, at: Evaluation) -> Array:
        """Return the gradient as a function of the image, from an evaluation."""
        return at.gradient

    def pull_back(self, theta: Array) -> Array:
        """Return A' theta for each theta of a batch of shape ``(batch, *image_shape)``."""
        raise CapabilityError(f"{type(self).__name__} is not of the form loss(Ax)")

    def conjugate_bound(self, dual: Array) -> float:
        """Return an upper bound on f*(y), for y and ``dual`` averaged with the same weights.

        By convexity of f*, the average of the numbers f*(grad f(x_i)) is one.
        """
        return float(dual)

    number_dual: ClassVar[bool] = True
    """Whether the dual point of an evaluation is the number <x, grad f(x)> - f(x).

    That is so where `conjugate_bound` is not overridden.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.number_dual = cls.conjugate_bound is Objective.conjugate_bound
        for name in _OF_POINTS:
            if name in vars(cls):
                setattr(cls, name, _of_point(vars(cls)[name]))

    def minorant(self, dual: Array, y: Array, K: Set) -> Minorant:
        """Return an affine function below f with slope y, and its rounding error on K.

        By default it is v -> <y, v> - conjugate_bound(dual), and both terms have the relative error
        that a user's function is assumed to have (docs/theory/rounding.md).
        """
        number = self.conjugate_bound(dual)
        relative = max(self.error, MODEL * unit_of(y))
        return Minorant(-number, None, relative * (abs(number) + norm(y) * K.radius))

    def slope(self, dual: Array, averaged: bool) -> Array | None:
        """Return the gradient y that belongs to a dual point, if f knows it better than the run.

        A certificate counts the distance of the run's own y from it as an error. The run's y has
        lost digits in every round if it is ``averaged``, and in the product that made it. None, the
        default, says that y is as accurate as the dual point.
        """
        return None

    def value_error(self, x: Array, at: Evaluation, K: Set) -> float:
        """Return a bound on the rounding error of ``at.value``, f at a point x of K."""
        return max(self.error, MODEL * unit_of(at.gradient)) * abs(at.value)

    def curvature(self, x: Array, d: Array) -> float | None:
        """Return <d, Hess f d> if f is quadratic, None otherwise."""
        return None

    def curvature_bound(self, g: Array) -> float:
        """Return an upper bound on <g, Hess f(x) g> over all x, infinity when unknown."""
        return math.inf

    def hessian_product(self, x: Array, d: Array) -> Array | None:
        """Return Hess f(x) d, None when unknown."""
        return None

    def best_factor(self, factor: Array, ridge: float, transposed: bool = False) -> Array | None:
        """Return the U that minimises f(U V') + (ridge/2) ||U||^2 for ``factor`` V, or None.

        With ``transposed`` the factor is U, and the V that minimises f(U V') + (ridge/2) ||V||^2 is
        returned. None, the default, says that f has no fast way to find it.
        """
        return None

    def quadratic_form(self) -> QuadraticForm | None:
        """Return f as matrices on the host if it is quadratic and they are known, else None.

        Needed by `method="conic"`.
        """
        return None

    def hessian_blocks(self, dual: Array, free: Array) -> list[tuple[Array, Array]] | None:
        """Return the Hessian where the gradient of the loss is ``dual``, None when unknown.

        It is a list of pairs, positions in the flattened x and the matrix of their second
        derivatives, all others being zero. ``free`` tells the entries of x that matter.
        """
        return None

    def hessian_passes(self, free: Array) -> float:
        """Return the price of a Newton step in `hessian_blocks`, in gradients; infinite if none."""
        return math.inf

    def hessian_of_vertex(self, x: Array, v: Atoms) -> Array | None:
        """Return Hess f(x) v for a vertex, None when unknown."""
        return self.hessian_product(x, v.to_dense())

    def carrier(self, x: Array) -> Carrier | None:
        """Return what carries products with f's matrix along steps; None where that gains nothing.

        ``x`` is a point of the run.
        """
        return None

    def drift_error(self, drift: float, dual: Array, K: Set) -> float:
        """Return what the drift of an evaluation adds to the error of its tangent on K."""
        return 0.0

    def image_metric(self, x: Array) -> Callable[[Sequence[Array]], Array] | None:
        """Return the function from images of vectors u_i to all <u_i, Hess f(x) u_j>, else None.

        It is worth writing where products of images are cheaper than `hessian_product`.
        """
        return None

    def slope_along(self, x: Array, d: Array) -> Callable[[float], float]:
        """Return the function t -> <grad f(x + t d), d>, for line searches.

        Where x + t d is outside the domain of f, the function returns infinity or NaN.
        """
        return lambda t: inner(self.gradient(x + t * d), d)

    def remark(self, x: Array) -> str:
        """Return what a user should know about the answer ``x`` of a run, "" if nothing."""
        return ""


_OF_POINTS = ("value", "gradient", "value_and_gradient")


def _of_point(method: Callable[[Any, Array], T]) -> Callable[[Any, Array], T]:
    """Let a method take a point as users give it: a list, integers, an array of another type."""

    @wraps(method)
    def ask(self: Objective, x: Array) -> T:
        known = self.shape
        if not (is_double(x) and (known is None or x.shape == known)):
            x = as_point(x, known)
        return method(self, x)

    return ask


def as_point(x: Array, shape: tuple[int, ...] | None) -> Array:
    """Return ``x`` as an array of floats of the shape that f takes, whether finite or not."""
    if isinstance(x, Structured):
        return x
    if not is_foreign(x):
        x = as_float_array(x, "x")
    return x if shape is None else check_shape(x, tuple(shape), "x")


for _name in _OF_POINTS:
    setattr(Objective, _name, _of_point(vars(Objective)[_name]))


class LinearModel(Objective):
    """f(x) = loss(A x), with A a matrix (dense, sparse) or a linear operator.

    A subclass defines `loss` and, as `conjugate_bound`, its conjugate loss*. The dual point of the
    certificate is theta = grad loss(Ax): grad f(x) = A' theta and f*(A' theta) <= loss*(theta) for
    every theta, so the averaged theta gives a tighter bound on f* than the averaged numbers.
    Error messages call the matrix ``name``.
    """

    traceable = True

    def __init__(self, A: Matrix, name: str = "A") -> None:
        self.A, self._At = as_matrix(A, name)
        self._name = name
        self.like = place_of(self.A)
        self.checked = is_foreign(self.like)
        parts = [part for part in (self.A, self._At) if isinstance(part, Narrow)]
        self.error = max((part.error for part in parts), default=0.0)

    def _data(self, value: Array, name: str) -> Array:
        """Return other data of f as finite real numbers, on the device of A.

        Lists and integers are converted. Where the device of an operator A is unknown, it is taken
        to be that of these data.
        """
        given = value
        place = np.empty(0) if self.like is None else self.like
        if is_foreign(value):
            xp = namespace(value)
            if xp.isdtype(value.dtype, ("bool", "integral")):
                value = xp.astype(value, getattr(xp, host_dtype(place).name))
        elif not (isinstance(value, np.ndarray) and (value.dtype.kind == "f" or self.checked)):
            value = like(as_float_array(value, name), place)
        value = own(as_float_array(value, name), given)
        if self.like is None:
            self.like, self.checked = value[:0, ...], is_foreign(value)
        elif is_foreign(value) or self.checked:
            same_place(**{self._name: self.like, name: value})
        return check_size(check_finite(value, name), name)

    @abstractmethod
    def loss(self, z: Array) -> tuple[float, Array]:
        """Return ``(loss(z), grad loss(z))``, the value as it is summed on the device of z."""

    @abstractmethod
    def conjugate_bound(self, dual: Array) -> float:
        """Return loss*(theta), theta being ``dual``."""

    def evaluate(self, x: Array) -> Evaluation:
        if self.checked or type(x) is not np.ndarray:
            at = self.evaluate_lazily(x)
            pending: Pending = at.value
            number, _ = settle(pending.value, pending.product, at.gradient)
            return at._replace(value=number)
        value, theta = self.loss(matmul(self.A, x))
        return Evaluation(value, matmul(self._At, theta), theta)

    def evaluate_lazily(self, x: Array) -> Evaluation:
        check_place(self.like, x)
        value, theta = self.loss(matmul(self.A, x))
        gradient = matmul(self._At, theta)
        return Evaluation(Pending(value, lazy_inner(x, gradient)), gradient, theta)

    def image(self, x: Array) -> Array:
        return matmul(self.A, x)

    def carrier(self, x: Array) -> Carrier | None:
        return None if type(x) is not np.ndarray else self._carrier

    @cached_property
    def _carrier(self) -> Carrier | None:
        smooth = 0.0 < self.loss_smoothness < math.inf
        own = type(self).evaluate is LinearModel.evaluate
        if self.checked or not (smooth and own and is_worth(self.A)):
            return None
        return ImageCarrier(self, math.sqrt(float(squares(self.A, 0).sum())))

    def image_curvature(self, change: Array) -> float | None:
        """Return <d, Hess f d> if f is quadratic, given ``change`` = A d; None otherwise."""
        return None

    def evaluate_image(self, z: Array) -> Evaluation:
        value, theta = self.loss(z)
        return Evaluation(fetch(value)[0], matmul(self._At, theta), theta)

    def image_value(self, z: Array) -> float:
        return fetch(self.loss(z)[0])[0]

    def image_slopes(self, z: Array) -> Array:
        return self.loss(z)[1]

    def image_gradient(self, at: Evaluation) -> Array:
        return at.dual

    @property
    def image_shape(self) -> tuple[int, ...]:
        assert self.shape is not None
        return (self.A.shape[0], *self.shape[1:])

    def pull_back(self, theta: Array) -> Array:
        if theta.ndim == 3:
            parts = [self._At @ theta[i, ...] for i in range(theta.shape[0])]
            return namespace(parts[0]).stack(parts)
        return (self._At @ theta.T).T

    def value(self, x: Array) -> float:
        check_place(self.like, x)
        return fetch(self.loss(self.A @ x)[0])[0]

    def slope_along(self, x: Array, d: Array) -> Callable[[float], float]:
        z, dz = self.A @ x, self.A @ d
        return lambda t: inner(self.loss(z + t * dz)[1], dz)

    def slope(self, dual: Array, averaged: bool) -> Array | None:
        if self.in_double is not None:
            return matmul(self.in_double._At, as_double(dual))
        return matmul(self._At, dual) if averaged else None

    @cached_property
    def in_double(self) -> Self | None:
        """The same model in double precision, None where it is that already or is too large.

        Certificates of single-precision data use it, so that only the errors of the run's own
        products count, and not a bound on them.
        """
        return double_twin(self, ("A", "_At"))

    def minorant(self, dual: Array, y: Array, K: Set) -> Minorant:
        r"""Return v -> <A' theta, v> - loss*(theta), which is below f for any theta (Lemma E3)."""
        if self.in_double is not None:
            return self.in_double.minorant(as_double(dual), y, K)
        sizes = self._sizes(dual, K)
        if sizes is None:
            number = self.conjugate_bound(dual)
            error = MODEL * unit_of(y) * (abs(number) + norm(y) * K.radius)
            return Minorant(-number, None, error)
        length = norm(dual)
        number, error = self.conjugate_and_error(dual, length, sizes)
        return Minorant(-number, None, error + sizes.transposed * length)

    def value_error(self, x: Array, at: Evaluation, K: Set) -> float:
        r"""Return a bound on the error of loss(A x) (Lemma E2).

        It is :math:`\gamma\sigma\|\theta\| + \tfrac\beta2(\gamma\sigma)^2` from the product, and a
        few rounding units of the terms of the loss.
        """
        if self.in_double is not None:
            return self._error_against(self.in_double, as_double(x), at.value, K)
        sizes = self._sizes(at.dual, K)
        if sizes is None:
            return MODEL * unit_of(x) * (abs(at.value) + norm(at.gradient) * K.radius)
        error = sizes.product * norm(at.dual) + sizes.second_order
        if at.drift:
            error += at.drift * (norm(at.dual) + 0.5 * self.loss_smoothness * at.drift)
        return error + sizes.terms * (abs(at.value) + sizes.offset)

    def _error_against(self, twin: Self, x: Array, value: float, K: Set) -> float:
        """Return the distance of ``value`` from f(x) in double precision, and the error of that."""
        exact, theta = twin.loss(matmul(twin.A, x))
        exact = fetch(exact)[0]
        return abs(value - exact) + twin.value_error(x, Evaluation(exact, None, theta), K)

    def conjugate_and_error(self, dual: Array, length: float, sizes: Sizes) -> tuple[float, float]:
        """Return loss*(theta), and a bound on its rounding error; ``length`` is ||theta||."""
        number = self.conjugate_bound(dual)
        return number, sizes.terms * (abs(number) + length * sizes.reach)

    offset_size: float = 0.0
    """The norm of the terms of the loss that multiply A x, such as the counts of `Poisson`."""

    @property
    def loss_smoothness(self) -> float:
        """The Lipschitz constant of the gradient of the loss."""
        return 0.0

    def _sizes(self, theta: Array, K: Set) -> Sizes | None:
        """Return what rounding errors on K depend on, None for an operator A.

        It is computed once for a set and a precision.
        """
        known = self._known_sizes
        if known is not None and known[0] is K and known[1] == theta.dtype:
            return known[2]
        sizes = None
        if has_rows(self.A) or isinstance(self.A, Narrow):
            columns = np.sqrt(squares(self.A, 0))  # the norms of the columns of A
            vectors = len(K.shape) == 1
            reach = K.absolute_support(columns) if vectors else K.radius * norm(columns)
            offset = 2.0 * self.offset_size
            sizes = sizes_of(self.A, self.error, theta, 1.01 * float(reach))
            # a loss that has no smoothness constant adds its second order to `value_error`
            beta = self.loss_smoothness if math.isfinite(self.loss_smoothness) else 0.0
            second = 0.5 * beta * sizes.product * sizes.product  # a power would raise
            sizes = sizes._replace(offset=offset * sizes.reach, second_order=second)
        self._known_sizes = K, theta.dtype, sizes
        return sizes

    _known_sizes: tuple[Set, object, Sizes | None] | None = None

    @cached_property
    def spectral_norm_squared(self) -> float:
        """The largest eigenvalue of A'A, rounded up to be safe."""
        return spectral_norm_squared(self.A, self._At, self.like)


def as_data(value: Array, name: str) -> Array:
    """Return finite real numbers that the user cannot change later: writable data are copied."""
    return own(check_size(check_finite(as_float_array(value, name), name), name), value)


def check_place(place: Array, x: Array) -> None:
    """Raise one clear error if x is not of the library and device of an objective's data."""
    if type(x) is np.ndarray and not is_foreign(place):
        return
    if type(x) is type(place) and x.dtype == place.dtype and device_of(x) == device_of(place):
        return
    if is_foreign(x) and device_of(x) is None:
        return  # a compiler is tracing x, which was checked before
    if is_foreign(x) or is_foreign(place):
        same_place(**{"the data of f": np.empty(0) if place is None else place, "x": x})


def conjugate_evaluation(value: Array, x: Array, gradient: Array) -> Evaluation:
    """Return the evaluation at ``x`` whose dual point is the number f*(grad f(x)).

    Outside the domain of f the gradient is NaN, whatever it was given as: slopes are taken from
    gradients alone.
    """
    number, product = settle(value, lazy_inner(x, gradient), gradient)
    if not math.isfinite(number):
        gradient = math.nan * gradient
    return Evaluation(number, gradient, product - number)


def settle(value: Array, product: Array, gradient: Array) -> tuple[float, float]:
    """Return f(x) and ``product`` = <x, grad f(x)> on the host, in one transfer.

    f(x) is NaN if the gradient is not finite. Since x is finite, the product is then not finite
    either, so that the gradient itself is seldom checked.
    """
    if not type(value) is type(product) is float:
        value, product = fetch(value, product)
    if not math.isfinite(product) and not all_finite(gradient):
        return math.nan, product
    return value, product
