"""Every public name has a page of the reference, with a summary and its source."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    pytest.importorskip("griffe")
    pytest.importorskip("mkdocs")
    sys.path.insert(0, str(DOCS / "hooks"))
    try:
        import reference
    finally:
        sys.path.pop(0)
    return reference


@pytest.mark.extras
def test_every_public_name_has_a_page_a_summary_and_a_source(reference: ModuleType) -> None:
    pages = reference.pages()
    for name in reference.names():
        assert f"::: {name.identifier}\n" in pages[f"reference/{name.page}"]
        file, _, line = name.source.partition("#")
        code = (DOCS.parent / "src" / file).with_suffix(".py").read_text("utf-8").splitlines()
        # a decorated function begins with its decorator
        begin = "\n".join(code[int(line[1:]) - 1 :][:30])
        assert name.object.name in begin, name.path
        if name.name.isupper():
            continue
        assert name.summary, f"{name.path} has no docstring"
