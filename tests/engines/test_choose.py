"""From the ``engine`` argument to an engine."""

from __future__ import annotations

import builtins
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import wolfpack as wp
from engines.cases import Corner, cube, digest, run
from wolfpack.engines import Engine, Executor, Local, Processes, Threads, _choose
from wolfpack.smoothing import Ambient
from wolfpack.smoothing.job import Job


def job(K: Any) -> Job:
    return Job(Ambient(K, wp.noise.get("gaussian")))


JOB = job(wp.sets.Simplex(4))


def named(text: str) -> Any:
    return _choose.choose_engine(text, JOB, 8)


def test_names():
    assert named("local").engine.name == "local"
    assert named("threads:3").engine.name == "threads:3"
    assert named("processes:2").engine.name == "processes:2"
    assert named("threads").engine.name == f"threads:{_choose.cores()}"
    assert named("dask:tcp://10.0.0.1:8786").engine.name == "dask:tcp://10.0.0.1:8786"
    assert named("ray:auto").engine.name == "ray:auto"
    assert named("threads:3").ours


def test_objects():
    assert _choose.choose_engine(None, JOB, 8).engine is None
    engine = Threads(2)
    assert _choose.choose_engine(engine, JOB, 8) == (engine, False, "")
    with ThreadPoolExecutor(1) as pool:
        assert isinstance(_choose.choose_engine(pool, JOB, 8).engine, Executor)
    for made in (Local(), Threads(1), Processes(1), Executor(print)):
        assert isinstance(made, Engine)


@pytest.mark.parametrize(
    "text", ["threads:0", "processes:-2", "dask:0", "ray:-1", "threads:two", "threads:²"]
)
def test_bad_numbers(text):
    with pytest.raises(ValueError, match=f"engine='{text}' must name at least 1 worker"):
        named(text)


@pytest.mark.parametrize("text", ["dask:two", "dask:2.5", "ray:two", "ray:²"])
def test_bad_addresses(text):
    with pytest.raises(ValueError, match=f"engine='{text}' must end with a number of workers or"):
        named(text)


@pytest.mark.parametrize("text", ["thread", "mpi:4", "local:2", ""])
def test_unknown_names(text):
    with pytest.raises(ValueError, match=r"unknown engine .*known: None, 'auto', 'local'"):
        named(text)


def test_unknown_objects():
    with pytest.raises(TypeError, match="engine must be None, 'auto'"):
        run(cube(), engine=3.5)


def test_an_engine_of_ones_own():
    class Mine(Local):
        name = "mine"

    result = run(cube(), engine=Mine())
    assert result.engine.name == "mine"
    assert digest(result) == digest(run(cube()))


def test_methods_without_perturbed_oracles_have_nothing_to_share_out():
    f, K = cube()
    with pytest.raises(TypeError, match=r"method 'fw' asks one oracle per round.*leave engine out"):
        wp.minimize(f, K, method="fw", engine="threads:2")
    assert wp.minimize(f, K, method="fw", engine="auto", max_rounds=3, tol=0).engine is None


@pytest.mark.parametrize("package", ["distributed", "ray", "mpi4py"])
def test_what_is_not_installed_is_said(package, monkeypatch):
    real = builtins.__import__

    def without(name: str, *rest: Any, **options: Any) -> Any:
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    engine = {"distributed": "dask:1", "ray": "ray:1", "mpi4py": "mpi"}[package]
    with pytest.raises(ImportError, match=r"which is not installed: pip install 'wolfpack\[engine"):
        run(cube(), engine=engine)


def test_auto_stays_in_process_for_cheap_oracles(monkeypatch):
    monkeypatch.setattr(_choose, "cores", lambda: 2)
    choice = _choose.choose_engine("auto", JOB, 8)
    assert choice.engine is None
    assert "less than an engine costs" in choice.reason


def test_auto_measures_the_oracle(monkeypatch):
    monkeypatch.setattr(_choose, "cores", lambda: 2)
    _, K = cube(Corner(0.002))
    assert _choose.choose_engine("auto", job(K), 8).engine.name == "processes:2"
    K.releases_gil = True
    choice = _choose.choose_engine("auto", job(K), 8)
    assert choice.engine.name == "threads:2"
    assert "free Python's lock" in choice.reason
    monkeypatch.setattr(_choose, "cores", lambda: 1)
    assert "one core" in _choose.choose_engine("auto", job(K), 8).reason


def test_auto_says_that_one_block_cannot_be_shared(monkeypatch):
    monkeypatch.setattr(_choose, "cores", lambda: 2)

    class Slow(wp.sets.Simplex):
        def _lmo(self, g: Any) -> Any:
            time.sleep(0.002)
            return super()._lmo(g)

    choice = _choose.choose_engine("auto", job(Slow(4)), 8)
    assert choice.engine is None
    assert "block= would cut it" in choice.reason


def test_the_result_says_what_auto_chose(monkeypatch):
    monkeypatch.setattr(_choose, "cores", lambda: 2)
    f, K = cube(Corner(0.002))
    K.releases_gil = True
    result = run((f, K), engine="auto", rounds=3)
    assert "engine='auto': 12 oracles take" in result.message
    assert result.engine.name == "threads:2"
    assert "threads:2" in result.engine.reason
    assert np.isfinite(result.gap)
