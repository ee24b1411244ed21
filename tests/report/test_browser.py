"""The page of the figures in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from wolfpack.paper import FIGURES
from wolfpack.paper.experiments import solve
from wolfpack.paper.explain import Circumstances, gap_text, page
from wolfpack.paper.results import Results
from wolfpack.paper.series import runs_of
from wolfpack.report import save

pytestmark = pytest.mark.browser

MEASURE = """
<script>
const box = element => element.getBoundingClientRect();
document.documentElement.dataset.measured = JSON.stringify({
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  charts: [...document.querySelectorAll(".chart svg")].map(svg => box(svg).height),
  line: getComputedStyle(document.querySelector("path[style*='--many']")).stroke,
  page: getComputedStyle(document.documentElement).backgroundColor,
});
</script>
"""


@pytest.fixture(scope="module")
def results() -> Results:
    figures = tuple(FIGURES.values())
    return Results(figures, {run: solve(run, 60) for run in runs_of(figures)}, 60)


@pytest.fixture(scope="module")
def report(results, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    drawings = {f.name: save(results.chart(f), folder, f.name) for f in results.figures}
    html = page(results, drawings, Circumstances("wolfpack reproduce", 1.0, 2)).html()
    (folder / "index.html").write_text(html.replace("</body>", MEASURE + "</body>"), "utf-8")
    return folder / "index.html"


def browse(address: Path, profile: Path, *flags: str) -> tuple[str, str]:
    """Return the document after scripts have run, and what the browser logged."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--disable-background-networking", "--enable-logging=stderr"]
    command += [f"--user-data-dir={profile}", *flags, address.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout, done.stderr


def measured(dom: str) -> str:
    found = re.search(r'data-measured="([^"]*)"', dom)
    assert found
    return found.group(1).replace("&quot;", '"')


def test_the_page_loads_without_complaints_and_shows_every_figure(report, results, tmp_path):
    dom, log = browse(report, tmp_path, "--window-size=1100,900")
    assert "CONSOLE" not in log
    heights = re.search(r'"charts":\[([^\]]*)\]', measured(dom))
    assert heights
    assert all(float(height) > 200 for height in heights.group(1).split(","))
    assert len(heights.group(1).split(",")) == len(results.figures)
    _, curve = results.curves["figure2", "b", "FW"]
    assert gap_text(results.value(curve, 60)) in dom


@pytest.mark.parametrize("width", [500, 800, 1600])
def test_the_page_never_scrolls_sideways(report, tmp_path, width):
    dom, _ = browse(report, tmp_path, f"--window-size={width},900")
    assert '"overflow":0' in measured(dom)


def test_figures_follow_the_readers_colour_scheme(report, tmp_path):
    light, _ = browse(report, tmp_path / "light")
    dark, _ = browse(report, tmp_path / "dark", "--blink-settings=preferredColorScheme=0")
    assert '"page":"rgb(255, 255, 255)"' in measured(light)
    assert '"line":"rgb(10, 88, 168)"' in measured(light)
    assert '"page":"rgb(18, 23, 30)"' in measured(dark)
    assert '"line":"rgb(100, 177, 255)"' in measured(dark)
