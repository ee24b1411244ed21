"""Nothing that a recipe asks for is missing; what is missing is named, with the file to edit."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import wolfpack as wp
from arrays.test_methods import METHODS as METHODS_ON_ARRAYS
from bits.methods import RUNS
from contracts.registry import CASES
from noise.test_noise import REFERENCE
from objectives.test_objectives import CASES as OBJECTIVES
from wolfpack.front.methods import METHODS
from wolfpack.gradients.base import Gradients
from wolfpack.problem import protocols

DOCS = Path(__file__).resolve().parents[2] / "docs"
SETS = [name for name in wp.sets.__all__ if name != "Set" and name[0].isupper()]
IN_CASES = {type(case.small()).__name__ for case in CASES}
IN_GALLERY = re.findall(r"\*\*`(\w+)`\*\*", (DOCS / "sets.md").read_text("utf-8"))


def page(name: str) -> str:
    return (DOCS / "guide" / name).read_text("utf-8")


@pytest.mark.parametrize("name", SETS)
def test_every_set_has_a_contract_case(name):
    assert name in IN_CASES, (
        f"The set {name} has no case in the contract suite, so that nothing checks its oracle. Add "
        "a Case to tests/contracts/registry_vectors.py, or to registry_matrices.py, "
        "registry_polyhedra.py or registry_composites.py beside it."
    )


@pytest.mark.parametrize("name", SETS)
def test_every_set_is_in_the_gallery(name):
    assert name in IN_GALLERY, (
        f"The set {name} has no row in docs/sets.md. Add an Example to "
        "docs/hooks/sets_examples.py, then run .venv/bin/python docs/hooks/sets_gallery.py, which "
        "writes the row and draws the picture."
    )
    picture = DOCS / "assets" / "sets" / f"{name}.svg"
    assert picture.is_file(), (
        f"The set {name} has no picture docs/assets/sets/{name}.svg. "
        "Run .venv/bin/python docs/hooks/sets_gallery.py, which draws it."
    )


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("guide", ["methods.md", "choose.md"])
def test_every_method_is_in_the_guide(name, guide):
    rows = [line for line in page(guide).splitlines() if line.startswith("|")]
    assert any(f'`"{name}"`' in row for row in rows), (
        f"The method {name!r} has no row in docs/guide/{guide}. Add it to a table there, so that "
        "users learn what it does and when to choose it."
    )


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_in_the_docstring_of_minimize(name):
    assert f'"{name}"' in (wp.minimize.__doc__ or ""), (
        f"The docstring of minimize does not name the method {name!r}. Add it to the parameter "
        "'method' in src/wolfpack/front/minimize.py."
    )


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_run_on_all_arrays(name):
    assert name in {key.split()[0] for key in METHODS_ON_ARRAYS}, (
        f"No test runs the method {name!r} on arrays of other libraries. Add it to METHODS in "
        "tests/arrays/test_methods.py."
    )


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_digests(name):
    assert name in {method for method, _, _ in RUNS}, (
        f"Nothing pins the bits of the method {name!r}. Add it to RUNS in tests/bits/methods.py, "
        "then run .venv/bin/python tests/bits/update.py, which writes its digests."
    )


OWN_TESTS = {
    "AOptimal",
    "BPR",
    "Batches",
    "DOptimal",
    "Difference",
    "Function",
    "LogUtility",
    "MatrixCompletion",
    "Objective",
    "Partitioned",
    "Stochastic",
}
"""Objectives with a file of tests of their own, and the base class."""


@pytest.mark.parametrize("name", [n for n in wp.objectives.__all__ if n[0].isupper()])
def test_every_objective_has_a_case(name):
    tested = OWN_TESTS | {type(f).__name__ for f in OBJECTIVES.values()}
    assert name in tested, (
        f"No test compares the gradient of {name} with differences. Add it to CASES in "
        "tests/objectives/test_objectives.py."
    )


def is_engine(name: str) -> bool:
    kind = getattr(wp.engines, name)
    protocol = getattr(kind, "_is_protocol", False)
    return inspect.isclass(kind) and not protocol and hasattr(kind, "run_round")


@pytest.mark.parametrize("name", list(filter(is_engine, wp.engines.__all__)))
def test_every_engine_is_in_the_guide(name):
    rows = [line for line in page("engines.md").splitlines() if line.startswith("|")]
    assert any(re.search(rf'[`"]{name}\b', row, re.I) for row in rows), (
        f"The engine {name} has no row in docs/guide/engines.md. Say there when to use it."
    )


@pytest.mark.parametrize("name", wp.noise.LAWS)
def test_every_noise_law_has_a_reference_and_is_in_the_guide(name):
    assert name in REFERENCE, (
        f"Nothing checks the constants of the noise law {name!r}. Add SciPy's law to REFERENCE in "
        "tests/noise/test_noise.py."
    )
    assert f'`"{name}"`' in page("smoothing.md"), (
        f"The noise law {name!r} is not in docs/guide/smoothing.md. Name it under 'Which law'."
    )


PROTOCOLS = [
    *(kind for kind in vars(protocols).values() if getattr(kind, "_is_protocol", False)),
    wp.sets.Set,
    wp.objectives.Objective,
    wp.engines.Engine,
    wp.noise.Noise,
    wp.regularizers.Regularizer,
    Gradients,
]


def is_part(name: str, member: object) -> bool:
    """Tell whether a member is for others to call or for subclasses to give."""
    public = name[0] != "_" or getattr(member, "__isabstractmethod__", False)
    return public and (isinstance(member, property) or inspect.isfunction(member))


METHODS_OF_PROTOCOLS = {
    f"{kind.__module__}.{kind.__name__}.{name}": member
    for kind in PROTOCOLS
    for name, member in vars(kind).items()
    if is_part(name, member)
}


@pytest.mark.parametrize("name", METHODS_OF_PROTOCOLS)
def test_every_method_of_a_protocol_says_what_it_must_do(name):
    member: Any = METHODS_OF_PROTOCOLS[name]
    _, kind, method = name.rsplit(".", 2)
    assert inspect.cleandoc(member.__doc__ or ""), (
        f"{name} has no docstring. Whoever implements {kind} learns there what {method} must do. "
        "Add one sentence."
    )
