"""Where arrays live: their library, device and type, and the way from and to the host.

The host's arrays are NumPy's. All others (PyTorch, JAX, CuPy, any library of the Array API
standard) are called foreign here; some of them are on another device.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ._structured_base import Structured
from ._types import Array

_KNOWN = ("torch", "jax", "cupy", "numpy")
_spaces: dict[type, Any] = {}
_libraries: dict[type, str] = {}
_foreign: dict[type, bool] = {}


def namespace(x: Array) -> Any:
    """Return the Array API namespace of an array (``numpy`` for NumPy arrays)."""
    if type(x) is np.ndarray:
        return np
    found = _spaces.get(type(x))
    if found is None:
        if isinstance(x, Structured):
            return namespace(x.base)
        from array_api_compat import array_namespace

        found = np if isinstance(x, np.ndarray | np.generic) else array_namespace(x)
        _spaces[type(x)] = found
    return found


def library(x: Array) -> str:
    """Return "numpy", "torch", "jax", "cupy" or, for any other library, "other"."""
    if type(x) is np.ndarray:
        return "numpy"
    found = _libraries.get(type(x))
    if found is None:
        if isinstance(x, Structured):
            return library(x.base)
        origins = {cls.__module__.partition(".")[0] for cls in type(x).__mro__}
        origins |= {"jax"} if "jaxlib" in origins else set()
        found = next((name for name in _KNOWN if name in origins), "other")
        _libraries[type(x)] = found
    return found


def is_foreign(x: object) -> bool:
    """Tell whether ``x`` is an array of another library than NumPy."""
    kind = type(x)
    if kind is np.ndarray:
        return False
    found = _foreign.get(kind)
    if found is None:
        if isinstance(x, Structured):
            return is_foreign(x.base)
        # PyTorch's and CuPy's arrays do not name a namespace; sparse matrices of JAX neither
        named = {"torch": "numel", "cupy": "__cuda_array_interface__", "numpy": ""}
        found = hasattr(x, named.get(library(x), "__array_namespace__"))
        _foreign[kind] = found
    return found


def to_host(x: Array) -> Array:
    """Return ``x`` as a NumPy array, copied from its device; structured matrices in their parts."""
    if type(x) is np.ndarray:
        return x
    if isinstance(x, Structured):
        return x.on_host() if is_foreign(x) else x
    if not is_foreign(x):
        return np.asarray(x)
    kind = library(x)
    if kind == "torch":
        return x.detach().cpu().numpy()
    if kind == "cupy":
        return x.get()
    if kind == "jax":
        return np.asarray(x)
    if "cpu" in str(x.device).lower():
        return np.asarray(x)
    return np.from_dlpack(namespace(x).asarray(x), device="cpu")


def like(values: Array, x: Array) -> Array:
    """Return host values as an array of ``x``'s library on ``x``'s device.

    Floating-point values take ``x``'s type, integers and booleans keep theirs. Arrays of another
    library than NumPy are left where they are, unless ``x`` is on the host.
    """
    x = _base(x)
    if isinstance(values, Structured):
        return values if is_foreign(values) or not is_foreign(x) else values.like(x)
    if isinstance(x, np.ndarray):
        return _typed(to_host(values), x.dtype)
    if is_foreign(values):
        return values
    host = _typed(np.asarray(values), host_dtype(x))
    kind = library(x)
    if kind == "torch":
        import torch

        # a copy: a tensor must own its memory, and have no negative strides
        return torch.from_numpy(np.array(host, order="C")).to(x.device)
    if kind == "jax":
        import jax

        return jax.device_put(host, x.device)
    return namespace(x).asarray(host.copy(), device=device_of(x))


def full(shape: tuple[int, ...], value: float, x: Array, dtype: Any = None) -> Array:
    """Return an array of equal numbers of ``x``'s library, device and (by default) type."""
    x = _base(x)
    dtype = x.dtype if dtype is None else dtype
    if type(x) is np.ndarray:
        return np.full(shape, value, dtype=dtype)
    return namespace(x).full(shape, value, dtype=dtype, device=device_of(x))


