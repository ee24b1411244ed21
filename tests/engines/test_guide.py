"""The recipes of the guide, from laptop to cluster, run as they are written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engines.test_mpi import MPIEXEC, SETTINGS

pytest.importorskip("distributed")
pytest.importorskip("ray")
pytestmark = [
    pytest.mark.extras,
    pytest.mark.timeout(240),
    pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec"),
]
PAGE = (Path(__file__).parents[2] / "docs/guide/engines.md").read_text("utf-8")
SECTION = PAGE[PAGE.index("## From laptop to cluster") : PAGE.index("## Who may connect")]
SCRIPT = re.findall(r"^```python\n(.*?)^```$", SECTION, re.M | re.S)[0]
RECIPES = re.findall(r"^\*\*([\w ]+).*?^```bash\n(.*?)^```$", SECTION, re.M | re.S)


def test_all_recipes_are_found():
    assert [name for name, _ in RECIPES] == ["On one machine", "Dask", "Ray", "MPI"]


@pytest.mark.parametrize(("name", "recipe"), RECIPES, ids=[name for name, _ in RECIPES])
def test_recipe(name, recipe, tmp_path):
    (tmp_path / "closest.py").write_text(SCRIPT)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    # the output goes to a file: servers that outlive the recipe would keep a pipe open
    with (tmp_path / "out").open("w") as out:
        done = subprocess.run(
            ["bash", "-c", recipe],
            cwd=tmp_path,
            env=os.environ | SETTINGS | {"PATH": path},
            stdout=out,
            stderr=subprocess.STDOUT,
            timeout=200,
        )
    text = (tmp_path / "out").read_text()
    found = re.findall(r"^converged (0\.\d+)$", text, re.M)
    assert len(found) == {"On one machine": 3, "MPI": 2}.get(name, 1), text
    assert len(set(found)) == 1
    assert float(found[0]) <= 0.5
    if name == "MPI":
        assert done.returncode == 0, text
        assert (tmp_path / "problem-out" / "result.npz").exists()
