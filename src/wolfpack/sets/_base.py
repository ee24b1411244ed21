"""What every set shares: checks, and what follows from the linear oracle alone."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from inspect import signature
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np

from ..arrays import (
    Array,
    SparseMatrix,
    Structured,
    all_finite,
    as_float_array,
    check_finite,
    check_shape,
    is_double,
    is_foreign,
    namespace,
    norm,
    to_host,
)
from ..atoms import Atoms, Dense
from ..problem import CapabilityError, Polyhedron, Stackable, is_own, spend
from ..problem.checks import nonnegative
from ..problem.html import as_table
from ..problem.polyhedron import Matrix, Rows
from ._laws import NoiseLike
from ._prices import Prices, named, row_prices

T = TypeVar("T")


class Set(Stackable, ABC):
    """A compact convex set K of arrays of a fixed shape, known through its linear oracle.

    To add a set, subclass this class and write four things, for NumPy arrays: `shape` and `radius`
    (set in ``__init__``), `_lmo` and `violation`. The other attributes have defaults that are
    always right. The optional methods (`smoothed`, `smoothed_support`, `draw`, `k_best`,
    `_project`, `core`, `_polyhedron`) raise `CapabilityError` until they are overridden; `has`
    tells which are.

    Attributes
    ----------
    shape : tuple of int
        Shape of the points of K. Every set sets it.
    radius : float
        R_K = max of ||x|| over K, or a number that is not smaller. Every set sets it.
    polytope : bool
        Whether K has finitely many vertices. False by default. `method="auto"` reads it.
    strictly_convex : bool
        Whether no line segment lies in the boundary of K. False by default. `method="auto"` reads
        it.
    releases_gil : bool
        Whether the oracle frees Python's lock, so that threads run in parallel. False by default.
    one_by_one : bool
        Whether an answer never depends on the rest of its batch. False by default.
    batch_hint : int or None
        How many directions a worker should get at least; 1 for expensive oracles. With None, the
        default, the library chooses by the dimension.
    proof_calls : int
        What `certify` costs, in oracle calls, roughly; 0, the default, where it is far cheaper.
        Rounds are certified the more rarely the more it costs.
    default_noise : str
        Law of the perturbation to use when the user names none; "gaussian" by default.
    closed_forms : tuple of str
        Laws for which `smoothed` and `smoothed_support` are known exactly ("gumbel", "gaussian",
        "logistic", "lifted"), the preferred one first. Empty by default.
    cheap_projection : bool
        Whether `project`, where it exists, costs about as much as the oracle. True by default.
    factored_from : int
        For sets of matrices of low rank, the rows and columns beyond which such matrices are faster
        in factors than dense; 120 by default.
    cheap_violation : bool
        Whether `violation` is cheap enough to spot-check answers. True by default.
    unconditional : bool
        Whether all points of K are nonnegative, or the sign of any entry of a point can be changed
        within K. False by default. It sharpens `absolute_support`.
    price_names : dict
        Names of `prices`, by the kind of constraint of `polyhedron` ("equations", "inequalities",
        "lower", "upper"), where the set's parameters have better ones.
    summary : str
        What ``repr`` shows in parentheses, a format string in which ``K`` is the set.
    original, like : Set or None, array or None
        Of a set on a device (see `at`): the set on the host, and an array on that device.

    Examples
    --------
    The interval [-1, 1], complete:

    >>> class Interval(Set):
    ...     def __init__(self):
    ...         self.shape, self.radius = (1,), 1.0
    ...
    ...     def _lmo(self, g):
    ...         return Dense(np.where(g < 0, 1.0, -1.0), self.shape)
    ...
    ...     def violation(self, x):
    ...         return float(abs(x).max() - 1.0)
    >>> Interval().support(np.array([3.0]))
    3.0
    """

    shape: tuple[int, ...]
    radius: float
    polytope: bool = False
    strictly_convex: bool = False
    releases_gil: bool = False
    one_by_one: bool = False
    batch_hint: int | None = None
    proof_calls: int = 0
    default_noise: str = "gaussian"
    closed_forms: tuple[str, ...] = ()
    cheap_projection: bool = True
    factored_from: int = 120
    cheap_violation: bool = True
    unconditional: bool = False
    price_names: ClassVar[dict[str, str]] = {}
    summary: str = "{K.sizes}"
    original: Self | None = None
    like: Array = None
    # These follow from the other attributes; a checkpoint's fingerprint of K leaves them out.
    _derived: ClassVar[tuple[str, ...]] = ("radius", "diameter", "log_count", "original", "like")

    @property
    def tested(self) -> bool:
        """Whether the oracle is the library's own. Answers of others are checked in a run."""
        return is_own(self) if self.original is None else self.original.tested

    def __init_subclass__(cls, anywhere: bool = False, **kwargs: object) -> None:
        """Let methods be called with any library's arrays; ``anywhere`` says that they can be."""
        super().__init_subclass__(**kwargs)
        for name in () if anywhere else _DISPATCHED:
            if name in vars(cls):
                setattr(cls, name, _dispatched(vars(cls)[name]))

    @abstractmethod
    def _lmo(self, g: Array) -> Atoms:
        """Return minimisers of <g, v> over K; `lmo` has checked ``g``.

        ``g`` has the shape `shape`, or ``(batch, *shape)`` for a batch that is not empty. Ties are
        broken the same way every time, and a zero direction is answered by some point of K.
        """

    @abstractmethod
    def violation(self, x: Array) -> float:
        """Return by how much ``x`` violates the constraints; at most 0 inside K.

        `contains` and the checks of starting points and answers need it. Any number will do that
        is positive outside K only and tends to 0 with the distance to K. Sets that are known
        through their oracle alone use `wolfpack.sets._distance.separation`.
        """

    diameter: float = cast("float", cached_property(lambda self: 2.0 * self.radius))
    """The largest distance of two points of K, or a number that is not smaller.

    Twice the radius by default. A set that knows better sets it in ``__init__``."""

    centred_radius: float = cast("float", cached_property(lambda self: _centred_radius(self)))
    """The largest distance of a point of K from the best centre, or a number that is not smaller.

    The constants of smoothing need it, and the centre may be any point. By default it is the
    smaller of the radius, which is about 0, and of Jung's bound, D sqrt(d/(2(d+1))) for the
    diameter D. A set that knows better sets it in ``__init__``."""

    dimension: int = cast("int", cached_property(lambda self: math.prod(self.shape)))
    """Number of entries of a point of K."""

    @property
    def sizes(self) -> str:
        """The shape as text, "3" or "3, 4"."""
        return ", ".join(map(str, self.shape))

    def lmo(self, g: Array) -> Atoms:
        """Return a minimiser of <g, v> over v in K, for one direction or for a batch.

        ``g`` is finite and has the shape `shape` or ``(batch, *shape)``. The answer, structured
        vertices, behaves like an array of the shape of ``g``; ``to_dense()`` makes it one. Sets
        override `_lmo`; this method checks the directions.
        """
        g = self._check_direction(g)
        return self.at(g)._answer(g)

    def support(self, u: Array) -> float | Array:
        """Return s(u) = max of <u, v> over v in K: a float, or one number per direction."""
        u = self._check_direction(u)
        value = self.at(u)._answer(-u).dot(u)
        return float(value) if u.ndim == len(self.shape) else value

    def absolute_support(self, c: np.ndarray) -> float:
        """Return max <c, |v|> over v in K, or a number that is not smaller, for c >= 0 on the host.

        Bounds on rounding errors need it. By default it is ||c|| R_K, or s(c) where that is smaller
        and the set is `unconditional`.
        """
        largest = norm(c) * self.radius
        return min(largest, float(self.support(c))) if self.unconditional else largest

    def certify(self, g: Array, vertex: Atoms) -> float:
        """Return a proved lower bound on min <g, v>, given the oracle's answer to ``g``.

        Every certificate of the library rests on it. By default it is the value of the answer.
        Sets with an inexact oracle override it and subtract what the oracle may have missed.
        """
        return float(vertex.dot(g))

    def certify_near(self, g: Array, vertex: Atoms, level: float) -> float:
        """Return the same, or less by a hundredth of its distance from ``level``.

        Sets of which a rough bound costs much less override it.
        """
        return self.certify(g, vertex)

    def contains(self, x: Array, tol: float = 1e-9) -> bool:
        """Tell whether ``x`` is in K: its `violation` is at most tol max(1, R_K)."""
        tol = nonnegative(tol, "tol")
        x = x if isinstance(x, Structured) else as_float_array(x, "x")
        x = check_shape(x, self.shape, "x")
        return all_finite(x) and bool(self.violation(x) <= tol * max(1.0, self.radius))

    def start(self) -> Array:
        """Return a point of K to start from, as a new array.

        By default it is the oracle's answer to zero. A point in the middle of K is better.
        """
        spend(1)
        return self._lmo(np.zeros(self.shape)).to_dense()

    def lmo_or_nearby(self, g: Array) -> Atoms:
        """Return the oracle's answer to each direction of a batch, or to a direction nearby.

        Methods that collect vertices call it: they may keep any vertex. Sets whose oracle cannot
        answer every direction override it and move such a direction to one that it can answer.
        """
        return self._lmo(g)

    def remark(self, x: Array) -> str:
        """Return what a user should know of an answer x, as a sentence after a space; or nothing.

        It becomes a part of ``res.message``. By default there is nothing to say.
        """
        return ""

    @property
    def factors(self) -> tuple[Set, ...]:
        """The sets of which this one is the product, in the order of their blocks; or none."""
        return ()

    def at(self, x: Array) -> Set:
        """Return this set as it answers arrays of the library, device and type of ``x``.

        For NumPy arrays that is the set itself. For other arrays it is a copy of the set with its
        constants where ``x`` is (`wolfpack.sets.device`), or one that asks the set on the host.
        """
        if not is_foreign(x):
            return self.original or self
        if self.original is not None:
            return self
        from .device import twin_of

        return twin_of(self, x)

    def has(self, capability: str) -> bool:
        """Tell whether this set overrides the optional method of that name.

        A set whose method works only for some parameters overrides `has` as well.
        """
        kind = type(self)
        if capability == "project" and kind._project is not Set._project:
            return True
        if capability == "polyhedron":
            return kind._polyhedron is not Set._polyhedron
        if capability == "prices":
            return kind._prices is not Set._prices or self.has("polyhedron")
        if capability in ("lmo_face", "max_step"):
            return getattr(kind, f"_{capability}") is not getattr(Set, f"_{capability}")
        return getattr(kind, capability) is not getattr(Set, capability)

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        """Return grad s_alpha(y) = E argmax over v in K of <y + alpha Delta, v>, exactly.

        Needed for every law in `closed_forms`. ``noise=None`` means the first of them.
        """
        raise CapabilityError(f"{self} has no closed form for its smoothed argmax")

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        """Return s_alpha(y) = E max over v in K of <y + alpha Delta, v>; needed with `smoothed`."""
        raise CapabilityError(f"{self} has no closed form for its smoothed support function")

    def smoothed_supports(
        self, points: Sequence[Array], alpha: float, noise: NoiseLike = None
    ) -> list[float | Array]:
        """Return s_|alpha|(sign(alpha) y) for several y; on a device, without waiting for it."""
        sign = 1.0 if alpha > 0 else -1.0
        return [self.smoothed_support(sign * y, abs(alpha), noise) for y in points]

    def smoothed_at_zero(self, noise: NoiseLike) -> float | None:
        """Return s_1(0) = E max over v in K of <Delta, v>, None (the default) when unknown.

        The parameters of theory need it; where it is unknown it is estimated from samples.
        """
        return None

    def smoothness(self, noise: NoiseLike) -> float | None:
        """Return c such that s_alpha is c/alpha-smooth, None (the default) when c = R_K M is best.

        M is the constant of the noise. A smaller c allows longer steps.
        """
        return None

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> Atoms:
        """Draw ``count`` answers to ``y`` perturbed by the law `closed_forms`[0].

        Worth writing where drawing answers is cheaper than perturbing and asking the oracle.
        """
        raise CapabilityError(f"{self} has no direct sampler of perturbed answers")

    def k_best(self, g: Array, k: int) -> Atoms:
        """Return k vertices of small <g, v>, the best first; fewer if K has no k vertices.

        Corrective methods then gain k vertices from one call.
        """
        raise CapabilityError(f"{self} has no k-best oracle")

    def lmo_face(self, x: Array, g: Array) -> Atoms:
        """Return a minimiser of <g, v> over the minimal face of K that contains the point ``x``.

        Every representation of x as a mixture of vertices uses vertices of this face alone, and
        each of them can be a part of one. Needed by `method="dicg"`. Sets override `_lmo_face`,
        which is asked on the host; this method checks ``x`` and ``g``.
        """
        self._need("lmo_face")
        x, g = self._pair(x, g, "g")
        answer = self.at(_HOST)._lmo_face(_on_host(x), _on_host(g))
        return answer.to(x) if is_foreign(x) else answer

    def _lmo_face(self, x: Array, g: Array) -> Atoms:
        """Answer a direction as `lmo_face` does, for NumPy arrays."""
        raise NotImplementedError

    def max_step(self, x: Array, d: Array) -> float:
        """Return the largest t >= 0 for which x + t d is in K; infinite for d = 0.

        ``x`` is a point of K. Sets override `_max_step`, which is asked on the host.
        """
        self._need("max_step")
        x, d = self._pair(x, d, "d")
        return max(0.0, float(self.at(_HOST)._max_step(_on_host(x), _on_host(d))))

    def _max_step(self, x: Array, d: Array) -> float:
        """Answer as `max_step` does, for NumPy arrays."""
        raise NotImplementedError

    def _pair(self, x: Array, d: Array, name: str) -> tuple[Array, Array]:
        """Check a point and a direction."""
        arrays = []
        for array, known in ((x, "x"), (d, name)):
            label = f"{self}: {known}"
            array = check_shape(as_float_array(_plain(array), label), self.shape, label)
            arrays.append(array if all_finite(array) else check_finite(array, label))
        return arrays[0], arrays[1]

    def project(self, x: Array) -> Array:
        """Return the point of K nearest to ``x``, its Euclidean projection, as a new array.

        Needed by `method="projected"`. Sets override `_project`; this method checks ``x``.
        """
        self._need("project")
        if not (is_double(x) and x.shape == self.shape and all_finite(x)):
            name = f"{self}: point"
            x = check_finite(check_shape(as_float_array(x, name), self.shape, name), name)
        nearest, xp = self.at(x)._project(x), namespace(x)
        return nearest if nearest.dtype == x.dtype else xp.astype(nearest, x.dtype)

    def _project(self, x: Array) -> Array:
        """Project a finite point of shape `shape`."""
        raise NotImplementedError

    def core(self, shape: tuple[int, int]) -> Set:
        """Return the set of S with U S V' in K, for all U and V with orthonormal columns.

        For sets of matrices with vertices of rank one: methods that keep x as a product of factors
        then optimise over S, of shape ``shape``, alone.
        """
        raise CapabilityError(f"{self} is not a set of sums of rank-one matrices")

    def polyhedron(self) -> Polyhedron:
        """Return the equations, inequalities and bounds of K as matrices, on the host.

        Needed by `method="conic"`. Sets override `_polyhedron`.
        """
        self._need("polyhedron")
        return (self.original or self)._polyhedron()

    def _polyhedron(self) -> Polyhedron:
        """Describe a set on the host; `_described` helps sets that have a projection."""
        raise NotImplementedError

    def prices(self, g: Array) -> Prices:
        """Return by how much min <g, v> over v in K rises with each right-hand side.

        These are the multipliers of the constraints, by the name of the parameter. They are 0 where
        a constraint does not bind, at most 0 where a larger number makes K larger. `Result.duals`
        are those at the last certificate. Sets with matrices (`polyhedron`) and balls of norms have
        them.
        """
        self._need("prices")
        K = self.original or self
        g = np.asarray(to_host(as_float_array(_plain(g), "direction")), dtype=np.float64)
        return K._prices(check_shape(check_finite(g, "direction"), K.shape, "direction"))

    def _prices(self, g: Array) -> Prices:
        """Return the prices of a set on the host."""
        K = self._polyhedron()
        return named(row_prices(K, g), K, self.price_names, self.shape)

    def _described(
        self,
        low: Array | float,
        high: Array | float,
        equations: Rows | None = None,
        inequalities: Rows | None = None,
        lift: Matrix = None,
    ) -> Polyhedron:
        """Return a description whose points are made feasible by the projection onto K."""
        n = self.dimension if lift is None else lift.shape[1]

        def rounded(z: Array) -> Array:
            return self.project((z if lift is None else lift @ z).reshape(self.shape))

        bounds = np.broadcast_to(low, (n,)), np.broadcast_to(high, (n,))
        return Polyhedron(*bounds, rounded, equations, inequalities, lift)

    def _answer(self, g: Array) -> Atoms:
        # from an empty batch a set could not infer the shape of its answers
        return self._lmo(g) if g.shape[0] else Dense(g, self.shape)

    def _need(self, capability: str) -> None:
        """Raise unless this set has the capability."""
        if not self.has(capability):
            raise CapabilityError(f"{self} has no {capability!r}{self._reason(capability)}")

    def _reason(self, capability: str) -> str:
        """Return why a capability is missing, as the end of a sentence."""
        return ""

    def _check_direction(self, g: Array) -> Array:
        if not (isinstance(g, SparseMatrix) and self.has("core")):
            g = as_float_array(g, "direction")
        if g.ndim == len(self.shape) + 1:
            if tuple(g.shape[1:]) != self.shape:
                raise ValueError(
                    f"{self}: a batch of directions must have shape (batch, {self.sizes}), "
                    f"found {tuple(g.shape)}"
                )
        elif tuple(g.shape) != self.shape:
            raise ValueError(f"{self}: direction must have shape {self.shape}, found {g.shape}")
        return g if all_finite(g) else check_finite(_plain(g), f"{self}: direction")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.summary.format(K=self)})"

    def _repr_html_(self) -> str:
        """Return what the set is and what it knows as a small table, for notebooks."""
        forms = ", ".join(sorted(map(str, self.closed_forms)))
        rows = {
            "set": repr(self),
            "shape of x": " x ".join(map(str, self.shape)),
            "projection": "yes" if self.has("project") else "no",
            "smoothed exactly": f"with {forms} noise" if forms else "no",
        }
        return as_table(rows)


