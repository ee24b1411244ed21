"""Products: a different regulariser for each block of y."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import Array
from ..problem import CapabilityError
from ..problem.checks import as_shape, instance, shown
from ._base import Regularizer
from .mirrors import Mirror, Step
from .pairs import as_mirror

Part = Regularizer | tuple[Regularizer, int | tuple[int, ...]]


class Product(Regularizer):
    r"""A sum over blocks, :math:`H(y) = \sum_j H_j(y_j)`.

    y is the vector of the blocks, flattened and joined: `split` and `join` go from one to the
    other.

    Parameters
    ----------
    *parts : Regularizer or (Regularizer, shape)
        The terms, each with the shape of its block (an integer for a vector) unless it knows it.

    Notes
    -----
    mu is the smallest of the parts', in the Euclidean norm. Each block keeps its own geometry: the
    mirror map is the sum of the parts' own ones, and with ``w="euclidean"`` it is Euclidean.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> H = Product((wp.regularizers.SquaredNorm(1.0), 1), wp.regularizers.SimplexRidge(2, 3.0))
    >>> H.argmin(np.array([5.0, 0.0, 9.0]))
    array([-5.,  1.,  0.])
    """

    def __init__(self, *parts: Part) -> None:
        if not parts:
            raise ValueError("parts must be at least one regulariser, found none")
        pairs = [_with_shape(part, index) for index, part in enumerate(parts)]
        self.parts = [H for H, _ in pairs]
        self.shapes = [shape for _, shape in pairs]
        self._ends = np.cumsum([math.prod(shape) for shape in self.shapes]).tolist()
        self.shape = (self._ends[-1],)
        self.mu = min(H.mu for H in self.parts)
        self.structured = any(H.structured for H in self.parts)

    def split(self, y: Array) -> list[Array]:
        """Return the blocks of ``y``, in their shapes."""
        pieces = np.split(y, self._ends[:-1])
        return [piece.reshape(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]

    def join(self, blocks: list[Array]) -> Array:
        """Return the vector of the given blocks."""
        return np.concatenate([block.reshape(-1) for block in blocks])

    def value(self, y: Array) -> float:
        return sum(H.value(block) for H, block in self._blocks(y))

    def argmin(self, g: Array) -> Array:
        return self.join([H.argmin(block) for H, block in self._blocks(g)])

    def minimum(self, g: Array) -> float:
        return sum(H.minimum(block) for H, block in self._blocks(g))

    def prox(self, g: Array, lam: float) -> Array:
        return self.join([H.prox(block, lam) for H, block in self._blocks(g)])

    def has(self, capability: str) -> bool:
        return capability == "prox" and all(H.has("prox") for H in self.parts)

    def own_mirror(self) -> Mirror:
        return ProductMirror(self)

    def _blocks(self, y: Array) -> Iterator[tuple[Regularizer, Array]]:
        return zip(self.parts, self.split(y), strict=True)

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self.parts))})"


class ProductMirror(Mirror, anywhere=True):
    r"""The sum of the parts' own mirror maps, :math:`w(y) = \sum_j w_j(y_j)`.

    Parameters
    ----------
    H : Product
        The regulariser whose blocks it follows.
    """

    def __init__(self, H: Product) -> None:
        instance(Product, "a Product of regularisers")(H, "H")
        self.H = H
        self.maps = [as_mirror(None, part) for part in H.parts]
        self.nu = min(w.nu for w in self.maps)
        self._steps = [w.step(part) for w, part in zip(self.maps, H.parts, strict=True)]

    def value(self, y: Array) -> float:
        return sum(w.value(block) for w, block in zip(self.maps, self.H.split(y), strict=True))

    def gradient(self, y: Array) -> Array:
        blocks = zip(self.maps, self.H.split(y), strict=True)
        return self.H.join([w.gradient(block) for w, block in blocks])

    def phi_step(self, H: Regularizer) -> Step:
        if H is not self.H:
            raise CapabilityError(f"this mirror map belongs to {self.H!r}, found H = {H!r}")

        def step(g: Array, lam: float) -> Array:
            blocks = zip(self._steps, self.H.split(g), strict=True)
            return self.H.join([solve(block, lam) for solve, block in blocks])

        return step


def _with_shape(part: Part, index: int) -> tuple[Regularizer, tuple[int, ...]]:
    pair: Any = part if isinstance(part, tuple) and len(part) == 2 else (part, None)
    H, shape = pair
    if not isinstance(H, Regularizer):
        raise TypeError(
            f"parts[{index}] must be a regulariser, or (regulariser, shape), found {shown(part)}"
        )
    shape = H.shape if shape is None else shape
    if shape is None:
        raise ValueError(f"parts[{index}], {H!r}, does not know its shape: pass ({H!r}, shape)")
    shape = as_shape(shape, f"the shape of parts[{index}]")
    if H.shape is not None and tuple(H.shape) != shape:
        raise ValueError(f"parts[{index}], {H!r}, must have shape {H.shape}, found {shape}")
    return H, shape
