"""Not waiting: dropped stragglers, late answers, and what is recorded of them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from engines.cases import Corner, cube, digest, run
from wolfpack.engines import Processes, Threads
from wolfpack.loop.checkpoint import read


class Uneven(Corner):
    """An oracle that takes long for about one direction in eight, whoever asks."""

    def __init__(self, seconds: float, long: float) -> None:
        super().__init__(seconds)
        self.long = long

    def __call__(self, g: np.ndarray) -> np.ndarray:
        if int(1e6 * abs(g[0])) % 8 == 0:
            time.sleep(self.long)
        return super().__call__(g)


@pytest.fixture(scope="module")
def processes():
    with Processes(3) as engine:
        yield engine


def certificate_holds(result: wp.Result, problem: tuple[Any, Any]) -> bool:
    f, _ = problem
    best = wp.minimize(f, wp.sets.LinfBall(6), method="bpcg", tol=1e-9)
    return result.lower_bound <= best.fun + 1e-9 and result.fun >= best.lower_bound - 1e-9


def test_stragglers_are_dropped_and_counted(processes):
    problem = cube(Uneven(0.002, 0.1))
    result = run(problem, engine=processes, stragglers="drop", quorum=0.5, rounds=20)
    dropped = result.engine["dropped"]
    assert dropped.sum() > 0
    assert dropped.max() <= 6
    assert (result.engine["late"] == 0).all()
    # answers that were not waited for are not counted as oracle calls of the run
    clean = run(cube(), rounds=20)
    assert clean.nlmo - result.nlmo == dropped.sum()
    assert certificate_holds(result, problem)


def test_late_answers_are_used_in_async_mode(processes):
    problem = cube(Uneven(0.002, 0.02))
    result = run(problem, engine=processes, mode="async", quorum=0.5, rounds=30)
    assert result.engine["late"].sum() > 0
    assert result.nit == 30
    assert certificate_holds(result, problem)
    used = 12 * 30 - result.engine["dropped"].sum() + result.engine["late"].sum()
    clean = run(cube(), rounds=30)
    assert result.nlmo - clean.nlmo == used - 12 * 30


def test_a_quorum_of_one_is_waiting(processes):
    result = run(cube(), engine=processes, stragglers="drop", quorum=1.0)
    assert digest(result) == digest(run(cube()))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"stragglers": "kill"}, r"stragglers must be 'wait' or 'drop', found 'kill'"),
        ({"mode": "hasty"}, r"mode must be 'sync' or 'async', found 'hasty'"),
        ({"quorum": 0}, r"quorum must be a number in \(0, 1\], found 0"),
        ({"quorum": 1.5}, r"quorum must be a number in \(0, 1\], found 1.5"),
        ({"quorum": "half"}, r"quorum must be a number in \(0, 1\], found 'half'"),
        ({"staleness": -1}, "staleness must be an integer >= 0, found -1"),
        ({"oracle_timeout": 0}, "oracle_timeout must be a positive finite number or None, found 0"),
        (
            {"oracle_timeout": "5 s"},
            "a positive finite number or None, found '5 s'",
        ),
    ],
)
def test_bad_policies(bad, message):
    with pytest.raises(ValueError, match=message):
        run(cube(), **bad)


def test_the_policy_is_part_of_a_checkpoint(tmp_path):
    path = tmp_path / "run.ckpt"
    run(cube(), engine="threads:2", oracle_timeout=7.5, block=3, checkpoint=path)
    config, _ = read(path)
    assert config.settings.policy.oracle_timeout == 7.5
    assert config.settings.block == 3


def test_a_timeout_guards_certificates_too():
    class Recorder(Threads):
        asked = 0

        def run_round(self, question, *rest, **options):
            self.asked += question.clean
            return super().run_round(question, *rest, **options)

    engine = Recorder(2)
    with engine:
        result = run(cube(), engine=engine, oracle_timeout=30.0)
    assert digest(result) == digest(run(cube()))
    assert engine.asked >= len(result.history["round"])


def test_the_log_has_a_row_per_round_of_oracles(processes):
    result = run(cube(), engine=processes)
    log = result.engine
    assert log.name == "processes:3"
    assert {len(column) for column in log.values()} == {12}
    np.testing.assert_array_equal(log["round"], np.arange(12))
    np.testing.assert_array_equal(log["blocks"], 12)
    assert (log["bytes_out"] >= 6 * 8).all()
    assert (log["bytes_in"] > 0).all()
    assert ((log["busy"] >= 0) & (log["busy"] <= 1)).all()
    with pytest.raises(KeyError, match="the columns are round, blocks, late, workers"):
        log["speed"]
    assert "processes:3: 12 rounds" in repr(log)
    assert run(cube()).engine is None


def test_structured_answers_are_small(processes):
    f = wp.objectives.Quadratic(1.0, -np.linspace(0, 1, 20_000))
    K = wp.sets.Simplex(20_000)
    settings: dict[str, Any] = {"method": "anytime", "m": 64, "block": 8, "tol": 0, "L": 1.0}
    result = wp.minimize(f, K, max_rounds=5, engine=processes, record_every=5, **settings)
    # v goes out once, into shared memory; of 64 one-hot answers come back places and counts
    assert result.engine["bytes_out"].max() < 160_000 + 5_000
    assert result.engine["bytes_in"].max() < 64 * 12 + 8 * 600
