"""The built site: it needs no network, its links lead somewhere, and it works as files.

`make docs` builds it; `make test-all` does so before it runs these tests.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

SITE = Path(__file__).resolve().parents[1] / "site"
pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="run `make docs` first"),
]
SOURCES = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page loads and links to, and the ids in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = {"", "__top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag in SOURCES and SOURCES[tag] in found and found.get("rel") != "canonical":
            self.loads.append(found[SOURCES[tag]])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])


@pytest.fixture(scope="module")
def pages() -> dict[Path, Page]:
    paths = [path for path in SITE.rglob("*.html") if path.name != "404.html"]
    return {path: Page(path) for path in paths if not path.is_relative_to(SITE / "source")}


def test_pages_load_nothing_from_elsewhere(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for address in page.loads:
            assert not re.match(r"(https?:)?//", address), f"{path} loads {address}"
            local = (path.parent / unquote(urldefrag(address)[0].partition("?")[0])).resolve()
            assert address.startswith("data:") or local.exists(), f"{path} loads {address}"


def test_links_lead_to_files_and_anchors(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link) or "__skip" in link:
                continue
            file, anchor = urldefrag(link)
            target = (path.parent / unquote(file)).resolve() if file else path
            assert target.is_file(), f"{path} links to {link}"
            if target.is_relative_to(SITE / "source"):
                assert f'id="{anchor}"' in target.read_text("utf-8"), f"{path} links to {link}"
            elif anchor:
                assert unquote(anchor) in pages[target].ids, f"{path} links to {link}"


def browse(address: str, profile: Path, *flags: str) -> tuple[str, str]:
    """Return the document after scripts have run, and what the browser logged."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--disable-background-networking", "--enable-logging=stderr"]
    command += ["--virtual-time-budget=9000", f"--user-data-dir={profile}", *flags, address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=True)
    return done.stdout, done.stderr


@pytest.mark.browser
def test_search_works_in_pages_opened_as_files(tmp_path: Path) -> None:
    dom, log = browse(f"{(SITE / 'index.html').as_uri()}?q=birkhoff", tmp_path)
    assert "CONSOLE" not in log
    results = re.findall(r'<a href="([^"]+)" class="md-search-result__link"', dom)
    assert any("Birkhoff" in result or "sets.html" in result for result in results)


@pytest.mark.browser
@pytest.mark.parametrize("page", ["theory/paper", "theory/composite", "reference/sets"])
def test_every_formula_is_typeset(page: str, tmp_path: Path) -> None:
    path = SITE / f"{page}.html"
    formulas = path.read_text(encoding="utf-8").count('class="arithmatex"')
    dom, log = browse(path.as_uri(), tmp_path)
    assert "CONSOLE" not in log
    assert "katex-error" not in dom
    assert dom.count('class="katex"') >= formulas > 10
