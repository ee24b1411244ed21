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
your own object   ``w.prox(H, g, lam)``                  those that it can handle
================  =====================================  ==================
"""

from __future__ import annotations

from ..objectives import Objective
from ..problem import CompositeProblem
from ..problem.checks import shown
from ._base import Regularizer
from .mirrors import MIRRORS, Mirror, OwnMirror, PNormMirror, Same, Step
from .squared_pnorm import SquaredPNorm


def minimization_step(H: Regularizer, w: object) -> Step:
    """Return the function (g, lam) -> argmin <g, y> + H(y) + lam w(y), or say what is missing."""
    return as_mirror(w, H).step(H)


def composite_problem(
    G: Objective, H: Regularizer, w: object, beta: float | None = None
) -> CompositeProblem:
    """Return the problem min G + H with the mirror map ``w`` and its minimisation step."""
    mirror = as_mirror(w, H)
    return CompositeProblem(G, H, mirror, mirror.step(H), beta)


def as_mirror(w: object, H: Regularizer) -> Mirror:
    """Return the mirror map that ``w`` names: None (H's own geometry), a name, or a map."""
    if w is None:
        w = H.own_mirror()
    if isinstance(w, Mirror):
        return w
    if not isinstance(w, str):
        return OwnMirror(w)
    if w == "same":
        return Same(H)
    if w not in MIRRORS:
        known = ", ".join(map(repr, [*MIRRORS, "same"]))
        raise ValueError(f"w must be one of {known}, or a mirror map, found {shown(w)}")
    if w == "pnorm":
        return PNormMirror(H.p if isinstance(H, SquaredPNorm) else 2.0)
    return MIRRORS[w]()
