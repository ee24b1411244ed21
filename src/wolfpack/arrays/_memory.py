"""Memory of devices: telling a lack of it from other failures, and keeping no graphs in it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ._place import library


def without_graphs(x: Any) -> AbstractContextManager[Any]:
    """Keep PyTorch from remembering how arrays were computed, where ``x`` is one of its own."""
    if x is None or library(x) != "torch":
        return nullcontext()
    import torch

    return torch.no_grad()


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an exception says that a device, or the host, had too little memory."""
    if isinstance(error, MemoryError):
        return True
    # PyTorch and CuPy have types of this name, JAX has a status in its message
    names = {cls.__name__ for cls in type(error).__mro__}
    return "OutOfMemoryError" in names or "RESOURCE_EXHAUSTED" in str(error)
