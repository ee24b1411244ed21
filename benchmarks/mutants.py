"""Do the tests notice when the code is wrong? Mutants of the mathematics, sampled with a seed.

    make mutants                                          # the sample of the documentation
    python benchmarks/mutants.py [--sample 30] [--seed 0] [--packages theory problem loop solvers]
    python benchmarks/mutants.py --page docs/benchmarks/mutants.md

Cosmic Ray changes one operator, comparison, number or keyword at a time in a copy of the
repository. The tests of the changed module run first and then, if they pass, those of everything
that is built on it. A mutant is killed if a test fails or takes too long. Places are drawn with
equal chances, then the change at that place, so that operators with many replacements do not count
more. Changes of annotations and docstrings, which cannot fail, are left out.

Survivors are explained in `mutants.toml`. A survivor without an explanation needs a test.
"""

from __future__ import annotations

import argparse
import ast
import math
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from mutants_tests import first_tests, wider_tests
from pages import insert, origin, table
from rich.console import Console
from rich.markdown import Markdown

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("theory", "problem", "loop", "solvers")
PATIENCE = 5.0
"""Tests that take so many times as long as without a mutant, and half a minute more, fail."""

_BINARY = "Add_Sub Add_Mul Sub_Add Sub_Mul Mul_Div Mul_Add Div_Mul Div_Sub Pow_Mul FloorDiv_Mul "
_BINARY += "Mod_Add"
_COMPARED = "Lt_LtE Lt_Gt LtE_Lt LtE_GtE Gt_GtE Gt_Lt GtE_Gt GtE_LtE Eq_NotEq NotEq_Eq Is_IsNot "
_COMPARED += "IsNot_Is"
OPERATORS = [
    *(f"core/ReplaceBinaryOperator_{name}" for name in _BINARY.split()),
    *(f"core/ReplaceComparisonOperator_{name}" for name in _COMPARED.split()),
    *(f"core/ReplaceUnaryOperator_{name}" for name in ("Delete_USub", "Delete_Not")),
    *(f"core/Replace{name}" for name in ("AndWithOr", "OrWithAnd", "TrueWithFalse")),
    *(f"core/Replace{name}" for name in ("FalseWithTrue", "BreakWithContinue")),
    *(f"core/{name}" for name in ("NumberReplacer", "AddNot", "ZeroIterationForLoop")),
]


class Mutant(NamedTuple):
    """One change: a line of a module as it is and as it becomes."""

    module: str
    line: int
    before: str
    after: str
    code: str

    @property
    def name(self) -> str:
        """The change in words; it stays the same when lines move."""
        return f"{self.module}: {self.before} -> {self.after}"


def sites(module: Path) -> list[list[tuple[str, int]]]:
    """Return, for every place of a module that can change, the operators with their occurrence."""
    tree = get_ast(module.read_text(encoding="utf-8"))
    found: dict[object, list[tuple[str, int]]] = {}
    for name in OPERATORS:
        operator = get_operator(name)()
        places = (place for node in ast_nodes(tree) for place in operator.mutation_positions(node))
        for occurrence, place in enumerate(places):
            found.setdefault(place, []).append((name, occurrence))
    return [found[place] for place in sorted(found, key=str)]


def draw(package: str, count: int, rng: random.Random) -> Iterator[Mutant]:
    """Draw different mutants of a package."""
    modules = sorted((ROOT / "src/wolfpack" / package).rglob("*.py"))
    places = [(module, site) for module in modules for site in sites(module)]
    rng.shuffle(places)
    drawn = 0
    for module, site in places:
        if drawn == count:
            return
        mutant = _mutant(module, *rng.choice(site))
        if mutant is not None:
            drawn += 1
            yield mutant


def _mutant(module: Path, operator: str, occurrence: int) -> Mutant | None:
    """Return the mutant, None if it means the same to Python or is no Python."""
    original = module.read_text(encoding="utf-8")
    code = mutate_code(original, get_operator(operator)(), occurrence)
    if code is None or _meaning(code) in (None, _meaning(original)):
        return None
    lines = zip(original.splitlines(), code.splitlines(), strict=False)
    changed = ((i, a, b) for i, (a, b) in enumerate(lines, 1) if a != b)
    line, before, after = next(changed)
    name = module.relative_to(ROOT / "src/wolfpack").as_posix()
    return Mutant(name, line, before.strip(), after.strip(), code)


