"""The cases of the contract suite: the lists CASES of every file registry_*.py beside this one."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path

from .case import Case


def all_cases() -> list[Case]:
    """Return the registered cases; their names must differ."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("registry_*.py"))
    modules = [importlib.import_module(f".{name}", __package__) for name in names]
    cases = [case for module in modules for case in module.CASES]
    repeated = [name for name, times in Counter(case.name for case in cases).items() if times > 1]
    assert not repeated, f"several cases share a name: {repeated}"
    return cases


CASES = all_cases()
