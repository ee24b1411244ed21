"""Sets given by the constraints of a CVXPY model."""

from __future__ import annotations

import pickle
import threading
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..arrays import Array, norm
from ..atoms import Atoms, Bounded
from ..problem import CapabilityError, Polyhedron, spend
from ..problem.checks import nonnegative, optional, positive, shown
from ._base import Set
from ._batch import map_batch
from ._distance import separation
from .image import Image
from .linear_program import LinearProgram

HINT = "from_cvxpy needs CVXPY: pip install 'wolfpack[cvxpy]'"


_ONE_AT_A_TIME = threading.Lock()
"""CVXPY's parameters belong to a model, which threads must not share while it is solved."""


class Compiled(NamedTuple):
    """A model whose costs are a parameter: CVXPY's problem, that parameter, and the variable."""

    problem: Any
    cost: Any
    x: Any

    @classmethod
    def of(cls, constraints: list[Any], x: Any) -> Compiled:
        """Return the model of these constraints, which is compiled when it is first solved."""
        cp = _cvxpy()
        cost = cp.Parameter(x.shape)
        return cls(cp.Problem(cp.Minimize(cp.sum(cp.multiply(cost, x))), constraints), cost, x)

    def __reduce__(self) -> Any:
        # CVXPY's own copies of variables are other variables, and what its solver keeps is no part
        # of the set
        return _loaded, (pickle.dumps((self.problem.constraints, self.x)),)


def _loaded(text: bytes) -> Compiled:
    return Compiled.of(*pickle.loads(text))


def from_cvxpy(
    constraints: Any,
    x: Any,
    *,
    radius: float | None = None,
    solver: str = "CLARABEL",
    accuracy: float = 1e-7,
) -> Set:
    r"""Return the set of the values of a CVXPY variable that satisfy constraints of CVXPY.

    Parameters
    ----------
    constraints : list of cvxpy constraints
        Convex constraints, as CVXPY's rules ask for. They may have other variables, over which the
        set is then projected. Attributes of ``x`` such as ``nonneg=True`` count as well.
    x : cvxpy.Variable
        The variable. Its shape is that of the set's points.
    radius : float, optional
        A number that no point's norm exceeds. By default it is found from the largest and the
        smallest value of each entry.
    solver : str
        The solver that CVXPY calls, where the constraints are not linear.
    accuracy : float
        How far that solver's answers may be from the best, as for `Oracle`: <g, v> is at most
        min <g, .> + accuracy \|g\| radius. Certificates are lowered by it.

    Returns
    -------
    Set
        Where CVXPY makes linear constraints of the model, a set like `LinearProgram`: the program
        stays open in HiGHS, each call begins at the last basis, and certificates do not trust the
        solver. Else the model is compiled once, and each call solves it with new costs.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> import cvxpy as cp  # doctest: +SKIP
    >>> x = cp.Variable(3, nonneg=True)  # doctest: +SKIP
    >>> K = wp.sets.from_cvxpy([cp.sum(x) == 1, cp.norm(x) <= 0.8], x)  # doctest: +SKIP
    >>> f = wp.objectives.LeastSquares(np.eye(3), [1.0, 0.0, 0.0])  # doctest: +SKIP
    >>> wp.minimize(f, K).success  # doctest: +SKIP
    True
    """
    cp = _cvxpy()
    if not isinstance(x, cp.Variable) or x.is_complex() or any(x.attributes[k] for k in _INTEGER):
        raise TypeError(f"x must be a real, continuous cvxpy.Variable, found {shown(x)}")
    if x.ndim not in (1, 2):
        raise TypeError(f"x must be a vector or a matrix, found shape {x.shape}")
    constraints = list(constraints)
    wrong = [c for c in constraints if not isinstance(c, cp.constraints.constraint.Constraint)]
    if wrong:
        raise TypeError(f"constraints must be constraints of CVXPY, found {shown(wrong[0])}")
    radius = optional(positive)(radius, "radius")
    model = Compiled.of(constraints, x)
    problem = model.problem
    if not problem.is_dcp():
        bad = next(c for c in constraints if not c.is_dcp())
        raise ValueError(f"constraints must follow CVXPY's rules of convexity, found {bad}")
    if problem.is_mixed_integer():
        raise TypeError(
            "constraints must have continuous variables alone, found integers: wp.sets."
            "MixedInteger is for those"
        )
    linear = _linear_system(model)
    if linear is not None:
        return _LinearModel(model, *linear)
    return _ConicModel(model, radius, solver, nonnegative(accuracy, "accuracy"))


