"""The notebooks are the pages, and they run from top to bottom in Jupyter."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
sys.path.insert(0, str(DOCS / "hooks"))
try:
    import code_blocks
    import notebooks
finally:
    sys.path.pop(0)

PAGES = notebooks.pages()
assert isinstance(notebooks, ModuleType)


def test_the_tutorial_and_eight_cases_are_notebooks() -> None:
    assert len([page for page in PAGES if page.parent.name == "tutorial"]) == 6
    assert len([page for page in PAGES if page.parent.name == "cases"]) >= 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_holds_the_code_the_outputs_and_the_figures_of_its_page(page: Path) -> None:
    cells = notebooks.notebook(page)["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    text = page.read_text(encoding="utf-8")
    blocks = [b for b in code_blocks.BLOCK.finditer(text) if b["skip"] != "no-run"]
    assert len(code) == len(blocks) >= 3
    for cell, block in zip(code, blocks, strict=True):
        assert ast.dump(ast.parse(cell["source"])) == ast.dump(ast.parse(block["code"]))
        assert len(cell["outputs"]) == bool(block["output"]) + bool(block["picture"])
    kinds = [output["output_type"] for cell in code for output in cell["outputs"]]
    assert "display_data" in kinds
    assert "stream" in kinds
    words = "".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
    assert words.startswith("# ")
    assert ".md)" not in words
    assert "<!--" not in words
    for heading in ("**The question.**", "## Try next"):
        assert heading in words


def printed(cell: dict[str, Any]) -> str:
    return "".join(out["text"] for out in cell["outputs"] if out.get("name") == "stdout").strip()


@pytest.mark.slow
@pytest.mark.extras
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    pytest.importorskip("ipykernel")
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    text = page.read_text(encoding="utf-8")
    for needed in ("torch", "distributed"):
        if f"<!-- needs {needed} -->" in text:
            pytest.importorskip(needed)
    given = notebooks.notebook(page)
    book = nbformat.from_dict(given)
    nbformat.validate(book)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=100, resources=resources).execute()
    blocks = [b for b in code_blocks.BLOCK.finditer(text) if b["skip"] != "no-run"]
    ran = [cell for cell in book.cells if cell.cell_type == "code"]
    for cell, block in zip(ran, blocks, strict=True):
        if not block["about"]:
            assert printed(cell) == (block["output"] or "").strip()
        drawn = [out for out in cell.outputs if "image/png" in out.get("data", {})]
        assert len(drawn) == bool(block["picture"])
