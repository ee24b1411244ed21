"""Which tests can notice a change of a module: those of the module itself, then a wider circle."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

TESTS = Path(__file__).resolve().parents[1] / "tests"

_OWN = {
    "solvers/restarted.py": ["solvers/test_parallel_fw.py"],
    "solvers/parallel_fw.py": ["solvers/test_parallel_fw.py", "solvers/test_duality.py"],
    "solvers/parts/projected_gradient.py": ["solvers/test_projected.py", "solvers/test_hull.py"],
    "solvers/parts/armijo.py": ["solvers/test_step_rules.py"],
    "solvers/parts/average.py": ["solvers/test_anytime.py"],
    "solvers/parts/tuner.py": ["solvers/test_anytime.py"],
    "solvers/parts/scales.py": ["solvers/test_anytime.py"],
    "solvers/parts/active_set.py": ["solvers/test_away.py", "solvers/test_pairwise.py"],
    "solvers/parts/stall.py": ["solvers/test_rivals.py"],
    "theory/_check.py": ["theory"],
    "solvers/parts/correction.py": ["solvers/test_correction_parts.py"],
    "solvers/parts/compiled.py": ["arrays/test_compile.py"],
    "solvers/composite/accelerated.py": ["solvers/composite/test_accelerated.py"],
    "solvers/composite/policies.py": ["solvers/composite/test_pace.py"],
    "solvers/composite/searched.py": ["solvers/composite/test_search.py"],
    "solvers/composite/converging.py": ["solvers/composite/test_theorems.py"],
    "problem/composite.py": ["solvers/composite/test_accelerated.py"],
    "problem/constrained.py": ["problem", "fuzz", "front"],
    "problem/rounding.py": ["problem", "fuzz", "objectives/test_precision.py"],
    "problem/evaluation.py": ["front"],
    "loop/tracker.py": ["loop", "fuzz"],
    "loop/monitor.py": ["front/test_minimize_edges.py", "front"],
    "loop/run.py": ["loop", "front"],
    "loop/stopping.py": ["front"],
}
"""Tests of a module, where they are not in a file of its name."""

_CONSTRAINED = ["problem", "front", "fuzz", "loop", "solvers/test_*.py"]
_WIDER = {
    "theory": ["theory", "solvers/test_parallel_fw.py", "solvers/test_anytime.py"],
    "problem": _CONSTRAINED,
    "problem/composite.py": ["solvers/composite", "regularizers"],
    "loop": [*_CONSTRAINED, "cli/test_solve.py"],
    "solvers": ["solvers/test_*.py", "bits", "fuzz"],
    "solvers/composite": ["solvers/composite", "bits"],
}
"""Tests of what is built on a package or module; the longest name that fits counts."""


def first_tests(module: str) -> tuple[str, ...]:
    """Return the tests of the module's own, or those of its package if it has none."""
    path = PurePosixPath(module)
    package = path.parts[0]
    own = _OWN.get(module, [f"{package}/test_{path.stem}.py"])
    return _existing(own) or wider_tests(module)


def wider_tests(module: str) -> tuple[str, ...]:
    """Return the tests of everything that is built on the module."""
    return _existing(_WIDER[max((name for name in _WIDER if module.startswith(name)), key=len)])


def _existing(patterns: list[str]) -> tuple[str, ...]:
    found = [path for pattern in patterns for path in sorted(TESTS.glob(pattern))]
    return tuple(f"tests/{path.relative_to(TESTS).as_posix()}" for path in found)
