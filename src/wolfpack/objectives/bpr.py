"""Travel times that grow with flow: the Beckmann function of a road network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..arrays import Array, clip, inner, is_foreign, lazy_inner, like, namespace, norm, same_place
from ..problem import Evaluation, Minorant, accumulation, sum_unit, unit_of
from ._base import Objective, as_data, check_place, settle

if TYPE_CHECKING:
    from ..sets import Set


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
        Costs r of a link besides time, such as tolls and length, nonnegative.

    Notes
    -----
    The gradient is the vector of link costs. Negative flows, which rounding may cause, cost as much
    as empty links. With :math:`\rho = ((y - r - t)/(t b))^{1/p}` per link, and y at least the cost
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
        self, free_time: Array, capacity: Array, b: Array = 0.15, power: Array = 4, fixed: Array = 0
    ) -> None:
        self.free_time = _links(free_time, "free_time")
        self.like, self.checked = self.free_time[:0], is_foreign(self.free_time)
        self.shape = tuple(self.free_time.shape)
        self.capacity = _links(capacity, "capacity", self.free_time)
        self.b = _links(b, "b", self.free_time)
        self.power = _links(power, "power", self.free_time)
        self.fixed = _links(fixed, "fixed", self.free_time)
        smallest = float(namespace(self.capacity).min(self.capacity))
        if not smallest > 0:
            raise ValueError(f"capacity must be positive, found {smallest:g}")

    def evaluate(self, x: Array) -> Evaluation:
        check_place(self.like, x)
        flow = clip(x, 0.0, None)
        delay = self.free_time * self.b * (flow / self.capacity) ** self.power
        base = self.free_time + self.fixed
        value = lazy_inner(base, x) + lazy_inner(delay / (self.power + 1.0), flow)
        gradient = base + delay
        if self.checked:
            value = settle(value, lazy_inner(x, gradient), gradient)[0]
        return Evaluation(value, gradient, gradient)

    def conjugate_bound(self, dual: Array) -> float:
        slope, power, where = self.free_time * self.b, self.power, namespace(dual).where
        rising = (slope > 0) & (power > 0)
        delay = where(rising, clip(dual - self.free_time - self.fixed, 0.0, None), 0.0 * dual)
        exponent = 1.0 / where(rising, power, 1.0 + 0.0 * power)
        share = (delay / where(rising, slope, 1.0 + 0.0 * slope)) ** exponent
        return inner(delay * share, self.capacity * power / (power + 1.0))

    def minorant(self, dual: Array, y: Array, K: Set) -> Minorant:
        """Return v -> <y, v> - f*(y); the dual point is the slope itself."""
        number = self.conjugate_bound(dual)
        return Minorant(-number, None, self._units(dual) * (abs(number) + norm(y) * K.radius))

    def value_error(self, x: Array, at: Evaluation, K: Set | None) -> float:
        return self._units(x) * (abs(at.value) + norm(self.free_time + self.fixed) * norm(x))

    def _units(self, x: Array) -> float:
        """Return the relative error of a sum over links, whose terms take a few operations."""
        return 16.0 * unit_of(x) + accumulation(x.shape[0]) * sum_unit(x)

    def hessian_product(self, x: Array, d: Array) -> Array:
        share, where = clip(x, 0.0, None) / self.capacity, namespace(x).where
        # x^(p - 1) of an empty link is 0 for the powers that are twice differentiable there
        rise = where(share > 0, share, 1.0 + 0.0 * share) ** (self.power - 1.0)
        rise = where((share > 0) | (self.power == 1.0), rise, 0.0 * rise)
        return self.free_time * self.b * self.power / self.capacity * rise * d


def _links(value: Array, name: str, first: Array = None) -> Array:
    """Return nonnegative finite numbers, one per link, on the device of ``first``."""
    array = as_data(value, name)
    shape = tuple(array.shape)
    if first is None:
        if array.ndim != 1 or not array.shape[0]:
            raise ValueError(f"{name} must be a vector, one number per link, found {shape}")
    elif shape not in ((), tuple(first.shape)):
        raise ValueError(f"{name} must be a number or of shape {tuple(first.shape)}, found {shape}")
    smallest = float(namespace(array).min(array))
    if not smallest >= 0:
        raise ValueError(f"{name} must be nonnegative, found {smallest:g}")
    if first is None:
        return array
    if not shape and not is_foreign(array):
        array = like(array, first)
    elif is_foreign(array) or is_foreign(first):
        same_place(free_time=first, **{name: array})
    return namespace(array).broadcast_to(array, tuple(first.shape))
