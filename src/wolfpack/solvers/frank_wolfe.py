r"""Frank-Wolfe: one gradient, one linear oracle, one step.

Problem
    min f(x) over x in K, f convex and smooth, K compact and convex.

Iteration
    .. math::

        v_k = \arg\min_{v\in K} \langle \nabla f(x_k), v\rangle, \qquad
        x_{k+1} = x_k + \gamma_k (v_k - x_k).

Guarantee
    f(x_k) - min f <= 2 L D^2 / (k + 2) for the steps 2/(k+2), short step and exact line search, D
    the diameter of K (Jaggi 2013, Theorem 1).

Symbols
    x_k ``state.x``, grad f(x_k) ``state.at.gradient``, v_k ``state.vertex``, gamma_k ``gamma``.

Cost of a round
    One gradient, one oracle call (line searches on non-quadratics add slopes); memory O(d). Where f
    is not finite at x_{k+1}, gamma_k is halved until it is (`parts.domain`).

Sources
    M. Frank, P. Wolfe, An algorithm for quadratic programming, 1956.
    M. Jaggi, Revisiting Frank-Wolfe: projection-free sparse convex optimization, ICML 2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..arrays import Array, same_type
from ..atoms import Atoms
from ..problem import Evaluation, Problem, Solver
from ..smoothing import Oracles
from .parts.domain import shortened
from .parts.rules import as_rule
from .parts.step_rules import LineSearch, Memory, OpenLoop, Rule, SearchLine


class State(NamedTuple):
    """Round, iterate with its evaluation, the oracle's answer, and the step rule's memory."""

    k: int
    x: Array
    at: Evaluation
    vertex: Atoms
    memory: Memory = None


@dataclass(frozen=True)
class FrankWolfe(Solver[State]):
    """Frank-Wolfe with a step rule.

    Parameters
    ----------
    rule : Rule or str
        How far to go: a rule of `wolfpack.solvers`, or its name. "open-loop" is 2/(k+2),
        "log-open-loop", "power-loop" and "monotone" are its variants, "short-step" needs L,
        "backtracking" and "adaptive" estimate it, "secant", "golden-section" and "line-search"
        search the minimum of f between x and the vertex.
    """

    rule: Rule | str = OpenLoop()
    name: ClassVar[str] = "fw"
    certificate_proofs: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule", as_rule(self.rule))

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        as_rule(self.rule).check(problem)
        at = problem.evaluate(x0)
        return State(0, x0, at, oracles.lmo(at.gradient))

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        x, rule = state.x, as_rule(self.rule)
        d = state.vertex.to_dense() - x if rule.looks else None
        gamma, memory = rule(problem, SearchLine(state.k, x, state.at, d, 1.0, state.memory))

        def moved(gamma: float) -> tuple[Array, Evaluation]:
            x_next = same_type(state.vertex.add_scaled(x, 1.0 - gamma, gamma), x)
            return x_next, problem.evaluate(x_next)

        _, (x_next, at_next) = shortened(moved, gamma, x, end=1.0)
        return State(state.k + 1, x_next, at_next, oracles.lmo(at_next.gradient), memory)

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return f(x) - <grad f(x), x - v>, or better where the conjugate is known."""
        return problem.dual_bound(state.at.gradient, state.at.dual, state.vertex)


def open_loop(ell: float | None = None, rule: Rule | str | None = None) -> FrankWolfe:
    """Frank-Wolfe with step ell/(k+ell), where ell is 2 by default, or with another rule."""
    if rule is None:
        return FrankWolfe(OpenLoop() if ell is None else OpenLoop(ell))
    if ell is not None:
        raise ValueError(
            "ell belongs to the open loop ell/(k+ell): leave it out, or leave rule out, found "
            f"ell={ell!r} beside rule={rule!r}"
        )
    return FrankWolfe(rule)


def line_search(xtol: float = 1e-10) -> FrankWolfe:
    """Frank-Wolfe with exact line search."""
    return FrankWolfe(LineSearch(xtol))
