"""Random numbers drawn where an array is, by its library's own generator.

Faster than numbers that come from the host, and reproducible for one seed, library and device only.
"""

from __future__ import annotations

import numpy as np

from ._place import library, like, namespace
from ._types import Array


class Native:
    """A library's own generator, drawing arrays of the library, device and float type of ``x``.

    The seed is a non-negative integer below 2**63.
    """

    def __init__(self, x: Array, seed: int) -> None:
        self.x = x
        self.kind = library(x)
        if self.kind == "torch":
            import torch

            self.source: Array = torch.Generator(x.device).manual_seed(seed)
        elif self.kind == "jax":
            import jax

            # JAX's keys take 32 bits at a time
            self.source = jax.random.fold_in(jax.random.key(seed % 2**31), seed // 2**31 % 2**31)
        else:
            space = namespace(x) if self.kind == "cupy" else np
            self.source = space.random.default_rng(seed)

    def normal(self, shape: tuple[int, ...]) -> Array:
        """Return standard normal numbers."""
        return self._draw(shape, "standard_normal", "normal")

    def uniform(self, shape: tuple[int, ...]) -> Array:
        """Return uniform numbers of [0, 1)."""
        return self._draw(shape, "random", "uniform")

    def exponential(self, shape: tuple[int, ...]) -> Array:
        """Return standard exponential numbers."""
        return self._draw(shape, "standard_exponential", "exponential")

    def _draw(self, shape: tuple[int, ...], numpy_name: str, name: str) -> Array:
        x = self.x
        if self.kind == "torch":
            return getattr(x.new_empty(shape), f"{name}_")(generator=self.source)
        if self.kind == "jax":
            import jax

            self.source, key = jax.random.split(self.source)
            return jax.device_put(getattr(jax.random, name)(key, shape, x.dtype), x.device)
        draw = getattr(self.source, numpy_name)
        return draw(shape, dtype=x.dtype) if self.kind == "cupy" else like(draw(shape), x)
