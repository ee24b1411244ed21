"""The recipes of the guide, from laptop to cluster, run as they are written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wolfpack as wp
from engines.test_mpi import MPIEXEC, SETTINGS

pytest.importorskip("distributed")
pytest.importorskip("ray")
pytestmark = [
    pytest.mark.extras,
    pytest.mark.timeout(240),
    pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec"),
]
PAGE = (Path(__file__).parents[2] / "docs/guide/engines.md").read_text("utf-8")


def section(name: str, end: str) -> str:
    return PAGE[PAGE.index(f"## {name}") : PAGE.index(f"## {end}")]


SECTION = section("From laptop to cluster", "From one machine to a cluster")
SCRIPT = re.findall(r"^```python\n(.*?)^```$", SECTION, re.M | re.S)[0]
RECIPES = re.findall(r"^\*\*([\w ]+).*?^```bash\n(.*?)^```$", SECTION, re.M | re.S)
DATA = section("From one machine to a cluster", "Who may connect")
FILES = dict(
    zip(
        ("make_rows.py", "fit.py", "fit.toml"),
        re.findall(r"^```(?:python|toml)\n(.*?)^```$", DATA, re.M | re.S),
        strict=True,
    )
)
DATA_RECIPES = re.findall(r"\*\*([\w ]+)[.*].*?^```bash\n(.*?)^```$", DATA, re.M | re.S)


def test_all_recipes_are_found():
    assert [name for name, _ in RECIPES] == ["On one machine", "Dask", "Ray", "MPI"]

    assert [name for name, _ in DATA_RECIPES] == ["On one machine", "Dask", "Ray", "MPI"]


def done(recipe: str, folder: Path) -> tuple[int, str]:
    """Run commands in a folder; return their exit status and what they print."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    # the output goes to a file: servers that outlive the recipe would keep a pipe open
    with (folder / "out").open("w") as out:
        process = subprocess.run(
            ["bash", "-c", recipe],
            cwd=folder,
            env=os.environ | SETTINGS | {"PATH": path},
            stdout=out,
            stderr=subprocess.STDOUT,
            timeout=200,
        )
    return process.returncode, (folder / "out").read_text()


@pytest.mark.parametrize(("name", "recipe"), RECIPES, ids=[name for name, _ in RECIPES])
def test_recipe(name, recipe, tmp_path):
    (tmp_path / "closest.py").write_text(SCRIPT)
    status, text = done(recipe, tmp_path)
    found = re.findall(r"^converged (0\.\d+)$", text, re.M)
    assert len(found) == {"On one machine": 3, "MPI": 2}.get(name, 1), text
    assert len(set(found)) == 1
    assert float(found[0]) <= 0.5
    if name == "MPI":
        assert status == 0, text
        assert (tmp_path / "problem-out" / "result.npz").exists()


@pytest.fixture(scope="module")
def here(tmp_path_factory) -> str:
    """What `fit.py` prints without an engine."""
    folder = tmp_path_factory.mktemp("here")
    (folder / "make_rows.py").write_text(FILES["make_rows.py"])
    (folder / "fit.py").write_text(FILES["fit.py"].replace("sys.argv[1]", "None"))
    status, text = done("python make_rows.py && python fit.py", folder)
    assert status == 0, text
    return text.strip()


@pytest.mark.parametrize(("name", "recipe"), DATA_RECIPES, ids=[name for name, _ in DATA_RECIPES])
def test_recipe_with_data(name, recipe, tmp_path, here):
    for file, text in FILES.items():
        (tmp_path / file).write_text(text)
    status, text = done(recipe, tmp_path)
    found = re.findall(r"^converged .*$", text, re.M)
    assert found == [here] * (2 if name == "MPI" else 1), text
    if name in ("MPI", "On one machine"):
        assert status == 0, text
        result = wp.load(tmp_path / "fit-out" / "result.npz")
        assert here == f"{result.status} {result.fun}"
    if name == "On one machine":
        assert "40 of data" in text
