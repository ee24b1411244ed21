r"""Step rules that are fixed beforehand, and the rule that keeps any other from going up.

Open loops know the round and nothing else. `Monotone` looks at f, and halves the step of another
rule while it leads up or out of the domain of f.

Guarantee
    With ``LogOpenLoop``, ``OpenLoop`` and ``Monotone(OpenLoop())`` Frank-Wolfe has
    :math:`f(x_k) - \min f = O(1/k)`, up to the factor log k of the first. The last one loses
    nothing: where the step of the open loop leads up, f at x is already below the bound that this
    step has.

Sources
    A. Carderera, M. Besançon, S. Pokutta, Simple steps are all you need: Frank-Wolfe and
    generalized self-concordant functions, NeurIPS 2021.
    E. Wirth, T. Kerdreux, S. Pokutta, Acceleration of Frank-Wolfe algorithms with open-loop
    step-sizes, AISTATS 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...arrays import epsilon
from ...problem import Problem
from ...problem.checks import between, checked, instance, positive
from .domain import shortest_step
from .step_rules import OpenLoop, Rule, SearchLine, Stride


@checked(shift=positive)
@dataclass(frozen=True)
class LogOpenLoop(Rule):
    r"""The step :math:`\ell_k / (k + \ell_k)` with :math:`\ell_k = \ell + \log(k + 1)`.

    A constant ell limits the rate that acceleration by open loops can reach; one that grows does
    not.

    Parameters
    ----------
    shift : float
        The first value ell; positive.
    """

    shift: float = 2.0
    looks = False

    def __call__(self, problem: Problem, ray: SearchLine) -> Stride:
        ell = self.shift + math.log(ray.k + 1.0)
        return Stride(min(ray.max_step, ell / (ray.k + ell)))


@checked(power=between(0, 1, low_open=True))
@dataclass(frozen=True)
class PowerLoop(Rule):
    r"""The step :math:`(k + 1)^{-p}`; the power 1/2 is that for functions that are not convex.

    Parameters
    ----------
    power : float
        The power p, in (0, 1].
    """

    power: float = 0.5
    looks = False

    def __call__(self, problem: Problem, ray: SearchLine) -> Stride:
        return Stride(min(ray.max_step, (ray.k + 1.0) ** -self.power))


@checked(step=between(0, 1, low_open=True))
@dataclass(frozen=True)
class Fixed(Rule):
    """The same step in every round; f then comes near its minimum and stays about there.

    Parameters
    ----------
    step : float
        The step, in (0, 1].
    """

    step: float = 0.1
    looks = False

    def __call__(self, problem: Problem, ray: SearchLine) -> Stride:
        return Stride(min(ray.max_step, self.step))


@checked(rule=instance(Rule, "a step rule of wolfpack.solvers"))
@dataclass(frozen=True)
class Monotone(Rule):
    """The step of another rule, halved until f does not go up.

    Each look at a step costs one value of f. A step that would have to be shorter than rounding
    allows is 0.

    Parameters
    ----------
    rule : Rule
        The rule whose steps are tried first, by default the open loop 2/(k+2).
    """

    rule: Rule = OpenLoop()

    def check(self, problem: Problem) -> None:
        self.rule.check(problem)

    def __call__(self, problem: Problem, ray: SearchLine) -> Stride:
        step, memory = self.rule(problem, ray)
        if step <= 0:
            return Stride(0.0, memory)
        here = ray.at.value
        highest = here + 8.0 * epsilon(ray.at.gradient) * abs(here)  # more is not rounding
        shortest = shortest_step(step, ray.x)
        while not problem.value(ray.x + step * ray.d) <= highest:  # also where f is NaN
            if step <= shortest:
                return Stride(0.0, memory)
            step *= 0.5
        return Stride(step, memory)
