"""How ``method="auto"`` chooses, and `explain`, which says so before a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .objectives import as_objective
from .sets import Set


@dataclass(frozen=True)
class Choice:
    """A method, its options and the reason.

    Attributes
    ----------
    method : str
        Name of the method.
    options : dict
        Options that ``auto`` sets and the user did not.
    reason : str
        Why, in a sentence.
    facts : dict
        What was looked at.
    """

    method: str
    options: dict[str, Any]
    reason: str
    facts: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        width = max(map(len, self.facts), default=0)
        lines = [f"  {name:<{width}}  {value}" for name, value in self.facts.items()]
        settings = "".join(f", {name}={value!r}" for name, value in self.options.items())
        head = f"auto chooses method={self.method!r}{settings}: {self.reason}"
        return "\n".join([head, "from what the problem declares:", *lines])


def explain(f: Any, K: Set, **settings: Any) -> Choice:
    """Say what ``minimize(f, K, method="auto", **settings)`` would do and why, without running it.

    Parameters
    ----------
    f, K : as for `wolfpack.minimize`
    **settings
        Arguments of `wolfpack.minimize`, of which ``m``, ``noise``, ``smoothing`` and ``engine``
        bear on the choice.

    Returns
    -------
    Choice
        Prints as a short text; ``.method``, ``.options`` and ``.reason`` hold its parts.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> f = wp.objectives.LeastSquares(np.eye(3), np.ones(3))
    >>> wp.explain(f, wp.sets.Simplex(3), m=4).method
    'anytime'
    """
    return choose(as_objective(f), K, settings)


def choose(objective: Any, K: Set, settings: dict[str, Any]) -> Choice:
    """Return the method for a problem from its declared properties."""
    facts = _facts(objective, K, settings)
    for rule in (_sampling_asked, _closed_form, _default):
        choice = rule(K, settings)
        if choice is not None:
            method, options, reason = choice
            return Choice(method, options, reason, facts)
    raise AssertionError("the last rule always applies")


def _facts(objective: Any, K: Set, settings: dict[str, Any]) -> dict[str, Any]:
    image = getattr(objective, "image_shape", None)
    return {
        "objective": type(objective).__name__,
        "set": repr(K),
        "dimension": K.dimension,
        "polytope": "yes" if K.polytope else "no",
        "closed-form smoothing": ", ".join(K.closed_forms) or "none",
        "k-best oracle": "yes" if K.has("k_best") else "no",
        "cheap projection": "yes" if K.has("project") else "no",
        "observations": "unknown" if image is None else image[0],
        "engine": settings.get("engine") or "this process",
    }


Rule = tuple[str, dict[str, Any], str] | None


def _sampling_asked(K: Set, settings: dict[str, Any]) -> Rule:
    asked = [name for name in ("m", "smoothing", "sampling") if settings.get(name) is not None]
    if settings.get("noise", "auto") != "auto":
        asked.append("noise")
    if not asked:
        return None
    return "anytime", {}, f"{' and '.join(asked)} given, which perturbed oracles need"


def _closed_form(K: Set, settings: dict[str, Any]) -> Rule:
    if not K.closed_forms:
        return None
    return (
        "anytime",
        {"m": "exact"},
        f"{type(K).__name__} knows its smoothed argmax in closed form, worth infinitely many "
        "oracles for the price of one",
    )


def _default(K: Set, settings: dict[str, Any]) -> Rule:
    return "anytime", {}, "accelerated, and needs neither L nor an accuracy"
