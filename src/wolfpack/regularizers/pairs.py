r"""The minimisation step of Algorithm 1, for each pair of a regulariser H and a mirror map w.

The step is argmin <d, y> + A H(y) + beta w(y). Divided by A, which grows without bound, it needs
the average g = d/A and the number lam = beta/A, and becomes

.. math:: (g, \lambda) \mapsto \arg\min_y \langle g, y\rangle + H(y) + \lambda w(y).

================  =====================================  ==================
w                 step                                   H
================  =====================================  ==================
Euclidean         ``H.prox(g - lam slope, lam)``         all but SquaredPNorm
EntropyMirror     ``H.entropic_prox(g - lam slope, lam)``  Entropy, SimplexRidge
PNormMirror(p)    ``H.pnorm_prox(g - lam slope, lam, p)``  SquaredPNorm with this p
ProductMirror     each block's own step                  Product
Same(H)           ``H.argmin((g - lam slope)/(1+lam))``  every H
Shifted(w, z0)    w's step at ``g - lam g_w(z0)``        as w
yours             ``w.prox(H, g, lam)``                  as you say
================  =====================================  ==================
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..arrays import to_host
from ..problem import CapabilityError, CompositeProblem
from ._base import Array, Regularizer
from .mirrors import EntropyMirror, Euclidean, Mirror, PNormMirror, Same, Shifted

Step = Callable[[Array, float], Array]

_METHODS = {"euclidean": "prox", "entropy": "entropic_prox", "pnorm": "pnorm_prox"}
_MIRRORS = {"euclidean": Euclidean, "entropy": EntropyMirror, "pnorm": PNormMirror}


def minimization_step(H: Regularizer, w: Any) -> Step:
    """Return the function (g, lam) -> argmin <g, y> + H(y) + lam w(y).

    Raises
    ------
    CapabilityError
        If nobody has said how to solve this pair; the message lists the pairs of this H.
    """
    if isinstance(w, Shifted):
        step = minimization_step(H, w.base)
        if not np.any(to_host(w.slope)):
            return step
        return lambda g, lam: step(g - lam * w.slope, lam)
    if not isinstance(w, Mirror):
        return partial(w.prox, H)
    if isinstance(w, Same):
        return lambda g, lam: H.argmin((g - lam * w.slope) / (1.0 + lam))
    method = _METHODS[w.geometry]
    if not H.has(method):
        raise CapabilityError(
            f"no minimisation step is known for H = {H!r} with w = {type(w).__name__}: it has one "
            f"for w = {_available(H)}, or for a w of your own with a method prox(H, g, lam)"
        )
    solve = getattr(H, method)
    if isinstance(w, PNormMirror):
        return lambda g, lam: solve(g - lam * w.slope, lam, w.p)
    if isinstance(w.slope, float) and w.slope == 0.0:
        return solve
    return lambda g, lam: solve(g - lam * w.slope, lam)


def composite_problem(
    G: Any, H: Regularizer, w: Any, beta: float | None = None
) -> CompositeProblem:
    """Return the problem min G + H with the mirror map ``w`` and its minimisation step."""
    return CompositeProblem(G, H, w, minimization_step(H, w), beta)


def as_mirror(w: Any, H: Regularizer) -> Any:
    """Return the mirror map that ``w`` names: None (H's own geometry), a name, or itself."""
    if w is None:
        w = H.own_mirror()
    if w == "same":
        return Same(H)
    if isinstance(w, str):
        if w not in _MIRRORS:
            known = ", ".join(map(repr, [*_MIRRORS, "same"]))
            raise ValueError(f"w must be one of {known}, or a mirror map, found {w!r}")
        return PNormMirror(getattr(H, "p", 2.0)) if w == "pnorm" else _MIRRORS[w]()
    if isinstance(w, Mirror | Shifted):
        return w
    missing = [name for name in ("nu", "z0", "prox") if not hasattr(w, name)]
    if missing:
        raise TypeError(
            f"w must be a mirror map (wolfpack.regularizers) or an object with nu, z0 and "
            f"prox(H, g, lam); {type(w).__name__} has no {', '.join(missing)}"
        )
    return w


def _available(H: Regularizer) -> str:
    own = [f"{_MIRRORS[name].__name__}" for name, method in _METHODS.items() if H.has(method)]
    return ", ".join([*own, "Same(H)"])
