"""Which noise a closed form is meant for.

Noise is given as a law's name, as a law object, or as "lifted": Gumbel noise on the scores of the
vertices instead of the coordinates. None stands for the law that the set's closed form has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ..arrays import Array, as_float_array, check_finite, check_shape, is_foreign
from ..noise import Noise
from ..noise import get as get_noise
from ..problem import CapabilityError
from ..problem.checks import positive, shown

if TYPE_CHECKING:
    from ._base import Set

NoiseLike: TypeAlias = Noise | str | None
"""A law object, the name of a law, "lifted", or None."""

LIFTED = "lifted"


def is_lifted(noise: NoiseLike) -> bool:
    """Tell whether ``noise`` means Gumbel noise on the scores of the vertices."""
    return noise is None or (isinstance(noise, str) and noise == LIFTED)


def need_lifted(K: Set, noise: NoiseLike) -> None:
    """Raise unless ``noise`` means Gumbel noise on the scores of the vertices."""
    if not is_lifted(noise):
        raise CapabilityError(
            f"{K} has a closed form for Gumbel noise on the scores of its vertices only "
            f"(noise='lifted' or None), found {shown(noise)}"
        )


def scales(law: Noise | str) -> float | Array:
    """Return the scale of a law, a number or one per coordinate; 1 for laws that have none."""
    return getattr(law, "scale", 1.0)


def scale_of(noise: NoiseLike, law: str) -> float | None:
    """Return the scale if ``noise`` is the named law with equal scales or None, else None."""
    if noise is None:
        return 1.0
    if isinstance(noise, str) and noise == LIFTED:
        return None
    found = get_noise(noise)
    scale = scales(found)
    return float(scale) if found.name == law and isinstance(scale, float) else None


def need_scale(K: Set, noise: NoiseLike, law: str) -> float:
    """Return what `scale_of` returns; raise where that is None."""
    scale = scale_of(noise, law)
    if scale is None:
        raise CapabilityError(
            f"{K} has a closed form for {law} noise with equal scales only, found {shown(noise)}"
        )
    return scale


def smoothing_arguments(K: Set, y: Array, alpha: float) -> tuple[Array, float]:
    """Return ``y`` as a finite array of K's shape and ``alpha`` as a positive float.

    Whether arrays of other libraries are finite is not checked: that would wait for their device.
    """
    y = check_shape(as_float_array(y, "y"), K.shape, "y")
    alpha = alpha if is_foreign(alpha) else positive(alpha, "alpha")
    return y if is_foreign(y) else check_finite(y, "y"), alpha
