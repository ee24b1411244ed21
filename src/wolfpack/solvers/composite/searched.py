r"""Algorithm 1 with exact gradients and a smoothness constant that is searched in every round.

Problem
    min F(y) = G(y) + H(y) as in `wolfpack.solvers.composite`, grad G known exactly. Its Lipschitz
    constant beta bounds the curvature of G everywhere; along a run it is often far smaller.

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
    changed by a factor of 2 at most. Where H makes zeros or other structure and the step turns
    against the one before, <v_k - y_{k+1}, y_{k+1} - y_k> > 0 (B. O'Donoghue, E. Candes, Adaptive
    restart for accelerated gradient schemes, 2015), Algorithm 1 begins anew at y_{k+1}.

Guarantee
    Theorem C3 (docs/theory/composite.md): F(y_k) - F* <= gamma (w(y*) - w(y_r)) / A_k, y_r where
    the last restart began and w shifted to be minimised there. beta_k is at most 1.5 beta. That
    restarts come at good moments is a heuristic.

Symbols
    As in `wolfpack.solvers.composite`; ``slack`` = S_k / A_k, ``slope`` = grad w(y_r) (None before
    the first restart), ``move`` = y_{k+1} - v_k = tau_k (z_{k+1} - z_k), ``image_y``
    ``first`` the gradient at y_0, whose curvature is the first beta; ``image_y``
    and ``image_z`` what G sees of y and z (A y and A z where G(y) = loss(A y)): images are combined
    as the points are, so that a round costs one product with A and one with A'.

Cost of a round
    One gradient and one value of G for each beta tried, one minimisation step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from ... import theory
from ...arrays import Array, epsilon, inner
from ...problem import NonFiniteError
from .accelerated import Seen, StochasticComposite, turns

_TRIES = 100
_LEAST = 1e-12  # of G's own beta: rounds that do not move, or meet no curvature, halve beta


class SearchState(NamedTuple):
    """Iterates of the search and, once it has been asked for, the evaluation of F at y_k."""

    k: int
    y: Array
    z: Array
    image_y: Array
    image_z: Array
    d: Array
    dual: Any
    A_k: float
    beta: float
    slack: float
    slope: Any
    rows: int
    first: Any = None
    at: Any = None
    m: int | str = "exact"
    seen: Seen = Seen()
    anchor: Any = None

    @property
    def x(self) -> Array:
        """The iterate, by the name that the loop uses."""
        return self.y


class Trial(NamedTuple):
    """One round with one beta."""

    state: SearchState
    v: Array
    curvature: float


@dataclass(frozen=True)
class SearchedComposite(StochasticComposite):
    """Algorithm 1 for exact gradients, beta searched in every round (``beta="search"``)."""

    def init(self, problem: Any, y0: Array, gradients: Any) -> Any:
        G = problem.objective
        image, first = G.image(y0), None
        points = y0, y0, image, image, 0.0 * y0
        products = 1 if y0.any() else 0
        if problem.L is None:
            first, products = G.evaluate_image(image), products + 1
            problem.L = problem.curvature(first.gradient) or problem.beta
        rows = products * gradients.per_pass // 2
        return SearchState(0, *points, 0.0, 0.0, problem.beta, 0.0, None, rows, first)

    def step(self, problem: Any, state: Any, gradients: Any) -> Any:
        beta, trial = state.beta, None
        for _ in range(_TRIES):
            trial = _attempt(problem, state, beta, gradients.per_pass)
            problem.counts.njev += 1
            state = state._replace(rows=trial.state.rows)
            if trial.state.slack >= 0.0:
                break
            beta = max(1.5 * beta, 1.1 * trial.curvature)
        assert trial is not None
        tried = min(max(1.05 * trial.curvature, 0.5 * beta, _LEAST * problem.beta), 2.0 * beta)
        state_next = trial.state._replace(k=state.k + 1, beta=tried)
        return (
            _restart(problem, state_next) if turns(trial.v, state.y, state_next.y) else state_next
        )


def _attempt(problem: Any, state: SearchState, beta: float, per_pass: int) -> Trial:
    """Make a round with ``beta``."""
    G, gamma = problem.objective, problem.beta
    _, y, z, image_y, image_z, d, dual, A_k, _, slack, slope, rows, first, *_ = state
    A_next, tau = theory.next_weight(A_k, beta, problem.mu, gamma * problem.nu / beta, exact=True)
    v = (1 - tau) * y + tau * z
    image_v = (1 - tau) * image_y + tau * image_z
    at = G.evaluate_image(image_v) if first is None else first
    d_next = (1 - tau) * d + tau * at.gradient
    lam = gamma / A_next
    z_next = problem.solve(d_next if slope is None else d_next - lam * slope, lam)
    image_z_next = G.image(z_next)
    move, image_move = tau * (z_next - z), tau * (image_z_next - image_z)
    y_next, image_y_next = v + move, image_v + image_move
    size = problem.norm_squared(move)
    curvature = 2.0 * _bend(G, at, move, image_y_next, image_move) / size if size > 0.0 else 0.0
    slack_next = (1 - tau) * slack + 0.5 * (beta - curvature) * size
    points = y_next, z_next, image_y_next, image_z_next, d_next
    dual_next = (1 - tau) * dual + tau * at.dual
    rest = dual_next, A_next, beta, slack_next, slope, rows + per_pass
    return Trial(SearchState(state.k, *points, *rest), v, curvature)


def _bend(G: Any, at: Any, move: Array, image: Array, image_move: Array) -> float:
    """Return D_G(y, v) from the evaluation at v, the move y - v, y's image and its move.

    Where rounding hides it in the difference of values, the slopes along the move tell it by the
    trapezoidal rule.
    """
    value = G.image_value(image)
    along = inner(at.gradient, move)
    bend = value - at.value - along
    if not bend < math.inf:
        raise NonFiniteError("G returned a NaN or infinite value")
    noise = 1e3 * epsilon(move) * (abs(value) + abs(at.value) + abs(along))
    if bend > noise:
        return bend
    return 0.5 * inner(G.image_slopes(image) - G.image_gradient(at), image_move)


def _restart(problem: Any, state: SearchState) -> SearchState:
    """Begin anew at y_k, where H makes structure and w can be shifted there."""
    slope = problem.shift(state.y) if problem.regularizer.structured else None
    if slope is None:
        return state
    begun = {"d": 0.0 * state.d, "dual": 0.0, "A_k": 0.0, "slack": 0.0, "slope": slope}
    return state._replace(z=state.y, image_z=state.image_y, **begun)