def zeros(shape: tuple[int, ...], x: Array, dtype: Any = None) -> Array:
    """Return zeros of ``x``'s library, device and (by default) type."""
    x = _base(x)
    dtype = x.dtype if dtype is None else dtype
    if type(x) is np.ndarray:
        return np.zeros(shape, dtype=dtype)
    return namespace(x).zeros(shape, dtype=dtype, device=device_of(x))


def empty_on(device: str, dtype: DTypeLike) -> Array:
    """Return an empty PyTorch array of NumPy's type ``dtype`` on a device, or say what is wrong."""
    if not isinstance(device, str):
        raise TypeError(f"device must be a name such as 'cuda', found {device!r}")
    try:
        import torch
    except ImportError:
        raise ImportError(
            f"device={device!r} needs PyTorch: pip install 'wolfpack[torch]'"
        ) from None
    kind = torch.float32 if np.dtype(dtype) == np.float32 else torch.float64
    try:
        return torch.empty(0, dtype=kind, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"device={device!r} cannot be used here: {reason} (PyTorch {torch.__version__}, "
            f"{torch.cuda.device_count()} GPUs); leave device out to stay on the host"
        ) from None


def arange(n: int, x: Array) -> Array:
    """Return the integers 0, ..., n - 1 in ``x``'s library, on its device."""
    if type(x) is np.ndarray:
        return np.arange(n)
    return namespace(x).arange(n, device=device_of(x))


def eye(n: int, x: Array) -> Array:
    """Return the identity matrix of ``x``'s library, type and device."""
    if type(x) is np.ndarray:
        return np.eye(n, dtype=x.dtype)
    return namespace(x).eye(n, dtype=x.dtype, device=device_of(x))


def device_of(x: Array) -> object:
    """Return the device of an array, in its library's own terms ("cpu" for NumPy)."""
    x = _base(x)
    # what JAX traces has none
    return "cpu" if isinstance(x, np.ndarray) else getattr(x, "device", None)


def host_dtype(x: Array) -> np.dtype:
    """Return NumPy's type for ``x``'s floating-point type; float32 for shorter ones."""
    x = _base(x)
    if type(x) is np.ndarray:
        return np.dtype(x.dtype)
    return np.dtype(np.float64) if "float64" in str(x.dtype) else np.dtype(np.float32)


def foreign_dtype(x: Array) -> object:
    """Return the type of the entries of an array of another library than NumPy, else None."""
    x = _base(x)
    return None if isinstance(x, np.ndarray) else x.dtype


def describe(x: Array) -> str:
    """Return library, type and device of an array in a few words."""
    x = _base(x)
    if isinstance(x, np.ndarray):
        return f"NumPy {x.dtype}"
    name = str(x.dtype).rpartition(".")[2]
    return f"{type(x).__module__.partition('.')[0]} {name} on {device_of(x)}"


def same_place(**arrays: Array) -> None:
    """Raise one clear error unless all arrays share their library, device and type.

    The first argument is what the others are expected to match. Values that are None, and such as
    are no arrays at all (numbers, operators), are passed over.
    """
    known = {k: v for k, v in arrays.items() if isinstance(v, np.ndarray) or is_foreign(v)}
    if len(known) < 2:
        return
    (first, x), *others = known.items()
    for name, y in others:
        if describe(y) != describe(x):
            raise TypeError(
                f"{name} is {describe(y)}, but {first} is {describe(x)}: arrays of one problem "
                "must have one library, one device and one type; convert one of them"
            )


def size(x: Array) -> int:
    """Return the number of entries, whatever the library calls it."""
    return math.prod(x.shape)


def _base(x: Array) -> Array:
    return x.base if isinstance(x, Structured) else x


def _typed(host: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    return host.astype(dtype, copy=False) if host.dtype.kind == "f" else host
