"""The documentation's code runs, its links lead somewhere, and nothing is left out of it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import wolfpack

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
ALL = [path for path in (ROOT / "README.md", *PAGES) if path.exists()]
LINKED = [*ALL, ROOT / "CONTRIBUTING.md"]  # its code is run by tests/recipes
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)
NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def code_blocks() -> ModuleType:
    sys.path.insert(0, str(DOCS / "hooks"))
    try:
        import code_blocks
    finally:
        sys.path.pop(0)
    return code_blocks


SLOW = (
    "docs/tutorial/6-cluster.md",
    *(f"docs/cases/{path.name}" for path in DOCS.glob("cases/*.md")),
)


def runnable() -> list[Any]:
    """Return the pages with code; those that take more than a few seconds are marked."""
    pages = [path for path in ALL if "```python" in path.read_text("utf-8")]
    return [
        pytest.param(path, marks=pytest.mark.slow) if name_of(path) in SLOW else path
        for path in pages
    ]


@pytest.mark.parametrize("path", runnable(), ids=name_of)
def test_code_runs_and_prints_what_the_page_says(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code_blocks: ModuleType
) -> None:
    monkeypatch.chdir(tmp_path)  # what a page writes is not left behind
    if "import matplotlib" in path.read_text("utf-8"):
        pytest.importorskip("matplotlib")
    for ran in code_blocks.run(path):
        printed, said = ran.printed.strip(), (ran.block["output"] or "").strip()
        if ran.block["about"] and "varies" in ran.block["about"]:
            assert printed
            assert said
        elif ran.block["about"]:
            assert words(printed) == words(said)
            np.testing.assert_allclose(numbers(printed), numbers(said), rtol=0.25, atol=1e-6)
        else:
            again = f"run docs/hooks/code_blocks.py {name_of(path)} and look at what changed"
            assert printed == said, again
        if ran.figure is not None:
            picture = ran.block["picture"]
            assert picture, "a block draws a figure, and no image follows it"
            assert (path.parent / picture).is_file()


def words(text: str) -> list[str]:
    return NUMBER.sub("#", text).split()


def numbers(text: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(text)]


def anchors(path: Path) -> set[str]:
    """Return the ids that Python-Markdown's table of contents gives to the headings."""
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    found = set()
    for heading in HEADING.findall(text):
        words = re.sub(r"\{.*\}$|[`$*]", "", heading)
        slug = re.sub(r"[^\w\s-]", "", words.encode("ascii", "ignore").decode()).strip().lower()
        found.add(re.sub(r"[-\s]+", "-", slug))
    return found | set(re.findall(r"\{#([\w-]+)", text)) | set(re.findall(r'id="([\w-]+)"', text))


@pytest.mark.parametrize("path", LINKED, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        if file.parent == DOCS / "reference" and file.stem in [*wolfpack.__all__, "functions"]:
            continue  # made by docs/hooks/reference.py; the build checks the link
        assert file.exists(), f"{name_of(path)} links to {link}"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{name_of(path)} links to {link}"


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    for page in PAGES:
        assert page.relative_to(DOCS).as_posix() in navigation


def test_troubleshooting_has_every_status_warning_and_error() -> None:
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    headings = set(HEADING.findall(page))
    assert {str(status) for status in wolfpack.Status} <= headings
    raised = {"CapabilityError", "ConvergenceError", "OracleError", "EngineFailure", "ProblemError"}
    source = "".join(p.read_text("utf-8") for p in (ROOT / "src").rglob("*.py"))
    warned = set(re.findall(r"(?:warnings\.warn|(?<!def )warn_user)\([^)]*?(\w+Warning)\b", source))
    assert len(warned) >= 3
    assert raised | warned | {"ConvergenceWarning"} <= headings


def test_pictures_are_small_and_used() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in ALL)
    for picture in (DOCS / "assets" / "examples").glob("*.png"):
        assert picture.stat().st_size < 150_000
        assert f"assets/examples/{picture.name}" in pages
