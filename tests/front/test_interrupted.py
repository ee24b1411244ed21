"""Ctrl-C ends all of a call: every problem, every start, and searches over many models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wolfpack as wp

D = 4
K = wp.sets.Simplex(D)


class Interrupts:
    """A function that is interrupted when it has been evaluated some times."""

    def __init__(self, after: int) -> None:
        self.left = after
        self.more = 0

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        self.left -= 1
        self.more += self.left < 0
        if self.left == 0:
            raise KeyboardInterrupt
        excess = x - 0.3
        return float((np.cosh(excess) - 1.0).sum()), np.sinh(excess)


def test_one_interrupt_ends_all_problems():
    f = Interrupts(40)
    res = wp.minimize_many([f] * 30, K, method="fw", tol=0.0, max_rounds=12)
    assert f.more <= 2  # the last check of the problem that was interrupted
    assert (res.status == "interrupted").sum() > 20
    assert np.isfinite(res.fun[0])


@pytest.mark.parametrize("end", [KeyboardInterrupt, StopIteration])
def test_one_interrupt_ends_all_starts(end):
    begun = []

    def stop(res: Any) -> None:
        begun.extend([res] if res.nit == 0 else [])
        if len(begun) == 2:
            raise end

    f = wp.objectives.Function(lambda x: (-float(x @ x), -2.0 * x), convex=False)
    res = wp.minimize(f, K, convex=False, starts=9, tol=0, callback=stop, method="fw")
    assert len(begun) == len(res.starts) == 2
    assert res.status == ("interrupted" if end is KeyboardInterrupt else "callback_stop")
    assert not res.success


@pytest.mark.parametrize("targets", [1, 3])
def test_an_interrupted_fit_raises(monkeypatch, targets):
    pytest.importorskip("sklearn")
    from wolfpack.estimators import _common, constrained_regressors

    def interrupted(name: str, module: Any) -> None:
        usual = getattr(module, name)

        def run(*args: Any, **settings: Any) -> Any:
            def callback(res: Any) -> None:
                raise KeyboardInterrupt

            return usual(*args, **settings, callback=callback)

        monkeypatch.setattr(module, name, run)

    interrupted("minimize", _common)
    interrupted("minimize_many", constrained_regressors)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), rng.standard_normal((20, targets))
    with pytest.raises(KeyboardInterrupt):
        wp.estimators.SimplexRegressor(tol=1e-12).fit(X, y[:, 0] if targets == 1 else y)


def test_an_interrupted_composite_fit_raises(monkeypatch):
    pytest.importorskip("sklearn")
    from wolfpack.estimators import _linear_model

    usual, calls = _linear_model.minimize_composite, []

    def run(*args: Any, **settings: Any) -> Any:
        def callback(res: Any) -> None:
            raise KeyboardInterrupt

        calls.append(args)
        return usual(*args, **settings, callback=callback)

    monkeypatch.setattr(_linear_model, "minimize_composite", run)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.standard_normal(60)
    for model in (
        wp.estimators.AcceleratedRegressor(batch_size=4),
        wp.estimators.AcceleratedRegressor(),
    ):
        calls.clear()
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert len(calls) == 1
