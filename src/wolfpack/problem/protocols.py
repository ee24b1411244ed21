"""What solvers and the loop ask of objectives, sets, simple terms, states and each other.

`wolfpack.objectives.Objective`, `wolfpack.sets.Set` and `wolfpack.regularizers.Regularizer` are
base classes with defaults for everything that is optional. The two protocols that solvers never see
stand with their implementations: `wolfpack.noise.Noise` and `wolfpack.engines.Engine`.
CONTRIBUTING.md shows how to write a part of each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, TypeVar

from ..arrays import Array
from .evaluation import Evaluation
from .pieces import Pieces
from .polyhedron import Polyhedron, QuadraticForm
from .rounding import Minorant


class Carrier(Protocol):
    """Products with f's matrix M, carried along steps (`wolfpack.objectives._carrier`)."""

    def product(self, x: Array) -> Array:
        """Return M x."""
        ...

    def of_vertex(self, v: Any) -> tuple[Array, float]:
        """Return M v for a single vertex, and a bound on its rounding error."""
        ...

    @property
    def size(self) -> float:
        """The Frobenius norm of M."""
        ...

    def error(self, length: float) -> float:
        """Return a bound on the error of M x for x of this norm."""
        ...

    def evaluate(self, x: Array, product: Array, drift: float) -> Evaluation:
        """Return the evaluation at x, given M x up to an error of norm ``drift``."""
        ...

    def curvature(self, d: Array, change: Array) -> float | None:
        """Return <d, Hess f d> if f is quadratic, given M d; None otherwise."""
        ...

    def slope_along(self, product: Array, change: Array) -> Callable[[float], float]:
        """Return t -> <grad f(x + t d), d>, given M x and M d."""
        ...


