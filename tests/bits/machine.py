"""What decides the last bits of a run besides the library: processor, BLAS, versions."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import scipy
import scipy.linalg  # loads SciPy's own BLAS, so that it is listed
from threadpoolctl import threadpool_info

PACKAGES = {
    "sklearn": "scikit-learn",
    "torch": "torch",
    "jax": "jax",
    "distributed": "distributed",
    "ray": "ray",
}


@cache
def machine() -> dict[str, Any]:
    """Return the facts that must agree before digests are compared.

    OpenBLAS chooses its kernels by the processor, and NumPy its loops; Python 3.12 began to add
    floats with compensation; the C library has the elementary functions.
    """
    blas = {
        f"{info.get('internal_api')} {info.get('version')} {info.get('architecture')}"
        for info in threadpool_info()
        if info.get("user_api") == "blas" and _of_numpy(info)
    }
    config: Any = np.show_config(mode="dicts")
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "libc": " ".join(platform.libc_ver()),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "blas": sorted(blas),
        "simd": config["SIMD Extensions"].get("found", []),
    }


def _of_numpy(info: dict[str, Any]) -> bool:
    """Tell whether a BLAS is not one of those that other packages bring along."""
    path = str(info.get("filepath", ""))
    return not any(f"/{name}" in path for name in ("scikit_learn", "torch", "jax"))


@cache
def module_versions() -> dict[str, str]:
    """Return the versions of the optional modules that are installed."""
    found = {}
    for module, package in PACKAGES.items():
        try:
            found[module] = version(package)
        except PackageNotFoundError:
            continue
    return found
