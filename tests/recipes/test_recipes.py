"""The recipes of CONTRIBUTING.md work as they are written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from recipes.recipe import PAGE, Recipe, Step, changed, copy_repository, follow, read, run

RECIPES = read(PAGE.read_text("utf-8"))
TITLES = [
    "Add a set",
    "Add a solver",
    "Add an objective",
    "Add an engine",
    "Add a noise law",
    "Add an array library",
]
every_recipe = pytest.mark.parametrize("recipe", RECIPES, ids=[r.title for r in RECIPES])


def test_all_recipes_are_found():
    assert [recipe.title for recipe in RECIPES] == TITLES


@every_recipe
def test_a_recipe_is_complete(recipe: Recipe):
    paths = [step.path for step in recipe.steps]
    assert any(path.startswith("tests/") for path in paths), "A recipe names the tests to extend."
    assert any(path.startswith("docs/") for path in paths), "A recipe names the page to extend."
    assert paths[-1] == "CHANGELOG.md", "The last step of a recipe is the line in CHANGELOG.md."
    assert any("pytest" in command for command in recipe.commands), "A recipe ends with its tests."


@every_recipe
def test_a_recipe_can_be_followed(recipe: Recipe, tmp_path: Path):
    copy_repository(tmp_path)
    code = " ".join(str(path) for path in follow(recipe, tmp_path) if path.suffix == ".py")
    run(f".venv/bin/ruff format --check {code}", tmp_path)
    run(f".venv/bin/ruff check {code}", tmp_path)
    run(".venv/bin/python -c 'import wolfpack'", tmp_path)


@every_recipe
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_recipe_works_as_it_is_written(recipe: Recipe, tmp_path: Path):
    copy_repository(tmp_path)
    follow(recipe, tmp_path)
    for command in recipe.commands:
        output = run(command, tmp_path)
        if "pytest" in command:
            assert re.search(r"\b[1-9]\d* passed", output), f"{command}\n{output[-6000:]}"


def test_a_line_that_is_gone_is_named():
    step = Step("sets/__init__.py", "diff", " first\n+second\n-third\n")
    assert changed("zero\nfirst\nthird\n", step) == "zero\nfirst\nsecond\n"
    with pytest.raises(AssertionError, match=r"'third' of sets/__init__.py, which is no longer"):
        changed("first\nfourth\n", step)
