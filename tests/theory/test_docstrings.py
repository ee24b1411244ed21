"""The examples in the docstrings of the formulas and of the noise laws."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from wolfpack import noise, theory

MODULES = [
    module.name
    for package in (noise, theory)
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
] + ["wolfpack.noise"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0
