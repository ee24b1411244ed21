r"""Any descent method on functions that need not be convex.

Problem
    A stationary point of f over K: a point x where the Frank-Wolfe gap
    :math:`\max_{v\in K} \langle \nabla f(x), x - v\rangle` is at most the tolerance. f is smooth, K
    compact and convex.

Iteration
    A round of the method ``inner``. Where it does not lead down, its step is replaced by a
    Frank-Wolfe step whose length is found by backtracking, and ``inner`` starts again from there:

    .. math::

        x_{k+1} = x_k + \gamma (v_k - x_k), \qquad
        f(x_{k+1}) \le f(x_k) - \tfrac{\gamma}{2} \langle \nabla f(x_k), x_k - v_k\rangle.

Guarantee
    f decreases in every round. Frank-Wolfe with backtracking alone reaches a gap of
    :math:`\max(2 h_0, \tau L D^2)/\sqrt{k+1}` within k rounds, h_0 being f(x_0) less its minimum
    (Lacoste-Julien 2016; Pedregosa et al. 2020).

Symbols
    v_k ``vertex``, gamma the rule's step.

Cost of a round
    That of ``inner``, and an oracle call and a few values where its step is replaced.

Sources
    S. Lacoste-Julien, Convergence rate of Frank-Wolfe for non-convex objectives, 2016.
    F. Pedregosa, G. Negiar, A. Askari, M. Jaggi, Linearly convergent Frank-Wolfe with backtracking
    line-search, AISTATS 2020.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..arrays import Array, same_type
from ..problem import NonFiniteError, Problem, Solver
from ..smoothing import Oracles
from .parts.active_set import towards
from .parts.step_rules import Backtracking, OpenLoop, SearchLine

AVERAGING = ("anytime", "pfw", "r-pfw", "momentum", "cgs")
"""Methods that average gradients of different points, which says nothing where f is not convex."""

_RULE = Backtracking()


@dataclass(frozen=True)
class Descending(Solver[Any]):
    """A method whose steps are replaced where they do not lead down.

    Parameters
    ----------
    inner : Solver
        The method. Its states are those of the run.
    """

    inner: Solver[Any]
    name: ClassVar[str] = "descending"

    def __post_init__(self) -> None:
        if self.inner.name in AVERAGING:
            raise ValueError(
                f"method {self.inner.name!r} averages gradients, which needs a convex f: with "
                "convex=False choose 'fw', 'fw-ls', 'away', 'pairwise', 'bpcg', 'fcfw', 'lazy', "
                "'corrective', 'projected' or 'auto'"
            )
        if isinstance(getattr(self.inner, "rule", None), OpenLoop):
            # Steps of 2/(k+2) go up and down. The same method with backtracking only goes down.
            searching: Any = self.inner
            object.__setattr__(self, "inner", replace(searching, rule=_RULE))

    @property
    def samples(self) -> bool:
        """Whether the method draws perturbed oracles."""
        return getattr(self.inner, "samples", False)

    @property
    def m(self) -> int | None:
        """The number of oracles that it asks in a round, where that is an option."""
        return getattr(self.inner, "m", None)

    @property
    def certificate_calls(self) -> int:
        """Oracle calls that measuring stationarity takes."""
        return getattr(self.inner, "certificate_calls", 0)

    @property
    def round_calls(self) -> int:
        """Oracle calls of a round."""
        return getattr(self.inner, "round_calls", 1)

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> Any:
        return self.inner.init(problem, x0, oracles)

    def step(self, problem: Problem, state: Any, oracles: Oracles) -> Any:
        try:
            following = self.inner.step(problem, state, oracles)
        except NonFiniteError:
            following = None  # a long step has left the domain of f
        if following is not None and following.at.value < state.at.value:
            return following
        x = self._down(problem, state, oracles)
        return self.inner.init(problem, x, oracles)._replace(k=state.k + 1)

    def lower_bound(self, problem: Problem, state: Any, oracles: Oracles) -> float:
        """Return the bound that holds if f is convex after all; the loop does not ask for it."""
        return self.inner.lower_bound(problem, state, oracles)

    def _down(self, problem: Problem, state: Any, oracles: Oracles) -> Array:
        """Return the point after a Frank-Wolfe step with backtracking, x itself if f is flat."""
        x, at = state.x, state.at
        vertex = oracles.lmo(at.gradient)
        gamma, _ = _RULE(problem, SearchLine(state.k, x, at, towards(vertex, x)))
        return same_type(vertex.add_scaled(x, 1.0 - gamma, gamma), x) if gamma > 0 else x
