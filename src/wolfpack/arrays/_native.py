"""Random numbers drawn where an array is, by its library's own generator.

Faster than numbers that come from the host, and reproducible for one seed, library and device only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._place import library, like, namespace
from ._types import Array


class Native:
    """A library's own generator with a seed, drawing arrays of the type and place of ``x``.

    Parameters
    ----------
    x : array
        Any array of that library, device and floating-point type.
    seed : int
        Non-negative, below 2**63.
    """

    def __init__(self, x: Array, seed: int) -> None:
        self.x = x
        self.kind = library(x)
        if self.kind == "torch":
            import torch

            self.source: Any = torch.Generator(x.device).manual_seed(seed)
        elif self.kind == "jax":
            import jax

            # JAX's keys take 32 bits at a time
            self.source = jax.random.fold_in(jax.random.key(seed % 2**31), seed // 2**31 % 2**31)
        elif self.kind == "cupy":
            self.source = namespace(x).random.default_rng(seed)
        else:
            self.source = np.random.default_rng(seed)

    def normal(self, shape: tuple[int, ...]) -> Array:
        """Return standard normal numbers."""
        return self._draw("standard_normal", shape)

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Return uniform numbers of [0, 1)."""
        return self._draw("random", shape)

    def exponential(self, shape: tuple[int, ...]) -> Array:
        """Return standard exponential numbers."""
        return self._draw("standard_exponential", shape)

    def _draw(self, name: str, shape: tuple[int, ...]) -> Array:
        x = self.x
        if self.kind == "torch":
            empty = x.new_empty(shape)
            return getattr(empty, _TORCH[name])(generator=self.source)
        if self.kind == "jax":
            import jax

            self.source, key = jax.random.split(self.source)
            draw = getattr(jax.random, _JAX[name])
            return jax.device_put(draw(key, shape, x.dtype), x.device)
        if self.kind == "cupy":
            return getattr(self.source, name)(shape, dtype=x.dtype)
        return like(getattr(self.source, name)(shape), x)


_TORCH = {
    "standard_normal": "normal_",
    "random": "uniform_",
    "standard_exponential": "exponential_",
}
_JAX = {
    "standard_normal": "normal",
    "random": "uniform",
    "standard_exponential": "exponential",
}