class Objective(Protocol):
    """A smooth convex function f."""

    shape: tuple[int, ...] | None
    """Shape of x, None where any shape will do."""

    like: Array
    """An array of the library, type and device that x must have; None where any will do."""

    checked: bool
    """Whether `evaluate` returns the value NaN wherever the gradient is not finite."""

    traceable: bool
    """Whether whole rounds of f can be recorded on a device."""

    factored: bool
    """Whether f takes matrices of low rank as they are."""

    joint: bool
    """Whether every value is computed together with a gradient, and the reverse."""

    error: float
    """Relative error of products with the data, 0 where they have the precision of x."""

    absolute_error: float
    """Absolute error of values, which is added to the relative one."""

    gradient_error: float
    """Absolute error of gradients, in the Euclidean norm, which is added to the relative one."""

    number_dual: ClassVar[bool]
    """Whether the dual point of an evaluation is the number <x, grad f(x)> - f(x)."""

    has_values: bool
    """Whether f(x) can be computed; False where only random gradients are known."""

    has_gradients: bool
    """Whether whole gradients can be computed, not only random ones."""

    tested: bool
    """Whether value and gradient are the library's own, which its tests compare."""

    convex: bool | None
    """Whether f is convex; None where nobody has said so."""

    n: int
    """Number of observations that one gradient reads."""

    image_shape: tuple[int, ...] | None
    """Shape of A x for f(x) = loss(A x), None for other functions."""

    variance: float | None
    """A bound on the variance of one random gradient, None when unknown."""

    @property
    def L(self) -> float | None:
        """Lipschitz constant of the gradient in the Euclidean norm, None when unknown."""
        ...

    @property
    def L1(self) -> float | None:
        """Lipschitz constant of the gradient from the l1 to the l_inf norm, None when unknown."""
        ...

    def evaluate(self, x: Array) -> Evaluation:
        """Return value, gradient and dual point at ``x``."""
        ...

    def evaluate_lazily(self, x: Array) -> Evaluation:
        """Evaluate without waiting for a device, on which the value may stay as a `Pending`."""
        ...

    def value(self, x: Array) -> float:
        """Return f(x)."""
        ...

    def gradient(self, x: Array) -> Array:
        """Return grad f(x)."""
        ...

    def conjugate_bound(self, dual: Any) -> float:
        """Return an upper bound on f*(y), for y and ``dual`` averaged with the same weights."""
        ...

    def minorant(self, dual: Any, y: Array, K: Any) -> Minorant:
        """Return an affine function below f with slope y, and its rounding error on K."""
        ...

    def slope(self, dual: Any, averaged: bool) -> Array | None:
        """Return the y that belongs to ``dual``, None where f knows no better than it is given."""
        ...

    def value_error(self, x: Array, at: Evaluation, K: Any) -> float:
        """Return a bound on the rounding error of ``at.value``, f at a point x of K."""
        ...

    def curvature(self, x: Array, d: Array) -> float | None:
        """Return <d, Hess f d> if f is quadratic, None otherwise."""
        ...

    def hessian_product(self, x: Array, d: Array) -> Array | None:
        """Return Hess f(x) d, None where f does not know it."""
        ...

    def best_factor(self, factor: Array, ridge: float, transposed: bool = False) -> Array | None:
        """The U that minimises f(U V') + (ridge/2) ||U||^2 for V, or the other way round."""
        ...

    def quadratic_form(self) -> QuadraticForm | None:
        """Return f as matrices if it is quadratic and they are known, None otherwise."""
        ...

    def image_metric(self, x: Array) -> Callable[[Sequence[Array]], Array] | None:
        """Return the function from images of vectors u_i to all <u_i, Hess f(x) u_j>, else None."""
        ...

    def hessian_of_vertex(self, x: Array, v: Any) -> Array | None:
        """Return Hess f(x) v for a vertex, None where f does not know it."""
        ...

    image_shape: tuple[int, ...] | None
    """Shape of A x for f(x) = loss(A x), None for other functions."""

    def carrier(self, x: Array) -> Carrier | None:
        """Return what carries products with f's matrix along steps; None where none is needed."""
        ...

    def drift_error(self, drift: float, dual: Any, K: Any) -> float:
        """Return what the drift of an evaluation adds to the error of its tangent on K."""
        ...

    def slope_along(self, x: Array, d: Array) -> Callable[[float], float]:
        """Return t -> <grad f(x + t d), d>, for line searches; not finite outside f's domain."""
        ...

    def image(self, x: Array) -> Array:
        """Return the linear function of ``x`` that f depends on: A x for loss(A x), else x."""
        ...

    def evaluate_image(self, z: Array) -> Evaluation:
        """Return value, gradient and dual point at every x whose image is ``z``."""
        ...

    def image_value(self, z: Array) -> float:
        """Return f at every x whose image is ``z``."""
        ...

    def image_slopes(self, z: Array) -> Array:
        """Return the gradient of f as a function of the image, at ``z``."""
        ...

    def image_gradient(self, at: Evaluation) -> Array:
        """Return the gradient as a function of the image, from an evaluation."""
        ...

    def curvature_bound(self, g: Array) -> float:
        """Return the largest value of <g, Hess f(x) g> over all x, infinity when unknown."""
        ...


