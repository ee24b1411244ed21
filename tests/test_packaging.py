"""What a stranger installs: a light import, a wheel and a source distribution that are complete."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

import wolfpack

ROOT = Path(__file__).resolve().parents[1]
HEAVY = (
    "array_api_strict",
    "clarabel",
    "cloudpickle",
    "cupy",
    "cvxpy",
    "dask",
    "distributed",
    "highspy",
    "jax",
    "loky",
    "matplotlib",
    "mpi4py",
    "ot",
    "pandas",
    "PIL",
    "ray",
    "sklearn",
    "torch",
)
LATER = ("rich", "typer", "scipy.stats", "wolfpack.paper", "wolfpack.report")
"""Installed with wolfpack, and imported when they are used."""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    # elsewhere only what is installed there counts
    env = {k: v for k, v in os.environ.items() if cwd is None or k != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=env,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_import_is_light() -> None:
    code = "import sys, wolfpack; print(*sys.modules)"
    loaded = set(run(sys.executable, "-c", code).split())
    assert "wolfpack" in loaded
    # names are imported when they are first used
    assert loaded.isdisjoint({"numpy", "scipy", "wolfpack.sets"})
    code = "import sys, wolfpack; wolfpack.minimize, wolfpack.sets; print(*sys.modules)"
    loaded = set(run(sys.executable, "-c", code).split())
    assert "wolfpack.sets" in loaded
    assert loaded.isdisjoint(HEAVY)
    assert loaded.isdisjoint(LATER)


def test_every_name_is_found_and_others_are_not() -> None:
    code = (
        "import wolfpack\n"
        "assert set(wolfpack.__all__) <= set(dir(wolfpack))\n"
        "from wolfpack import *\n"
        "assert minimize is wolfpack.minimize and sets is wolfpack.sets\n"
        "wolfpack.loop  # a subpackage that is not listed\n"
        "try:\n    wolfpack.nothing\n"
        "except AttributeError as error:\n    print(error)\n"
    )
    assert "module 'wolfpack' has no attribute 'nothing'" in run(sys.executable, "-c", code)


def metadata() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_is_written_once_and_cited() -> None:
    assert "version" in metadata()["dynamic"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {wolfpack.__version__}\n" in citation


def test_the_extra_all_leaves_out_tools_and_what_needs_a_gpu() -> None:
    extras = metadata()["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(re.findall(r"\w+", everything.partition("[")[2]))
    tools = {"bench", "dev", "mutants", "docs", "gpu", "all"}
    assert named == set(extras) - tools


def test_the_conda_recipe_asks_for_what_the_package_asks_for() -> None:
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    needed = re.findall(r"^    - (.+)$", recipe.partition("\n  run:\n")[2], re.M)
    wanted = [*metadata()["dependencies"], "python" + metadata()["requires-python"]]
    tidy = {re.sub(r"\s+", "", line) for line in needed if "wolfpack" not in line}
    assert tidy >= {line.replace(" ", "") for line in wanted}


def test_the_workflow_tests_the_pythons_that_are_promised() -> None:
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(metadata()["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    (tested,) = re.findall(r"^ +python: \[(.*)\]$", workflow, re.M)
    assert re.findall(r"3\.\d+", tested) == promised


def test_command_line_starts_without_extras() -> None:
    code = (
        "import sys\nfrom wolfpack.cli import run\nrun(['--help'])\nprint('MODULES', *sys.modules)"
    )
    loaded = set(run(sys.executable, "-c", code).partition("MODULES ")[2].split())
    assert "typer" in loaded
    assert loaded.isdisjoint(HEAVY)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the wheel and the source distribution that `python -m build` makes."""
    pytest.importorskip("build")
    out = tmp_path_factory.mktemp("dist")
    # the source distribution first, then the wheel from it: what an index would serve
    isolation = ["--no-isolation"] if importlib.util.find_spec("hatchling") else []
    run(sys.executable, "-m", "build", *isolation, "--outdir", out, ROOT)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_distributions_are_complete(dist: tuple[Path, Path]) -> None:
    wheel, sdist = dist
    inside = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    for path in (source / "wolfpack").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path.relative_to(source).as_posix() in inside
    assert {"wolfpack/py.typed", "_wolfpack_start.py"} <= inside
    assert not [name for name in inside if name.startswith(("tests/", "docs/"))]
    with tarfile.open(sdist) as archive:
        members = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("pyproject.toml", "LICENSE", "Makefile", "examples/paper.py", "docs/index.md"):
        assert name in members


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_installs_in_a_fresh_environment(
    kind: str, dist: tuple[Path, Path], tmp_path: Path
) -> None:
    package = dist[kind == "sdist"]
    home = tmp_path / "venv"
    venv.create(home, with_pip=True, symlinks=True)
    binaries = home / ("Scripts" if sys.platform == "win32" else "bin")
    python = binaries / "python"
    run(python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", package)
    run(python, "-m", "pip", "check")
    code = (
        "import numpy as np, wolfpack as wp, pathlib\n"
        "f = wp.objectives.LeastSquares(np.eye(3), np.array([0.9, 0.4, 0.1]))\n"
        "print(wp.minimize(f, wp.sets.Simplex(3), tol=1e-3).success)\n"
        "print(pathlib.Path(wp.__file__).parent)\n"
    )
    solved, where = run(python, "-c", code, cwd=tmp_path).split()
    assert solved == "True"
    assert Path(where).is_relative_to(home)
    assert run(binaries / "wolfpack", "--version", cwd=tmp_path).strip()