@cache
def _meaning(code: str) -> str | None:
    """Return the syntax tree without annotations and type checkers' branches, None if wrong."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(0)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            node.test, node.body, node.orelse = ast.Constant(0), [], []
    return ast.dump(tree)


class Runner:
    """Runs tests against a copy of the repository, each time in a fork of this process.

    What the tests import from elsewhere is imported once, here; wolfpack itself never is.
    """

    def __init__(self, copy: Path) -> None:
        self.copy, self.clock = copy, time.time()
        ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", "site", "*-out")
        shutil.copytree(ROOT, copy, ignore=ignored)
        for name in ("cvxpy", "scipy.optimize", "scipy.stats", "scipy.spatial"):
            import_module(name)
        assert "wolfpack" not in sys.modules

    def outcome(self, tests: tuple[str, ...], timeout: float = math.inf) -> str:
        """Run tests until the first failure: "passed", "failed" or "too long"."""
        child = os.fork()
        if child == 0:
            self._run(tests)
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return "failed" if status else "passed"
            time.sleep(0.05)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "too long"

    def _run(self, tests: tuple[str, ...]) -> NoReturn:
        """Run pytest in the forked process, which ends with it."""
        status = 3
        try:
            os.setpgid(0, 0)
            os.chdir(self.copy)
            sys.path[:0] = [str(self.copy / "src"), str(self.copy / "tests")]
            os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(nowhere, stream)
            marks = "not slow and not extras and not browser"
            status = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-m", marks, *tests])
        finally:
            os._exit(int(status))

    @cache  # noqa: B019 - one runner lives as long as the program
    def patience(self, tests: tuple[str, ...]) -> float:
        """Return how many seconds tests may take; stop if they fail without any mutant."""
        began = time.perf_counter()
        if self.outcome(tests) != "passed":
            raise SystemExit(f"These tests fail on the code as it is: {' '.join(tests)}")
        return PATIENCE * (time.perf_counter() - began) + 30.0

    def judge(self, mutant: Mutant) -> str:
        """Return "survived", or what the first tests that noticed the mutant did."""
        path = self.copy / "src/wolfpack" / mutant.module
        original = path.read_text(encoding="utf-8")
        for tests in dict.fromkeys((first_tests(mutant.module), wider_tests(mutant.module))):
            patience = self.patience(tests)
            try:
                self._write(path, mutant.code)
                outcome = self.outcome(tests, patience)
            finally:
                self._write(path, original)
            if outcome != "passed":
                return outcome
        return "survived"

    def _write(self, path: Path, code: str) -> None:
        """Write a module with a new time of change, so that Python compiles it again."""
        self.clock += 2.0
        path.write_text(code, encoding="utf-8")
        os.utime(path, (self.clock, self.clock))


def report(outcomes: list[tuple[Mutant, str]], reasons: dict[str, str]) -> str:
    """Return the scores by package and the list of survivors."""
    rows = []
    for package in (*PACKAGES, "all"):
        found = [how for m, how in outcomes if package in ("all", m.module.split("/")[0])]
        counts = [found.count(how) for how in ("failed", "too long", "survived")]
        share = f"{1 - counts[2] / len(found):.0%}" if found else ""
        rows.append([f"`{package}`", str(len(found)), *map(str, counts), share])
    scores = table(
        ["package", "mutants", "a test failed", "took too long", "survived", "killed"], rows
    )
    survivors = [
        [f"`{m.module}`", _code(m.before), _code(m.after), reasons.get(m.name, "not explained")]
        for m, how in outcomes
        if how == "survived"
    ]
    if not survivors:
        return scores
    return f"{scores}\n\n{table(['module', 'line', 'survivor', 'reason'], survivors)}"


def _code(line: str) -> str:
    return f"`{line.replace('|', '¦')}`"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=30, help="mutants of each package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--packages", nargs="*", choices=PACKAGES, default=list(PACKAGES))
    parser.add_argument("--only", help="run only the mutants whose name contains this text")
    parser.add_argument("--list", action="store_true", help="print the sample and stop")
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    options = parser.parse_args()
    mutants = [
        mutant
        for package in options.packages
        for mutant in draw(package, options.sample, random.Random(f"{options.seed} {package}"))
        if options.only is None or options.only in mutant.name
    ]
    if options.list:
        print("\n".join(f"{m.module}:{m.line}: {m.before} -> {m.after}" for m in mutants))
        return
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(Path(folder) / "copy")
        outcomes = []
        for mutant in mutants:
            began = time.perf_counter()
            outcomes.append((mutant, runner.judge(mutant)))
            seconds = time.perf_counter() - began
            print(
                f"{outcomes[-1][1]} ({seconds:.0f} s), line {mutant.line}, {mutant.name}",
                flush=True,
            )
    explained = tomllib.loads((Path(__file__).parent / "mutants.toml").read_text(encoding="utf-8"))
    reasons = {entry["mutant"]: entry["reason"] for entry in explained["survivor"]}
    text = f"{report(outcomes, reasons)}\n\n{origin()}"
    Console(width=150).print(Markdown(text))
    if options.page is not None:
        insert(options.page, "mutants", text)


if __name__ == "__main__":
    main()
