"""The devices of this machine, as each array library sees them, and their memory."""

from __future__ import annotations

import platform
import shutil
import subprocess
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from ._place import library
from ._types import Array

_DEV = Path("/dev")
_DEVICE_FILES = ("nvidia*", "dxg", "kfd", "accel*", "apex*", "vfio/*")
"""What Linux shows of NVIDIA's, WSL's and AMD's cards and of TPUs."""


def devices() -> dict[str, list[str]]:
    """Return the devices of every array library that is installed.

    Only the library itself knows which ones it can use, and importing it takes seconds: it is not
    asked where Linux shows no accelerator. Under "driver" are the cards that NVIDIA's own tool
    lists. A library may not be able to use them.

    Examples
    --------
    >>> devices()["numpy"]
    ['cpu']
    """
    found = {"numpy": ["cpu"]}
    if cards := _driver():
        found["driver"] = cards
    linux = platform.system() == "Linux"
    accelerated = not linux or any(any(_DEV.glob(name)) for name in _DEVICE_FILES)
    libraries = {"torch": _torch, "jax": _jax, "cupy": _cupy}
    for name, list_devices in libraries.items():
        if find_spec(name) is None:
            continue
        host = "none" if name == "cupy" else "cpu"
        try:
            found[name] = list_devices(import_module(name)) if accelerated else [host]
        except Exception as error:  # a driver that does not fit, say
            found[name] = [f"cannot be used ({type(error).__name__}: {error})"]
    return found


def _driver() -> list[str]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    try:
        done = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.partition(" (UUID")[0] for line in done.stdout.splitlines() if line.strip()]


def _torch(torch: ModuleType) -> list[str]:
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    cards = [f"cuda:{i} ({torch.cuda.get_device_name(i)})" for i in range(count)]
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return ["cpu", *cards, *mps]


def _jax(jax: ModuleType) -> list[str]:
    return [
        d.platform if d.platform == "cpu" else f"{d.platform}:{d.id} ({d.device_kind})"
        for d in jax.devices()
    ]


def _cupy(cupy: ModuleType) -> list[str]:
    runtime = cupy.cuda.runtime
    names = [runtime.getDeviceProperties(i)["name"] for i in range(runtime.getDeviceCount())]
    return [f"cuda:{i} ({name.decode()})" for i, name in enumerate(names)]


def without_graphs(x: Array) -> AbstractContextManager[object]:
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
