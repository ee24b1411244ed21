"""What one evaluation of an objective returns, and what a run counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..arrays import Array


class Evaluation(NamedTuple):
    """The value of f at a point, its gradient, and the dual point of the certificate.

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


class CompositeEvaluation(NamedTuple):
    """The value of F = G + H at a point, and what is known of G there.

    Attributes
    ----------
    value : float
        F(y), NaN where G does not tell its values.
    gradient : array or None
        grad G(y), None where only random gradients are known.
    dual : float, array or None
        G's dual point at y, as in `Evaluation`.
    smooth : float
        G(y).
    beta : float or None
        The smoothness constant that the run relies on at this point; None while it is searched.
    """

    value: float
    gradient: Array | None
    dual: Any
    smooth: float
    beta: float | None = None


class Pending(NamedTuple):
    """A value of f that is still on its device.

    Attributes
    ----------
    value : array, shape ()
        f(x).
    product : array, shape ()
        <x, grad f(x)>, which is not finite if an entry of the gradient is not.
    """

    value: Array
    product: Array


class Violation(NamedTuple):
    """What two evaluations prove wrong: the convexity of f, or a smoothness constant.

    Attributes
    ----------
    what : "convexity", "L" or "beta"
        The property that does not hold.
    constant : float
        The constant that is too small, NaN for convexity.
    """

    what: str
    constant: float = float("nan")


@dataclass
class Counts:
    """How often the objective and the oracle were asked, and what the bounds of a run rest on.

    Attributes
    ----------
    nfev, njev, nlmo : int
        Values, gradients and oracle calls so far.
    smoothness : float or None
        The smoothness constant that the method relies on, None if it relies on none.
    rounding : float
        How much the best dual bound was lowered to allow for rounding errors.
    bound : float
        The best dual bound so far.
    scale : float
        The first value of f that is not 0, in absolute value: the size against which a user's
        function may cancel.
    """

    nfev: int = 0
    njev: int = 0
    nlmo: int = 0
    smoothness: float | None = None
    rounding: float = 0.0
    bound: float = float("-inf")
    scale: float = 0.0
