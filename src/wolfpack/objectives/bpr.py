"""Travel times that grow with flow: the Beckmann function of a road network."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import as_float_array, check_finite, inner
from ..problem import Evaluation
from ._base import Array, Objective


class BPR(Objective):
    r"""The integral of link costs, whose minimum over flows is the user equilibrium.

    .. math::

        f(x) = \sum_e \int_0^{x_e} \bigl( t_e (1 + b_e (s/c_e)^{p_e}) + r_e \bigr) ds

    Parameters
    ----------
    free_time : array (n,)
        Travel times t of empty links, nonnegative.
    capacity : array (n,)
        Practical capacities c, positive.
    b, power : float or array (n,)
        Coefficient and exponent p of the cost function, nonnegative; 0.15 and 4 are those of the
        Bureau of Public Roads. Exponents between 0 and 1 have no Lipschitz gradient.
    fixed : float or array (n,)
        What a link costs besides time, tolls and length, nonnegative.

    Notes
    -----
    The gradient is the vector of link costs. Negative flows, which rounding may bring, cost what
    empty links do. With :math:`\rho = ((y - r - t)/(t b))^{1/p}` per link, and y at least the cost
    of empty links, as averages of gradients are,
    :math:`f^*(y) = \sum_e t_e b_e c_e \tfrac{p_e}{p_e + 1} \rho_e^{p_e + 1}`.

    Sources
        M. Beckmann, C. McGuire, C. Winsten, Studies in the Economics of Transportation, 1956.

    Examples
    --------
    >>> import numpy as np
    >>> f = BPR(np.array([2.0]), np.array([10.0]))
    >>> f.gradient(np.array([10.0]))
    array([2.3])
    """

    def __init__(
        self, free_time: Any, capacity: Any, b: Any = 0.15, power: Any = 4.0, fixed: Any = 0.0
    ) -> None:
        self.free_time = _links(free_time, "free_time")
        n = self.free_time.shape
        self.shape = n
        self.capacity = _links(capacity, "capacity", n)
        self.b, self.power = _links(b, "b", n), _links(power, "power", n)
        self.fixed = _links(fixed, "fixed", n)
        if not self.capacity.min() > 0:
            raise ValueError(f"capacity must be positive, found {self.capacity.min():g}")

    def evaluate(self, x: Array) -> Evaluation:
        flow = np.maximum(x, 0.0)
        delay = self.free_time * self.b * (flow / self.capacity) ** self.power
        base = self.free_time + self.fixed
        value = inner(base, x) + inner(delay / (self.power + 1.0), flow)
        gradient = base + delay
        return Evaluation(value, gradient, gradient)

    def conjugate_bound(self, dual: Array) -> float:
        slope, power = self.free_time * self.b, self.power
        rising = (slope > 0) & (power > 0)
        delay = np.maximum(dual - self.free_time - self.fixed, 0.0)[rising]
        share = (delay / slope[rising]) ** (1.0 / power[rising])
        return inner(delay * share, (self.capacity * power / (power + 1.0))[rising])

    def hessian_product(self, x: Array, d: Array) -> Array:
        share = np.maximum(x, 0.0) / self.capacity
        # x^(p - 1) of an empty link is 0 for the powers that are twice differentiable there
        rise = np.where(share > 0, share, 1.0) ** (self.power - 1.0)
        rise = np.where((share > 0) | (self.power == 1.0), rise, 0.0)
        return self.free_time * self.b * self.power / self.capacity * rise * d


def _links(value: Any, name: str, shape: tuple[int, ...] | None = None) -> Array:
    """Return nonnegative finite numbers, one per link."""
    array = check_finite(as_float_array(value, name), name).astype(np.float64, copy=False)
    if shape is None:
        if array.ndim != 1 or not array.size:
            raise ValueError(f"{name} must be a vector, one number per link, found {array.shape}")
    elif array.shape not in ((), shape):
        raise ValueError(f"{name} must be a number or of shape {shape}, found {array.shape}")
    if not array.min() >= 0:
        raise ValueError(f"{name} must be nonnegative, found {array.min():g}")
    return array if shape is None else np.broadcast_to(array, shape)
