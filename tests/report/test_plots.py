"""Charts as PNG and SVG files."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from wolfpack.report import Chart, Line, Panel, plots, save
from wolfpack.report.palette import DARK, LIGHT, themed

K = np.array([1, 10, 100])


def chart(columns: int = 2) -> Chart:
    falling = Line("falling", K, 3.0 / K, "many")
    steep = Line("steep", K, 5.0 / K**2, "one", "dashed", 1.1)
    panels = [Panel("(a)", [falling, steep]), Panel("(b)", [falling]), Panel("(c)", [steep])]
    return Chart(panels, columns, {"round": "iteration", "nlmo": "oracle calls"}, "gap")


def test_files_are_written_and_say_the_same_every_time(tmp_path):
    first = save(chart(), tmp_path, "one")
    png = (tmp_path / "one.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert (tmp_path / "one.svg").read_text(encoding="utf-8").endswith(first)
    assert save(chart(), tmp_path, "one") == first
    assert (tmp_path / "one.png").read_bytes() == png


def test_svg_is_well_formed_and_draws_every_line(tmp_path):
    svg = save(chart(), tmp_path, "lines")
    ElementTree.fromstring(svg)
    strokes = re.findall(r"stroke: (#[0-9a-f]{6})", svg)
    # two of each on the axes and one of each in the legend
    assert strokes.count(LIGHT["many"]) == 3
    assert strokes.count(LIGHT["one"]) == 3


def test_ids_of_two_figures_differ_so_that_both_can_be_on_a_page(tmp_path):
    clips = [
        set(re.findall(r'clipPath id="([^"]+)"', save(chart(), tmp_path, name)))
        for name in ("one", "two")
    ]
    assert clips[0]
    assert not clips[0] & clips[1]


def test_axes_are_logarithmic_and_share_decades_around_the_data():
    figure = plots._draw(chart())
    axes = figure.axes
    assert len(axes) == 3
    for each in axes:
        assert each.get_xscale() == each.get_yscale() == "log"
        assert each.get_xlim() == pytest.approx((1, 100))
        assert each.get_ylim() == pytest.approx((1e-4, 10))


def test_themed_svg_has_variables_in_place_of_colours(tmp_path):
    svg = themed(save(chart(), tmp_path, "themed"))
    assert "var(--many)" in svg
    assert "var(--page)" in svg
    assert not re.findall(r"(?:fill|stroke): #[0-9a-f]{6}", svg)


def test_missing_matplotlib_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setattr(plots, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'wolfpack\[plots\]'"):
        save(chart(), tmp_path, "none")


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_stand_out_from_the_page(theme):
    for role in ("ink", "muted", "accent"):
        assert contrast(theme[role], theme["page"]) >= 4.5, role
        assert contrast(theme[role], theme["panel"]) >= 4.5, role
    for role in ("many", "one", "fw", "fw-ls"):
        assert contrast(theme[role], theme["page"]) >= 3, role


def contrast(a: str, b: str) -> float:
    """The contrast ratio of WCAG 2."""
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(color: str) -> float:
    channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
