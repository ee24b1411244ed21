"""Which noise a closed form is meant for: a law's name, a law object, or noise on vertex scores."""

from __future__ import annotations

from typing import Any

from ..arrays import as_float_array, check_finite, check_shape, is_foreign
from ..noise import get as get_noise
from ..problem import CapabilityError
from ._base import as_positive

LIFTED = "lifted"


def is_lifted(noise: Any) -> bool:
    """Tell whether ``noise`` means Gumbel noise on the scores of the vertices."""
    return noise is None or (isinstance(noise, str) and noise == LIFTED)


def need_lifted(K: Any, noise: Any) -> None:
    """Raise unless ``noise`` means Gumbel noise on the scores of the vertices."""
    if not is_lifted(noise):
        raise CapabilityError(
            f"{K} has a closed form for Gumbel noise on the scores of its vertices only "
            f"(noise='lifted' or None), found {noise!r}"
        )


def scale_of(noise: Any, law: str) -> float | None:
    """Return the scale of noise with i.i.d. coordinates of the named law, else None.

    No noise at all (None) stands for the named law itself.
    """
    if noise is None:
        return 1.0
    if isinstance(noise, str) and noise == LIFTED:
        return None
    found = get_noise(noise)
    scale = getattr(found, "scale", 1.0)
    return float(scale) if found.name == law and isinstance(scale, float) else None


def need_scale(K: Any, noise: Any, law: str) -> float:
    """Return the scale of noise with i.i.d. coordinates of the named law; raise for other noise."""
    scale = scale_of(noise, law)
    if scale is None:
        raise CapabilityError(
            f"{K} has a closed form for {law} noise with equal scales only, found {noise!r}"
        )
    return scale


def smoothing_arguments(K: Any, y: Any, alpha: Any) -> tuple[Any, float]:
    """Return ``y`` as a finite array of K's shape and ``alpha`` as a positive float.

    Arrays of other libraries are not looked at entry by entry, for which their device would have
    to be waited for.
    """
    y = check_shape(as_float_array(y, "y"), K.shape, "y")
    alpha = alpha if is_foreign(alpha) else as_positive(alpha, "alpha")
    return y if is_foreign(y) else check_finite(y, "y"), alpha
