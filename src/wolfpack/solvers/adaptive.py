r"""Several methods in turn: the certificate tells which of them deserves the next rounds.

Problem
    min f(x) over x in K, f convex and smooth, K compact and convex.

Iteration
    One method of the list makes the rounds. The certified gap is measured after half of ``first``
    rounds, after ``first``, after twice as many, and so on. With the gaps :math:`g` and :math:`g'`
    before and after the last :math:`n` rounds, the rounds that remain are predicted as

    .. math:: N = n \, \frac{\log(g'/\epsilon)}{\log(g/g')},

    as if the gap went on to fall by the same factor. The method keeps its turn while N is at most
    ``PATIENCE`` times the rounds that it has made. Otherwise the next method of the list that has
    not been tried begins at the current point. The same happens when a method that is meant for
    round sets gets an answer of the oracle for the second time, which shows a polytope. When all
    have been tried, the turn goes to the one with the smallest prediction in units of work, if it
    is ``CLEARLY`` smaller.

Guarantee
    Each method's own, from the point where it began. The certificate holds in all cases, and the
    best bound of all methods counts.

Symbols
    The gap g when it was last measured ``turn.gap``, the rounds in turn ``turn.rounds``.

Cost of a round
    That of the method in turn, and one certificate at each measurement. Decisions rest on counts
    and gaps alone, never on a clock, so that the same seed gives the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..arrays import Array
from ..problem import Problem, Solver
from ..smoothing import Oracles
from .parts.hull import digest

PATIENCE = 2.0
"""Rounds that a method may still need, as a multiple of those it has made, to keep its turn."""

CLEARLY = 0.5
"""Another method gets the turn back when it promises at most this share of the work."""


@dataclass(frozen=True)
class Leg:
    """A method in the list.

    Parameters
    ----------
    method : str
        Its name.
    solver : Solver
        The method with its options.
    first : int
        Rounds after which its gap is measured for the first time.
    work : float
        What a round of it costs, in rounds of Frank-Wolfe.
    options : tuple of (str, value)
        The options that the solver was made with, by name.
    round_sets : bool
        Whether the method is meant for round sets. Its turn ends when the oracle gives an answer
        for the second time, which shows that the set is a polytope.
    """

    method: str
    solver: Solver[Any]
    first: int
    work: float
    options: tuple[tuple[str, Any], ...] = ()
    round_sets: bool = False


class Turn(NamedTuple):
    """One turn of a method: which one, since which round, and its gap when last measured.

    ``due`` is the number of rounds at which the gap is measured next, ``seen`` holds the oracle's
    first answers where these matter.
    """

    leg: int
    began: int
    rounds: int
    measured: int
    gap: float
    due: int
    seen: tuple[str, ...] = ()

    @classmethod
    def start(cls, leg: int, k: int, method: Leg) -> Turn:
        """Return the turn of a method that begins in round k."""
        return cls(leg, k, 0, 0, math.inf, max(1, method.first // 2))


class State(NamedTuple):
    """Round, the state of the method in turn, its turn, and the turns before.

    ``promises`` holds for each method the work that it was last predicted to need; None for one
    that has not been tried.
    """

    k: int
    inner: Any
    turn: Turn
    past: tuple[tuple[int, int], ...]
    promises: tuple[float | None, ...]

    @property
    def x(self) -> Array:
        return self.inner.x

    @property
    def at(self) -> Any:
        return self.inner.at

    @property
    def m(self) -> Any:
        return getattr(self.inner, "m", 0)

    @property
    def alpha(self) -> Any:
        return getattr(self.inner, "alpha", math.nan)

    @property
    def stalled(self) -> bool:
        return getattr(self.inner, "stalled", False) and None not in self.promises


@dataclass(frozen=True)
class Adaptive(Solver[State]):
    """Several methods, of which the certificate chooses.

    Parameters
    ----------
    legs : tuple of Leg
        The methods, in the order in which they are tried.
    tol, rtol : float
        The gap that is wanted, as for `wolfpack.minimize`.
    switches : tuple of (int, int), optional
        Rounds and positions in ``legs``: the method at that position begins in that round. Given to
        repeat a run; nothing is measured then.
    """

    legs: tuple[Leg, ...]
    tol: float = 0.0
    rtol: float = 0.0
    switches: tuple[tuple[int, int], ...] | None = None
    name: ClassVar[str] = "adaptive"

    @property
    def samples(self) -> bool:
        """Whether one of the methods draws perturbed oracles."""
        return any(getattr(leg.solver, "samples", False) for leg in self.legs)

    @property
    def certificate_calls(self) -> int:
        """The most oracle calls that a certificate takes."""
        return max(getattr(leg.solver, "certificate_calls", 0) for leg in self.legs)

    @property
    def certificate_proofs(self) -> int:
        """The most proofs of the oracle's answers that a certificate takes."""
        return max(getattr(leg.solver, "certificate_proofs", 0) for leg in self.legs)

    @property
    def round_calls(self) -> int:
        """Oracle calls of a round of the first method."""
        return getattr(self.legs[0].solver, "round_calls", 1)

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        turn = Turn.start(0, 0, self.legs[0])
        inner = self.legs[0].solver.init(problem, x0, oracles)
        return State(0, inner, turn, ((0, 0),), (None,) * len(self.legs))

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        turn, solver = state.turn, self.legs[state.turn.leg].solver
        if self.switches is not None:
            leg = dict(self.switches).get(state.k, turn.leg)
            if leg != turn.leg:
                return self._begin(problem, state, oracles, leg)
        elif turn.rounds >= turn.due or self._is_stuck(state):
            state, leg = self._measured(problem, state, oracles)
            if leg != turn.leg:
                return self._begin(problem, state, oracles, leg)
        elif len(set(turn.seen)) < len(turn.seen):
            leg = turn.leg + 1
            return self._begin(problem, state._replace(promises=self._known(state)), oracles, leg)
        inner = solver.step(problem, state.inner, oracles)
        turn = state.turn._replace(rounds=state.turn.rounds + 1, seen=self._seen(state, inner))
        return state._replace(k=state.k + 1, inner=inner, turn=turn)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the bound of the method in turn."""
        return self.legs[state.turn.leg].solver.lower_bound(problem, state.inner, oracles)

    def _seen(self, state: State, inner: Any) -> tuple[str, ...]:
        """Return the first answers of the oracle in this turn, where they matter."""
        leg, seen = self.legs[state.turn.leg], state.turn.seen
        if not leg.round_sets or self.switches is not None or len(seen) >= leg.first:
            return seen
        return (*seen, digest(inner.vertex.key()))

    def _is_stuck(self, state: State) -> bool:
        return getattr(state.inner, "stalled", False) and None in self._known(state)

    def _known(self, state: State) -> tuple[float | None, ...]:
        """Return the promises, the method in turn counting as tried."""
        promises, leg = state.promises, state.turn.leg
        known = promises[leg] if promises[leg] is not None else math.inf
        return (*promises[:leg], known, *promises[leg + 1 :])

    def _measured(self, problem: Problem, state: State, oracles: Oracles) -> tuple[State, int]:
        """Measure the gap; return the state with it, and the method for the next rounds."""
        turn = state.turn
        value = float(state.at.value)
        bound = max(problem.counts.bound, self.lower_bound(problem, state, oracles))
        gap = max(value - bound, 1e-300)
        following = turn._replace(gap=gap, measured=turn.rounds, due=2 * turn.rounds)
        if turn.gap == math.inf:  # one measurement promises nothing yet
            return state._replace(turn=following), turn.leg
        target = max(self.tol, self.rtol * abs(value), 1e-14 * abs(value), 1e-300)
        rounds = self._remaining(turn, gap, target)
        promises = list(self._known(state))
        promises[turn.leg] = rounds * self.legs[turn.leg].work
        state = state._replace(turn=following, promises=tuple(promises))
        stuck = getattr(state.inner, "stalled", False)
        if rounds <= PATIENCE * turn.rounds and not stuck:
            return state, turn.leg
        if None in promises:
            return state, promises.index(None)
        best = min(range(len(promises)), key=lambda leg: promises[leg] or 0.0)
        clear = (promises[best] or 0.0) < CLEARLY * (promises[turn.leg] or 0.0)
        return state, best if clear and not stuck else turn.leg

    def _remaining(self, turn: Turn, gap: float, target: float) -> float:
        """Return the rounds that the method in turn is predicted to need still."""
        if gap <= target:
            return 0.0
        fall = math.log(turn.gap / gap) if turn.gap > gap else 0.0
        made = turn.rounds - turn.measured
        return made * math.log(gap / target) / fall if fall > 0.0 else math.inf

    def _begin(self, problem: Problem, state: State, oracles: Oracles, leg: int) -> State:
        """Return the state in which another method begins at the current point."""
        k = state.k + 1
        inner = self.legs[leg].solver.init(problem, state.x, oracles)
        turn = Turn.start(leg, k, self.legs[leg])
        return State(k, inner, turn, (*state.past, (state.k, leg)), state.promises)
