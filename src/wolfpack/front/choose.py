"""How methods are chosen: by ``method="auto"``, by name, or as solver objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

from .. import noise as noise_laws
from ..arrays import Array, is_foreign
from ..objectives import Objective, as_objective
from ..objectives.finite_sum import FiniteSum
from ..problem import Rational, Solver, Stacked
from ..problem.checks import count, either, instance, optional, shown
from ..regularizers import Regularizer
from ..sets import Set
from ..smoothing import Smoothing, make_smoothing
from .plan import Plan, listing_work

_SINGULAR_PAIRS = 8  # asked for in a round on sets of low-rank matrices
_BEST_VERTICES = 16  # asked for in a round on polytopes that list them
_BARRIER_VERTICES = 64  # the same for objectives of which Newton steps weigh them
_INTERIOR = 20_000  # dimension up to which interior points are tried
_INTERIOR_ENTRIES = 200_000  # entries of the matrix of f up to which they are tried
_AT_ONCE = 1000.0  # microseconds of a solve over all vertices that comes before anything else
_Named = tuple[str, dict[str, Any]]
_COMPOSITE_SETTINGS = ("batch", "beta", "sampling", "variance_reduction", "scale", "w")
_NOISE_OPTIONS = ("smoothing", "sampling", "kappa", "theta", "order", "max_m")


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
    declared : dict or callable
        What the choice rests on, or a function that returns it; `facts` is always the dictionary.
    fallbacks : tuple of (str, dict)
        Methods, with their options, that are tried in this order if the first one is slow.
    opening : (str, dict) or None
        A method that makes a few rounds first, because it is done by then where the answer is a
        vertex or near one.
    """

    method: str
    options: dict[str, Any]
    reason: str
    declared: dict[str, Any] | Callable[[], dict[str, Any]] = field(default_factory=dict[str, Any])
    fallbacks: tuple[tuple[str, dict[str, Any]], ...] = ()
    opening: tuple[str, dict[str, Any]] | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """What the choice rests on."""
        return self.declared() if callable(self.declared) else self.declared

    @property
    def plan(self) -> Plan:
        """The methods in the order in which they are tried."""
        first = () if self.opening is None else (self.opening,)
        return Plan((*first, (self.method, self.options), *self.fallbacks))

    def __str__(self) -> str:
        width = max(map(len, self.facts), default=0)
        lines = [f"  {name:<{width}}  {value}" for name, value in self.facts.items()]
        return "\n".join([self.sentence, "from what the problem declares:", *lines])

    @property
    def sentence(self) -> str:
        """The method, its options and the reason in one line."""
        settings = "".join(f", {name}={value!r}" for name, value in self.options.items())
        head = f"auto chooses method={self.method!r}{settings}: {self.reason}"
        if self.opening is not None:
            rounds = "One solve by" if self.opening[0] == "nnls" else "A few rounds of"
            verb = "comes" if self.opening[0] == "nnls" else "come"
            head += f". {rounds} {self.opening[0]!r} {verb} first, and may be enough"
        if self.fallbacks:
            names = " and then ".join(repr(method) for method, _ in self.fallbacks)
            head += f". If its certificate promises too slow an end, {names} will be tried"
        return head

    @property
    def remark(self) -> str:
        """What a composite run says of the options it was given, empty where there are none."""
        named = {"method": self.method} if self.method == "newton" else {}
        settings = ", ".join(f"{k}={v!r}" for k, v in {**named, **self.options}.items())
        return f" auto chose {settings}: {self.reason}." if settings else ""


