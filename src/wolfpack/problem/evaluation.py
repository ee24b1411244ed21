"""What one evaluation of an objective returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..arrays import Array


class Evaluation(NamedTuple):
    """One look at f: its value, its gradient and the dual point of the certificate.

    Attributes
    ----------
    value : float
        f(x); `Pending` until `Problem.settle` has waited for another device.
    gradient : array
        grad f(x).
    dual : float or array
        A quantity that averages linearly with the gradients and bounds the conjugate: by default
        the number <x, grad f(x)> - f(x) = f*(grad f(x)); for f(x) = loss(Ax) the vector
        grad loss(Ax). See `Objective.conjugate_bound`.
    """

    value: Any
    gradient: Array
    dual: Any


class Pending(NamedTuple):
    """A value of f that is still on its device.

    Attributes
    ----------
    value : array, shape ()
        f(x).
    product : array, shape ()
        <x, grad f(x)>, which is not finite if an entry of the gradient is not.
    """

    value: Any
    product: Any


@dataclass
class Counts:
    """How often the objective and the oracle were asked."""

    nfev: int = 0
    njev: int = 0
    nlmo: int = 0


def underflow(eps: float) -> float:
    """Return the size below which numbers of precision ``eps`` may have lost digits, or be zero.

    A logarithmic loss in single precision is zero from 1e-45 on, and its gradient with it: that
    proves no gap of zero. In double precision, eps times the number must not vanish either.
    """
    return 2.0**-970 if eps < 1e-10 else 2.0**-126