_HOST = np.zeros(0)


def _on_host(x: Array) -> Array:
    return to_host(x) if is_foreign(x) else x


def _plain(g: Array) -> Array:
    return g.to_dense() if isinstance(g, Structured) else g


def _centred_radius(K: Set) -> float:
    d = K.dimension
    return min(K.radius, K.diameter * math.sqrt(d / (2.0 * (d + 1.0))))


_DISPATCHED = ("violation", "smoothed", "smoothed_support", "draw", "k_best")


def _dispatched(method: Callable[..., T]) -> Callable[..., T]:
    """Let a method written for NumPy pass other arrays on to the set at their place."""
    name = method.__name__
    first = tuple(signature(method).parameters)[1]

    @wraps(method)
    def ask(self: Set, *args: Any, **kwargs: Any) -> T:
        if not args and first in kwargs:
            args = (kwargs.pop(first),)
        if not args:
            return method(self, **kwargs)  # Python says what is missing
        x, *others = args
        if is_double(x) and x.shape == self.shape:
            return method(self, x, *others, **kwargs)
        structured = isinstance(x, Structured)
        if structured and name != "k_best" and not self.has("core"):
            x = x.to_dense()
        if is_foreign(x):
            here = self.at(x)
            if here is not self:
                return getattr(here, name)(x, *others, **kwargs)
        elif not structured:
            x = check_shape(as_float_array(x, f"{self}: {first}"), self.shape, f"{self}: {first}")
        return method(self, x, *others, **kwargs)

    return ask
