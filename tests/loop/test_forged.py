"""Checkpoints with a valid checksum and contents that no run can have left."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from problems import small_simplex
from wolfpack.loop import checkpoint as ck
from wolfpack.loop.checkpoint import Snapshot


def forge(path: Path, change: Callable[[Snapshot], Snapshot]) -> None:
    """Change what a checkpoint holds and write it again, as a valid file."""
    config, snapshot = ck.read(path)
    ck.save(path, change(snapshot), config)


def state(**changes: Any) -> Callable[[Snapshot], Snapshot]:
    return lambda s: dataclasses.replace(s, state=s.state._replace(**changes))


def best(**changes: Any) -> Callable[[Snapshot], Snapshot]:
    return lambda s: dataclasses.replace(s, best=s.best | changes)


def shifted_history(column: int, row: int, by: float) -> Callable[[Snapshot], Snapshot]:
    def change(s: Snapshot) -> Snapshot:
        rows = [list(entries) for entries in s.rows]
        rows[row][column] += by
        return dataclasses.replace(s, rows=[tuple(entries) for entries in rows])

    return change


def half_gradient(s: Snapshot) -> Snapshot:
    at = s.state.at._replace(gradient=0.5 * s.state.at.gradient)
    return dataclasses.replace(s, state=s.state._replace(at=at))


def weights(scale: float) -> Callable[[Snapshot], Snapshot]:
    def change(s: Snapshot) -> Snapshot:
        active = s.state.active._replace(weights=scale * s.state.active.weights)
        return dataclasses.replace(s, state=s.state._replace(active=active))

    return change


def negative(s: Snapshot) -> Snapshot:
    found = s.state.active.weights.copy()
    found[np.argmax(found)] += 0.5
    found[np.argmin(found)] -= 0.5
    active = s.state.active._replace(weights=found)
    return dataclasses.replace(s, state=s.state._replace(active=active))


def origin(s: Snapshot) -> Snapshot:
    active = s.state.active._replace(origin=math.nan * s.state.active.origin)
    return dataclasses.replace(s, state=s.state._replace(active=active))


NAN, OUTSIDE, VERTEX = np.full(8, math.nan), np.full(8, 2.0), np.eye(8)[3]
FORGERIES: dict[str, tuple[str, Callable[[Snapshot], Snapshot], str]] = {
    "iterate NaN": ("fw", state(x=NAN), "state.x has NaN"),
    "iterate outside": ("fw", state(x=OUTSIDE), "the iterate is outside of K"),
    "iterate elsewhere": ("fw", state(x=VERTEX), "f at the iterate is"),
    "iterate short": ("fw", state(x=np.ones(3)), r"the iterate has shape \(3,\)"),
    "iterate bytes": ("fw", state(x=b"12345678"), "the iterate is no array, found b"),
    "best point a word": ("fw", best(x="x"), "the best point is no array, found .x."),
    "best outside": ("fw", best(x=-OUTSIDE), "the best point is outside of K"),
    "best NaN": ("fw", best(x=NAN), "the best point is outside of K"),
    "best value": ("fw", best(fun=-1e9), "f at the best point is"),
    "value NaN": ("fw", best(fun=math.nan), "f at the best point is"),
    "gradient": ("fw", half_gradient, "the gradient at the iterate is wrong by"),
    "round": ("fw", state(k=-3), "round must be an integer >= 0"),
    "bound above": ("fw", best(best_bound=1e9), "the lower bound .* is above"),
    "bound NaN": ("fw", best(best_bound=math.nan), "the lower bound is nan"),
    "bound infinite": ("fw", best(best_bound=math.inf), "the lower bound is inf"),
    "seconds": ("fw", best(seconds=math.inf), "seconds must be a number"),
    "gap rises": ("fw", shifted_history(4, 3, 1e6), "'gap' of the history must fall"),
    "rounds fall": ("fw", shifted_history(0, 2, 50), "'round' of the history must rise"),
    "rounds to come": ("fw", shifted_history(0, -1, 50), "rounds after that"),
    "dual iterate": ("pfw", state(y=NAN), "state.y has NaN"),
    "direction": ("pfw", state(d=np.full(8, math.inf)), "state.d has NaN or infinite"),
    "weights": ("away", weights(2.0), "weights of state.active are not those of a convex"),
    "negative weights": ("away", negative, "weights of state.active are not those of a convex"),
    "vertices NaN": ("away", origin, "state.active.origin has NaN"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_no_run_can_have_left_is_refused(name, tmp_path):
    method, change, words = FORGERIES[name]
    f, K, x0 = small_simplex()
    path = tmp_path / "run.ckpt"
    res = wp.minimize(f, K, x0, method=method, tol=0, max_rounds=9, checkpoint=path)
    forge(path, lambda s: s)
    assert wp.resume(path, f, K, checkpoint=None).nit == res.nit
    forge(path, change)
    with pytest.raises(ValueError, match=rf"cannot be the checkpoint of this run: .*{words}"):
        wp.resume(path, f, K, max_rounds=12)


def test_vertices_outside_of_the_set_are_refused(tmp_path):
    f, K = wp.objectives.Quadratic(1.0, -np.array([0.3, 0.2, 0.1])), wp.sets.ConvexHull(np.eye(3))
    path = tmp_path / "run.ckpt"
    wp.minimize(f, K, method="away", tol=0, max_rounds=9, checkpoint=path)

    def far(s: Snapshot) -> Snapshot:
        atoms = s.state.active.atoms
        for value in vars(atoms).values():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                value *= 7.0
        return s

    forge(path, far)
    with pytest.raises(ValueError, match=r"vertex \d+ of state.active is outside of K"):
        wp.resume(path, f, K)


def test_composite_runs_are_checked_too(tmp_path):
    rng = np.random.default_rng(0)
    G = wp.objectives.LeastSquares(rng.standard_normal((9, 4)), rng.standard_normal(9))
    H, path = wp.regularizers.BoxRidge(-np.ones(4), np.ones(4), 1.0), tmp_path / "run.ckpt"
    wp.minimize_composite(G, H, tol=0, max_rounds=9, method="accelerated", checkpoint=path)
    forge(path, best(x=np.full(4, 3.0)))
    with pytest.raises(ValueError, match="the best point is outside of the domain of H"):
        wp.resume(path, G, H)
    forge(path, best(x=np.zeros(4)))
    with pytest.raises(ValueError, match="f at the best point is"):
        wp.resume(path, G, H)
