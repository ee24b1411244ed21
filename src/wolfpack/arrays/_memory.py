"""Telling a device without memory from other failures."""

from __future__ import annotations


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an exception says that a device, or the host, had too little memory."""
    if isinstance(error, MemoryError):
        return True
    # PyTorch and CuPy have types of this name, JAX has a status in its message
    names = {cls.__name__ for cls in type(error).__mro__}
    return "OutOfMemoryError" in names or "RESOURCE_EXHAUSTED" in str(error)
