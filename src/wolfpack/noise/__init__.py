"""Noise laws for perturbed linear oracles.

| law        | eta(z), standard, per coordinate | Fisher | E|Z|      | max density |
|------------|----------------------------------|--------|-----------|-------------|
| `Gumbel`   | (z + gamma) + exp(-(z + gamma))  | 1      | 0.9830... | 1/e         |
| `Gaussian` | z^2 / 2                          | 1      | 0.7978... | 0.3989...   |
| `Logistic` | z + 2 log(1 + exp(-z))           | 1/3    | 1.3862... | 1/4         |

All are centred. Any object with the attributes in ``REQUIRED`` is accepted as a law of one's own;
it must be hashable and have independent centred coordinates with a positive differentiable density.
"""

from __future__ import annotations

from typing import cast

from ..problem.checks import shown
from ._base import Constants, Noise
from .gaussian import Gaussian
from .gumbel import Gumbel
from .logistic import Logistic

__all__ = ["LAWS", "REQUIRED", "Constants", "Gaussian", "Gumbel", "Logistic", "Noise", "get"]

LAWS: dict[str, type[Noise]] = {law.name: law for law in (Gumbel, Gaussian, Logistic)}
REQUIRED = ("name", "sample", "score", "fisher", "M")


def get(law: object) -> Noise:
    """The noise law with a given name, or the given law itself.

    ``law`` is "gumbel", "gaussian", "logistic", an instance of a law, or any object that has the
    attributes in ``REQUIRED``.

    Examples
    --------
    >>> from wolfpack import noise
    >>> noise.get("gumbel")
    Gumbel(scale=1.0, native=False)
    """
    if isinstance(law, Noise):
        return law
    if isinstance(law, str):
        if law.lower() not in LAWS:
            raise ValueError(
                f"noise must be one of {', '.join(LAWS)}, or a law object, found {shown(law)}"
            )
        return LAWS[law.lower()]()
    if isinstance(law, type) and issubclass(law, Noise):
        return law()
    missing = [name for name in REQUIRED if not hasattr(law, name)]
    if missing:
        raise ValueError(
            f"noise must be one of {', '.join(LAWS)}, or an object with {', '.join(REQUIRED)}, "
            f"found {shown(law)}, which lacks {', '.join(missing)}"
        )
    return cast("Noise", law)
