"""What `minimize_composite` chooses where the user leaves a choice to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array, is_foreign, library
from ..gradients import automatic_batch
from ..objectives import Batches, Objective, Stochastic
from ..objectives._matrix import has_rows
from ..objectives.finite_sum import FiniteSum
from ..regularizers import Regularizer
from .choose import Choice

_MIN_SPREAD = 16.0  # smaller ratios of units cost few rounds, and a ridge gives some of them back
_CHEAP_STEP = (
    8.0  # passes that a Newton step on all coordinates may cost, to be better than samples
)
_MANY_ENTRIES = 2**23  # with fewer entries a pass costs less than the rounds that would save it


def choose_composite(G: Objective, H: Regularizer, given: dict[str, Any]) -> Choice:
    """Return how `minimize_composite` runs, from what the problem declares.

    ``given`` holds arguments of `minimize_composite`. The choice has options only for what they
    leave open.
    """
    asked = _asked(G, given)
    scale = given.get("scale", None if asked else "auto")
    automatic = isinstance(scale, str) and scale == "auto" and given.get("w") is None
    scales = automatic_scales(G, H) if automatic else None
    sizes = G.stored_entries if isinstance(G, FiniteSum) else None
    facts: dict[str, Any] = {
        "smooth part": type(G).__name__,
        "simple term": repr(H),
        "observations": getattr(G, "n", "unknown"),
        "entries": "unknown" if sizes is None else sizes,
        "ratio of units": "not used" if scales is None else f"{scales.max() / scales.min():g}",
    }
    options, units = {}, ""
    if scales is not None:
        options = {"scale": "auto"}
        units = "; columns have different units, which the run scales and the answer does not show"

    def chosen(reason: str, method: str = "accelerated", **more: Any) -> Choice:
        return Choice(method, {**more, **options}, reason + units, facts)

    if isinstance(G, Stochastic):
        return chosen("gradients are random, with a constant beta")
    if isinstance(G, Batches) and not set(asked) - {"batch"}:
        if not G.has_values:
            return chosen(
                "the data are read once, and the steps are as long as their noise allows",
                method="converging",
                beta="stable",
            )
        return chosen(
            "the data can be read again, and without variance reduction the noise of minibatches "
            "would end the run early",
            variance_reduction="svrg",
        )
    if asked:
        return chosen(f"{' and '.join(asked)} given")
    newton = isinstance(G, FiniteSum) and _newton_pays(G, H, given)
    full = np.ones(G.shape or (), bool)
    small = newton and G.hessian_passes(full) <= _CHEAP_STEP
    if not small and scales is None and _sampling_pays(G, H, sizes):
        return chosen(
            f"the data have {sizes} entries, of which small batches with reduced variance need "
            "fewer passes",
            variance_reduction=True,
        )
    if newton:
        return chosen(
            "gradients are exact, and Newton steps on the coordinates that are not zero are cheap",
            method="newton",
        )
    return chosen(
        "gradients are exact, so that each round can test the beta it finds", beta="search"
    )


def _asked(G: Objective, given: dict[str, Any]) -> list[str]:
    """Return the arguments that say how gradients are taken."""
    batch = given.get("batch")
    batch = getattr(G, "batch", None) if batch is None else batch
    whole = batch is None or (isinstance(batch, int | np.integer) and batch == G.n)
    names = ("beta", "sampling", "variance_reduction")
    return [name for name in names if given.get(name) is not None] + ([] if whole else ["batch"])


def automatic_scales(G: Objective, H: Regularizer) -> Array | None:
    r"""Return the units in which to solve, None where the given ones will do.

    With :math:`s_j = 1/\sqrt{h_j + \mu}`, :math:`h_j` a bound on the curvature of G along
    coordinate j, all coordinates of F(s u) have about the same curvature. They are rounded to
    powers of 2, so that F(s u) has the rounding errors of F(y) and its certificate is that of F.
    """
    usable = isinstance(G, FiniteSum) and H.has("scaled") and has_rows(G.A)
    if not usable or is_foreign(G.like):
        return None
    assert isinstance(G, FiniteSum)
    scales = G.even_scales(H.mu)
    if scales is None:
        return None
    return scales if scales.max() > _MIN_SPREAD * scales.min() else None


def _newton_pays(G: FiniteSum, H: Regularizer, given: dict[str, Any]) -> bool:
    """Tell whether Newton steps can be tried: Hessians are known, and small or may become so."""
    if given.get("w") is not None or H.norm != "l2" or is_foreign(G.like):
        return False
    if not has_rows(G.A) or G.shape is None or not G.has_curvatures:
        return False
    pieces = H.pieces()
    if pieces is None:
        return False
    return not pieces.smooth or G.hessian_passes(np.ones(G.shape, bool)) < np.inf


def _sampling_pays(G: Objective, H: Regularizer, sizes: int | None) -> bool:
    """Tell whether small batches with reduced variance save time: for large data in memory."""
    if (
        not isinstance(G, FiniteSum)
        or sizes is None
        or sizes < _MANY_ENTRIES
        or H.norm != "l2"
        or library(G.like) == "jax"
    ):
        return False
    return automatic_batch(G, None, G.rough_smoothness() or H.mu, H.mu) is not None
