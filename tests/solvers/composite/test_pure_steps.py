"""States are values: stepping an old state again gives the same bits, SAGA's table included."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import wolfpack as wp
from wolfpack.gradients.control_variates import Difference, SlopeTable
from wolfpack.loop.codec import Encoder
from wolfpack.loop.run import Options
from wolfpack.regularizers import ElasticNet, SquaredNorm

RNG = np.random.default_rng(0)
A = RNG.standard_normal((60, 7)) * np.exp(RNG.standard_normal((60, 1)))
LABELS = np.sign(A @ RNG.standard_normal(7) + RNG.standard_normal(60))

RUNS: dict[str, dict[str, Any]] = {
    "exact": {},
    "searched": {"beta": "search"},
    "converging": {"method": "converging"},
    "minibatches": {"batch": 5},
    "estimated": {"batch": 5, "callable": True},
    "searched minibatches": {"batch": 40, "beta": "search"},
    "growing": {"batch": "auto", "method": "converging"},
    **{
        f"{kind}, {sampling}": {"batch": 7, "variance_reduction": kind, "sampling": sampling}
        for kind in ("saga", "svrg")
        for sampling in ("uniform", "importance", "shuffle", "blocks", "turns", "windows")
    },
}


def bits(state: Any) -> tuple[str, dict[str, bytes]]:
    """Return everything that a checkpoint would keep of a state."""
    encoder = Encoder()
    tree = repr(encoder.encode(state))
    return tree, {name: array.tobytes() for name, array in encoder.arrays.items()}


@pytest.mark.parametrize("features", [A, csr_array(A)], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", RUNS)
def test_steps_are_pure(name, features, monkeypatch):
    captured: dict[str, Any] = {}

    def capture(problem, solver, start, gradients, limits, options):
        captured.update(problem=problem, solver=solver, start=start, gradients=gradients)
        raise KeyboardInterrupt

    options = dict(RUNS[name])
    G: Any = wp.objectives.Logistic(features, LABELS)
    if options.pop("callable", False):
        exact = G
        G = wp.objectives.Stochastic(
            lambda y, rng: exact.minibatch_gradient(y, rng.integers(60, size=3)), shape=(7,)
        )
    monkeypatch.setattr("wolfpack.front.execute.run", capture)
    with pytest.raises(KeyboardInterrupt):
        wp.minimize_composite(G, ElasticNet(0.01, 0.01), tol=0, **options)
    problem, solver, gradients = (captured[key] for key in ("problem", "solver", "gradients"))
    states = [solver.init(problem, captured["start"], gradients)]
    for _ in range(40):
        states.append(solver.step(problem, states[-1], gradients))
    known = [bits(state) for state in states]
    order = np.random.default_rng(1).permutation(40)
    for k in order:
        assert bits(states[k]) == known[k], f"the state of round {k} has changed"
        assert bits(solver.step(problem, states[k], gradients)) == known[k + 1]
    assert [bits(state) for state in states] == known


def test_a_run_interrupted_in_a_write_keeps_its_table():
    """Whatever was written, the table before the change still has its entries."""

    interruptions = iter([True])

    class Interrupted(np.ndarray):
        def __setitem__(self, places: Any, values: Any) -> None:
            if next(interruptions, False):
                super().__setitem__(places[:2], values[:2])
                raise KeyboardInterrupt
            super().__setitem__(places, values)

    table = SlopeTable(np.arange(6.0).view(Interrupted))
    with pytest.raises(KeyboardInterrupt):
        table.replaced(np.array([1, 3, 5]), np.zeros(3))
    np.testing.assert_array_equal(np.asarray(table.values), np.arange(6.0))


def test_old_tables_can_be_read_and_changed_in_any_order():
    first = SlopeTable(np.arange(8.0))
    second = first.replaced(slice(0, 3), np.full(3, -1.0))
    third = second.replaced(np.array([2, 2, 5]), np.array([7.0, 8.0, 9.0]))
    branch = first.replaced(np.array([0]), np.array([100.0]))
    expected = {
        first: [0, 1, 2, 3, 4, 5, 6, 7],
        second: [-1, -1, -1, 3, 4, 5, 6, 7],
        third: [-1, -1, 8, 3, 4, 9, 6, 7],
        branch: [100, 1, 2, 3, 4, 5, 6, 7],
    }
    for _ in range(3):
        for table in (third, first, branch, second):
            np.testing.assert_array_equal(table.values, expected[table])


def test_a_state_that_somebody_keeps_can_be_copied_and_stays_small():
    kept: list[Any] = []
    G = wp.objectives.Logistic(A, LABELS)
    wp.minimize_composite(
        G,
        ElasticNet(0.01, 1e-6),
        batch=3,
        variance_reduction=True,
        tol=0,
        max_rounds=5000,
        callback=lambda at: kept.append(at.state) if at.nit >= 20 and not kept else None,
    )
    table, length = kept[0].reading.variate.table, 0
    while isinstance(table._content, Difference):
        table, length = table._content.other, length + 1
    assert length <= len(A) // 3
    known = bits(kept[0])
    for other in (pickle.loads(pickle.dumps(kept[0])), copy.deepcopy(kept[0]), copy.copy(kept[0])):
        assert bits(other) == known
    table = kept[0].reading.variate.table
    copy.copy(table).replaced(slice(0, 5), np.full(5, 7.0))
    assert bits(kept[0]) == known


def test_problems_are_read_only():
    G = wp.objectives.LeastSquares(A, LABELS)
    problem = wp.regularizers.pairs.composite_problem(G, SquaredNorm(1.0), None)
    with pytest.raises(AttributeError):
        problem.L = 1.0
    with pytest.raises(AttributeError):
        wp.problem.Problem(G, wp.sets.Simplex(7)).L = 1.0
    with pytest.raises(AttributeError):
        Options().record_every = 2
