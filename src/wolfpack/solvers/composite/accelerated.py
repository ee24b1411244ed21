r"""Stochastic composite minimisation: Algorithm 1 of the paper.

Problem
    min F(y) = G(y) + H(y), G convex and beta-smooth, seen through stochastic gradients of variance
    at most sigma^2; H mu-strongly convex and simple; w nu-strongly convex; one norm for all.

Iteration
    From :math:`z_0 = \arg\min w`, :math:`y_0 = z_0`, :math:`A_0 = 0`, :math:`d_0 = 0`:

    .. math::

        &A_{k+1}: \text{ larger root of } \beta (A'-A_k)^2 + \sqrt{\mu\beta} A'(A'-A_k)
            = A'(\mu A_k + \beta\nu), \qquad \tau_k = 1 - A_k/A_{k+1} \\
        &v_k = (1-\tau_k) y_k + \tau_k z_k, \qquad g_k \text{ a stochastic gradient of } G
            \text{ at } v_k \\
        &d_{k+1} = d_k + (A_{k+1}-A_k) g_k \\
        &z_{k+1} = \arg\min_y \langle d_{k+1}, y\rangle + A_{k+1} H(y) + \beta w(y) \\
        &y_{k+1} = (1-\tau_k) y_k + \tau_k z_{k+1}

Guarantee
    Theorem 1: E[F(y_k) - min F] decreases like exp(-k sqrt(mu/beta)/8) down to
    sigma^2 / (2 sqrt(mu beta)); see `wolfpack.theory.bound_composite`.

Certificate
    By Fenchel's inequality min F >= -G*(g) - H*(-g) at every g. Exact gradients give it at the
    average g = d_k / A_k. Full evaluations of G give it at grad G(y_k). Where the gradients of
    rounds are random and y_k fluctuates, they also give it at the average of these gradients
    (weights 1, 2, 3, ...) and at the control variate, whose slopes were taken along many rounds.

Symbols
    A_k grows geometrically and would overflow, so the state holds the average ``model.d`` =
    d_k / A_k: d_{k+1}/A_{k+1} = (1-tau_k) d_k/A_k + tau_k g_k, and the minimisation step is divided
    by A_{k+1}. ``model.dual`` is the average of the dual points of exact gradients (it stands for
    c_k / A_k, taken at the points v_i as in the paper's proof), None when gradients are random;
    ``model.slope`` shifts w to where the run last restarted. ``tuned.gamma`` is the weight of w,
    which is beta unless beta is searched. Other letters are the paper's.

Cost of a round
    One (averaged) stochastic gradient, one minimisation step; memory O(d). F is evaluated only when
    a round is recorded. Where beta was estimated it is tested on the gradients of
    the rounds 0, 1, 3, 7, 15, ... and raised where they disprove it: that changes the weights of
    later rounds, and Theorem 1 holds with the last beta for what follows.

What may be added
    `policies`: a bound on the steps where noise grows with y, a search for a smaller beta, and
    restarts. A searched beta_k is known before the gradient of its round is drawn, so gradients
    stay unbiased.

Sources
    B. Dubois-Taine, F. Bach, Q. Berthet, A. Taylor, Fast stochastic composite minimization and an
    accelerated Frank-Wolfe algorithm under parallelization, NeurIPS 2022.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

from ...arrays import Array, add_scaled, inner
from ...gradients import ControlVariate, Gradients
from ...problem import CompositeEvaluation, CompositeProblem, NonFiniteError
from ...problem.checks import count, either, shown
from ...theory import unchecked
from .foresight import Query, foreseen, query
from .policies import LOOK_EVERY, Policies, Spell, opposes

_TIMES = 16.0  # rounds after which noise rules a run, in units of what halves its error


class GradientAverage(NamedTuple):
    """The average of the gradients since the last restart, which z_k minimises with H and w.

    ``d`` is d_k / A_k, ``dual`` the average dual point (None for random gradients), ``A_k`` the sum
    of the weights and ``slope`` the gradient of w at the last restart (None before the first);
    ``slack`` is what a searched beta has saved (`wolfpack.solvers.composite.searched`).
    """

    d: Array
    dual: Any
    A_k: float
    slope: Array | None = None
    slack: float = 0.0


class Reading(NamedTuple):
    """What is read: ``m`` draws in the next round, ``rows`` in all rounds so far.

    ``growth`` is the growth of m in a round, ``variate`` what is known from the rows so far.
    """

    m: int | str
    rows: int = 0
    growth: float = 0.0
    variate: ControlVariate | None = None


class Tuned(NamedTuple):
    """What the policies have found: ``gamma``, the weight of w, ``beta``, and the last restart."""

    gamma: float
    beta: float
    spell: Spell = Spell()


class Seen(NamedTuple):
    """The weighted average of the full gradients seen so far, with their dual points."""

    count: int = 0
    gradient: Any = 0.0
    dual: Any = 0.0

    def plus(self, gradient: Array, dual: Any) -> Seen:
        """Return the average with one more gradient, of weight count + 1."""
        tau = 2.0 / (self.count + 2.0)
        mean, mean_dual = (1 - tau) * self.gradient, (1 - tau) * self.dual
        return Seen(self.count + 1, mean + tau * gradient, mean_dual + tau * dual)


class State(NamedTuple):
    """Iterates of Algorithm 1 (y_k is ``x``), what the next round needs, what was evaluated.

    ``query`` is G as the last round has seen it, where gradients are exact.
    """

    k: int
    x: Array
    z: Array
    model: GradientAverage
    reading: Reading
    tuned: Tuned
    seen: Seen = Seen()
    at: CompositeEvaluation | None = None
    query: Query | None = None

    m = property(attrgetter("reading.m"))
    rows = property(attrgetter("reading.rows"))


@dataclass(frozen=True)
class StochasticComposite:
    """Algorithm 1 of the paper.

    Parameters
    ----------
    batch : int, callable or None
        Stochastic gradients (or rows of a sum) averaged in a round: a number, a function of the
        round k, or None for what the source of gradients proposes.
    policies : Policies
        What is added to the algorithm; by default `minimize_composite` chooses it.
    """

    batch: int | str | Callable[[int], int] | None = None
    policies: Policies = field(default=Policies(), kw_only=True, repr=False)
    name: ClassVar[str] = "accelerated"
    batch_names: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.batch is not None and not callable(self.batch):
            batch = either(count, *self.batch_names)(self.batch, "batch")
            object.__setattr__(self, "batch", batch)
        if not isinstance(self.policies, Policies):
            raise TypeError(f"policies must be a Policies object, found {shown(self.policies)}")

    def weight(
        self, problem: CompositeProblem, k: int, A_k: float, tuned: Tuned, exact: bool
    ) -> tuple[float, float]:
        """Return A_{k+1} and tau_k."""
        nu = problem.nu if self.policies.search is None else problem.nu * tuned.gamma / tuned.beta
        return unchecked.next_weight(A_k, tuned.beta, problem.mu, nu)

    def init(self, problem: CompositeProblem, y0: Array, gradients: Gradients) -> State:
        """Return the state of round 0."""
        model = GradientAverage(0.0 * y0, 0.0 if gradients.exact else None, 0.0)
        reading = Reading(self.size(0, 1, 0.0, gradients))
        return State(0, y0, y0, model, reading, Tuned(problem.beta, problem.beta))

    def step(self, problem: CompositeProblem, state: State, gradients: Gradients) -> State:
        """Return the state after one more round."""
        k, y, z, model = state.k, state.x, state.z, state.model
        m, gamma, bound = state.reading.m, state.tuned.gamma, self.policies.bound
        if k > 0:
            problem.counts.check_rows(state.reading.rows + gradients.read(m, False))
        problem.counts.evaluated(0, 0)  # counted below: a source of data may end here
        A_next, tau = self.weight(problem, k, model.A_k, state.tuned, gradients.exact)
        if bound is not None:
            stalls, drag = state.tuned.spell.stalls, gamma * problem.nu
            A_next, tau = bound.limit(model.A_k, A_next, tau, problem.mu, drag, stalls)
        kept = (1 - tau) * y
        v = kept + tau * z
        variate = state.reading.variate
        if gradients.reduction is not None:
            variate = gradients.variate(variate, y, k, m)
        g = gradients.at(v, k, m, variate)
        d_next = add_scaled((1 - tau) * model.d, tau, g.mean)
        lam = gamma / A_next
        z_next = problem.solve(d_next if model.slope is None else d_next - lam * model.slope, lam)
        y_next = add_scaled(kept, tau, z_next)
        problem.counts.njev += 1
        dual_next = None if model.dual is None else (1 - tau) * model.dual + tau * g.dual
        following = State(
            k=k + 1,
            x=y_next,
            z=z_next,
            model=GradientAverage(d_next, dual_next, A_next, model.slope),
            reading=Reading(
                m,
                state.reading.rows + gradients.read(m, variate is not state.reading.variate),
                state.reading.growth,
                g.variate,
            ),
            tuned=state.tuned,
            seen=state.seen,
            query=query(k, v, g.value, g.mean, g.dual, gamma) if gradients.exact else None,
        )
        if self.batch is not None and not isinstance(self.batch, int):
            following = self._regrown(problem, state, following, v, gradients)
        if self.policies == Policies():
            return following
        return self._tuned(problem, state, following, v, g.sample, gradients)

    def _regrown(
        self,
        problem: CompositeProblem,
        state: State,
        following: State,
        v: Array,
        gradients: Gradients,
    ) -> State:
        """Return the state after a round with the next batch, where batches change."""
        growth = self.growth(problem, state, v, following.z, gradients)
        m = self.size(following.k, state.reading.m, growth, gradients)
        return following._replace(reading=following.reading._replace(m=m, growth=growth))

    def _tuned(
        self,
        problem: CompositeProblem,
        state: State,
        following: State,
        v: Array,
        sample: Any,
        gradients: Gradients,
    ) -> State:
        """Return the state after a round as the policies leave it."""
        k, y, z, m, tuned = state.k, state.x, state.z, state.reading.m, state.tuned
        search, restart = self.policies.search, self.policies.restart
        restarts = False
        if self.policies.raises_beta and not k & (k + 1):
            curvature = gradients.curvature(v, following.x, k, m, problem.norm)
            beta = 2.0 * curvature if curvature > tuned.beta else tuned.beta
            tuned = tuned._replace(gamma=beta, beta=beta)
        if search is not None and k % LOOK_EVERY == 0:
            curvature = gradients.along(sample, v, following.x, problem.norm)
            tuned = tuned._replace(beta=search.next(tuned.beta, curvature, tuned.gamma))
            # The curvature costs one more product with the rows at hand.
            reading = following.reading
            rows = reading.rows + gradients.read(m, False) // 2
            following = following._replace(reading=reading._replace(rows=rows))
            restarts = problem.regularizer.structured and opposes(v, y, following.x)
        if restart is not None:
            drift = inner(z - following.z, z - y) if k % LOOK_EVERY == 0 else 0.0
            rounds = max(1, gradients.per_pass // int(m))
            restarts, spell = restart.after(tuned.spell, k + 1, drift, rounds)
            tuned = tuned._replace(spell=spell)
        slope = problem.shift(following.x) if restarts else None
        if slope is not None:
            model = GradientAverage(0.0 * following.model.d, following.model.dual, 0.0, slope)
            following = following._replace(z=following.x, model=model)
        return following._replace(tuned=tuned)

    def rounds_to_floor(self, problem: CompositeProblem, gradients: Gradients) -> float:
        """Return after how many rounds noise rules the run, infinite where it never does.

        Without noise the gap would fall by 1 - 1/e in so many eighths of these rounds
        (`wolfpack.theory.bound_composite`), or in mu eta rounds with bounded steps.
        """
        fixed = self.batch is None or isinstance(self.batch, int)
        if gradients.exact or gradients.reduction is not None or not fixed:
            return math.inf
        bound = self.policies.bound
        slowest = 0.0 if bound is None else 1.0 / (problem.mu * bound.eta)
        return _TIMES * max(math.sqrt(problem.beta / problem.mu), slowest)

    def observe(self, problem: CompositeProblem, state: Any) -> Any:
        """Return the state with F evaluated at y_k."""
        at = problem.evaluate(state.x, state.tuned.gamma)
        if math.isinf(at.value):
            raise NonFiniteError("y is outside the domain of H")
        if at.gradient is None or state.model.dual is not None:
            return state._replace(at=at)
        return state._replace(at=at, seen=state.seen.plus(at.gradient, at.dual))

    def foresee(self, problem: CompositeProblem, state: Any) -> tuple[float, float]:
        """Return how low F(y_k) may be, and a lower bound, from what the last round has seen."""
        return foreseen(problem, state)

    def lower_bound(self, problem: CompositeProblem, state: Any, gradients: Gradients) -> float:
        """Return the best of the dual values at grad G(y_k) and at averaged gradients."""
        at, model = state.at, state.model
        if at.gradient is None:
            return -math.inf
        bound = problem.dual_bound(at.gradient, at.dual)
        if model.dual is not None and model.A_k > 0.0:
            bound = max(bound, problem.dual_bound(model.d, model.dual))
        if state.seen.count > 1:
            bound = max(bound, problem.dual_bound(state.seen.gradient, state.seen.dual))
        if state.reading.variate is not None:
            bound = max(bound, problem.dual_bound(*gradients.known(state.reading.variate)))
        return bound

    def finish(
        self, problem: CompositeProblem, state: Any, x: Array, fun: float
    ) -> tuple[Array, float]:
        """Give y the structure of H: one proximal gradient step, kept if F does not increase.

        Iterates are averages of minimisation steps and have no exact zeros of their own.
        """
        H, G = problem.regularizer, problem.objective
        if not (H.structured and H.has("prox") and math.isfinite(fun)):
            return x, fun
        problem.counts.nfev += 1
        gradient = G.evaluate(x).gradient
        if gradient is None:
            return x, fun
        # As a rule the last beta is as good as the largest, which may have to be found first.
        for beta in (state.tuned.beta, None):
            L = beta or problem.own_smoothness() or state.tuned.gamma
            y = H.prox(gradient - L * x, L)
            value = G.value(y) + H.value(y)
            problem.counts.nfev += 1
            if value <= fun:
                return y, value
        return x, fun

    def growth(
        self,
        problem: CompositeProblem,
        state: State,
        v: Array,
        z_next: Array,
        gradients: Gradients,
    ) -> float:
        """Return by how much the batches of the next rounds grow in a round."""
        return state.reading.growth

    def size(self, k: int, m: Any, growth: float, gradients: Gradients) -> int | str:
        """Return how many gradients round ``k`` averages, after ``m`` in the round before."""
        if self.batch is None:
            return gradients.batch
        if not callable(self.batch):
            return self.batch
        return count(self.batch(k), f"batch({k})")