def explain(
    f: Objective | Callable[[Array], tuple[float, Array]], K: Set | Regularizer, **settings: Any
) -> Choice:
    """Say what ``minimize(f, K, method="auto", **settings)`` would do and why, without running it.

    Parameters
    ----------
    f, K : as for `wolfpack.minimize`, or G and H as for `wolfpack.minimize_composite`
    **settings
        With a regulariser, ``batch``, ``beta``, ``sampling``, ``variance_reduction``, ``scale`` and
        ``w``. With a set, arguments of `wolfpack.minimize`, of which ``m``, ``noise``,
        ``smoothing``, ``engine`` and ``convex`` bear on the choice.

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
    from .minimize import check_fit, known_settings  # which imports this module

    if isinstance(K, Regularizer):
        return _explain_composite(f, K, settings)

    known = known_settings()
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise TypeError(
            f"no method of minimize has an option {', '.join(map(repr, unknown))}; known are "
            f"{', '.join(known)}"
        )
    optional(either(count, "auto", "theory", "exact"))(settings.get("m"), "m")
    noise = settings.get("noise", "auto")
    if not (noise is None or (isinstance(noise, str) and noise in ("auto", "lifted"))):
        noise_laws.get(noise)
    method = settings.get("method", "auto")
    if method != "auto":
        raise ValueError(
            "explain says what method='auto' would do, and no choice is left where a method is "
            f"named: leave method out, found {shown(method)}"
        )
    objective, region = as_objective(f, random=True), as_set(K)
    check_fit(objective, region)
    return choose(objective, region, settings)


def _explain_composite(G: Any, H: Regularizer, settings: dict[str, Any]) -> Choice:
    from .choose_composite import choose_composite  # these import this module
    from .prepare import as_smooth

    unknown = [name for name in settings if name not in _COMPOSITE_SETTINGS]
    if unknown:
        raise TypeError(
            f"explain takes {', '.join(_COMPOSITE_SETTINGS)} with a regulariser, found "
            f"{', '.join(map(repr, unknown))}"
        )
    return choose_composite(as_smooth(G, settings.get("beta")), H, settings)


def choose(objective: Objective, K: Set, settings: dict[str, Any]) -> Choice:
    """Return the method for a problem from its declared properties."""
    name, m, engine = repr(K).partition("(")[0], settings.get("m"), settings.get("engine")
    projects = K.has("project") and K.cheap_projection
    facts = partial(_facts, objective, K, engine)

    def chosen(method: str, reason: str, *fallbacks: _Named, **options: Any) -> Choice:
        return Choice(method, options, reason, facts, fallbacks)

    best = {"m": _BEST_VERTICES} if K.has("k_best") else {}
    keeper: _Named = ("corrective", best)

    convex = settings.get("convex")
    if (objective.convex if convex is None else convex) is False:
        if projects:
            return chosen("projected", f"f is not convex, and {name} has a cheap exact projection")
        if K.polytope:
            return chosen("bpcg", f"f is not convex, and {name} is a polytope")
        return chosen("fw", "f is not convex, and Frank-Wolfe with backtracking descends anywhere")
    if objective.random:
        return _stochastic(objective, chosen)
    noisy = [option for option in _NOISE_OPTIONS if settings.get(option) is not None]
    noise = settings.get("noise", "auto")
    noisy += [] if isinstance(noise, str) and noise == "auto" else ["noise"]
    noisy += ["m"] if isinstance(m, str) else []
    if noisy:
        return chosen("anytime", f"{' and '.join(noisy)} given, which perturbed oracles need")
    low_rank = not projects or (objective.factored and min(K.shape) > K.factored_from)
    if K.has("core") and engine is None and (m is not None or low_rank):
        pairs = {"m": _SINGULAR_PAIRS} if m is None else {}
        return chosen("corrective", f"points of {name} are kept as matrices of low rank", **pairs)
    if m is not None or engine is not None:
        given = " and ".join(
            option for option in ("m", "engine") if settings.get(option) is not None
        )
        reason = f"{given} given, hence a method of linear oracles"
        # Where the distribution of the answers is known, its mean is worth more than vertices.
        if not K.polytope or (K.closed_forms and K.has("project")):
            return chosen("anytime", reason)
        reason = f"{reason}; K is a polytope, of which it keeps the useful vertices"
        return chosen("corrective", reason, **({"m": _BEST_VERTICES} if m is None else {}))
    if objective.barrier and K.polytope:
        barrier = {"m": _BARRIER_VERTICES} if K.has("k_best") else {}
        reason = f"{type(objective).__name__} has no constant L, and a Hessian for Newton steps"
        return chosen("corrective", f"{reason} between vertices", **barrier)
    if projects and _is_distance(objective):
        return chosen("projected", f"f is a distance, which a projection onto {name} minimises")
    listing = listing_work(objective, K)
    at_once = listing is not None and listing <= _AT_ONCE
    at_last: list[_Named] = [] if listing is None or at_once else [("nnls", {})]
    if projects:
        others: list[_Named] = [keeper] if K.polytope else []
        others += at_last
        others += [("conic", {})] if _suits_interior_points(objective, K) else []
        choice = chosen(
            "projected",
            f"{name} has a cheap exact projection, with which gradient steps beat linear oracles. "
            'To use a linear-oracle method instead, pass method="corrective" or m=16',
            *others,
        )
        return replace(choice, opening=("nnls" if at_once else "conjugate", {}))
    if _suits_interior_points(objective, K):
        reason = f"f is quadratic, and {name} is given by few linear constraints"
        return chosen("conic", f"{reason}, so that interior points need no oracles", keeper)
    if K.polytope:
        method, given = keeper
        reason = f"{name} is a polytope, whose points need few vertices"
        choice = chosen(method, reason, *at_last, **given)
        return replace(choice, opening=("nnls", {})) if at_once else choice
    smooth = {"m": "exact"} if K.closed_forms else {}
    if K.strictly_convex:
        return chosen(
            "fw-ls",
            f"{name} is strictly convex, where line searches are fast",
            ("conjugate", {}),
            keeper,
            ("anytime", smooth),
        )
    return chosen(
        "conjugate",
        f"{name} may be round, where line searches are fast, or a polytope, where vertices are "
        "worth keeping",
        keeper,
        ("anytime", smooth),
    )


def _stochastic(objective: Objective, chosen: Callable[..., Choice]) -> Choice:
    """Return the method for an objective of which random gradients were asked for."""
    if isinstance(objective, FiniteSum):
        reason = (
            f"f has batch={objective.batch}: a table of slopes, one for each of its {objective.n} "
            "rows, makes gradients of few rows good ones and proves a gap"
        )
    else:
        reason = "f has random gradients, whose noise perturbed oracles average out"
    return chosen("stochastic-anytime", reason)


def _facts(objective: Objective, K: Set, engine: Any) -> dict[str, Any]:
    """Return what a choice rests on, by name."""
    projects = K.has("project") and K.cheap_projection
    return {
        "objective": type(objective).__name__,
        "set": repr(K),
        "dimension": K.dimension,
        "polytope": "yes" if K.polytope else "no",
        "low-rank points": "yes" if K.has("core") else "no",
        "closed-form smoothing": ", ".join(K.closed_forms) or "none",
        "k-best oracle": "yes" if K.has("k_best") else "no",
        "cheap projection": "yes" if projects else "no",
        "observations": "unknown" if objective.image_shape is None else objective.image_shape[0],
        "engine": "this process" if engine is None else engine,
    }


def _is_distance(objective: Objective) -> bool:
    """Tell whether f is a multiple of a squared distance, which one projection minimises."""
    return isinstance(getattr(objective, "Q", None), float)


def _suits_interior_points(objective: Objective, K: Set) -> bool:
    """Tell whether an interior-point solver is installed, and the problem small enough for it."""
    if not K.has("polyhedron") or K.dimension > _INTERIOR or not _has_clarabel():
        return False
    form = None if is_foreign(objective.like) else objective.quadratic_form()
    if form is None:
        return False
    matrix = form.P if form.factor is None else form.factor
    if int(matrix.size) > _INTERIOR_ENTRIES:
        return False
    described = K.polyhedron()  # of more variables than x has, for images
    lifted = 0 if described.lift is None else int(described.lift.nnz)
    return described.n <= _INTERIOR and lifted <= _INTERIOR_ENTRIES


@cache
def _has_clarabel() -> bool:
    return find_spec("clarabel") is not None


def as_set(K: object) -> Set:
    """Return ``K`` if it is a set, and say what it must be otherwise."""
    if isinstance(K, Stacked):
        raise TypeError(f"K must be one set, found {len(K)} of them: pass them to minimize_many")
    if isinstance(K, Rational):
        raise TypeError(f"K must be a set of floats here, found a {K}: pass it to minimize")
    return instance(Set, "a set (wolfpack.sets)")(K, "K")


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
            raise TypeError(
                f"method {name!r} draws no noise: leave noise and smoothing out, found noise="
                f"{shown(noise)} and smoothing={shown(kind)}"
            )
        return None
    if noise is None and getattr(solver, "noiseless", False):
        return None
    if kind is None:
        kind = "lifted" if automatic and K.closed_forms[:1] == ("lifted",) else "ambient"
    if kind == "lifted" and not automatic:
        raise TypeError("smoothing='lifted' has a noise of its own; leave noise out")
    law = noise_laws.get(K.default_noise if automatic or noise is None else noise)
    return make_smoothing(kind, objective, K, law)
