"""The table of features names what exists, and the page shows the table."""

from __future__ import annotations

import ast
import inspect
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.front.methods import METHODS, make_solver

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
import parity  # noqa: E402

sys.path.pop(0)

FEATURES = parity.features()
EXPRESSIONS = sorted({name for feature in FEATURES for name in feature.get("here", ())})


class Attributes:
    """Stands for a result: its fields are annotated and its methods are there."""

    def __init__(self, cls: type) -> None:
        self.known = {*cls.__annotations__, *dir(cls)}

    def __getattr__(self, name: str) -> str:
        if name not in self.known:
            raise AttributeError(name)
        return name


def door(name):
    """Stand for a front door: refuse arguments that it or its method does not have."""
    known = inspect.signature(getattr(wp, name)).parameters

    def call(**given):
        method = given.pop("method", None)
        own = {key: value for key, value in given.items() if key in known}
        more = {key: value for key, value in given.items() if key not in known}
        if name == "minimize_difference" or method is None:
            assert not {*more} - {"device"}
            return own
        more.pop("L", None)
        if method == "projections":
            method = wp.solvers.AlternatingProjections()
        return make_solver(method, more, METHODS, [])

    return call


def evaluated(expression):
    """Return what an expression of the table names."""
    if expression.startswith("command "):
        from wolfpack.cli.app import app

        names = {command.name or command.callback.__name__ for command in app.registered_commands}
        assert expression.removeprefix("command ") in names
        return True
    tree = ast.parse(expression, mode="eval")
    called = [
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    names = {name: getattr(wp, name) for name in wp.__all__}
    names |= {name: door(name) for name in called if name in wp.__all__}
    return eval(
        compile(tree, "parity.toml", "eval"),
        names | {"np": np, "Fraction": Fraction, "result": Attributes(wp.Result)},
    )


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_name_of_the_table_exists(expression):
    assert evaluated(expression) is not None


@pytest.mark.parametrize(
    "wrong",
    [
        "sets.Nothing()",
        'minimize(method="fw", lazy=True)',
        "minimize(colour=1)",
        "result.nothing",
        "Result.nothing",
        "minimize_difference(colour=1)",
    ],
)
def test_what_does_not_exist_is_noticed(wrong):
    with pytest.raises((AttributeError, TypeError, AssertionError)):
        evaluated(wrong)


def test_features_are_complete_and_have_pages():
    assert (
        len({feature["name"] for feature in FEATURES if not feature["name"].startswith("The same")})
        >= 90
    )
    for feature in FEATURES:
        assert {"area", "name", "there"} <= {*feature}
        assert {*feature} <= {"area", "name", "there", "here", "page", "lacks"}
        assert ("page" in feature) == bool(feature.get("here"))
        if "page" in feature:
            assert (ROOT / "docs" / feature["page"]).is_file()


def test_the_page_shows_the_table():
    assert parity.text(FEATURES) in parity.PAGE.read_text(encoding="utf-8"), (
        "run python benchmarks/parity.py"
    )
