"""Executors of other libraries: loky's, mpi4py's."""

from __future__ import annotations

import pytest

from engines.cases import Flaky, cube, digest, run
from engines.test_mpi import finished, launch

pytestmark = [pytest.mark.extras, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def healthy() -> str:
    return digest(run(cube()))


def test_loky(healthy):
    loky = pytest.importorskip("loky")
    with loky.ProcessPoolExecutor(2) as pool:
        assert digest(run(cube(), engine=pool)) == healthy
        assert digest(run(cube(), engine=pool)) == healthy


def test_lokys_reusable_executor_is_made_again(healthy, tmp_path):
    loky = pytest.importorskip("loky")
    problem = cube(Flaky("kill", tmp_path / "flag", after=5))

    def make():
        return loky.get_reusable_executor(max_workers=2)

    assert digest(run(problem, engine=make)) == healthy
    assert (tmp_path / "flag").exists()


def test_mpi4py_futures(healthy):
    pytest.importorskip("mpi4py")
    code = """
    from mpi4py.futures import MPICommExecutor
    with MPICommExecutor(MPI.COMM_WORLD, root=0) as executor:
        if executor is not None:
            print(digest(run(cube(), engine=wp.engines.Executor(executor, workers=2))))
    """
    assert finished(launch(3, code)).split() == [healthy]