class Region(Protocol):
    """A compact convex set K with a linear oracle (see `wolfpack.sets.Set`)."""

    @property
    def tested(self) -> bool:
        """Whether the oracle is the library's own, which its tests compare."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the points of K."""
        ...

    @property
    def dimension(self) -> int:
        """Number of entries of a point."""
        ...

    @property
    def radius(self) -> float:
        """The largest norm of a point of K, or an upper bound on it."""
        ...

    @property
    def diameter(self) -> float:
        """The largest distance of two points of K, or an upper bound on it."""
        ...

    @property
    def polytope(self) -> bool:
        """Whether K has finitely many vertices, as far as is known."""
        ...

    @property
    def proof_calls(self) -> int:
        """What `certify` costs, in oracle calls, roughly."""
        ...

    def lmo(self, g: Array) -> Any:
        """Return a vertex that minimises <g, v> over K; for a batch of g, a batch of vertices."""
        ...

    def _lmo(self, g: Array, /) -> Any:
        """Answer one direction as `lmo` does, without checking it."""
        ...

    def lmo_or_nearby(self, g: Array) -> Any:
        """Answer a batch of directions, each of which may be moved to one that can be answered."""
        ...

    def certify(self, g: Array, vertex: Any) -> float:
        """Return a lower bound on min <g, v> over K, given the oracle's answer to ``g``."""
        ...

    def certify_near(self, g: Array, vertex: Any, level: float) -> float:
        """Return the same, or less by a hundredth of its distance from ``level``."""
        ...

    def violation(self, x: Array) -> float:
        """Return by how much ``x`` violates the constraints, 0 inside K."""
        ...

    def at(self, x: Array) -> Any:
        """Return K as it answers arrays of the library, device and type of ``x``."""
        ...

    def has(self, capability: str) -> bool:
        """Tell whether K has the optional method of that name ("project", "k_best", "core",
        "polyhedron", "lmo_face", "max_step").
        """
        ...

    def lmo_face(self, x: Array, g: Array) -> Any:
        """Return a minimiser of <g, v> over the minimal face of K around x, where K has one."""
        ...

    def max_step(self, x: Array, d: Array) -> float:
        """Return the largest t for which x + t d is in K, where K knows it."""
        ...

    @property
    def factors(self) -> Sequence[Region]:
        """The sets of which K is the product, in the order of their blocks; empty for others."""
        ...

    @property
    def cheap_projection(self) -> bool:
        """Whether `project`, where K has it, costs about as much as the oracle."""
        ...

    def project(self, x: Array) -> Array:
        """Return the Euclidean projection of ``x`` onto K, where K has one."""
        ...

    def k_best(self, g: Array, k: int) -> Any:
        """Return the k vertices with the smallest <g, v>, where K can list them."""
        ...

    def core(self, shape: tuple[int, int]) -> Region:
        """Return the set of small matrices S with P S Q' in K, where K has low-rank points."""
        ...

    def polyhedron(self) -> Polyhedron:
        """Return the linear constraints of K as matrices, where K has them."""
        ...

    def start(self) -> Array:
        """Return the point of K from which a run begins by default."""
        ...


class SimpleTerm(Protocol):
    """The simple term H of a composite problem (see `wolfpack.regularizers.Regularizer`)."""

    mu: float
    """Strong convexity constant, with respect to `norm`."""

    norm: str
    """The norm of ``mu``: "l2", "l1", or "l" and an exponent between."""

    structured: bool
    """Whether minimisation steps have zeros, low rank or flat pieces, which averages lose."""

    def value(self, y: Array) -> float:
        """Return H(y), infinity outside the domain."""
        ...

    def minimum(self, g: Array) -> float:
        """Return the minimum of <g, y> + H(y), which is -H*(-g)."""
        ...

    def argmin(self, g: Array) -> Array:
        """Return the minimiser of <g, y> + H(y)."""
        ...

    def prox(self, g: Array, lam: float) -> Array:
        """Return the minimiser of <g, y> + H(y) + (lam/2) ||y||^2."""
        ...

    def pieces(self) -> Pieces | None:
        """Return H as a sum over coordinates, None where it is none, or no piecewise quadratic."""
        ...

    def has(self, capability: str) -> bool:
        """Tell whether H has the optional method of that name ("prox", "entropic_prox")."""
        ...


class MirrorMap(Protocol):
    """The mirror map w of a composite problem (see `wolfpack.regularizers.mirrors`)."""

    nu: float
    """Strong convexity constant, with respect to `norm`."""

    norm: str
    """The norm of ``nu``."""

    z0: Array | None
    """The minimiser of w, None for a geometry without a centre."""

    def value(self, y: Array) -> float:
        """Return w(y), up to a constant; batches that grow by themselves need it."""
        ...

    def gradient(self, y: Array) -> Array:
        """Return a subgradient of w at ``y``; runs with a restart need it."""
        ...


