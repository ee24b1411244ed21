r"""Algorithm 1 with exact gradients and a smoothness constant that is searched in every round.

Problem
    min F(y) = G(y) + H(y) as in `wolfpack.solvers.composite.accelerated`, grad G known exactly. Its
    Lipschitz constant beta bounds the curvature of G everywhere; along a run it is often far
    smaller.

Iteration
    Algorithm 1 with beta_k in place of beta in the weights, and a fixed weight gamma of w:

    .. math::

        &\beta_k (A_{k+1}-A_k)^2 = A_{k+1} (\mu A_k + \gamma\nu), \qquad
            \tau_k = 1 - A_k/A_{k+1} \\
        &v_k = (1-\tau_k) y_k + \tau_k z_k, \qquad
            d_{k+1} = d_k + (A_{k+1}-A_k) \nabla G(v_k) \\
        &z_{k+1} = \arg\min_y \langle d_{k+1}, y\rangle + A_{k+1} H(y) + \gamma w(y), \qquad
            y_{k+1} = (1-\tau_k) y_k + \tau_k z_{k+1}

    The round is accepted if the savings of all rounds since the last restart are not negative,

    .. math::

        S_{k+1} = S_k + A_{k+1} \bigl( \tfrac{\beta_k}{2} \|y_{k+1}-v_k\|^2 - D_G(y_{k+1}, v_k)
            \bigr) \ge 0, \qquad S_0 = 0,

    with D_G(y, v) = G(y) - G(v) - <grad G(v), y - v>; otherwise it is made again with a larger
    beta_k. The next round tries the curvature 2 D_G / ||y_{k+1} - v_k||^2 that this one has seen,
    changed by a factor of 2 at most (`BetaSearch`). Where H makes zeros or other structure and the
    step turns against the one before, <v_k - y_{k+1}, y_{k+1} - y_k> > 0 (B. O'Donoghue, E. Candes,
    Adaptive restart for accelerated gradient schemes, 2015), Algorithm 1 restarts at y_{k+1}.

Guarantee
    Theorem C3 (docs/theory/composite.md): F(y_k) - F* <= gamma (w(y*) - w(y_r)) / A_k, y_r where
    the last restart began and w shifted to be minimised there. beta_k is at most 1.5 beta. That
    restarts come at good moments is a heuristic.

Symbols
    As in `wolfpack.solvers.composite.accelerated`; ``model.slack`` = S_k / A_k, ``model.slope`` =
    grad w(y_r) (None before the first restart), ``move`` = y_{k+1} - v_k = tau_k (z_{k+1} - z_k).
    ``images`` holds what G sees of y and z (A y and A z where G(y) = loss(A y)). Images are
    combined as the points are, so that a round costs one product with A and one with A'.

Cost of a round
    One gradient and one value of G for each beta tried, one minimisation step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from ...arrays import Array, epsilon, inner
from ...gradients import Gradients
from ...problem import CompositeEvaluation, CompositeProblem, Evaluation, NonFiniteError
from ...theory import unchecked
from .accelerated import GradientAverage, Reading, Seen, StochasticComposite, Tuned
from .foresight import Query, query
from .policies import BetaSearch, Policies, opposes

_MAX_TRIALS = 100

SEARCH = BetaSearch(factor=1.05)
"""How the beta that a round tries follows from the curvature along the step before."""


class Images(NamedTuple):
    """What G sees of y_k and z_k; ``first`` is the evaluation at y_0, which round 0 uses again."""

    y: Array
    z: Array
    first: Evaluation | None = None


class Leap(NamedTuple):
    """When the next Newton step is tried, the round after the last good one, and failures since."""

    due: int = 0
    last: int = 0
    failures: int = 0


class SearchState(NamedTuple):
    """Iterates of the search (y_k is ``x``) with their images, and what was evaluated."""

    k: int
    x: Array
    z: Array
    images: Images
    model: GradientAverage
    tuned: Tuned
    reading: Reading
    at: CompositeEvaluation | None = None
    leap: Leap = Leap()
    query: Query | None = None

    m = property(attrgetter("reading.m"))
    rows = property(attrgetter("reading.rows"))

    @property
    def leapt(self) -> bool:
        """Whether the last round was a Newton step, which may end the run at once."""
        return self.query is None and self.k > 0

    @property
    def seen(self) -> Seen:
        """No full gradients besides those of the rounds are averaged."""
        return Seen()


class Trial(NamedTuple):
    """One round with one beta: the state after it, v_k, and the curvature along the step."""

    state: SearchState
    v: Array
    curvature: float


@dataclass(frozen=True)
class SearchedComposite(StochasticComposite):
    """Algorithm 1 for exact gradients, beta searched in every round (``beta="search"``)."""

    policies: Policies = field(default=Policies(search=SEARCH), kw_only=True, repr=False)

    def init(self, problem: CompositeProblem, y0: Array, gradients: Gradients) -> Any:
        G: Any = problem.objective
        image, first, beta = G.image(y0), None, problem.L
        products = 1 if y0.any() else 0
        if beta is None:
            problem.counts.evaluated(0, 1)
            first, products = G.evaluate_image(image), products + 1
            beta = problem.curvature(first.gradient) or problem.beta
        model, images = GradientAverage(0.0 * y0, 0.0, 0.0), Images(image, image, first)
        reading = Reading("exact", products * gradients.per_pass // 2)
        return SearchState(0, y0, y0, images, model, Tuned(beta, beta), reading)

    def step(self, problem: CompositeProblem, state: Any, gradients: Gradients) -> Any:
        beta, trial = state.tuned.beta, None
        for _ in range(_MAX_TRIALS):
            rows = gradients.per_pass if state.images.first is None else gradients.per_pass // 2
            if state.k > 0 or trial is not None:
                problem.counts.check_rows(state.reading.rows + rows)
            trial = _attempt(problem, state, beta, rows)
            state = state._replace(reading=trial.state.reading)
            if trial.state.model.slack >= 0.0:
                break
            beta = max(1.5 * beta, 1.1 * trial.curvature)
        assert trial is not None
        tuned = state.tuned._replace(beta=SEARCH.next(beta, trial.curvature, state.tuned.gamma))
        following = trial.state._replace(k=state.k + 1, tuned=tuned)
        if opposes(trial.v, state.x, following.x):
            return _restarted(problem, following)
        return following

    def rounds_to_floor(self, problem: CompositeProblem, gradients: Gradients) -> float:
        return math.inf

    def observe(self, problem: CompositeProblem, state: Any) -> Any:
        at = problem.evaluate(state.x)
        if math.isinf(at.value):
            raise NonFiniteError("y is outside the domain of H")
        return state._replace(at=at)


def _attempt(problem: CompositeProblem, state: SearchState, beta: float, rows: int) -> Trial:
    """Make a round with ``beta``, which reads so many ``rows``."""
    G: Any = problem.objective
    y, z, images, model, gamma = state.x, state.z, state.images, state.model, state.tuned.gamma
    A_next, tau = unchecked.next_weight(
        model.A_k, beta, problem.mu, gamma * problem.nu / beta, exact=True
    )
    v = (1 - tau) * y + tau * z
    image_v = (1 - tau) * images.y + tau * images.z
    at = images.first
    if at is None:
        problem.counts.evaluated(0, 1)
        at = G.evaluate_image(image_v)
    d_next = (1 - tau) * model.d + tau * at.gradient
    lam = gamma / A_next
    z_next = problem.solve(d_next if model.slope is None else d_next - lam * model.slope, lam)
    image_z_next = G.image(z_next)
    move, image_move = tau * (z_next - z), tau * (image_z_next - images.z)
    y_next, image_y_next = v + move, image_v + image_move
    size = problem.norm_squared(move)
    bend = _bend(problem, at, move, image_y_next, image_move)
    curvature = 2.0 * bend / size if size > 0.0 else 0.0
    following = SearchState(
        k=state.k,
        x=y_next,
        z=z_next,
        images=Images(image_y_next, image_z_next),
        model=GradientAverage(
            d=d_next,
            dual=(1 - tau) * model.dual + tau * at.dual,
            A_k=A_next,
            slope=model.slope,
            slack=(1 - tau) * model.slack + 0.5 * (beta - curvature) * size,
        ),
        tuned=state.tuned,
        reading=state.reading._replace(rows=state.reading.rows + rows),
        leap=state.leap,
        query=query(state.k, v, at.value, at.gradient, at.dual, None),
    )
    return Trial(following, v, curvature)


def _bend(
    problem: CompositeProblem, at: Evaluation, move: Array, image: Array, image_move: Array
) -> float:
    """Return D_G(y, v) from the evaluation at v, the move y - v, y's image and its move.

    Where rounding hides it in the difference of values, it follows from the slopes along the move
    by the trapezoidal rule.
    """
    G, counts = problem.objective, problem.counts
    counts.evaluated(1, 0)
    value = G.image_value(image)
    along = inner(at.gradient, move)
    bend = value - at.value - along
    if not bend < math.inf:
        raise NonFiniteError("G returned a NaN or infinite value")
    noise = 1e3 * epsilon(move) * (abs(value) + abs(at.value) + abs(along))
    if bend > noise:
        return bend
    counts.evaluated(0, 1)
    return 0.5 * inner(G.image_slopes(image) - G.image_gradient(at), image_move)


def _restarted(problem: CompositeProblem, state: SearchState) -> SearchState:
    """Return the state restarted at y_k, where H makes structure and w can be shifted there."""
    slope = problem.shift(state.x) if problem.regularizer.structured else None
    if slope is None:
        return state
    model = GradientAverage(0.0 * state.model.d, 0.0, 0.0, slope)
    images = state.images._replace(z=state.images.y)
    return state._replace(z=state.x, images=images, model=model)
