r"""Algorithm 1 with exact gradients, restarted at Newton steps.

Problem
    min F(y) = G(y) + H(y) as in `wolfpack.solvers.composite.searched`, G a loss, H a ridge, an
    elastic net or a box and a ridge: :math:`H(y) = \sum_j \kappa_j |y_j| + \frac{\rho_j}{2} y_j^2`
    between bounds (`wolfpack.problem.Pieces`).

Iteration
    Rounds are those of `SearchedComposite`. In some of them Algorithm 1 restarts at a better point.
    A working set W holds the coordinates that are neither 0 (where kappa > 0) nor at a bound, and
    of the others those along which F falls most steeply:

    .. math::

        &u = \arg\min \Bigl\{ \langle \nabla G(p), u - p\rangle + \tfrac12 \langle u - p,
            \nabla^2 G(p) (u - p)\rangle + H(u) : u_j = p_j \text{ outside } W \Bigr\} \\
        &y_{k+1} = z_{k+1} = p + t (u - p), \qquad t = 1, \tfrac12, \tfrac14, \dots

    The subproblem is solved by `wolfpack.solvers.parts.kinked`. p is y_k where y_k has the zeros of
    H, at the start and after a Newton step; otherwise the point to which a proximal gradient step
    leads. This is Algorithm 1's first round after a restart with the metric :math:`w(y) = \tfrac12
    \|y - p\|^2_{\nabla^2 G(p)}` in place of the Euclidean one. t is halved until F is lower by 1e-4
    of what the slopes promise.

Guarantee
    F(y_{k+1}) <= F(y_k), up to rounding, so that what Theorem C3 says of the rounds since a restart
    holds. Near the minimum, once W holds all coordinates that are not 0 there, Newton steps
    converge quadratically; for least squares one is then enough. When they are tried, and how large
    W is, are heuristics.

Certificate
    As in `SearchedComposite`: gradients at y_k prove bounds by Fenchel's inequality.

Cost of a round
    A Newton step costs a pass over the data, another one where a proximal step comes first, the
    products of the columns of W, and eliminations. It is tried at once where a model of this cost
    says a few passes, else when so much work has been done in rounds since the last one, and less
    often after failures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from ...arrays import Array, epsilon, inner
from ...gradients import Gradients
from ...problem import CapabilityError, CompositeProblem, Pieces
from ..parts.kinked import minimize_kinked
from .accelerated import GradientAverage
from .searched import Images, Leap, SearchedComposite, SearchState

_MODEST = 1.0  # passes that a step may cost that moves more coordinates than it must
_CHEAP = 16.0  # passes that a Newton step may cost without waiting for rounds of the same cost
_DEAR = 50.0  # the same where H has kinks or bounds: one step may find all that are met
_FEW = 100  # coordinates that a step may always move besides
_LONGEST_PAUSE = 16  # rounds between failures, and one in so many rounds of a long run
_TRIALS = 4  # of a step that finds the face, with larger and larger beta
_HALVINGS = 8
_SHORT = 1.0 / 16.0  # shorter steps count as failures
_DESCENT = 1e-4


@dataclass(frozen=True)
class NewtonComposite(SearchedComposite):
    """Algorithm 1 for exact gradients, with a searched beta and Newton steps at restarts."""

    name: ClassVar[str] = "newton"

    def init(self, problem: CompositeProblem, y0: Array, gradients: Gradients) -> Any:
        pieces: Any = problem.regularizer.pieces()
        if pieces is None:
            raise CapabilityError(
                "method 'newton' needs an H that is a sum over coordinates of kinks, squares and "
                f"bounds (ElasticNet, SquaredNorm, BoxRidge), found {problem.regularizer!r}: leave "
                "method out, or pass 'accelerated'"
            )
        state = super().init(problem, y0, gradients)
        if not pieces.smooth:
            return state
        G: Any = problem.objective
        passes = G.hessian_passes(np.ones(y0.shape, bool))
        return state._replace(leap=Leap(due=_wait(passes)))

    def step(self, problem: CompositeProblem, state: Any, gradients: Gradients) -> Any:
        if state.k >= state.leap.due:
            return _leap(problem, state, gradients) or super().step(
                problem, _put_off(state), gradients
            )
        return super().step(problem, state, gradients)


def _wait(passes: float) -> int:
    """Return for how many rounds to wait before a Newton step of this price."""
    return 0 if passes <= _CHEAP else math.ceil(min(passes, 1e9))


def _put_off(state: SearchState) -> SearchState:
    return state._replace(leap=_next(state.k, state.leap.last, state.leap.failures + 1))


def _next(k: int, last: int, failures: int) -> Leap:
    """Return when to try again after so many failures, before round ``k``."""
    pause = min(2 ** min(failures, 20), max(_LONGEST_PAUSE, k // _LONGEST_PAUSE))
    return Leap(k + pause, last, failures)


class _Point(NamedTuple):
    """A point with its image under the data, F there, and the gradient of G with its slopes."""

    y: Array
    image: Array
    value: float
    gradient: Array
    dual: Any


def _leap(
    problem: CompositeProblem, state: SearchState, gradients: Gradients
) -> SearchState | None:
    """Return the state after a Newton step, None where it is too dear or does not descend."""
    G: Any = problem.objective
    H, half = problem.regularizer, gradients.per_pass // 2
    rows = state.reading.rows + 4 * half
    problem.counts.check_rows(rows)
    pieces: Any = H.pieces()
    at = _Point(state.x, state.images.y, *_evaluated(problem, state))
    # Averages have no zeros of their own. The start has, and so have points that a step has found.
    if not pieces.smooth and 0 < state.k != state.leap.last:
        at = _proximal_step(problem, at, state.tuned.beta)
        if at is None:
            return None
    slopes = pieces.slopes(at.y, at.gradient)
    passes = max(_CHEAP if pieces.smooth else _DEAR, state.k - state.leap.last)
    chosen = _working_set(G, pieces.inside(at.y), slopes, passes)
    move = None if chosen is None else _newton_step(G, at, chosen, pieces)
    if move is None:
        return None
    t, image_move = 1.0, G.image(move)
    promised = inner(at.gradient, move) + H.value(at.y + move) - H.value(at.y)
    noise = _noise(at.value, at.y)
    for _ in range(_HALVINGS if promised < -noise else 0):
        following, moved = at.y + t * move, at.image + t * image_move
        if pieces.low is not None:  # but for rounding it is inside
            following = np.clip(following, pieces.low, pieces.high).astype(at.y.dtype, copy=False)
        problem.counts.evaluated(1, 0)
        found = G.image_value(moved) + H.value(following)
        if found <= at.value + _DESCENT * t * promised + noise:
            slope = problem.shift(following)
            # Short steps show that the Hessian says little: rounds in between may do better.
            failures = 0 if t >= _SHORT else state.leap.failures + 1
            leap = _next(state.k + 1, state.k + 1, failures)
            leap = leap if failures else leap._replace(due=state.k + 1)
            return SearchState(
                k=state.k + 1,
                x=following,
                z=following,
                images=Images(moved, moved),
                model=GradientAverage(0.0 * at.y, 0.0, 0.0, slope),
                tuned=state.tuned,
                reading=state.reading._replace(rows=rows),
                leap=leap,
            )
        t *= 0.5
    return None


def _evaluated(problem: CompositeProblem, state: SearchState) -> tuple[float, Array, Any]:
    """Return F at y_k, the gradient of G there, and its dual point."""
    G: Any = problem.objective
    if state.at is not None:
        return state.at.value, state.at.gradient, state.at.dual
    problem.counts.evaluated(0, 1)
    at = G.evaluate_image(state.images.y)
    return at.value + problem.regularizer.value(state.x), at.gradient, at.dual


def _proximal_step(problem: CompositeProblem, at: _Point, beta: float) -> _Point | None:
    """Return a point with the zeros of H at which F is not higher, None where none is found."""
    G: Any = problem.objective
    H = problem.regularizer
    for _ in range(_TRIALS):
        p = H.prox(at.gradient - beta * at.y, beta)
        image = G.image(p)
        problem.counts.evaluated(0, 1)
        found = G.evaluate_image(image)
        value = found.value + H.value(p)
        if value <= at.value + _noise(at.value, p):
            return _Point(p, image, value, found.gradient, found.dual)
        beta *= 4.0
    return None


def _working_set(G: Any, inside: Array, slopes: Array, passes: float) -> Array | None:
    """Return which coordinates a step moves: those inside their pieces, and the steepest others.

    Many others are taken only where the step stays cheap, and otherwise as many as there are
    inside. None is returned where a step of them would cost more than so many ``passes``.
    """
    others = np.flatnonzero(~inside & (slopes != 0.0))
    steepest = others[np.argsort(-abs(slopes.reshape(-1)[others]), kind="stable")]
    count, chosen = len(others), inside | (slopes != 0.0)
    many = max(_FEW, np.count_nonzero(inside))
    least = min(count, many // 8)
    while G.hessian_passes(chosen) > (_MODEST if count > many else passes):
        count //= 2
        if count < least or count == 0:
            return None
        chosen = inside.copy()
        chosen.reshape(-1)[steepest[:count]] = True
    return chosen


def _newton_step(G: Any, at: _Point, chosen: Array, pieces: Pieces) -> Array | None:
    """Return a step of the chosen coordinates to where the model of F is least, or nearly so.

    None is returned where the Hessian is not known or not definite.
    """
    blocks = G.hessian_blocks(at.dual, chosen)
    if blocks is None:
        return None
    flat, slopes = at.y.reshape(-1), at.gradient.reshape(-1)
    ridge, kink, low, high = (_flat(part, at.y.shape) for part in pieces)
    move = np.zeros_like(flat)
    for places, matrix in blocks:
        if not len(places):
            continue
        y = flat[places]
        shifted = matrix + np.diag(ridge[places])
        ends = (None if end is None else end[places] for end in (low, high))
        try:
            least = minimize_kinked(shifted, slopes[places] - matrix @ y, y, kink[places], *ends)
        except LinAlgError:
            return None
        move[places] = least - y
    return move.reshape(at.y.shape) if np.isfinite(move).all() else None


def _flat(part: Any, shape: tuple[int, ...]) -> Any:
    """Return numbers for all coordinates, flattened; None where there are none."""
    return None if part is None else np.broadcast_to(part, shape).reshape(-1)


def _noise(value: float, y: Array) -> float:
    return 4.0 * epsilon(y) * abs(value)
