r"""Algorithm 1 with exact gradients, restarted at Newton steps.

Problem
    min F(y) = G(y) + H(y) as in `wolfpack.solvers.composite.searched`, G a loss of few coordinates
    (or many, of which few are not zero in the end), H a ridge, an elastic net or a box and a ridge.

Iteration
    Rounds are those of `SearchedComposite`. In some of them Algorithm 1 restarts at a better point:

    .. math::

        &p = \arg\min_u \langle \nabla G(y_k), u\rangle + H(u) + \tfrac{\beta_k}{2}
            \|u - y_k\|^2 \\
        &\Delta = -\bigl[\nabla^2 G(p) + \nabla^2 H(p)\bigr]^{-1} (\nabla G(p) + \nabla H(p))
            \quad \text{on the face of } p \\
        &y_{k+1} = z_{k+1} = p + t \Delta, \qquad t = 1, \tfrac12, \tfrac14, \dots

    The face of p is the set of points between its zeros and signs (or its bounds), where H is a
    quadratic function; without zeros or bounds p = y_k. Where the step would leave the face it ends
    there, and goes on along the boundary. This is Algorithm 1's first round after a
    restart with the metric :math:`w(y) = \tfrac12 \|y - p\|^2_{\nabla^2 G(p)}` in place of
    the Euclidean one. t is halved until F is lower by 1e-4 of what the slope promises.

Guarantee
    F(y_{k+1}) <= F(y_k), up to rounding, so that what Theorem C3 says of the rounds since a restart
    holds. Near the minimum of a smooth F, or once the face is that of the minimum, Newton steps
    converge quadratically. When they are tried is a heuristic.

Certificate
    As in `SearchedComposite`: gradients at y_k prove bounds by Fenchel's inequality.

Cost of a round
    A Newton step costs a pass over the data, another one where H has faces, and the products and
    the factorisation of the Hessian on the face. It is tried when so much work has been done in
    rounds since the last one, at once where it is cheap, and less often after failures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ...arrays import Array, epsilon, inner
from ...gradients import Gradients
from ...problem import CompositeProblem, Evaluation, Face
from .accelerated import GradientAverage
from .searched import Images, Leap, SearchedComposite, SearchState

_CHEAP = 6.0  # passes that a Newton step may cost without waiting for rounds of the same cost
_LONGEST_PAUSE = 16  # rounds between failures, and one in so many rounds of a long run
_TRIALS = 4  # of a step that finds the face, with larger and larger beta
_HALVINGS = 8
_SHORT = 1.0 / 16.0  # shorter steps count as failures
_MOST_STEPS = 100  # within the box of a face, and fewer where they are dear:
_STEP_WORK = 2e8
_DESCENT = 1e-4


@dataclass(frozen=True)
class NewtonComposite(SearchedComposite):
    """Algorithm 1 for exact gradients, with a searched beta and Newton steps at restarts."""

    name: ClassVar[str] = "newton"

    def init(self, problem: CompositeProblem, y0: Array, gradients: Gradients) -> Any:
        state = super().init(problem, y0, gradients)
        face = problem.regularizer.face(y0)
        if face is not None and face.bounded:
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


def _leap(
    problem: CompositeProblem, state: SearchState, gradients: Gradients
) -> SearchState | None:
    """Return the state after a Newton step, None where it is too dear or does not descend."""
    G: Any = problem.objective
    H, half = problem.regularizer, gradients.per_pass // 2
    rows = state.reading.rows + 4 * half
    problem.counts.check_rows(rows)
    y, image = state.x, state.images.y
    if state.at is None:
        problem.counts.evaluated(0, 1)
        at = G.evaluate_image(image)
        smooth, gradient, dual = at.value, at.gradient, at.dual
    else:
        smooth, gradient, dual = state.at.smooth, state.at.gradient, state.at.dual
    value, face = smooth + H.value(y), H.face(y)
    if face is not None and face.bounded:
        found = _proximal_step(problem, y, gradient, value, state.tuned.beta)
        if found is None:
            return None
        y, image, at = found
        gradient, dual, value, face = at.gradient, at.dual, at.value + H.value(y), H.face(y)
    if face is None or G.hessian_passes(face.free) > max(_CHEAP, state.k - state.leap.last):
        return None
    slopes = np.where(face.free, gradient + face.gradient, 0.0).astype(y.dtype, copy=False)
    move = _newton_step(G, dual, y, face, slopes)
    if move is None:
        return None
    promised = inner(slopes, move)
    image_move, t = G.image(move), 1.0
    for _ in range(_HALVINGS):
        following, moved = y + t * move, image + t * image_move
        if face.bounded:  # but for rounding it is inside
            following = np.clip(following, face.low, face.high).astype(y.dtype, copy=False)
        problem.counts.evaluated(1, 0)
        found = G.image_value(moved) + H.value(following)
        if found <= value + _DESCENT * t * promised + _noise(value, y):
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
                model=GradientAverage(0.0 * y, 0.0, 0.0, slope),
                tuned=state.tuned,
                reading=state.reading._replace(rows=rows),
                leap=leap,
            )
        t *= 0.5
    return None


def _proximal_step(
    problem: CompositeProblem, y: Array, gradient: Array, value: float, beta: float
) -> tuple[Array, Array, Evaluation] | None:
    """Return a point on a face of H at which F is not higher, with its image and evaluation."""
    G: Any = problem.objective
    H = problem.regularizer
    for _ in range(_TRIALS):
        p = H.prox(gradient - beta * y, beta)
        image = G.image(p)
        problem.counts.evaluated(0, 1)
        at = G.evaluate_image(image)
        if at.value + H.value(p) <= value + _noise(value, y):
            return p, image, at
        beta *= 4.0
    return None


def _newton_step(G: Any, dual: Array, y: Array, face: Face, slopes: Array) -> Array | None:
    """Return a step from y within its face to where the model of F is least, or on the way there.

    None is returned where the Hessian is not known or not definite.
    """
    blocks = G.hessian_blocks(dual, face.free)
    if blocks is None:
        return None
    ridge, flat = np.broadcast_to(face.ridge, slopes.shape).reshape(-1), slopes.reshape(-1)
    room = [None if end is None else (end - y).reshape(-1) for end in (face.low, face.high)]
    move = np.zeros_like(flat)
    for places, matrix in blocks:
        if not len(places):
            continue
        shifted = matrix + np.diag(ridge[places])
        low, high = (None if end is None else end[places] for end in room)
        try:
            move[places] = _least(shifted, flat[places], low, high)
        except LinAlgError:
            return None
    return move.reshape(slopes.shape) if np.isfinite(move).all() else None


def _least(matrix: Array, slopes: Array, low: Array, high: Array) -> Array:
    """Return a point of the box at which <slopes, x> + <x, matrix x>/2 is low, from 0 downhill.

    Newton steps that leave the box end where they do, and what has met the boundary stays there.
    """
    if low is None:
        return -cho_solve(cho_factor(matrix), slopes)
    x, moving = np.zeros_like(slopes), np.ones(len(slopes), bool)
    for _ in range(int(min(_MOST_STEPS, max(4.0, _STEP_WORK / len(slopes) ** 3)))):
        part = matrix[np.ix_(moving, moving)]
        residual = (slopes + matrix @ x)[moving]
        step = np.zeros_like(x)
        step[moving] = -cho_solve(cho_factor(part), residual)
        ends = np.where(step < 0.0, low, high) - x
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(step == 0.0, np.inf, ends / step)
        share = float(shares.min())
        if share >= 1.0:
            return x + step
        x = x + max(share, 0.0) * step
        met = shares <= share
        x[met] = (x + ends)[met] if share <= 0.0 else np.where(step < 0.0, low, high)[met]
        moving &= ~met
        if not moving.any():
            return x
    return x


def _noise(value: float, y: Array) -> float:
    return 4.0 * epsilon(y) * abs(value)
