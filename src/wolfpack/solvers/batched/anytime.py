r"""Anytime Frank-Wolfe for many problems at once.

Problem
    min f_i(x) over x in K_i, i = 1, ..., B. Points are rows of a matrix.

Iteration
    That of `wolfpack.solvers.anytime` with r = 3, in every row: with :math:`\tau_k = 3/(k+3)` and
    :math:`\alpha_k = \kappa L C \tau_k^2 / (1-\tau_k)`,

    .. math::

        &v_k = (1-\tau_k) y_k + \tau_k \nabla f(x_k) \\
        &-g_k = \nabla s_{\alpha_k}(-v_k)\ \text{in closed form, or the mean of m answers to }
            -v_k + \alpha_k\Delta_j \\
        &x_{k+1} = (1-\tau_k) x_k - \tau_k g_k \\
        &y_{k+1} = (1-\tau_k) y_k + \tau_k \nabla f(x_{k+1})

    Each problem has its own k, L and kappa. With closed forms a round is tested as in Proposition
    A2 (docs/theory/anytime.md). Where the test fails, the problem keeps its point and doubles
    kappa, and the next call tries again: no problem waits for another one's trials. Perturbed
    answers of a round use the same numbers Delta_j for all problems, so that no answer depends on
    the batch; rounds are independent, and with them the run of each problem.

Guarantee
    That of the method for one problem: O(1/N^2) with closed forms, trials counted as rounds, and no
    constant known. Heuristic, as there, with m answers and an estimated L.

Certificate
    The tangents at x_k, and at z_k, the average of the points with the weights that y_k gives to
    their gradients. Both are tangents of f, whatever the rounding of the averages. Where f is
    quadratic, y_k is the gradient at z_k, so that the bound at z_k is that of Theorem A1.

Symbols
    x_k ``x``, y_k ``y``, z_k ``z``, kappa ``kappa``, C ``curvature``. ``failed`` is the last kappa
    that failed the test; it fades.

Cost of a round
    Three evaluations of the smoothed support function, or m oracle calls; and one product with the
    second derivatives of quadratics, or one evaluation of other functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ... import theory
from ...arrays import Array, epsilon, like, namespace, reshape, sum_last
from ...noise import Noise
from ...problem.checks import checked, count, either, positive
from ..parts.tuner import FIRST_KAPPA
from ._base import BatchedMethod

_LARGEST = 2.0**60
"""A larger kappa is a step of no length, and one below its inverse is no smoothing."""

_USUAL = 8
"""Answers a round where there is no closed form and no number is given."""

_MOST = 256
"""Answers a round that m="theory" stops at."""


class Averages(NamedTuple):
    """What is kept of each problem."""

    x: Array
    f: Array
    g: Array
    y: Array
    z: Array
    k: Array
    L: Array
    kappa: Array
    failed: Array
    curvature: Array


@checked(m=either(count, "auto", "exact", "theory"), kappa=either(positive, "auto"))
@dataclass(frozen=True)
class BatchedAnytime(BatchedMethod):
    """Accelerated Frank-Wolfe steps of many problems, without projections.

    Parameters
    ----------
    m : int, "auto", "exact" or "theory"
        Answers a round: a number; "exact" for closed forms; "theory" for m_k = k, at most 256;
        "auto" for closed forms where the sets have them, and 8 elsewhere.
    kappa : float or "auto"
        Factor of alpha. "auto" is chosen by the step test with closed forms, and 0.3 otherwise.
    noise : law, optional
        The law of the perturbations. By default each set has its own.
    seed : int
        Seed of the perturbations.
    """

    m: int | str = "auto"
    kappa: float | str = "auto"
    noise: Noise | None = None
    seed: int = 0
    name: ClassVar[str] = "anytime"
    state: ClassVar[type[Averages]] = Averages

    def begin(self, model: Any, K: Any, x: Array, f: Array, g: Array) -> Averages:
        """Return the state at the starting points; L is measured toward the answers there."""
        xp = namespace(x)
        d = 0.5 * (K.vertices(g) - x)
        change = model.product(d) if model.affine else model.evaluate(x + d).gradients - g
        square, rise = sum_last(d * d, 1), sum_last(d * change, 1)
        known = (square > 0) & (rise > 0) & xp.isfinite(rise)
        L = xp.where(known, rise / xp.where(square > 0, square, 1.0 + square), xp.ones_like(rise))
        kappa = FIRST_KAPPA if self.kappa == "auto" else float(self.kappa)
        one = xp.ones_like(L)
        C = K.numbers([_curvature(part, self.noise, self._closed(K)) for part in K.parts])
        return Averages(x, f, g, g, x, 0.0 * one, L, kappa * one, 0.0 * one, C)

    def noises(self, k: int, K: Any) -> Array | None:
        """Return the numbers Delta_j (m, d) of round k; None with closed forms."""
        if self._closed(K):
            return None
        m = min(k + 1, _MOST) if self.m == "theory" else self._number
        rng = np.random.default_rng((self.seed, k))
        law = self.noise or K.law
        return reshape(like(law.sample(rng, (m, *K.shape)), K.place), (m, -1))

    def records(self, K: Any) -> bool:
        """Tell whether all rounds do the same, whatever the numbers are."""
        return self._closed(K)

    def advance(self, model: Any, K: Any, state: Averages, noises: Array | None = None) -> Averages:
        """Return the state after one more trial of every problem."""
        x, f, g, y, z, k, L, kappa, failed, C = state
        xp = namespace(x)
        tau = 3.0 / (k + 4.0)
        theta = 0.5 if noises is not None and self.kappa != "auto" else 0.0
        alpha = kappa * L * C * tau * tau / ((1.0 - theta) * (1.0 - tau))
        alpha = xp.maximum(alpha, xp.full_like(alpha, 1e-300 if epsilon(x) < 1e-10 else 1e-37))
        v = _mix(y, g, tau)
        if noises is None:
            answer, G_v = K.smoothed(-v, alpha, self.noise)
        else:
            answer, G_v = _mean_answer(K, v, alpha, noises), f
        x_next = _mix(x, answer, tau)
        d = x_next - x
        if model.affine:
            change = model.product(d)
            f_next, g_next = f, g + change
            D_f = 0.5 * sum_last(d * change, 1)
        else:
            f_next, g_next = model.evaluate(x_next)
            D_f = f - f_next + sum_last(g_next * d, 1)
        finite = xp.isfinite(f_next + sum_last(g_next * g_next, 1))
        y_next = _mix(y, g_next, tau)
        if noises is None and self.kappa == "auto":
            G_next, G_y = (K.smoothed(-w, alpha, self.noise)[1] for w in (y_next, y))
            D_next = G_next - G_v + sum_last(answer * (y_next - v), 1)
            D_y = G_y - G_v + sum_last(answer * (y - v), 1)
            rounding = 32.0 * epsilon(x) * (abs(G_v) + abs(f))
            passes = (D_next <= (1.0 - tau) * (D_f + D_y) + rounding) | (kappa >= _LARGEST)
            L_next = L
            fall = xp.where(kappa <= 4.0 * failed, 0.95 * kappa, 0.8 * kappa)
            fall = xp.maximum(fall, xp.full_like(fall, 1.0 / _LARGEST))
            kappa_next = xp.where(passes, fall, xp.where(finite, 2.0 * kappa, kappa))
            failed_next = xp.where(passes, 0.99 * failed, kappa)
        else:
            passes, kappa_next, failed_next = finite, kappa, failed
            square = sum_last(d * d, 1)
            rise = sum_last((g_next - g) * d, 1)
            seen = (square > 0) & (rise > 0) & finite
            bend = xp.where(seen, rise / xp.where(square > 0, square, 1.0 + square), 0.9 * L)
            L_next = xp.maximum(bend, 0.9 * L)
        passes = passes & finite
        row = passes[:, None]
        # beyond the domain of f, tau is halved for good
        k_next = xp.where(passes, k + 1.0, xp.where(finite, k, 2.0 * k + 4.0))
        return Averages(
            xp.where(row, x_next, x),
            xp.where(passes, f_next, f),
            xp.where(row, g_next, g),
            xp.where(row, y_next, y),
            xp.where(row, _mix(z, x_next, tau), z),
            k_next,
            L_next,
            kappa_next,
            failed_next,
            C,
        )

    def calls(self, k: int, K: Any) -> int:
        """Return how many oracle calls a problem has made after k rounds."""
        if self._closed(K):
            return 0
        if self.m != "theory":
            return k * self._number
        full = min(k, _MOST)
        return full * (full + 1) // 2 + (k - full) * _MOST

    def second(self, state: Averages) -> Array | None:
        """Return the other points whose tangents may be better bounds."""
        return state.z

    def refreshed(self, state: Averages, values: Array, slopes: Array) -> Averages:
        """Return the state with gradients of quadratics that are accurate again."""
        return state._replace(f=values, g=slopes)

    @property
    def _number(self) -> int:
        return self.m if isinstance(self.m, int) else _USUAL

    def _closed(self, K: Any) -> bool:
        if self.m == "exact" and not K.closes(self.noise):
            K.need_closed_form(self.noise)
        return self.m in ("auto", "exact") and K.closes(self.noise)


def _curvature(K: Any, law: Noise | None, closed: bool) -> float:
    """Return C such that s_alpha is C/alpha-smooth."""
    if not closed or law is not None:
        return theory.smoothness(K, law or K.default_noise, 1.0)
    if len(K.factors) > 1:
        return max(_curvature(part, law, closed) for part in K.factors)
    own = K.smoothness(None)
    assert own is not None
    return own


def _mix(a: Array, b: Array, tau: Array) -> Array:
    """Return (1 - tau) a + tau b, row by row."""
    weight = tau[:, None]
    weight = weight if weight.dtype == a.dtype else namespace(a).astype(weight, a.dtype)
    return (1.0 - weight) * a + weight * b


def _mean_answer(K: Any, v: Array, alpha: Array, noises: Array) -> Array:
    """Return the mean of the oracle's answers to -v + alpha Delta_j."""
    xp = namespace(v)
    scale = alpha[:, None]
    scale = scale if scale.dtype == v.dtype else xp.astype(scale, v.dtype)
    m = noises.shape[0]
    total = K.vertices(v - scale * noises[0, :][None, :])
    for j in range(1, m):
        total = total + K.vertices(v - scale * noises[j, :][None, :])
    return total / m
