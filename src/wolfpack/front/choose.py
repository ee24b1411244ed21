"""How methods are chosen: by ``method="auto"``, by name, or as solver objects."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from .. import noise as noise_laws
from ..objectives import Objective, as_objective
from ..problem import Solver
from ..sets import Set
from ..smoothing import Smoothing, make_smoothing
from ..solvers import (
    Anytime,
    AwayStep,
    BlendedPairwise,
    Conjugate,
    Corrective,
    FrankWolfe,
    FullyCorrective,
    LazyFrankWolfe,
    Momentum,
    Pairwise,
    ParallelFrankWolfe,
    Projected,
    RestartedParallelFrankWolfe,
    ShortStep,
    Sliding,
    frank_wolfe,
)

METHODS: dict[str, Callable[..., Solver[Any]]] = {
    "anytime": Anytime,
    "corrective": Corrective,
    "projected": Projected,
    "pfw": ParallelFrankWolfe,
    "r-pfw": RestartedParallelFrankWolfe,
    "fw": frank_wolfe.open_loop,
    "fw-short": partial(FrankWolfe, ShortStep()),
    "fw-ls": frank_wolfe.line_search,
    "away": AwayStep,
    "pairwise": Pairwise,
    "bpcg": BlendedPairwise,
    "fcfw": FullyCorrective,
    "lazy": LazyFrankWolfe,
    "momentum": Momentum,
    "cgs": Sliding,
    "conjugate": partial(Conjugate, 1),
    "biconjugate": partial(Conjugate, 2),
}
"""The methods of `minimize`."""


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
    facts: dict[str, Any] = field(default_factory=dict[str, Any])

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
    facts, no_options = _facts(objective, K, settings), dict[str, Any]()
    for rule in (_noise_asked, _low_rank, _oracles_asked, _projection, _polytope, _closed_form):
        choice = rule(objective, K, settings)
        if choice is not None:
            break
    else:
        choice = "anytime", no_options, "accelerated, and needs neither L nor an accuracy"
    method, options, reason = choice
    return Choice(method, options, reason, facts)


def _facts(objective: Any, K: Set, settings: dict[str, Any]) -> dict[str, Any]:
    image = objective.image_shape
    return {
        "objective": type(objective).__name__,
        "set": repr(K),
        "dimension": K.dimension,
        "polytope": "yes" if K.polytope else "no",
        "low-rank points": "yes" if K.has("core") else "no",
        "closed-form smoothing": ", ".join(K.closed_forms) or "none",
        "k-best oracle": "yes" if K.has("k_best") else "no",
        "cheap projection": "yes" if _projects(K) else "no",
        "observations": "unknown" if image is None else image[0],
        "engine": settings.get("engine") or "this process",
    }


Rule = tuple[str, dict[str, Any], str] | None

_PAIRS = 8
_LISTED = 16
_OF_NOISE = ("smoothing", "sampling", "kappa", "theta", "order", "max_m")


def _projects(K: Set) -> bool:
    return K.has("project") and K.cheap_projection


def _noise_asked(objective: Any, K: Set, settings: dict[str, Any]) -> Rule:
    asked = [name for name in _OF_NOISE if settings.get(name) is not None]
    if settings.get("noise", "auto") != "auto":
        asked.append("noise")
    if isinstance(settings.get("m"), str):
        asked.append("m")
    if not asked:
        return None
    return "anytime", {}, f"{' and '.join(asked)} given, which perturbed oracles need"


def _low_rank(objective: Any, K: Set, settings: dict[str, Any]) -> Rule:
    if not K.has("core") or settings.get("engine") is not None:
        return None
    m = settings.get("m")
    if _projects(K) and m is None and not objective.factored:
        return None
    options = {"m": _PAIRS} if m is None else {}
    return "corrective", options, f"points of {type(K).__name__} are kept as matrices of low rank"


def _oracles_asked(objective: Any, K: Set, settings: dict[str, Any]) -> Rule:
    asked = [name for name in ("m", "engine") if settings.get(name) is not None]
    if not asked:
        return None
    given = f"{' and '.join(asked)} given, hence a method of linear oracles"
    # where a whole distribution of answers is known, vertices one by one are not worth their weight
    if not K.polytope or (K.closed_forms and K.has("project")):
        return "anytime", {}, given
    options = {"m": _LISTED} if settings.get("m") is None else {}
    return "corrective", options, f"{given}; K is a polytope, of which it keeps the useful vertices"


def _projection(objective: Any, K: Set, settings: dict[str, Any]) -> Rule:
    if not _projects(K):
        return None
    return (
        "projected",
        {},
        f"{type(K).__name__} has a cheap exact projection, with which gradient steps beat linear "
        "oracles; give m, engine or a method's name for one of those",
    )


def _polytope(objective: Any, K: Set, settings: dict[str, Any]) -> Rule:
    if not K.polytope:
        return None
    options = {"m": _LISTED} if K.has("k_best") else {}
    return "corrective", options, f"{type(K).__name__} is a polytope, and few vertices make a point"


def _closed_form(objective: Any, K: Set, settings: dict[str, Any]) -> Rule:
    if not K.closed_forms:
        return None
    return (
        "anytime",
        {"m": "exact"},
        f"{type(K).__name__} knows its smoothed argmax in closed form, worth infinitely many "
        "oracles for the price of one",
    )


def as_set(K: object) -> Set:
    """Return ``K`` if it is a set, and say what it must be otherwise."""
    if not isinstance(K, Set):
        raise TypeError(f"K must be a set (wolfpack.sets), found {type(K).__name__}")
    return K


def make_solver(
    method: str | Solver[Any],
    options: dict[str, Any],
    methods: dict[str, Callable[..., Solver[Any]]],
    others: list[str],
) -> tuple[str, Solver[Any]]:
    """Return the method's name and its solver with the given options.

    ``others`` names the options that belong to no method, for the error message.
    """
    given = {
        name: value.item() if isinstance(value, np.integer) else value
        for name, value in options.items()
        if value is not None
    }
    if not isinstance(method, str):
        if not hasattr(method, "step"):
            raise TypeError(f"method must be a name or a solver object, found {method!r}")
        if given:
            raise TypeError(f"options {sorted(given)} must be set in the solver object itself")
        return method.name, method
    if method not in methods:
        close = difflib.get_close_matches(method, methods, 1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ValueError(f"unknown method {method!r}{hint}; known: {', '.join(methods)}")
    known = list(inspect.signature(methods[method]).parameters)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise TypeError(
            f"method {method!r} has no option {', '.join(map(repr, unknown))}; it has "
            f"{', '.join([*known, *others])}"
        )
    return method, methods[method](**given)


def choose_smoothing(
    name: str,
    solver: Solver[Any],
    objective: Objective,
    K: Set,
    noise: Any,
    kind: str | None,
) -> Smoothing | None:
    """Return how a method's questions are perturbed, None for one that perturbs none."""
    if isinstance(noise, str) and noise == "lifted":
        noise, kind = "auto", kind or "lifted"
    automatic = isinstance(noise, str) and noise == "auto"
    if not getattr(solver, "samples", False):
        if kind is not None or not (automatic or noise is None):
            raise TypeError(f"method {name!r} draws no noise; leave noise and smoothing out")
        return None
    if noise is None and getattr(solver, "noiseless", False):
        return None
    if kind is None:
        kind = "lifted" if automatic and K.closed_forms[:1] == ("lifted",) else "ambient"
    if kind == "lifted" and not automatic:
        raise TypeError("smoothing='lifted' has a noise of its own; leave noise out")
    law = noise_laws.get(K.default_noise if automatic or noise is None else noise)
    return make_smoothing(kind, objective, K, law)
