"""Checkpoints: the same bits after any stop, and nothing lost to a bad disk or a bad file."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import wolfpack as wp
from problems import paper_simplex, paper_trace_ball, small_logistic, small_simplex
from wolfpack.atoms import Atoms
from wolfpack.front.fingerprint import constrained_fingerprint
from wolfpack.front.methods import METHODS
from wolfpack.loop import checkpoint as ck
from wolfpack.loop.codec import Decoder, Encoder
from wolfpack.objectives import as_objective
from wolfpack.objectives.finite_sum import FiniteSum
from wolfpack.solvers.parts.step_rules import Rule, Stride


def birkhoff() -> tuple[Any, Any, Any]:
    target = np.random.default_rng(0).random((5, 5))
    return wp.objectives.Quadratic(1.0, -target), wp.sets.Birkhoff(5), None


def hull() -> tuple[Any, Any, Any]:
    points = np.random.default_rng(1).standard_normal((30, 4))
    return wp.objectives.Quadratic(1.0, -np.ones(4)), wp.sets.ConvexHull(points), None


PROBLEMS = {
    "simplex": small_simplex,
    "trace": paper_trace_ball,
    "logistic": small_logistic,
    "birkhoff": birkhoff,
    "hull": hull,
}


def same(a: Any, b: Any) -> bool:
    """Equal types and equal bits, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, Atoms):
        return same(vars(a), vars(b))
    if hasattr(a, "saved_fields"):
        return same(a.saved_fields(), b.saved_fields())
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b)


def assert_same_result(a: wp.Result, b: wp.Result) -> None:
    for name in ("x", "fun", "gap", "lower_bound", "nit", "nfev", "njev", "nlmo", "status"):
        assert same(a[name], b[name]), name
    assert same(a.state, b.state)
    for name in a.history:
        if name != "seconds":
            assert same(a.history[name], b.history[name]), name


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("method", [name for name in METHODS if name != "block"])
def test_resumed_run_has_the_bits_of_the_undisturbed_one(method, problem, tmp_path):
    f, K, x0 = PROBLEMS[problem]()
    if method == "projected" and not K.has("project"):
        pytest.skip("no projection")
    if method == "conic" and (f.quadratic_form() is None or not K.has("polyhedron")):
        pytest.skip("no quadratic over linear constraints")
    if method == "nnls" and (f.quadratic_form() is None or not K.has("k_best") or not K.polytope):
        pytest.skip("no quadratic over listed vertices")
    if method == "dicg" and not K.has("lmo_face"):
        pytest.skip("no oracle on faces")
    if method.startswith("stochastic") and not isinstance(f, FiniteSum):
        pytest.skip("no sum over rows")
    whole = wp.minimize(f, K, x0, method=method, tol=0, max_rounds=24, seed=3)
    path = tmp_path / "run.ckpt"
    wp.minimize(f, K, x0, method=method, tol=0, max_rounds=11, seed=3, checkpoint=path)
    assert_same_result(wp.resume(path, f, K, max_rounds=24), whole)


@pytest.mark.parametrize("noise", ["auto", wp.noise.Gaussian(scale=np.linspace(1, 2, 8))])
@pytest.mark.parametrize("record_every", [1, 5])
def test_options_travel_in_the_file(noise, record_every, tmp_path):
    f, K, x0 = small_simplex()
    settings: dict[str, Any] = {"noise": noise, "record_every": record_every, "m": 6, "L": 40.0}
    settings |= {"method": "anytime", "sampling": "antithetic", "tol": 0, "seed": 2**80}
    whole = wp.minimize(f, K, x0, max_rounds=23, **settings)
    path = tmp_path / "run.ckpt"
    wp.minimize(f, K, x0, max_rounds=7, checkpoint=path, **settings)
    half = wp.resume(path, f, K, max_rounds=16)
    assert half.nit == 16
    assert_same_result(wp.resume(path, f, K, max_rounds=23), whole)


def test_solver_objects_travel_too(tmp_path):
    f, K, x0 = small_logistic()
    solver = wp.solvers.FrankWolfe(wp.solvers.LineSearch(xtol=1e-8))
    whole = wp.minimize(f, K, x0, method=solver, tol=0, max_rounds=20)
    path = tmp_path / "run.ckpt"
    wp.minimize(f, K, x0, method=solver, tol=0, max_rounds=9, checkpoint=path)
    assert_same_result(wp.resume(path, f, K, max_rounds=20), whole)


