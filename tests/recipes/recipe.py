"""The recipes of CONTRIBUTING.md: reading them, and following them in a copy of the repository.

A recipe is a section "### Add ...". A step is a line that begins with the step's number and a file,
``**1. `src/...`**``, and the next code block. A block of Python is the whole of a new file. A block
of type diff changes a file that is there: lines with "+" are added, lines with "-" are removed, and
the others say where. The commands in blocks of type shell come last.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "CONTRIBUTING.md"
COPIED = ("src", "tests", "docs", "CHANGELOG.md", "CONTRIBUTING.md", "README.md")
COPIED += ("mkdocs.yml", "pyproject.toml")
STEP = re.compile(r"^\*\*\d+\. `(?P<path>[^`]+)`\*\*")
BLOCK = re.compile(r"^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S)


class Step(NamedTuple):
    """A file, and what to do with it: "python" writes a new one, "diff" changes one."""

    path: str
    kind: str
    text: str


class Recipe(NamedTuple):
    """The title of a recipe, its steps, and the commands that check the result."""

    title: str
    steps: list[Step]
    commands: list[str]


def read(page: str) -> list[Recipe]:
    """Return the recipes of a page."""
    sections = re.split(r"^(?=##+ )", page, flags=re.M)
    return [_recipe(section) for section in sections if section.startswith("### Add ")]


def _recipe(section: str) -> Recipe:
    title = section.partition("\n")[0].removeprefix("### ")
    steps, commands, end = [], [], 0
    for block in BLOCK.finditer(section):
        before = section[end : block.start()].splitlines()
        named = [found["path"] for found in map(STEP.match, before) if found]
        end = block.end()
        if block["kind"] == "shell":
            commands += block["text"].splitlines()
            continue
        assert len(named) == 1, (
            f"CONTRIBUTING.md, {title!r}: one step **N. `file`** must stand before each block of "
            f"code, found {named} before {block['text'][:60]!r}."
        )
        steps.append(Step(named[0], block["kind"], block["text"]))
    return Recipe(title, steps, commands)


def copy_repository(tree: Path) -> None:
    """Copy what recipes change or use; compiled files come along, which saves seconds."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name)
        else:
            shutil.copy2(source, tree / name)
    (tree / ".venv").symlink_to(sys.prefix, target_is_directory=True)


def follow(recipe: Recipe, tree: Path) -> list[Path]:
    """Do the steps of a recipe in a copy of the repository; return the files that they name."""
    for step in recipe.steps:
        path = tree / step.path
        if step.kind == "diff":
            path.write_text(changed(path.read_text("utf-8"), step), "utf-8")
        else:
            assert step.kind == "python", f"{step.path}: use a block of type python or diff."
            assert not path.exists(), (
                f"CONTRIBUTING.md, {recipe.title!r}: {step.path} exists. Show a change of a file "
                "in a block of type diff, or choose an example that the library does not have."
            )
            path.write_text(step.text, "utf-8")
    return [tree / step.path for step in recipe.steps]


def changed(text: str, step: Step) -> str:
    """Return the text of a file after a step of type diff."""
    lines, at = text.splitlines(), 0
    for line in step.text.splitlines():
        mark, content = line[:1], line[1:]
        if mark == "+":
            lines.insert(at, content)
            at += 1
            continue
        assert content in lines[at:], (
            f"CONTRIBUTING.md shows the line {content!r} of {step.path}, which is no longer there "
            "or comes in another order. Update the recipe."
        )
        at = lines.index(content, at)
        if mark == "-":
            del lines[at]
        else:
            at += 1
    return "\n".join(lines) + "\n"


def run(command: str, tree: Path) -> str:
    """Run one command of a recipe in the copy; return what it printed, fail if it fails."""
    env = os.environ | {"PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=tree, env=env, capture_output=True, text=True, check=False
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, f"{command}\n{output[-6000:]}"
    return output
