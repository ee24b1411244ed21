"""MkDocs hook: a page of the reference for every public name, and the sources they link to.

The names are those of ``__all__`` in `wolfpack` and in its public subpackages. A page holds what
mkdocstrings reads from the source: signature, defaults, types, the docstring and its example. A
link leads to the line of the source, which the site shows as well.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

import wolfpack

ROOT = Path(__file__).resolve().parents[2]
AREAS = {
    "sets": "Sets",
    "objectives": "Objectives",
    "solvers": "Solvers",
    "regularizers": "Regularisers and mirror maps",
    "noise": "Noise",
    "engines": "Engines",
    "estimators": "Estimators",
    "layers": "Layers",
    "theory": "Theory",
    "smoothing": "Smoothing",
    "arrays": "Arrays",
}
"""Public subpackages and the titles of their pages, in the order of the navigation."""


@dataclass(frozen=True)
class Name:
    """A public name: the subpackage that it belongs to ("" for wolfpack itself), and the object."""

    area: str
    name: str

    @property
    def path(self) -> str:
        """How the name is written in Python."""
        return ".".join(part for part in ("wolfpack", self.area, self.name) if part)

    @property
    def page(self) -> str:
        """Where its page is, below docs/reference."""
        return f"{self.area or 'functions'}/{self.name}.md"

    @property
    def object(self) -> griffe.Object:
        """What is known of it from the source."""
        found = package()[self.identifier.removeprefix("wolfpack.")]
        return found.final_target if found.is_alias else found

    @property
    def identifier(self) -> str:
        """Where the source has it: some names are imported only when they are used."""
        parent = package()[self.area] if self.area else package()
        if self.name in parent.members:
            return self.path
        # nothing is imported here, because what an estimator needs may not be installed
        inside = [module.members.get(self.name) for module in parent.modules.values()]
        (found,) = [member for member in inside if member is not None and not member.is_alias]
        return found.path

    @property
    def summary(self) -> str:
        """The first paragraph of its docstring, on one line."""
        docstring = self.object.docstring
        return " ".join(docstring.value.split("\n\n")[0].split()) if docstring else ""

    @property
    def source(self) -> str:
        """The file of its definition, below src, and the line."""
        found = self.object
        path = Path(str(found.filepath)).relative_to(ROOT / "src").with_suffix(".html")
        return f"{path.as_posix()}#L{found.lineno}"


@functools.cache
def package() -> Any:
    """Return wolfpack as read from its source, with docstrings as the site shows them."""
    extensions = griffe.load_extensions(ROOT / "docs" / "hooks" / "roles.py")
    return griffe.load(
        "wolfpack", search_paths=[ROOT / "src"], extensions=extensions, resolve_aliases=True
    )


def names() -> Iterator[Name]:
    """Yield every public name once, in the order of the pages."""
    for name in wolfpack.__all__:
        if not inspect.ismodule(getattr(wolfpack, name)):
            yield Name("", name)
    for area in AREAS:
        module = importlib.import_module(f"wolfpack.{area}")
        yield from (Name(area, name) for name in module.__all__)


def page_of(name: Name) -> str:
    """Return the page of one name in Markdown."""
    area = "Functions and results" if not name.area else AREAS[name.area]
    back = f"[{area}](../{'functions' if not name.area else name.area}.md)"
    return (
        f"---\ntitle: {name.name}\n---\n"
        f"{back} · [source](../../source/{name.source}){{ .source }}\n\n"
        f"::: {name.identifier}\n    options: {{ heading_level: 1 }}\n"
    )


def list_of(area: str, title: str) -> str:
    """Return the page that lists the names of one subpackage."""
    rows = "".join(
        f"| [`{name.name}`]({name.page}) | {_in_cell(name.summary)} |\n"
        for name in names()
        if name.area == area
    )
    about = f"::: wolfpack.{area}\n    options: {{ members: false, show_root_heading: false }}\n"
    return f"# {title}\n\n{about if area else ''}\n| name | what it is |\n|---|---|\n{rows}"


def _in_cell(text: str) -> str:
    return text.replace("\\|", "\\Vert ").replace("|", "\\|")


def pages() -> dict[str, str]:
    """Return all generated pages: the path below docs, and the Markdown."""
    made = {"functions.md": list_of("", "Functions and results")}
    made |= {f"{area}.md": list_of(area, title) for area, title in AREAS.items()}
    made |= {name.page: page_of(name) for name in names()}
    return {f"reference/{path}": text for path, text in made.items()}


LINE = re.compile(r"(?<=[\"#])L-(?=\d+\")")
"""The anchors of Pygments, L-12 for line 12."""

STYLE = """
body {{ margin: 1rem; font: 14px/1.45 ui-monospace, monospace; background: #fff; color: #1c2430 }}
pre {{ margin: 0; overflow-x: auto }} :target {{ background: #ffec99 }}
h1 {{ font-size: 1rem }} .linenos, .lineno {{ color: #8a94a0; padding-right: 1em }} {light}
@media (prefers-color-scheme: dark) {{
body {{ background: #12171e; color: #e6eaf0 }} :target {{ background: #57481a }} {dark} }}
"""


def sources() -> dict[str, str]:
    """Return the sources of all modules as pages, with a number and an anchor for each line."""
    form = HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True)
    style = STYLE.format(
        light=HtmlFormatter(style="default").get_style_defs(".highlight"),
        dark=HtmlFormatter(style="github-dark").get_style_defs(".highlight"),
    )
    made = {}
    for file in sorted((ROOT / "src" / "wolfpack").rglob("*.py")):
        inside = file.relative_to(ROOT / "src").as_posix()
        code = highlight(file.read_text(encoding="utf-8"), PythonLexer(), form)
        made[f"source/{inside.removesuffix('.py')}.html"] = (
            f"<!doctype html><html lang=en><meta charset=utf-8><title>{inside}</title>"
            f"<meta name=viewport content='width=device-width'><style>{style}</style>"
            f"<h1>{inside}</h1>{LINE.sub(r'L', code)}</html>"
        )
    return made


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Include the changelog, whose links begin at the root of the repository."""
    if page.file.src_uri != "changelog.md":
        return markdown
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "](")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages, and the sources that they link to, to the files that MkDocs found."""
    for path, text in (pages() | sources()).items():
        files.append(File.generated(config, path, content=text))
    return files
