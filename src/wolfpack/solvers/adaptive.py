r"""Several methods in turn: the certificate tells which of them deserves the next rounds.

Problem
    min f(x) over x in K, f convex and smooth, K compact and convex.

Iteration
    One method of the list makes the rounds. Its certified gap is measured after ``first`` rounds
    and whenever its rounds have grown by half. From the gaps :math:`g` and :math:`g'` before and
    after the last part of its work, of the amount :math:`c`, the work that remains is predicted as

    .. math:: W = c \, \frac{\log(g'/\epsilon)}{\log(g/g')},

    as if the gap went on to fall by the same factor. The method keeps its turn while W is at most
    ``PATIENCE`` times the work C that it has done, and has not grown. Otherwise the turn goes to
    the method with the smallest credit, if that is ``CLEARLY`` smaller. The credit is W for a
    method that goes on as it has begun, :math:`\min(W, \text{TRUST} \cdot C)` for one that may be
    slow until it has found the face of the solution, and what it takes to measure a method that has
    not been tried yet. A method keeps its state while others have the turn. It goes on from the
    best point of all if that is clearly better than its own.

    A method that is meant for round sets hands over when an answer of the oracle returns, which
    shows a polytope.

Guarantee
    Each method's own, with a constant share of the work. The certificate holds in all cases, and
    the best bound of all methods counts.

Symbols
    C and the gaps are in ``state.accounts``, W is ``promise`` there.

Cost of a round
    That of the method in turn, and one certificate at each measurement. Work is counted in declared
    units: what a method declares for a round, and gradients. Decisions rest on counts and gaps
    alone, never on a clock, so that the same seed gives the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..arrays import Array
from ..problem import Problem, Solver
from ..smoothing import Oracles
from .parts.hull import digest

PATIENCE = 2.5
"""Work that a method may still need, as a multiple of what it has done, to keep its turn."""

TRUST = 6.0
"""The most that a prediction may exceed the work on which it rests."""

GROWTH = 1.5
"""Factor between the rounds at which a method is measured."""

CLEARLY = 0.6
"""Another method gets the turn if its credit is at most this share."""

AGAIN = 4.0
"""Factor of the credit of a method that goes on as it has begun, and was too slow before."""

BEHIND = 0.3
"""A method takes over another's point where its own gap would shrink to this share."""


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
        What a round of it costs, without the gradients that are counted.
    options : tuple of (str, value)
        The options that the solver was made with, by name.
    round_sets : bool
        Whether the method is meant for round sets. Its turn ends when the oracle gives an answer
        for the second time, which shows that the set is a polytope.
    steady : bool
        Whether the method goes on as it has begun, so that a bad prediction is to be trusted.
        Others may be slow until they have found the face of the solution.
    """

    method: str
    solver: Solver[Any]
    first: int
    work: float
    options: tuple[tuple[str, Any], ...] = ()
    round_sets: bool = False
    steady: bool = False


class Account(NamedTuple):
    """What a method has done so far: rounds and work, and both when its gap was last measured.

    ``gap`` was measured then; ``promise`` is the work that it is predicted to need still, None
    before it is tried, and ``before`` the prediction before; ``stuck`` says that it cannot go on.
    """

    rounds: int = 0
    work: float = 0.0
    measured: float = 0.0
    due: int = 0
    gap: float = math.inf
    promise: float | None = None
    before: float = math.inf
    stuck: bool = False

    @property
    def keeps_promise(self) -> bool:
        """Whether the end is near, and nearer than it seemed at the measurement before."""
        near = self.promise is not None and self.promise <= PATIENCE * self.work
        return near and (self.promise or 0.0) <= self.before


class Turn(NamedTuple):
    """The method in turn, and what the loop must know of it.

    ``calls`` is what its certificate costs and ``round_calls`` what a round is worth, both in
    oracle calls; ``seen`` holds the oracle's first answers where these matter.
    """

    leg: int
    calls: int
    round_calls: int
    seen: tuple[str, ...] = ()


class State(NamedTuple):
    """Round, the states of all methods, whose turn it is, the turns before, and the accounts.

    The state of a method that has not begun is None; ``first`` is the value at the start.
    """

    k: int
    states: tuple[Any, ...]
    turn: Turn
    past: tuple[tuple[int, int], ...]
    accounts: tuple[Account, ...]
    first: float

    @property
    def inner(self) -> Any:
        """The state of the method in turn."""
        return self.states[self.turn.leg]

    def with_inner(self, inner: Any) -> State:
        """Return the state with another one of the method in turn."""
        leg = self.turn.leg
        return self._replace(states=(*self.states[:leg], inner, *self.states[leg + 1 :]))

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
    def certificate_calls(self) -> int:
        """Oracle calls that a certificate of the method in turn takes."""
        return self.turn.calls

    @property
    def round_calls(self) -> int:
        """Oracle calls that a round of the method in turn is worth."""
        return self.turn.round_calls

    @property
    def stalled(self) -> bool:
        own = self.turn.leg
        others = (a.stuck for leg, a in enumerate(self.accounts) if leg != own)
        return getattr(self.inner, "stalled", False) and all(others)


@dataclass(frozen=True)
class Adaptive(Solver[State]):
    """Several methods, of which the certificate chooses.

    Parameters
    ----------
    legs : tuple of Leg
        The methods, in the order in which they are tried.
    tol, rtol, share : float
        The gap that is wanted, as for `wolfpack.minimize`; with ``share`` it is that share of what
        could be gained at the start, in place of ``tol``.
    switches : tuple of (int, int), optional
        Rounds and positions in ``legs``: the method at that position begins in that round. Given to
        repeat a run; nothing is measured then.
    gradient : float
        What a gradient costs, in the units of `Leg.work`.
    samples : bool
        Whether one of the methods draws perturbed oracles.
    """

    legs: tuple[Leg, ...]
    tol: float = 0.0
    rtol: float = 0.0
    switches: tuple[tuple[int, int], ...] | None = None
    gradient: float = 1.0
    samples: bool = True
    share: float = 0.0
    name: ClassVar[str] = "adaptive"

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
        inner = self.legs[0].solver.init(problem, x0, oracles)
        states = (inner, *(None for _ in self.legs[1:]))
        accounts = tuple(Account(due=leg.first) for leg in self.legs)
        return State(0, states, self._turn(problem, 0), ((0, 0),), accounts, float(inner.at.value))

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        state, leg = self._decided(problem, state, oracles)
        if leg != state.turn.leg:
            state = self._handed_over(problem, state, oracles, leg)
        solver, counts, account = self.legs[leg].solver, problem.counts, state.accounts[leg]
        before = counts.njev
        inner = solver.step(problem, state.inner, oracles)
        work = self.legs[leg].work + self.gradient * (counts.njev - before)
        account = account._replace(rounds=account.rounds + 1, work=account.work + work)
        turn = state.turn._replace(seen=self._seen(state.turn, inner))
        return state._replace(
            k=state.k + 1,
            states=_with(state.states, leg, inner),
            turn=turn,
            accounts=_with(state.accounts, leg, account),
        )

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the bound of the method in turn."""
        return self.legs[state.turn.leg].solver.lower_bound(problem, state.inner, oracles)

    def _turn(self, problem: Problem, leg: int) -> Turn:
        """Return the turn of a method that begins."""
        solver = self.legs[leg].solver
        calls = getattr(solver, "certificate_calls", 0)
        calls += getattr(solver, "certificate_proofs", 0) * problem.set.proof_calls
        return Turn(leg, calls, getattr(solver, "round_calls", 1))

    def _seen(self, turn: Turn, inner: Any) -> tuple[str, ...]:
        """Return the first answers of the oracle in this turn, where they matter."""
        leg = self.legs[turn.leg]
        if not leg.round_sets or self.switches is not None or len(turn.seen) >= 20:
            return turn.seen
        return (*turn.seen, digest(inner.vertex.key()))

    def _decided(self, problem: Problem, state: State, oracles: Oracles) -> tuple[State, int]:
        """Return the state, measured where that is due, and the method for the next round."""
        own, k = state.turn.leg, state.k
        account = state.accounts[own]
        if self.switches is not None:
            return state, next((leg for round, leg in self.switches if round == k), own)
        if account.gap == math.inf and math.isfinite(problem.counts.bound):
            gap = max(float(state.at.value) - problem.counts.bound, 1e-300)
            account = account._replace(gap=gap)
            state = state._replace(accounts=_with(state.accounts, own, account))
        stuck = getattr(state.inner, "stalled", False)
        if account.rounds >= account.due or stuck:
            state = self._measured(problem, state, oracles, stuck)
            return state, self._choice(state)
        if len(set(state.turn.seen)) < len(state.turn.seen):  # K is a polytope after all
            account = account._replace(promise=math.inf, due=2 * account.rounds)
            state = state._replace(accounts=_with(state.accounts, own, account))
            return state, own if state.accounts[own + 1].stuck else own + 1
        return state, own

    def _choice(self, state: State) -> int:
        """Return the method that deserves the next rounds."""
        own = state.turn.leg
        account = state.accounts[own]
        if account.promise is None:
            return own
        leg = self.legs[own]
        # as long as no answer returns, a set of which nothing is known may be round
        may_be_round = leg.round_sets and account.rounds < 4 * leg.first
        may_be_round = may_be_round and account.promise <= 2.0 * PATIENCE * account.work
        if (account.keeps_promise or may_be_round) and not account.stuck:
            return own
        promises = {
            leg: self._credit(leg, account, own)
            for leg, account in enumerate(state.accounts)
            if not account.stuck
        }
        best = min(promises, key=lambda leg: (promises[leg], leg), default=own)
        if account.stuck or promises[best] < CLEARLY * promises[own]:
            return best
        return own

    def _credit(self, leg: int, account: Account, own: int) -> float:
        """Return the work that a method is believed to need still."""
        if account.promise is None:
            return self.legs[leg].first * self.legs[leg].work
        if self.legs[leg].steady:
            return account.promise if leg == own else AGAIN * account.promise
        return min(account.promise, TRUST * account.work)

    def _measured(self, problem: Problem, state: State, oracles: Oracles, stuck: bool) -> State:
        """Return the state with the gap of the method in turn, and the work that it promises."""
        own = state.turn.leg
        account, value = state.accounts[own], float(state.at.value)
        bound = max(problem.counts.bound, self.lower_bound(problem, state, oracles))
        gap = max(value - bound, 1e-300)
        target = self.share * (state.first - bound) if self.share else self.tol
        target = max(target, self.rtol * abs(value), 1e-14 * abs(value), 1e-300)
        promise: float | None = math.inf
        if not stuck:
            promise = _remaining(account.gap, gap, account.work - account.measured, target)
        if account.gap == math.inf and not stuck:
            promise = None  # one measurement promises nothing yet
        account = account._replace(
            measured=account.work,
            due=max(account.rounds + 1, math.ceil(GROWTH * account.rounds)),
            gap=gap,
            promise=promise,
            before=math.inf if account.promise is None else account.promise,
            stuck=stuck,
        )
        return state._replace(accounts=_with(state.accounts, own, account))

    def _handed_over(self, problem: Problem, state: State, oracles: Oracles, leg: int) -> State:
        """Return the state in which another method has the turn."""
        solver, inner, account = self.legs[leg].solver, state.states[leg], state.accounts[leg]
        best = min((s for s in state.states if s is not None), key=lambda s: float(s.at.value))
        value, bound = float(best.at.value), problem.counts.bound
        if inner is None:
            inner = solver.init(problem, best.x, oracles)
            gap = max(value - bound, 1e-300) if math.isfinite(bound) else math.inf
            account = account._replace(gap=gap, promise=math.inf)
        elif value - bound < BEHIND * (float(inner.at.value) - bound):
            move = getattr(solver, "moved_to", None)
            if move is None:
                inner = solver.init(problem, best.x, oracles)
            else:
                inner = move(problem, inner, best.x, best.at, oracles)
            account = account._replace(gap=max(value - bound, 1e-300))
        return state._replace(
            states=_with(state.states, leg, inner),
            turn=self._turn(problem, leg),
            past=(*state.past, (state.k, leg)),
            accounts=_with(state.accounts, leg, account),
        )


def _with(values: tuple[Any, ...], position: int, value: Any) -> tuple[Any, ...]:
    """Return the tuple with another value at a position."""
    return (*values[:position], value, *values[position + 1 :])


def _remaining(before: float, gap: float, work: float, target: float) -> float:
    """Return the work that remains if the gap goes on to fall as it did during ``work``."""
    if gap <= target:
        return 0.0
    fall = math.log(before / gap) if gap < before < math.inf else 0.0
    return work * math.log(gap / target) / fall if fall > 0.0 else math.inf
