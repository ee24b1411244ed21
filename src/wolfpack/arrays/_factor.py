"""Whether a matrix has a Cholesky factor, by what each library says of one that has none."""

from __future__ import annotations

from ._place import library, namespace
from ._types import Array


def factorises(a: Array) -> bool:
    """Tell whether the Cholesky factorisation of a symmetric matrix runs to completion."""
    if library(a) == "torch":
        import torch

        return int(torch.linalg.cholesky_ex(a).info) == 0
    space = namespace(a)
    try:
        factor = space.linalg.cholesky(a)
    except Exception as error:
        if type(error).__name__ != "LinAlgError":
            raise
        return False
    # JAX and CuPy answer NaN where others raise
    return bool(space.all(space.isfinite(factor)))
