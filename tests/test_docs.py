"""The documentation's code runs, its links lead somewhere, and nothing is left out of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from wolfpack.minimize import METHODS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
RUN = [
    path
    for path in (ROOT / "README.md", DOCS / "index.md", *sorted((DOCS / "guide").glob("*.md")))
    if path.exists()
]
BLOCK = re.compile(r"^(?P<mark><!-- no-run -->\n)?```python\n(?P<code>.*?)^```$", re.M | re.S)
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", RUN, ids=name_of)
def test_code_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # what a page writes is not left behind
    text = path.read_text(encoding="utf-8")
    space: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        if block["mark"]:
            continue
        tree = ast.parse(block["code"], filename=name_of(path))
        ast.increment_lineno(tree, text.count("\n", 0, block.start("code")))
        exec(compile(tree, str(path), "exec"), space)


def anchors(path: Path) -> set[str]:
    """Return the ids that Python-Markdown's table of contents gives to the headings."""
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    found = set()
    for heading in HEADING.findall(text):
        words = re.sub(r"\{.*\}$|[`$*]", "", heading)
        slug = re.sub(r"[^\w\s-]", "", words.encode("ascii", "ignore").decode()).strip().lower()
        found.add(re.sub(r"[-\s]+", "-", slug))
    return found | set(re.findall(r"\{#([\w-]+)", text)) | set(re.findall(r'id="([\w-]+)"', text))


@pytest.mark.parametrize("path", sorted({*PAGES, *RUN}), ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        assert file.exists(), f"{name_of(path)} links to {link}"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{name_of(path)} links to {link}"


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    for page in PAGES:
        assert page.relative_to(DOCS).as_posix() in navigation


def test_every_method_has_its_place_in_the_guide() -> None:
    page = (DOCS / "guide" / "choose.md").read_text(encoding="utf-8")
    for name in METHODS:
        assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", page), name


def test_pictures_are_small_and_used() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in {*PAGES, *RUN})
    for picture in (DOCS / "assets" / "examples").glob("*.png"):
        assert picture.stat().st_size < 150_000
        assert f"assets/examples/{picture.name}" in pages
