"""What ``method="auto"`` did, in a form that `minimize` can repeat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..loop import Limits, Result
from ..problem import Solver
from ..sets import Set
from ..solvers.adaptive import Adaptive, Leg
from .methods import METHODS, make_solver

_FIRST = {"projected": 100, "conjugate": 20}
"""Rounds of a method before its gap is measured for the first time; 30 for the others."""

_WORK = {"projected": 1.5, "conjugate": 2.0, "corrective": 6.0}
"""What a round costs, in rounds of Frank-Wolfe on the same problem; 3 for the others."""


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
        self, K: Set, limits: Limits, others: list[str], convex: bool | None
    ) -> tuple[str, Solver[Any]]:
        """Return the name of the first method, and the solver that follows the plan."""
        made: list[Leg] = []
        for method, options in self.methods:
            name, solver = make_solver(method, dict(options), METHODS, others)
            for_set = getattr(solver, "for_set", None)
            solver = solver if for_set is None or convex is False else for_set(K)
            first, work = _FIRST.get(name, 30), _WORK.get(name, 3.0)
            last = len(made) + 1 == len(self.methods)
            round_sets = name == "conjugate" and not last
            made.append(Leg(name, solver, first, work, tuple(options.items()), round_sets))
        if len(made) == 1:
            return made[0].method, made[0].solver
        solver = Adaptive(tuple(made), limits.tol, limits.rtol or 0.0, self.switches)
        return made[0].method, solver


def carried_out(solver: Adaptive, result: Result) -> tuple[Plan, str]:
    """Return what a run did, as a plan that repeats it, and the name of its last method."""
    past = getattr(result.state, "past", ((0, 0),))
    methods = tuple((leg.method, dict(leg.options)) for leg in solver.legs)
    return Plan(methods, tuple(past[1:])), methods[past[-1][1]][0]
