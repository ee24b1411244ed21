"""What a benchmark ran on: processor, cores, system, versions."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("wolfpack", "numpy", "scipy", "copt", "jaxopt", "jax", "POT", "cvxpy", "clarabel")
PACKAGES += ("scikit-learn", "skglm")


def machine() -> dict[str, str]:
    """Return processor, cores, system, and the versions of what takes part, as text."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count() or 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: number for name in PACKAGES if (number := _version(name))},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