class State(Protocol):
    """What a solver knows after a round: a value that can be saved and stepped from again.

    States are named tuples of arrays, atoms, numbers and strings. The loop reads three fields. It
    also reads ``alpha`` (the smoothing), ``m`` (the number of perturbed oracles) and ``stalled``
    (whether rounding errors keep the method from going on) where a state has them.
    """

    @property
    def k(self) -> int:
        """Rounds made so far."""
        ...

    @property
    def x(self) -> Array:
        """The iterate, a feasible point."""
        ...

    @property
    def at(self) -> Any:
        """The evaluation of f at x, None until `Solver.observe` has made it."""
        ...


S = TypeVar("S", bound=State)
S_contra = TypeVar("S_contra", bound=State, contravariant=True)


class Solver(Protocol[S]):
    """A method: hyperparameters, and pure functions from state to state.

    `problem` is a `Problem` or a `CompositeProblem`, and is only read; `oracles` answers the
    questions of a round (`wolfpack.smoothing.Oracles` or `wolfpack.gradients.Gradients`). Stepping
    from an old state again gives the same bits.
    """

    name: ClassVar[str]
    """The name of the method."""

    def init(self, problem: Any, x0: Array, oracles: Any, /) -> S:
        """Return the state of round 0."""
        ...

    def step(self, problem: Any, state: S, oracles: Any, /) -> S:
        """Return the state after one more round.

        Its field ``at`` may be None where the method itself does not need the value of f. The loop
        then calls `observe` before it records the round.
        """
        ...

    def lower_bound(self, problem: Any, state: S, oracles: Any, /) -> float:
        """Return a number that is proved to be at most the minimum; the loop keeps the best."""
        ...


class SetDependent(Protocol):
    """A solver that is another solver on some sets."""

    def for_set(self, K: Region) -> Solver[Any]:
        """Return the solver for K; `minimize` asks once, before the run."""
        ...


class Priced(Protocol):
    """What a solver declares about the cost of its lower bound; without, the bound is free."""

    certificate_calls: ClassVar[int]
    """Oracle calls that `lower_bound` makes as a rule.

    Certificates are the rarer the more they cost (`wolfpack.loop.schedule`). A limit on oracle
    calls keeps twice as many in reserve, for the last round.
    """

    certificate_proofs: ClassVar[int]
    """How often `lower_bound` asks the set for a proof (`Region.certify`); 0 if missing."""

    round_calls: ClassVar[int]
    """Oracle calls that a round is worth, 1 if missing; states that have ``m`` tell it themselves.
    """


class Observer(Protocol[S]):
    """What a solver whose steps leave ``at=None`` gives besides."""

    def observe(self, problem: Any, state: S, /) -> S:
        """Return the state with its field ``at``: the evaluation at the iterate."""
        ...


class Promising(Protocol[S_contra]):
    """What a solver with random gradients may give besides: how small the gap may be."""

    def promise(self, problem: Any, state: S_contra, oracles: Any, /) -> tuple[float, float] | None:
        """Return a number that f at the iterate is not below, and a bound that is not proved yet.

        Nothing is read for it. None where nothing is known.
        """
        ...


class Foreseeing(Protocol[S_contra]):
    """What a solver may give besides: how small the gap at the iterate can be, almost free."""

    def foresee(self, problem: Any, state: S_contra, /) -> tuple[float, float]:
        """Return a number that f at the iterate is not below, and the state's lower bound.

        The bound need not be proved where the solver's certificates ask the set for proofs and
        these cost oracle calls.

        The loop certifies a round that could end the run by these numbers. It also certifies each
        state whose attribute ``leapt``, if there is one, is true.
        """
        ...


class Finisher(Protocol[S_contra]):
    """What a solver gives besides whose last point can be improved when the run has ended."""

    def finish(self, problem: Any, state: S_contra, x: Array, fun: float, /) -> tuple[Array, float]:
        """Return a point that is at least as good as the best one, and its value.

        The loop asks once, when a run has ended and before its status is decided.
        """
        ...
