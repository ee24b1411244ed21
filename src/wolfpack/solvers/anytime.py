r"""Anytime parallel Frank-Wolfe: no accuracy, constant or restart to choose.

Problem
    min f(x) over x in K, f convex and smooth, K compact and convex.

Iteration
    With :math:`x_1 = x_0`, :math:`y_1 = \nabla f(x_1)` and, for k = 1, 2, ...,
    :math:`\tau_k = r/(k+r)` (r = 3: weights :math:`A_k = k(k+1)(k+2)/6`):

    .. math::

        &\alpha_k = \kappa\, L C\, \tau_k^2 / ((1-\theta)(1-\tau_k)), \qquad
            s_\alpha \text{ being } C/\alpha\text{-smooth} \\
        &v_k = (1-\tau_k) y_k + \tau_k \nabla f(x_k) \\
        &-g_k = \tfrac1{m_k} \sum_{i=1}^{m_k}
            \arg\max_{u\in K} \langle u, -v_k + \alpha_k\Delta_i\rangle
            \ \text{or its limit } \nabla s_{\alpha_k}(-v_k) \\
        &x_{k+1} = (1-\tau_k) x_k - \tau_k g_k \\
        &y_{k+1} = (1-\tau_k) y_k + \tau_k \nabla f(x_{k+1})

Guarantee
    Theorem A1 (docs/theory/anytime.md), for kappa = 1 and L at least the smoothness constant:
    E[gap] = O(1/N^2) when m_k grows like k or smoothing is exact, O(1/N) when m_k = 1; see
    `wolfpack.theory.bound_anytime`. With exact smoothing and kappa = "auto", Proposition A2: the
    step test makes up for L and kappa, O(1/N^2) with no constant known. Heuristic, without a proof
    of the rate: sampled answers with kappa < 1, kappa = "auto" or an estimated L. The certificate
    is valid in all cases.

Symbols
    The letters above; ``dual`` is the running dual point of the certificate. Round k of the library
    is the theorem's k + 1, since x_1 is the starting point.

Cost of a round
    One gradient, m_k oracle calls. kappa = "auto" asks one clean oracle more about 4 times per
    doubling of k; with exact smoothing it repeats about one round in 14 and evaluates the smoothed
    support function three times a round. Memory O(d) beside the answers of a block. A round that
    ends outside the domain of f is repeated with half the tau_k, and leaves the theorem's schedule.

Sources
    B. Dubois-Taine, F. Bach, Q. Berthet, A. Taylor, NeurIPS 2022, for the method that this extends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..arrays import Array, epsilon, fetch, lazy_inner, mix, same_type
from ..problem import Evaluation, Problem, Solver
from ..problem.checks import between, checked, choice, count, either, flag, optional, positive
from ..smoothing import Oracles
from .parts.compiled import need_compilable, replay
from .parts.domain import shortened
from .parts.tuner import FIRST_KAPPA, Control, Step, compared_numbers, passes_step_test

_MAX_KAPPA = 2.0**60
"""A larger kappa is a step of no length, and one below its inverse is no smoothing."""


class State(NamedTuple):
    """Iterates, then what the round used, then what is estimated along the path."""

    k: int
    x: Array
    at: Evaluation
    y: Array
    dual: Array | float
    alpha: float
    m: int | str
    L: float
    control: Control


@checked(
    m=either(count, "auto", "theory", "exact"),
    kappa=either(positive, "auto"),
    theta=optional(between(0, 1, high_open=True)),
    order=choice(2, 3),
    max_m=count,
    compile=flag,
)
@dataclass(frozen=True)
class Anytime(Solver[State]):
    """Accelerated parallel Frank-Wolfe with shrinking smoothing.

    Parameters
    ----------
    m : int, "auto", "theory" or "exact"
        Oracles a round: a number; "exact" for the closed form; "theory" for m_k = k, the theorem's
        accelerated case; "auto" for the closed form where the set has one and otherwise as many as
        the measured variance of the answers makes useful, at most ``max_m``.
    kappa : float or "auto"
        Factor of alpha. 1 is the theorem's. "auto" starts at 0.3; with exact smoothing it falls by
        5% to 20% a round and is doubled when the step test fails, else it follows the certificate:
        smaller while the bias alpha s_1(0) exceeds the gap, larger when the gap stops falling.
    theta : float, optional
        Share of the curvature kept for sampling noise, in [0, 1). By default 1/2, and 0 when
        smoothing is exact or kappa, being "auto", stands for it.
    order : {3, 2}
        Degree r of the weights.
    max_m : int
        Largest m that "auto" may choose.
    compile : bool
        Whether rounds on another device are recorded once and then launched as a whole: CUDA graphs
        with PyTorch, jit with JAX. It pays where launching takes longer than computing. It needs a
        linear model f(x) = loss(A x) and a simplex or an l1 ball, with a number m or the closed
        form; numbers are the same up to rounding.

    Notes
    -----
    L is the one given to `minimize`, or with smoothing="image" the loss's own (Proposition F6).
    Where none is given, it is the curvature measured along the last steps, which may fall by 10% a
    round and rises at once where f proves to be steeper (a heuristic).
    """

    m: int | str = "auto"
    kappa: float | str = "auto"
    theta: float | None = None
    order: int = 3
    max_m: int = 256
    compile: bool = False
    name: ClassVar[str] = "anytime"
    samples: ClassVar[bool] = True
    noiseless: ClassVar[bool] = True
    certificate_calls: ClassVar[int] = 1
    certificate_proofs: ClassVar[int] = 1

    def init(self, problem: Problem, x0: Array, oracles: Oracles) -> State:
        m = "exact" if self.m == "auto" and oracles.exact else self.m
        if m == "exact":
            oracles.need_closed_form()
        if self.compile:
            need_compilable(problem, oracles, x0, m)
        at = problem.evaluate(x0)
        if problem.L is None:
            L = _curvature_towards(problem, x0, at, oracles)
        else:
            smoothing = oracles.smoothing
            L = problem.L if smoothing is None else smoothing.need_L(problem, self.name)
        m_0 = {"auto": 2, "theory": 1}.get(m, m) if isinstance(m, str) else m
        kappa = FIRST_KAPPA if self.kappa == "auto" else float(self.kappa)
        control = Control(kappa, at.value)
        return State(0, x0, at, at.gradient, at.dual, math.nan, m_0, L, control)

    def step(self, problem: Problem, state: State, oracles: Oracles) -> State:
        m, L, control = state.m, state.L, state.control
        tau = self.order / (state.k + 1 + self.order)
        tau, step = self._try(problem, state, oracles, tau, control.kappa)
        if self._tested(oracles, m):
            kappa, failed = control.kappa, control.floor
            while kappa < _MAX_KAPPA and not passes_step_test(tau, state.at.value, step):
                kappa, failed = 2.0 * kappa, kappa
                tau, step = self._try(problem, state, oracles, tau, kappa)
            # kappa falls slowly where it failed lately, and faster where it has not
            fall = 0.95 if kappa <= 4.0 * failed else 0.8
            control = control._replace(kappa=max(fall * kappa, 1 / _MAX_KAPPA), floor=0.99 * failed)
        elif problem.L is None:
            L = max(_curvature(state.x, step.x, step.numbers, oracles), 0.9 * L)
        control = control.updated(step.at.value, step.variance)
        state = State(state.k + 1, step.x, step.at, step.y, step.dual, step.alpha, m, L, control)
        return self._adapt(problem, state, oracles)

    def _try(
        self, problem: Problem, state: State, oracles: Oracles, tau: float, kappa: float
    ) -> tuple[float, Step]:
        """Return the step that smoothing with this kappa takes from a state, and its weight tau.

        Where f is not finite at the step's end, tau is halved, in the average of the gradients as
        well as in that of the answers.
        """

        def attempt(tau: float) -> Step:
            alpha = self._alpha(oracles, tau, state.L, state.m, kappa)
            if self.compile:
                return replay(self, problem, state, oracles, tau, alpha)
            step = self.propose(problem, state, oracles, tau, alpha)
            at, found = problem.settle(step.at, step.x, step.numbers)
            return step._replace(at=at, numbers=found)

        return shortened(attempt, tau, state.x)

    def propose(
        self, problem: Problem, state: State, oracles: Oracles, tau: float, alpha: float
    ) -> Step:
        """Return the step of given tau and alpha; another device is not waited for."""
        k, m, x, at, y = state.k, state.m, state.x, state.at, state.y
        v = mix(y, at.gradient, tau)
        if self.m == "auto":
            answer, variance = oracles.sample(v, alpha, m, k)
        else:
            answer, variance = oracles.mean(v, alpha, m, k), math.nan
        x_next = mix(x, same_type(answer, x), tau)
        tested = self._tested(oracles, m)
        if not tested:
            v = answer = None  # these arrays are not needed while others are made
        at_next = problem.evaluate_lazily(x_next)
        y_next = mix(y, at_next.gradient, tau)
        dual_next = mix(state.dual, at_next.dual, tau)
        measured = problem.L is None and not tested
        numbers = _curvature_numbers(x, at, x_next, at_next) if measured else []
        step = Step(v, answer, x_next, y_next, dual_next, at_next, alpha, variance, numbers)
        if tested:
            assert oracles.smoothing is not None
            return step._replace(numbers=compared_numbers(oracles.smoothing, x, y, step))
        return step

    def lower_bound(self, problem: Problem, state: State, oracles: Oracles) -> float:
        """Return the dual value at y_k, with the conjugate bounded as in docs/theory.

        Every sixteenth round computes the Frank-Wolfe gap at x_k as well. Where f was much steeper
        at the start than it is now, the average gradient stays poor for many rounds.
        """
        bound = problem.dual_bound(state.y, state.dual, oracles.lmo(state.y), averaged=True)
        if state.k % 16 == 0 and state.k > 0:
            at = state.at
            bound = max(bound, problem.dual_bound(at.gradient, at.dual, oracles.lmo(at.gradient)))
        return bound

    def _alpha(self, oracles: Oracles, tau: float, L: float, m: int | str, kappa: float) -> float:
        if oracles.smoothing is None:
            return 0.0
        sure = m == "exact" or self.kappa == "auto"
        theta = (0.0 if sure else 0.5) if self.theta is None else self.theta
        return kappa * L * oracles.smoothing.smoothness * tau**2 / ((1 - theta) * (1 - tau))

    def _tested(self, oracles: Oracles, m: int | str) -> bool:
        """Tell whether kappa is chosen by the step test."""
        if self.kappa != "auto" or m != "exact":
            return False
        return oracles.smoothing is not None and oracles.smoothing.tells_support

    def _adapt(self, problem: Problem, state: State, oracles: Oracles) -> State:
        """Return the state with kappa and m chosen for the next round."""
        control, m = state.control, state.m
        if oracles.smoothing is None or self._tested(oracles, m):
            return state
        # The bias may take thousands of oracle calls, once, so that it is asked for where needed.
        if self.kappa == "auto" and state.k >= control.next_check:
            bound = self.lower_bound(problem, state, oracles)
            control = control.adapted(state.k, bound, state.alpha * oracles.bias)
        if self.m == "theory":
            m = state.k + 1
        elif self.m == "auto" and m != "exact":
            theta, bias = self.theta or 0.5, state.alpha * oracles.bias
            # Theorem A1's noise term a_k^2 L sigma^2/(2 theta A_k m) matches its bias
            # a_k alpha s_1(0); more answers would not be useful
            noise = self.order * state.L * control.variance / (2 * theta * (state.k + 1))
            m = min(max(2, math.ceil(noise / max(bias, 1e-300))), self.max_m)
        if control is state.control and m == state.m:
            return state
        return state._replace(control=control, m=m)


def _curvature_numbers(
    x: Array, at: Evaluation, x_next: Array, at_next: Evaluation
) -> list[Array | float]:
    """Return ||x' - x||^2, ||x||^2 and the slopes of f along x' - x at both, not yet fetched."""
    step = x_next - x
    pairs = (step, step), (x, x), (at_next.gradient, step), (at.gradient, step)
    return [lazy_inner(a, b) for a, b in pairs]


def _curvature(x: Array, x_next: Array, numbers: Sequence[float], oracles: Oracles) -> float:
    """Return <grad f(x') - grad f(x), x' - x> / ||x' - x||^2, 0 when rounding hides it."""
    square, reach, slope_next, slope = numbers
    if square <= (1e2 * epsilon(x)) ** 2 * reach:
        return 0.0
    smoothing = oracles.smoothing
    size = square if smoothing is None or smoothing.euclidean else smoothing.size(x_next - x)
    return (slope_next - slope) / size if size > 0 else 0.0


def _curvature_towards(problem: Problem, x: Array, at: Evaluation, oracles: Oracles) -> float:
    """Return the curvature of f halfway from x to a clean answer; 1 when f is flat there."""
    vertex = oracles.lmo(at.gradient)

    def towards(t: float) -> tuple[Array, Evaluation]:
        point = vertex.add_scaled(x, 1.0 - t, t)
        return point, problem.evaluate(point)

    _, (middle, there) = shortened(towards, 0.5, x)
    numbers = fetch(*_curvature_numbers(x, at, middle, there))
    curvature = _curvature(x, middle, numbers, oracles)
    return curvature if curvature > 0 else 1.0
