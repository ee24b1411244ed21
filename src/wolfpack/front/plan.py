"""What ``method="auto"`` did, in a form that `minimize` can repeat."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..loop import Limits, Result
from ..loop.stopping import SHARE
from ..objectives import Objective
from ..problem import Solver
from ..sets import Set
from ..solvers.adaptive import Adaptive, Leg
from ..solvers.nnls import listed, size_of
from .methods import METHODS, make_solver

_WORK = {
    "projected": 70.0,
    "conjugate": 60.0,
    "fw-ls": 50.0,
    "corrective": 130.0,
    "conic": 1500.0,
    "anytime": 300.0,
}
"""What a round on small arrays costs without its gradients, in microseconds or so."""

_VERTEX = 10.0
"""The same for each vertex after the first of a round."""

_STEPS = 250.0
"""The same for the steps of a correction where f is not quadratic."""

_LISTED = 3e-4
"""The same for an entry of the matrix of `nnls` and each of its shorter side."""

_LISTED_ENTRIES = 200_000
"""Entries of the matrix of f, and of that of `nnls`, up to which `nnls` is worth a thought."""

_SLOW_ORACLE = 1000.0
"""The same for an oracle that its set declares expensive; a tenth for oracles of which nothing is
known."""


@dataclass(frozen=True)
class Plan:
    """The methods of a run and the rounds in which they took turns.

    ``minimize(f, K, method=plan)`` repeats the run to the same bits.

    Attributes
    ----------
    methods : tuple of (str, dict)
        Names and options of the methods, in the order in which they may be tried.
    switches : tuple of (int, int), optional
        Rounds, and the position in ``methods`` of the method that began in that round. The first
        method begins in round 0. None for a plan that has not been carried out yet.
    """

    methods: tuple[tuple[str, Mapping[str, Any]], ...]
    switches: tuple[tuple[int, int], ...] | None = None

    def __str__(self) -> str:
        begun = [(0, 0), *(self.switches or ())]
        return ", then ".join(f"{self._call(leg)} from round {k}" for k, leg in begun)

    def _call(self, leg: int) -> str:
        name, options = self.methods[leg]
        return name + "".join(f" {option}={value!r}" for option, value in options.items())

    def solver(
        self, objective: Objective, K: Set, limits: Limits, others: list[str], convex: bool | None
    ) -> tuple[str, Solver[Any]]:
        """Return the name of the first method, and the solver that follows the plan."""
        made: list[Leg] = []
        samples = False
        for method, options in self.methods:
            name, solver = make_solver(method, dict(options), METHODS, others)
            m = options.get("m") or 1
            # these ask or list vertices, and draw nothing
            listed = name == "corrective" and (m == 1 or K.has("k_best"))
            samples = samples or (getattr(solver, "samples", False) and not listed)
            for_set = getattr(solver, "for_set", None)
            solver = solver if for_set is None or convex is False else for_set(K)
            unknown = not (K.tested or K.polytope or len(made) + 1 == len(self.methods))
            leg = Leg(
                method=name,
                solver=solver,
                first=_first(name, m, K),
                work=_work(name, m, objective, K),
                options=tuple(options.items()),
                steady=name in ("conjugate", "fw-ls", "anytime"),
                round_sets=name == "conjugate" and unknown,
            )
            made.append(leg)
        if len(made) == 1:
            return made[0].method, made[0].solver
        gradient = _gradient_work(objective, K)
        solver = Adaptive(
            legs=tuple(made),
            tol=limits.tol,
            rtol=limits.rtol or 0.0,
            switches=self.switches,
            gradient=gradient,
            samples=samples,
            share=SHARE if limits.relative else 0.0,
        )
        return made[0].method, solver


def _first(name: str, m: Any, K: Set) -> int:
    """Return the rounds of a method before its gap is measured for the first time."""
    if name == "conjugate":
        return 4 if K.has("project") else 8  # the opening, or the method of choice
    if name == "corrective":
        return 4 if isinstance(m, int) and m > 1 else 8
    return {"projected": 12, "fw-ls": 8, "conic": 1, "nnls": 1}.get(name, 30)


def _work(name: str, m: Any, objective: Objective, K: Set) -> float:
    """Return what a round of a method costs without the gradients that are counted."""
    if name == "nnls":
        return listing_work(objective, K) or math.inf
    work, knows = _WORK.get(name, 100.0), type(objective)
    if name == "corrective" and isinstance(m, int):
        work += (m - 1) * _VERTEX
        if knows.hessian_product is not Objective.hessian_product:
            work += 0.5 * m * _gradient_work(objective, K)  # products with the Hessian
        if knows.curvature is Objective.curvature:
            work += _STEPS  # of a correction of what is not quadratic
    oracles = 16 if name == "anytime" and m != "exact" else m
    if name == "anytime" and m != "exact":
        work += 16 * _VERTEX
    if K.batch_hint == 1 and name != "conic":
        slow = _SLOW_ORACLE if K.tested else 0.1 * _SLOW_ORACLE
        work += slow * (oracles if isinstance(oracles, int) else 1)
    if name == "conic":
        dense = getattr(getattr(objective, "A", getattr(objective, "Q", 0.0)), "ndim", 0) == 2
        work += 5e-3 * K.dimension**3 if dense else 10.0 * K.dimension
    return work


def listing_work(objective: Objective, K: Set) -> float | None:
    """Return what `nnls` costs, None where it does not suit the problem or is too large for it."""
    outputs = K.shape[1] if len(K.shape) == 2 else 1  # each of which has the rows of the matrix
    if max(outputs * _data_size(objective), K.dimension) > _LISTED_ENTRIES:
        return None
    vertices = listed(K)
    form = None if vertices is None else objective.quadratic_form()
    if vertices is None or form is None:
        return None
    rows, columns = size_of(form, vertices)
    if rows * columns > _LISTED_ENTRIES:
        return None
    return 50.0 + _LISTED * rows * columns * min(rows, columns)


def _gradient_work(objective: Objective, K: Set) -> float:
    """Return what a gradient costs, from the size of its data."""
    return 10.0 + 2e-3 * float(max(_data_size(objective), K.dimension))


def _data_size(objective: Objective) -> int:
    """Return how many numbers the matrix of f has, 0 where it has none."""
    data = getattr(objective, "A", None)
    data = getattr(objective, "Q", None) if data is None else data
    stored = getattr(data, "nnz", None)  # sparse matrices of SciPy
    return stored if isinstance(stored, int) else math.prod(getattr(data, "shape", (0,)))


def carried_out(solver: Adaptive, result: Result) -> tuple[Plan, str]:
    """Return what a run did, as a plan that repeats it, and the name of its last method."""
    past = getattr(result.state, "past", ((0, 0),))
    methods = tuple((leg.method, dict(leg.options)) for leg in solver.legs)
    return Plan(methods, tuple(past[1:])), methods[past[-1][1]][0]