_EMPTY = "constraints must have a common solution, found none: the set is empty"
_INTEGER = ("boolean", "integer")


def _cvxpy() -> Any:
    try:
        return import_module("cvxpy")
    except ImportError as error:
        raise ImportError(HINT) from error


def _linear_system(model: Compiled) -> tuple[LinearProgram, Any] | None:
    """Return the model as a linear program and the matrix that maps its points to x in C order.

    None where it has other cones than linear constraints.
    """
    cp = _cvxpy()
    # a free copy of x, whose columns are easy to find whatever attributes x has
    free = cp.Variable(model.x.shape)
    objective = cp.Minimize(cp.sum(cp.multiply(model.cost, free)))
    model.cost.value = np.ones(model.x.shape)
    copied = cp.Problem(objective, [*model.problem.constraints, free == model.x])
    try:
        data = copied.get_problem_data(cp.CLARABEL)[0]
    except cp.error.SolverError:
        return None
    dims = data["dims"]
    if dims.soc or dims.psd or dims.exp or dims.p3d or getattr(dims, "pnd", None):
        return None
    A, b, split = sparse.csr_array(data["A"]), np.asarray(data["b"]), dims.zero
    bounds = _bounds(A, b, split, data)
    program = LinearProgram(A[split:], b[split:], A[:split], b[:split], bounds)
    first, size = data["param_prob"].var_id_to_col[free.id], free.size
    # CVXPY's vectors have the entries of a matrix column by column
    order = np.arange(size).reshape(model.x.shape, order="F").reshape(-1)
    entries = np.ones(size), (np.arange(size), first + order)
    return program, sparse.csr_array(entries, shape=(size, A.shape[1]))


def _bounds(A: Any, b: Array, split: int, data: Any) -> list[tuple[float | None, float | None]]:
    """Return the bounds of the variables that rows with one entry give, and those of CVXPY."""
    n = A.shape[1]
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    for name, limits, nearest in (
        ("lower_bounds", low, np.maximum),
        ("upper_bounds", high, np.minimum),
    ):
        if data.get(name) is not None:
            limits[:] = nearest(limits, data[name])
    single = np.flatnonzero(np.diff(A.indptr) == 1)
    for i in single[single >= split]:
        j, a = A.indices[A.indptr[i]], A.data[A.indptr[i]]
        if a > 0:
            high[j] = min(high[j], b[i] / a)
        elif a < 0:
            low[j] = max(low[j], b[i] / a)
    if (low > high).any():
        raise ValueError(_EMPTY)
    return [
        (lo if np.isfinite(lo) else None, hi if np.isfinite(hi) else None)
        for lo, hi in zip(low.tolist(), high.tolist(), strict=True)
    ]


