"""Runs that are stopped, saved and resumed, whose bits must be those of a run without a stop."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import wolfpack as wp
from bits.composite import SMOOTH
from bits.problems import PAIRS

ROUNDS = 8

CONSTRAINED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "anytime simplex": ("simplex", "anytime", {"m": 4}),
    "anytime simplex, exact": ("simplex", "anytime", {"m": "exact"}),
    "anytime birkhoff, m auto": ("birkhoff", "anytime", {"noise": "gaussian"}),
    "corrective birkhoff": ("birkhoff", "corrective", {"m": 4}),
    "corrective completion": ("completion", "corrective", {"m": 4}),
    "corrective trace": ("trace", "corrective", {"m": 4}),
    "projected l1": ("l1", "projected", {}),
    "pfw simplex": ("simplex", "pfw", {"m": 4, "alpha": 0.1}),
    "r-pfw l1": ("l1", "r-pfw", {"m": 4}),
    **{
        f"{method} {pair}": (pair, method, {})
        for method in ("fw", "fw-ls", "away", "pairwise", "bpcg", "fcfw", "lazy", "momentum")
        for pair in ("l1", "birkhoff")
    },
    "bpcg birkhoff, lazy": ("birkhoff", "bpcg", {"lazy": True}),
    "cgs simplex": ("simplex", "cgs", {}),
    "biconjugate birkhoff": ("birkhoff", "biconjugate", {}),
}

COMPOSITE: dict[str, tuple[str, dict[str, Any]]] = {
    "composite exact": ("logistic", {}),
    "composite search": ("logistic", {"beta": "search"}),
    "composite search of squares": ("squares", {"beta": "search"}),
    "composite converging": ("logistic", {"method": "converging", "batch": 5}),
    "composite converging, auto": ("logistic", {"method": "converging", "batch": "auto"}),
    "composite minibatches": ("squares", {"batch": 5, "record_every": 1}),
    "composite search of minibatches": ("squares", {"batch": 7, "beta": "search"}),
    "composite columns": ("squares", {"scale": "columns"}),
    **{
        f"composite {way}, {sampling}": (
            "logistic",
            {"batch": 6, "variance_reduction": way, "sampling": sampling, "record_every": 2},
        )
        for way in ("saga", "svrg")
        for sampling in ("importance", "shuffle", "blocks", "turns", "windows")
    },
    "composite saga, sparse": ("sparse", {"batch": 6, "variance_reduction": "saga"}),
}


def constrained(name: str, stop: int | None = None) -> Any:
    """Run for 2N rounds, in one go or with a stop after N of them."""
    pair, method, options = CONSTRAINED[name]
    options = {"method": method, "tol": 0.0, "progress": False, "record_every": 1, **options}
    if stop is None:
        return wp.minimize(*PAIRS[pair](), max_rounds=2 * ROUNDS, **options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ckpt"
        wp.minimize(*PAIRS[pair](), max_rounds=stop, checkpoint=path, **options)
        return wp.resume(path, *PAIRS[pair](), max_rounds=2 * ROUNDS, progress=False)


def composite(name: str, stop: int | None = None) -> Any:
    """Do the same for a composite problem."""
    smooth, options = COMPOSITE[name]
    options = {"tol": 1e-9, "progress": False, **options}

    def problem() -> tuple[Any, Any]:
        return SMOOTH[smooth](), wp.regularizers.ElasticNet(0.02, 0.05)

    if stop is None:
        return wp.minimize_composite(*problem(), max_rounds=2 * ROUNDS, **options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ckpt"
        wp.minimize_composite(*problem(), max_rounds=stop, checkpoint=path, **options)
        return wp.resume(path, *problem(), max_rounds=2 * ROUNDS, progress=False)


EVERY = [*((constrained, name) for name in CONSTRAINED), *((composite, name) for name in COMPOSITE)]

CASES: dict[str, Callable[[], Any]] = {
    **{f"whole {name}": partial(run, name) for run, name in EVERY},
    **{f"resumed {name}": partial(run, name, ROUNDS) for run, name in EVERY},
}

SAME: dict[str, str] = {f"resumed {name}": f"whole {name}" for _, name in EVERY}