def test_limits_count_from_the_beginning_and_a_finished_run_stays_finished(tmp_path):
    f, K, x0 = small_simplex()
    path = tmp_path / "run.ckpt"
    first = wp.minimize(f, K, x0, method="r-pfw", tol=1e-2, checkpoint=path)
    again = wp.resume(path, f, K)
    assert first.status == again.status == "converged"
    assert again.nit == first.nit
    finer = wp.resume(path, f, K, tol=1e-3)
    assert finer.success
    assert finer.gap <= 1e-3
    assert finer.nit > first.nit


def test_seconds_go_on_from_the_checkpoint(tmp_path):
    f, K, x0 = small_simplex()
    path = tmp_path / "run.ckpt"
    wp.minimize(f, K, x0, method="fw", tol=0, max_rounds=50, checkpoint=path)
    _, snapshot = ck.read(path)
    saved = snapshot.best["seconds"]
    assert saved > 0.0
    assert wp.resume(path, f, K, max_rounds=51).seconds > saved


def rounds_written(monkeypatch, **settings: Any) -> list[int]:
    written: list[int] = []
    monkeypatch.setattr(ck, "save", lambda path, snapshot, config: written.append(snapshot.state.k))
    f, K, x0 = small_simplex()
    wp.minimize(f, K, x0, method="fw", tol=0, max_rounds=10, **settings)
    return written


def test_by_rounds_by_seconds_and_always_at_the_end(monkeypatch):
    assert rounds_written(monkeypatch, checkpoint=wp.Checkpoint("x", rounds=4)) == [4, 8, 10]
    assert rounds_written(monkeypatch, checkpoint=wp.Checkpoint("x", rounds=5)) == [5, 10]
    assert rounds_written(monkeypatch, checkpoint="x") == [10]
    every = rounds_written(monkeypatch, checkpoint=wp.Checkpoint("x", seconds=0))
    assert every == list(range(11))


def test_two_generations_are_kept_and_the_older_one_is_used_when_needed(tmp_path):
    f, K, x0 = small_simplex()
    path = tmp_path / "run.ckpt"
    settings = {"method": "anytime", "tol": 0}
    whole = wp.minimize(f, K, x0, max_rounds=40, **settings)
    wp.minimize(f, K, x0, max_rounds=20, checkpoint=wp.Checkpoint(path, rounds=8), **settings)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.ckpt", "run.ckpt.1"]
    assert ck._read(ck.older(path), None)[1].state.k == 16
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.warns(ck.CheckpointWarning, match=r"generation before.*run\.ckpt\.1"):
        resumed = wp.resume(path, f, K, max_rounds=40, checkpoint=None)
    assert_same_result(resumed, whole)


def flip_a_byte(data: bytes) -> bytes:
    """Damage a number in the header, so that only the archive's checksum can tell."""
    at = data.index(b'"nlmo": ') + len(b'"nlmo": ')
    return data[:at] + bytes([data[at] ^ 0x01]) + data[at + 1 :]