class _Model(Set):
    """What both kinds of models share: the constraints themselves judge points."""

    batch_hint = 1
    one_by_one = True

    def __init__(self, model: Compiled) -> None:
        self.model = model
        self.shape = tuple(model.x.shape)
        known = {variable.id for variable in model.problem.variables()}
        self.cheap_violation = known <= {model.x.id}

    @property
    def summary(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return f"{self.sizes}, {len(self.model.problem.constraints)} constraints of CVXPY"

    def violation(self, x: Array) -> float:
        length = norm(x)
        if not length <= 4.0 * self.radius:
            return length - self.radius  # whose squares CVXPY need not be able to form
        if not self.cheap_violation:
            return separation(self, x)
        variable = self.model.x
        variable.save_value(np.asarray(x, dtype=np.float64))
        most = [float(np.max(c.violation())) for c in self.model.problem.constraints]
        return max([float(np.linalg.norm(variable.project(x) - x)), *most])


class _LinearModel(_Model):
    """A model of linear constraints: the image of a linear program that stays open."""

    polytope = True

    def __init__(self, model: Compiled, program: LinearProgram, select: Any) -> None:
        super().__init__(model)
        self.image = Image(select, program)
        first = select.indices
        bounds = np.array([program.system.low[first], program.system.high[first]])
        self.radius = float(np.linalg.norm(abs(bounds).max(axis=0)))
        self.diameter = min(2.0 * self.radius, float(np.linalg.norm(bounds[1] - bounds[0])))

    def _lmo(self, g: Array) -> Atoms:
        rows = np.asarray(g, dtype=np.float64).reshape(-1, self.dimension)
        answers = [self.image._lmo(row) for row in rows]
        x = np.array([answer.to_dense() for answer in answers]).reshape(g.shape)
        pairs = zip(rows, answers, strict=True)
        bounds = np.array([self.image.certify(row, answer) for row, answer in pairs])
        single = g.ndim == len(self.shape)
        return Bounded(x, self.shape, float(bounds[0]) if single else bounds, g.copy())

    def certify(self, g: Array, vertex: Atoms) -> float:
        """Return the bound that came with the answer to ``g``; solve again for other vertices."""
        bound = vertex.bound_for(g) if isinstance(vertex, Bounded) else None
        if bound is not None:
            return bound
        row = np.asarray(g, dtype=np.float64).reshape(-1)
        return self.image.certify(row, self.image._lmo(row))

    def _polyhedron(self) -> Polyhedron:
        found = self.image.polyhedron()
        return replace(found, round=lambda z: found.round(z).reshape(self.shape))


class _ConicModel(_Model):
    """A model with other cones, which CVXPY solves for one cost after another."""

    def __init__(self, model: Compiled, radius: float | None, solver: str, accuracy: float) -> None:
        super().__init__(model)
        self.solver, self.accuracy = solver, accuracy
        self.radius = self._radius() if radius is None else radius

    def _solve(self, g: Array) -> Array:
        with _ONE_AT_A_TIME:
            return self._solve_alone(g)

    def _solve_alone(self, g: Array) -> Array:
        problem, cost, x = self.model
        size = float(abs(g).max()) or 1.0
        cost.value = np.asarray(g, dtype=np.float64) / size
        problem.solve(solver=self.solver, warm_start=True)
        if problem.status in ("infeasible", "infeasible_inaccurate"):
            raise ValueError(_EMPTY)
        if problem.status in ("unbounded", "unbounded_inaccurate"):
            raise ValueError(
                "constraints must bound x, found directions without a bound: add bounds on x"
            )
        if x.value is None or problem.status != "optimal":
            raise RuntimeError(
                f"{self.solver} ended with status {problem.status!r} for a cost of {self}: choose "
                "another solver=, or rescale the constraints"
            )
        return np.array(x.value, dtype=np.float64).reshape(self.shape)

    def _radius(self) -> float:
        most = np.zeros(self.shape)
        for i in np.ndindex(*self.shape):
            for sign in (-1.0, 1.0):
                g = np.zeros(self.shape)
                g[i] = sign
                most[i] = max(most[i], abs(float(self._solve(g)[i])))
        return float(np.linalg.norm(most)) * (1.0 + 1e-6)

    def _lmo(self, g: Array) -> Atoms:
        rows = np.asarray(g, dtype=np.float64).reshape(-1, *self.shape)
        x = np.array(map_batch(self._solve, rows)).reshape(g.shape)
        values = (rows * x.reshape(rows.shape)).reshape(len(rows), -1).sum(axis=1)
        lengths = np.linalg.norm(rows.reshape(len(rows), -1), axis=1)
        bounds = values - self.accuracy * lengths * self.radius
        single = g.ndim == len(self.shape)
        return Bounded(x, self.shape, float(bounds[0]) if single else bounds, g.copy())

    def certify(self, g: Array, vertex: Atoms) -> float:
        """Return the value of the answer to ``g`` less what the solver may have missed."""
        bound = vertex.bound_for(g) if isinstance(vertex, Bounded) else None
        if bound is not None:
            return bound
        spend(1)
        answer = self._lmo(np.asarray(g, dtype=np.float64))
        assert isinstance(answer, Bounded)
        return float(answer.bound)

    def _polyhedron(self) -> Polyhedron:
        raise CapabilityError(f"{self} has other than linear constraints")

    def has(self, capability: str) -> bool:
        return capability not in ("polyhedron", "prices") and super().has(capability)
