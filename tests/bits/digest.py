"""The digest of what a case returns, part by part."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

SKIPPED = ("seconds", "workers", "recomputed", "stragglers", "bytes", "busy")
SKIPPED += ("step", "active", "added", "dropped")
"""Columns of a history that tell of time, of engines and of what the states pin already."""

_FITTED = ("coef_", "intercept_", "mean_", "components_", "completed_")


class Bits(NamedTuple):
    """What is kept of a case.

    Attributes
    ----------
    digest : str
        SHA-256 over all parts.
    parts : dict
        The first digits of the SHA-256 of each part, to say what differs.
    numbers : dict
        Of the last result, what other machines compare.
    """

    digest: str
    parts: dict[str, str]
    numbers: dict[str, float]


def bits_of(case: Callable[[], Any]) -> Bits:
    """Run a case with one thread of BLAS, and return the digest of what it returned."""
    with _libraries().limit(limits=1):
        found = case()
    several = found if isinstance(found, list | tuple) else [found]
    whole, parts = hashlib.sha256(), {}
    for number, one in enumerate(several, 1):
        before = f"result {number}: " if len(several) > 1 else ""
        for name, array in _parts(one):
            content = _content(array)
            parts[before + name] = hashlib.sha256(content).hexdigest()[:6]
            whole.update(f"{before}{name} {array.dtype} {array.shape}\n".encode())
            whole.update(content)
    return Bits(whole.hexdigest(), parts, _numbers(several[-1]))


@cache
def _libraries() -> ThreadpoolController:
    """Return the BLAS libraries that are loaded; to look for them takes a while."""
    import scipy.linalg  # noqa: F401, for its own BLAS

    return ThreadpoolController()


def _parts(found: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the names and arrays of a result, or of a fitted estimator."""
    for name in _FITTED:
        if hasattr(found, name):
            yield name, host(getattr(found, name))
    result = getattr(found, "result_", found)
    if not hasattr(result, "history"):
        return
    if hasattr(result.x, "U"):
        for factor in ("U", "s", "V"):
            yield f"x.{factor}", host(getattr(result.x, factor))
    else:
        yield "x", host(result.x)
    yield "fun", host(result.fun)
    yield "lower_bound", host(result.lower_bound)
    for name in sorted(set(result.history) - set(SKIPPED)):
        yield f"history {name}", host(result.history[name])
    yield "counts", np.array([result.nit, result.nfev, result.njev, result.nlmo])
    yield "status", np.frombuffer(str(result.status).encode(), dtype=np.uint8)


def _content(array: np.ndarray) -> bytes:
    """Return type, shape and entries, little-endian, with one kind of NaN and one order."""
    array = np.ascontiguousarray(array)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    plain = array.astype(array.dtype.newbyteorder("<"))
    return f"{array.dtype.name} {array.shape}\n".encode() + plain.tobytes()


def host(x: Any) -> np.ndarray:
    """Return an array of any library as NumPy's."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
    if hasattr(x, "to_dense") and not isinstance(x, np.ndarray):
        x = x.to_dense()
    return np.asarray(x)


def _numbers(found: Any) -> dict[str, float]:
    """Return a few numbers of a result; infinite and missing ones are left out.

    So is the number of rounds of a run that rounding errors ended: it is as good as random.
    """
    result = getattr(found, "result_", found)
    if not hasattr(result, "history"):
        return {"norm": float(np.linalg.norm(host(found.coef_)))}
    norm = float(np.linalg.norm(np.asarray(host(result.x), dtype=float)))
    numbers = {"fun": result.fun, "lower_bound": result.lower_bound, "norm": norm}
    kept = {name: float(value) for name, value in numbers.items() if math.isfinite(value)}
    return kept if str(result.status) == "stalled" else kept | {"nit": int(result.nit)}