def test_damaged_files_are_named(tmp_path):
    f, K, x0 = small_simplex()
    path = tmp_path / "run.ckpt"
    wp.minimize(f, K, x0, method="r-pfw", tol=0, max_rounds=5, checkpoint=path)
    good = path.read_bytes()
    for bad in (good[: len(good) // 2], b"", b"hello", flip_a_byte(good)):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=r"run\.ckpt is not a readable checkpoint(?!.*pickle)"):
            wp.resume(path, f, K)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="there is no checkpoint"):
        wp.resume(path, f, K)


def test_foreign_files_are_named(tmp_path):
    f, K, x0 = small_simplex()
    result = wp.minimize(f, K, x0, method="fw", tol=0, max_rounds=5)
    saved = result.save(tmp_path / "result.npz")
    with pytest.raises(ValueError, match="another kind of file"):
        wp.resume(saved, f, K)
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(ValueError, match="no header"):
        wp.resume(tmp_path / "other.npz", f, K)
    header = np.frombuffer(json.dumps({"schema": "wolfpack-checkpoint/99"}).encode(), np.uint8)
    np.savez(tmp_path / "later.npz", header=header)
    with pytest.raises(ValueError, match="schema is 'wolfpack-checkpoint/99'"):
        wp.resume(tmp_path / "later.npz", f, K)


def square() -> Any:
    return as_objective(lambda x: (float((x**2).sum()), 2 * x))


def test_another_problem_is_refused(tmp_path):
    f, K, x0 = small_simplex()
    path = tmp_path / "run.ckpt"
    wp.minimize(f, K, x0, method="r-pfw", tol=0, max_rounds=5, checkpoint=path)
    other, _, _ = small_simplex(seed=5)
    with pytest.raises(ValueError, match=r"another problem: the data of f \(A\) have changed"):
        wp.resume(path, other, K)
    with pytest.raises(ValueError, match="another problem: the shape of x was"):
        wp.resume(path, small_simplex(d=9)[0], wp.sets.Simplex(9))
    unit, twice = (constrained_fingerprint(square(), wp.sets.L2Ball(4, r)) for r in (1.0, 2.0))
    assert unit.difference(twice) == "the data of K (r) have changed: 1 was there, now 2"
    with pytest.raises(ValueError, match="another problem: K was Simplex"):
        wp.resume(path, f, wp.sets.L1Ball(8))


def test_a_file_cannot_name_foreign_classes():
    for name in ("os:system", "wolfpack.front.minimize:minimize", "wolfpack.loop.codec:np.ndarray"):
        with pytest.raises(ValueError, match=r"no class of wolfpack|may hold"):
            Decoder({}).decode({"object": name, "fields": {}})
    with pytest.raises(ValueError, match="this version of wolfpack has no"):
        Decoder({}).decode({"object": "wolfpack.solvers:Nothing", "fields": {}})


def test_codec_keeps_types_bits_and_sharing():
    shared = np.arange(3.0)
    big = np.array([1.0, np.nan, -np.inf], dtype=np.float32)
    value = {
        "a": (1, 2.5, None, True, "x", [b"\x00\xff", (), {}]),
        4: [shared, shared, np.float64(0.1), np.int32(7), float("nan"), float("-inf"), 2**100],
        ("k", 1): np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "vertex": wp.sets.TraceNormBall((3, 2)).lmo(np.arange(6.0).reshape(3, 2)),
        "big": big,
    }
    encoder = Encoder()
    tree = json.loads(json.dumps(encoder.encode(value)))
    back = Decoder(encoder.arrays).decode(tree)
    assert same(value, back)
    assert back[4][0] is back[4][1]
    assert back["k", 1].flags.f_contiguous


class Foreign(NamedTuple):
    k: int


class HalfWay(Rule):
    def __call__(self, problem: Any, ray: Any) -> Stride:
        return Stride(0.5)


def test_what_cannot_be_saved_is_said_before_the_run(tmp_path):
    f, K, x0 = small_simplex()
    solver = wp.solvers.FrankWolfe(HalfWay())
    with pytest.raises(TypeError, match=r"a checkpoint cannot hold .*HalfWay"):
        wp.minimize(f, K, x0, method=solver, checkpoint=tmp_path / "run.ckpt")
    with pytest.raises(TypeError, match=r"cannot hold .*Foreign"):
        Encoder().encode(Foreign(1))


@pytest.mark.parametrize("bad", [3, print])
def test_bad_checkpoint_arguments(bad):
    f, K, x0 = small_simplex()
    with pytest.raises(TypeError, match="checkpoint must be a path or a Checkpoint, found"):
        wp.minimize(f, K, x0, checkpoint=bad)
    with pytest.raises(ValueError, match="rounds must be an integer >= 1 or None, found 0"):
        wp.Checkpoint("x", rounds=0)
    with pytest.raises(ValueError, match="seconds must be a number >= 0"):
        wp.Checkpoint("x", seconds=float("nan"))


def test_resume_says_what_can_be_changed(tmp_path):
    f, K, x0 = small_simplex()
    path = tmp_path / "run.ckpt"
    wp.minimize(f, K, x0, method="pfw", tol=0, max_rounds=3, checkpoint=path)
    with pytest.raises(TypeError, match=r"no option 'm'.*only these can be changed: tol"):
        wp.resume(path, f, K, m=4)
    with pytest.raises(ValueError, match="tol must be a number >= 0, found -1"):
        wp.resume(path, f, K, tol=-1)


def test_a_folder_that_is_not_there_is_a_warning_not_a_lost_run(tmp_path):
    f, K, x0 = small_simplex()
    with pytest.warns(ck.CheckpointWarning, match="run goes on without") as caught:
        res = wp.minimize(
            f, K, x0, tol=1e-3, checkpoint=wp.Checkpoint(tmp_path / "no" / "run.ckpt", rounds=1)
        )
    assert res.success
    assert len(caught) == 1


def test_a_full_disk_is_a_warning_and_keeps_the_last_good_file(tmp_path, monkeypatch):
    f, K, x0 = small_simplex()
    path = tmp_path / "run.ckpt"
    settings = {"method": "anytime", "tol": 0}
    wp.minimize(f, K, x0, max_rounds=10, checkpoint=path, **settings)
    good, sync = path.read_bytes(), os.fsync

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(ck.CheckpointWarning, match="No space left"):
        res = wp.resume(path, f, K, max_rounds=20)
    assert res.nit == 20
    assert path.read_bytes() == good
    assert [p.name for p in tmp_path.iterdir()] == ["run.ckpt"]
    monkeypatch.setattr(os, "fsync", sync)
    assert_same_result(
        wp.resume(path, f, K, max_rounds=20), wp.minimize(f, K, x0, max_rounds=20, **settings)
    )


def test_interrupt_saves_and_resumes(tmp_path):
    f, K, x0 = small_simplex()
    path = tmp_path / "run.ckpt"

    def stop(intermediate_result: wp.Result) -> None:
        if intermediate_result.nit == 13:
            raise KeyboardInterrupt

    settings = {"method": "r-pfw", "tol": 0, "record_every": 1}
    res = wp.minimize(f, K, x0, max_rounds=30, checkpoint=path, callback=stop, **settings)
    assert res.status == "interrupted"
    assert_same_result(
        wp.resume(path, f, K, max_rounds=30), wp.minimize(f, K, x0, max_rounds=30, **settings)
    )


def test_an_objective_that_fails_leaves_a_checkpoint(tmp_path):
    f, K, x0 = small_simplex()
    path, calls = tmp_path / "run.ckpt", []

    def flaky(x: np.ndarray) -> tuple[float, np.ndarray]:
        calls.append(1)
        if len(calls) == 12:
            raise RuntimeError("the licence server is down")
        return f(x)

    whole = wp.minimize(lambda x: f(x), K, x0, method="anytime", L=50.0, tol=0, max_rounds=30)
    with pytest.raises(RuntimeError, match="licence"):
        wp.minimize(flaky, K, x0, method="anytime", L=50.0, tol=0, max_rounds=30, checkpoint=path)
    assert_same_result(wp.resume(path, flaky, K), whole)


KILLED = """
import sys, wolfpack as wp
sys.path.insert(0, sys.argv[2])
from problems import paper_simplex
f, K, x0 = paper_simplex()
def slow(res):
    print(res.nit, flush=True)
wp.minimize(f, K, x0, method="r-pfw", tol=0, max_rounds=10**6,
            checkpoint=wp.Checkpoint(sys.argv[1], rounds=50), callback=slow)
"""


def test_kill_9_of_the_driver_loses_nothing_that_was_saved(tmp_path):
    path = tmp_path / "run.ckpt"
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(path), tests]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        for line in driver.stdout:
            if int(line) >= 180:
                break
        driver.send_signal(signal.SIGKILL)
    f, K, x0 = paper_simplex()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ck.CheckpointWarning)  # it may have died while renaming
        resumed = wp.resume(path, f, K, max_rounds=1000)
    assert resumed.nit == 1000
    whole = wp.minimize(f, K, x0, method="r-pfw", tol=0, max_rounds=1000)
    assert_same_result(resumed, whole)


def test_resume_lifts_a_limit_that_is_none_and_keeps_one_that_is_not_given(tmp_path):
    f = wp.objectives.LeastSquares(np.eye(3), np.array([0.93, 0.41, 0.17]))
    K, path = wp.sets.Simplex(3), tmp_path / "run.ckpt"
    settings = {"method": "fw", "tol": 0.0, "record_every": 1}
    wp.minimize(f, K, max_rounds=5, max_lmo=40, checkpoint=path, **settings)
    kept = wp.resume(path, f, K, checkpoint=None)
    assert (kept.status, kept.nit) == ("max_rounds", 5)
    lifted = wp.resume(path, f, K, checkpoint=None, max_rounds=None)
    assert lifted.status == "max_lmo"
    assert lifted.nlmo == 40
    bare = wp.resume(path, f, K, checkpoint=None, max_rounds=None, max_lmo=None, tol=1e-3)
    assert bare.success
    with pytest.raises(TypeError, match="tol must be"):
        wp.resume(path, f, K, tol=None)
