"""Products of sets."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array, as_float_array
from ..atoms import Atoms, BlockAtoms, join_blocks, split_blocks
from ..problem import Polyhedron, Stacked
from ._base import Set
from ._combination import Combination, Law
from ._laws import NoiseLike, scales, smoothing_arguments
from ._polyhedra import joined
from ._prices import Prices


class Product(Combination):
    r"""The product :math:`K_1 \times \dots \times K_p`.

    A point is the vector of the parts' points, flattened and joined: `split` and `join` go from
    one to the other.

    Parameters
    ----------
    *sets : Set
        The factors, of any shapes.

    Notes
    -----
    The oracle asks each factor for its block of the direction. Smoothing is separable: where all
    factors have a closed form for the same noise the product has it too, s_alpha and s_1(0) are
    the sums of the factors', and s_alpha is as smooth as that of the worst factor.

    Examples
    --------
    >>> from wolfpack.sets import Box, Simplex
    >>> K = Product(Simplex(2), Box([0.0], [5.0]))
    >>> np.asarray(K.lmo(np.array([1.0, 2.0, -1.0])))
    array([1., 0., 5.])
    >>> K.split(np.array([0.5, 0.5, 3.0]))
    [array([0.5, 0.5]), array([3.])]
    """

    stack_axes: ClassVar[dict[str, int]] = {"sets": 1}

    @classmethod
    def varying_arguments(cls, arguments: dict[str, Any]) -> tuple[str, ...]:
        parts = arguments.get("sets", ())
        return ("sets",) if any(isinstance(part, Stacked) for part in parts) else ()

    def __init__(self, *sets: Set) -> None:
        super().__init__(sets)
        self._shapes = [part.shape for part in self.parts]
        self.shape = (sum(part.dimension for part in self.parts),)
        self.radius = math.hypot(*(part.radius for part in self.parts))
        self.diameter = math.hypot(*(part.diameter for part in self.parts))
        self.centred_radius = math.hypot(*(part.centred_radius for part in self.parts))

    @property
    def factors(self) -> tuple[Set, ...]:
        return self.parts

    def split(self, x: Array) -> list[Array]:
        """Return the parts' points of ``x``, a vector or a batch of vectors."""
        x = as_float_array(x, "x")
        if x.ndim not in (1, 2) or x.shape[-1] != self.shape[0]:
            raise ValueError(f"{self}: x must have {self.shape[0]} entries, found shape {x.shape}")
        return split_blocks(x, self._shapes)

    def join(self, parts: Sequence[Array]) -> Array:
        """Return the vector of points of the parts, or the batch of vectors of batches."""
        if len(parts) != len(self.parts):
            raise ValueError(f"{self}: join needs {len(self.parts)} points, found {len(parts)}")
        arrays = [as_float_array(part, f"point {i}") for i, part in enumerate(parts)]
        for i, (array, shape) in enumerate(zip(arrays, self._shapes, strict=True)):
            if array.shape[array.ndim - len(shape) :] != shape:
                raise ValueError(f"{self}: point {i} must have shape {shape}, found {array.shape}")
        return join_blocks(arrays, self._shapes)

    def _lmo(self, g: Array) -> BlockAtoms:
        return BlockAtoms([part._lmo(block) for part, block in self._blocks(g)])

    def certify(self, g: Array, vertex: Atoms) -> float:
        vertex = vertex if isinstance(vertex, BlockAtoms) else self._lmo(g)
        answers = zip(self._blocks(g), vertex.parts, strict=True)
        return sum(part.certify(block, answer) for (part, block), answer in answers)

    def violation(self, x: Array) -> float:
        return float(np.max([part.violation(block) for part, block in self._blocks(x)]))

    def start(self) -> Array:
        return self.join([part.start() for part in self.parts])

    def smoothed(self, y: Array, alpha: float, noise: NoiseLike = None) -> Array:
        law = self._closed_form(noise)
        y, alpha = smoothing_arguments(self, y, alpha)
        pairs = zip(self._blocks(y), self._part_laws(law), strict=True)
        return self.join([K.smoothed(block, alpha, own) for (K, block), own in pairs])

    def smoothed_support(self, y: Array, alpha: float, noise: NoiseLike = None) -> float:
        law = self._closed_form(noise)
        y, alpha = smoothing_arguments(self, y, alpha)
        pairs = zip(self._blocks(y), self._part_laws(law), strict=True)
        return sum(K.smoothed_support(block, alpha, own) for (K, block), own in pairs)

    def _joint_smoothness(self, constants: list[float]) -> float:
        return max(constants)

    def draw(self, y: Array, alpha: float, count: int, rng: np.random.Generator) -> Atoms:
        self._need("draw")
        y, alpha = smoothing_arguments(self, y, alpha)
        return BlockAtoms([K.draw(block, alpha, count, rng) for K, block in self._blocks(y)])

    def _lmo_face(self, x: Array, g: Array) -> BlockAtoms:
        pairs = zip(self._blocks(x), split_blocks(g, self._shapes), strict=True)
        return BlockAtoms([part._lmo_face(own, block) for (part, own), block in pairs])

    def _max_step(self, x: Array, d: Array) -> float:
        pairs = zip(self._blocks(x), split_blocks(d, self._shapes), strict=True)
        return min(part._max_step(own, block) for (part, own), block in pairs)

    def _polyhedron(self) -> Polyhedron:
        return joined([part.polyhedron() for part in self.parts])

    def _prices(self, g: Array) -> Prices:
        return {f"part {i}": K._prices(block) for i, (K, block) in enumerate(self._blocks(g))}

    def _project(self, x: Array) -> Array:
        return self.join([part._project(block) for part, block in self._blocks(x)])

    def _blocks(self, x: Array) -> Iterator[tuple[Set, Array]]:
        return zip(self.parts, split_blocks(x, self._shapes), strict=True)

    def _part_laws(self, law: Law) -> Sequence[Law]:
        """Return the law of each part's noise: blocks of the scales, if there is one per entry."""
        scale = scales(law)
        if np.ndim(scale) == 0 or isinstance(law, str):
            return super()._part_laws(law)
        blocks = split_blocks(np.broadcast_to(scale, self.shape), self._shapes)
        return [dataclasses.replace(law, scale=block) for block in blocks]
