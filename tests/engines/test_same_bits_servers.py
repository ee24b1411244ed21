"""The same bits on Dask, Ray and MPI, for every sampled method and number of workers."""

from __future__ import annotations

import gc

import pytest

from engines import blocks
from engines.sampled import CASES, check, reference
from engines.test_mpi import finished, launch
from wolfpack.engines import Dask, Ray

pytestmark = [
    pytest.mark.extras,
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", [Dask, Ray])
def test_on_servers(kind, workers):
    pytest.importorskip("distributed" if kind is Dask else "ray")
    with kind(workers) as engine:
        for name in CASES:
            check(name, engine, workers)
    gc.collect()  # Ray's processes have ended, but its objects say so only when they are freed


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_under_mpiexec(ranks):
    pytest.importorskip("mpi4py")
    code = """
    from engines.sampled import CASES, solve
    for name in CASES:
        result = solve(name, "mpi")
        if rank == 1 or MPI.COMM_WORLD.Get_size() == 1:
            print(digest(result), result.engine.name)
    """
    lines = finished(launch(ranks, code)).splitlines()
    assert lines == [f"{reference(name)} mpi:{ranks}" for name in CASES]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("kind", [Dask, Ray])
def test_blocks_of_data_on_servers(kind, workers):
    pytest.importorskip("distributed" if kind is Dask else "ray")
    with kind(workers) as engine:
        blocks.check(engine, workers)
    gc.collect()


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_blocks_of_data_under_mpiexec(ranks):
    pytest.importorskip("mpi4py")
    code = """
    from engines.blocks import METHODS, loaded, solve
    for method in METHODS:
        result = solve(method, "mpi", loaded())
        if rank == 1 or MPI.COMM_WORLD.Get_size() == 1:
            print(digest(result), result.engine.name)
    """
    lines = finished(launch(ranks, code)).splitlines()
    assert lines == [f"{blocks.reference(name)} mpi:{ranks}" for name in blocks.METHODS]
