"""Array libraries that tests run on: each makes arrays from NumPy's and gives them back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from wolfpack.arrays import describe, to_host


@dataclass(frozen=True)
class Backend:
    """One library with one floating-point type."""

    name: str
    library: str
    dtype: Any

    @property
    def eps(self) -> float:
        return float(np.finfo(self.dtype).eps)

    def array(self, values: Any) -> Any:
        """Return values in this library; floating-point ones in its type."""
        host = np.array(values)
        host = host.astype(self.dtype) if host.dtype.kind == "f" else host
        if self.library == "numpy":
            host.flags.writeable = False
            return host
        if self.library == "torch":
            import torch

            return torch.tensor(host)
        if self.library == "jax":
            import jax.numpy

            return jax.numpy.asarray(host)
        import array_api_strict

        return array_api_strict.asarray(host, device=array_api_strict.Device("device1"))

    def host(self, x: Any) -> np.ndarray:
        """Return an array of this library as NumPy's; fail if it is of another library or type."""
        assert describe(x) == describe(self.array(np.zeros(1))), describe(x)
        return to_host(x)

    @contextmanager
    def active(self) -> Iterator[None]:
        """Switch the library to what this backend needs."""
        wide: Any = nullcontext()
        if self.library == "jax":
            import jax

            wide = jax.enable_x64(self.dtype == np.float64)
        with wide:
            yield


NUMPY = Backend("numpy", "numpy", np.float64)
STRICT = Backend("strict", "array_api_strict", np.float64)
TORCH = Backend("torch", "torch", np.float64)
TORCH32 = Backend("torch32", "torch", np.float32)
JAX = Backend("jax", "jax", np.float64)
JAX32 = Backend("jax32", "jax", np.float32)
EVERY = [
    *(pytest.param(backend, id=backend.name) for backend in (NUMPY, STRICT)),
    *(
        pytest.param(backend, id=backend.name, marks=pytest.mark.extras)
        for backend in (TORCH, TORCH32, JAX32)
    ),
]


@pytest.fixture(name="backend", params=EVERY)
def every_backend(request: Any) -> Iterator[Backend]:
    """Run a test on every library; those that are not installed are skipped."""
    pytest.importorskip(request.param.library)
    with request.param.active():
        yield request.param
