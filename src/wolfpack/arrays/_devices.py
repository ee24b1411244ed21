"""Where arrays can live on this machine, as each array library sees it."""

from __future__ import annotations

import platform
import shutil
import subprocess
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_DEV = Path("/dev")
_SIGNS = ("nvidia*", "dxg", "kfd", "accel*", "apex*", "vfio/*")
"""What Linux shows of NVIDIA's, WSL's and AMD's cards and of TPUs."""


def devices() -> dict[str, list[str]]:
    """Return the devices of every array library that is installed.

    Only the library itself knows which ones it can use, and importing it takes seconds: it is not
    asked where Linux shows no accelerator.

    Under "driver" are the cards that NVIDIA's own tool knows, which a library may not be able to
    use.

    Examples
    --------
    >>> devices()["numpy"]
    ['cpu']
    """
    found = {"numpy": ["cpu"]}
    if cards := _driver():
        found["driver"] = cards
    accelerated = _accelerated()
    for name, look, otherwise in (
        ("torch", _torch, "cpu"),
        ("jax", _jax, "cpu"),
        ("cupy", _cupy, "none"),
    ):
        if find_spec(name) is None:
            continue
        try:
            found[name] = look(import_module(name)) if accelerated else [otherwise]
        except Exception as error:  # a driver that does not fit, say
            found[name] = [f"cannot be used ({type(error).__name__}: {error})"]
    return found


def _accelerated() -> bool:
    """Tell whether there may be an accelerator."""
    return platform.system() != "Linux" or any(any(_DEV.glob(sign)) for sign in _SIGNS)


def _driver() -> list[str]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    try:
        done = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.partition(" (UUID")[0] for line in done.stdout.splitlines() if line.strip()]


def _torch(torch: Any) -> list[str]:
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    cards = [f"cuda:{i} ({torch.cuda.get_device_name(i)})" for i in range(count)]
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return ["cpu", *cards, *mps]


def _jax(jax: Any) -> list[str]:
    return [
        d.platform if d.platform == "cpu" else f"{d.platform}:{d.id} ({d.device_kind})"
        for d in jax.devices()
    ]


def _cupy(cupy: Any) -> list[str]:
    runtime = cupy.cuda.runtime
    names = [runtime.getDeviceProperties(i)["name"] for i in range(runtime.getDeviceCount())]
    return [f"cuda:{i} ({name.decode()})" for i, name in enumerate(names)]
