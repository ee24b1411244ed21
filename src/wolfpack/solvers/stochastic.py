r"""Stochastic Frank-Wolfe: a few rows of a sum, one linear oracle, one step.

Problem
    min f(x) over x in K, K compact and convex, f convex and smooth: a sum
    :math:`\sum_{i\le n} \ell_i(\langle a_i, x\rangle)`, or a function known through random
    gradients.

Iteration
    With an estimate d_k of the gradient at x_k:

    .. math:: v_k = \arg\min_{v\in K} \langle d_k, v\rangle, \qquad
        x_{k+1} = (1-\gamma_k) x_k + \gamma_k v_k.

    A round then reads the rows B_{k+1} (or draws a random gradient g_{k+1}). The estimates are

    .. math::

        &\text{table:} & d_k &= A'\theta, &
            \theta_i &\leftarrow \ell_i'(\langle a_i, x_{k+1}\rangle),\ i \in B_{k+1} \\
        &\text{substitute:} & d_k &= A'\theta, &
            s_i &\leftarrow (1-\eta_k) s_i + \eta_k \langle a_i, v_k\rangle,\
            \theta_i \leftarrow \ell_i'(s_i) \\
        &\text{momentum:} & d_{k+1} &= (1-\rho_k) d_k + \rho_k\, g_{k+1}(x_{k+1}) \\
        &\text{recursive:} & d_{k+1} &= g_{k+1}(x_{k+1}) +
            (1-\rho_k) (d_k - g_{k+1}(x_k)).

    The steps are :math:`\gamma_k = 2/(k+2)` for "table" and "recursive" (with the same
    :math:`\rho_k`), :math:`2/(k+8)` with :math:`\rho_k = 4/(k+8)^{2/3}` for "momentum", and those
    of Lu and Freund for "substitute".

Guarantee
    "table": in every round the certificate of the averaged table is at most
    (16 r W + 2 C)/(k+1) plus a term O(1/k^2), where no row is older than r rounds, which is sure
    for shuffled passes (Theorem N1 of docs/theory/stochastic.md). "recursive": E f(x_k) - min f =
    O(1/sqrt(k)) (Theorem N2); "momentum": O(k^(-1/3)) (Mokhtari et al. 2020); "substitute":
    O(n/(b k)) in expectation (Lu and Freund 2021). A gap that is reported is proved in all cases.

Symbols
    x_k ``state.x``, d_k ``state.estimate``, theta ``state.slopes.current``, s_i
    ``state.arguments``, gamma_k ``gamma``, the rows of a round ``batch``.

Cost of a round
    The gradients of ``batch`` rows (twice with "recursive"), one oracle call; memory O(d), and two
    numbers per row with a table. A certificate is a pass over the rows for the value of f, and a
    second one where the table proves more than the gradient at x_k.

Sources
    G. Negiar, G. Dresdner, A. Tsai, L. El Ghaoui, F. Locatello, R. Freund, F. Pedregosa, Stochastic
    Frank-Wolfe for constrained finite-sum minimization, ICML 2020.
    H. Lu, R. Freund, Generalized stochastic Frank-Wolfe algorithm with stochastic "substitute"
    gradient for structured convex optimization, Mathematical Programming 187, 2021.
    A. Mokhtari, H. Hassani, A. Karbasi, Stochastic conditional gradient methods: from convex
    minimization to submodular maximization, JMLR 21, 2020.
    M. Zhang, Z. Shen, A. Mokhtari, H. Hassani, A. Karbasi, One sample stochastic Frank-Wolfe,
    AISTATS 2020.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from ..arrays import Array, inner, mix, same_type, take
from ..atoms import Atoms
from ..gradients import Slopes, SlopeTable
from ..problem import Evaluation, Problem, Solver
from ..problem.checks import checked, choice, count, optional
from ..smoothing import Oracles
from .parts.draws import certified, drawn, promised, rounds_of_pass
from .parts.regret import Regret

TABLES = ("table", "substitute")
"""Estimates that keep a slope for each row."""


class State(NamedTuple):
    """Iterate and estimate; then the tables of "table" and "substitute", or the averages of random
    gradients of the others.
    """

    k: int
    x: Array
    at: Evaluation | None
    estimate: Array
    slopes: Slopes | None = None
    arguments: SlopeTable | None = None
    regret: Regret | None = None


@checked(
    order=choice("random", "shuffled"),
    estimate=choice("auto", *TABLES, "momentum", "recursive"),
    batch=optional(count),
)
@dataclass(frozen=True)
class StochasticFrankWolfe(Solver[State]):
    """Frank-Wolfe from minibatches.

    Parameters
    ----------
    estimate : {"auto", "table", "substitute", "momentum", "recursive"}
        What stands for the gradient. "auto" is "table" for sums whose rows are at hand, and
        "momentum" for other random gradients.
    batch : int, optional
        Rows of a round (minibatches of a source, calls of a random gradient). By default what f
        declares, or a hundredth of the rows.
    order : {"random", "shuffled"}
        Whether a round with a table draws its rows anew, or the rows come pass by pass in random
        orders, for which the theorem knows how old an entry may be. The first was faster in all
        measurements.
    """

    estimate: str = "auto"
    batch: int | None = None
    order: str = "random"
    name: ClassVar[str] = "stochastic"
    random: ClassVar[bool] = True
    certificate_calls: ClassVar[int] = 2
    certificate_proofs: ClassVar[int] = 2

    @property
    def rows(self) -> str | None:
        """How the rows of a table are read: "uniform" or "passes". None without a table."""
        if self.estimate not in TABLES:
            return None
        return "uniform" if self.order == "random" else "passes"

    def for_rows(self, at_hand: bool) -> StochasticFrankWolfe:
        """Return the solver with an estimate chosen, for a sum whose rows are at hand or not."""
        if self.estimate != "auto":
            return self
        return replace(self, estimate="table" if at_hand else "momentum")

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        draws: Any = oracles.gradients
        if self.rows is not None:
            slopes, arguments = Slopes.none_seen(draws.objective.image_shape, x0), None
            if self.estimate == "substitute":
                problem.counts.reread()
                arguments = SlopeTable(1.0 * draws.objective.image(x0))
            state = State(0, x0, None, slopes.gradient, slopes, arguments)
            return self._renewed(problem, state, x0, 0.0, draws)
        g = drawn(problem, draws, x0, 0)
        return State(0, x0, None, g, regret=Regret.first(g, inner(g, x0)))

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        k, x, draws = state.k, state.x, oracles.gradients
        gamma = self._step(k, draws)
        vertex = oracles.lmo(state.estimate)
        x_next = same_type(vertex.add_scaled(x, 1.0 - gamma, gamma), x)
        moved = state._replace(k=k + 1, x=x_next, at=None)
        if self.estimate == "table":
            return self._renewed(problem, moved, x_next, 0.0, draws)
        if self.estimate == "substitute":
            rounds = rounds_of_pass(draws)
            eta = 2.0 * rounds / (2.0 * rounds + k + 1.0)
            return self._renewed(problem, moved, same_type(vertex.to_dense(), x), eta, draws)
        g = drawn(problem, draws, x_next, k + 1)
        if self.estimate == "momentum":
            d = mix(state.estimate, g, 4.0 / (k + 8.0) ** (2.0 / 3.0))
        else:
            d = g + (1.0 - gamma) * (state.estimate - drawn(problem, draws, x, k + 1))
        assert state.regret is not None
        return moved._replace(estimate=d, regret=state.regret.plus(gamma, g, _product(vertex, g)))

    def _step(self, k: int, draws: Any) -> float:
        if self.estimate == "momentum":
            return 2.0 / (k + 8.0)
        if self.estimate == "substitute":
            rounds = rounds_of_pass(draws)
            return 2.0 * (2.0 * rounds + k) / ((k + 1.0) * (4.0 * rounds + k))
        return 2.0 / (k + 2.0)

    def _renewed(
        self, problem: Problem, state: State, point: Array, eta: float, draws: Any
    ) -> State:
        """Return the state with the slopes of the rows of its round taken anew.

        With "substitute" they are the slopes at s_i, which moves towards <a_i, point> by eta.
        """
        k, slopes, arguments = state.k, state.slopes, state.arguments
        assert slopes is not None
        batch = draws.rows.of_round(k, draws.batch)
        problem.counts.read(len(batch.rows))
        z = batch.part @ point
        if arguments is not None:
            before = take(arguments.values, batch.places)
            z = before + eta * (z - before)
            arguments = arguments.replaced(batch.places, z)
        slopes = slopes.renewed(batch, batch.slopes(z), _weight(k))
        return state._replace(estimate=slopes.gradient, slopes=slopes, arguments=arguments)

    def observe(self, problem: Problem, state: State) -> State:
        """Return the state with f at x_k, as far as f tells its values."""
        return state._replace(at=problem.known(state.x))

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the best of the dual values at the gradient at x_k and at the tables."""
        weight = _weight(state.k) or 1.0  # no table has been averaged in round 0
        return certified(problem, state.at, state.slopes, weight, oracles)

    def promise(
        self, problem: Problem, state: State, oracles: Oracles
    ) -> tuple[float, float] | None:
        """Return what f(x_k) is not below, and what the tables may prove; None without tables."""
        if state.slopes is None:
            return None
        return promised(problem, state.slopes, _weight(state.k) or 1.0, state.x, oracles)


def _weight(k: int) -> float:
    """Return the sum of the weights 2 (j + 1) of the rounds j < k."""
    return float(k * (k + 1))


def _product(vertex: Atoms, g: Array) -> float:
    return float(vertex.dot(g))
