"""The interactive page: its mathematics are the library's, and hands, keys and screens suit it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import wolfpack as wp
from chromium import Tab, browsing
from wolfpack.report.palette import DARK, LIGHT
from wolfpack.solvers import ParallelFrankWolfe
from wolfpack.theory import next_weight

PAGE = Path(__file__).resolve().parents[1] / "docs" / "interactive.html"


def test_the_page_needs_nothing_else_and_has_the_projects_colours() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|url)\s*[=(]\s*["']?(?!data:)\w""", text)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    light, dark = re.findall(r":root \{ (--page.*?) \}", text)
    for declared, colors in ((light, LIGHT), (dark, DARK)):
        for role, value in re.findall(r"--([\w-]+): (#\w+);", declared):
            assert colors[role] == value


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browsing(tmp_path_factory.mktemp("profile")) as tab:
        yield tab
        assert tab.complaints == []


@pytest.fixture
def page(tab: Tab) -> Tab:
    tab.look(1200, 1400)
    tab.open(PAGE.as_uri())
    return tab


class Recorded:
    """A part of a set that remembers the directions in which it was asked."""

    def _lmo(self, g):
        self.asked = [*getattr(self, "asked", []), np.array(g)]
        return super()._lmo(g)


class Polygon(Recorded, wp.sets.ConvexHull):
    """The convex hull of a few points."""


class Disc(Recorded, wp.sets.L2Ball):
    """A ball in the plane."""


TARGET = np.array([-0.3, 2.7])
Q = np.array([[1.0, 0.8], [0.8, 1.6]])
FUNCTIONS = {
    "distance": lambda x: (0.5 * np.sum((x - TARGET) ** 2), x - TARGET),
    "stretched": lambda x: (0.5 * (x - TARGET) @ Q @ (x - TARGET), Q @ (x - TARGET)),
    "huber": lambda x: (
        np.sum(np.sqrt(1 + (x - TARGET) ** 2)) - 2,
        (x - TARGET) / np.sqrt(1 + (x - TARGET) ** 2),
    ),
}


@pytest.mark.browser
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", ["plans", "l1", "box", "triangle", "disc"])
def test_the_mathematics_are_those_of_the_library(page: Tab, name: str, shape: str) -> None:
    known = page.ask(
        f"(() => {{ const {{ vertices, radius }} = core.sets.{shape}; "
        f"return {{ vertices, radius, L: core.functions.{name}.L }} }})()"
    )
    alpha, m, rounds, mu = 0.3, 5, 25, 1.0 / known["L"]
    if known["vertices"] is None:
        K, x0 = Disc(2, known["radius"]), np.array([-1.2, 1.6])
    else:
        K, x0 = Polygon(np.array(known["vertices"])), np.array(known["vertices"][0])
    method = ParallelFrankWolfe(alpha=alpha, m=m, M=1.0, R=known["radius"])
    states, starts = [], []

    def keep(now) -> None:
        states.append((now.fun, now.lower_bound, now.state))
        starts.append(len(getattr(K, "asked", [])))

    wp.minimize(
        FUNCTIONS[name],
        K,
        x0,
        method=method,
        noise="gaussian",
        smoothing="ambient",
        L=known["L"],
        tol=0.0,
        max_rounds=rounds,
        record_every=1,
        callback=keep,
        checks=False,
    )
    # what the library drew: the directions of a round are v - alpha Delta
    draws = []
    for k in range(rounds):
        state = states[k][2]
        _, tau = next_weight(state.A_k, known["radius"] / alpha, mu, mu)
        v = (1 - tau) * state.y + tau * state.at.gradient
        asked = [np.atleast_2d(g) for g in K.asked[starts[k] : starts[k + 1]]]
        (batch,) = [g for g in asked if g.shape == (m, 2)]
        draws.append(((v - batch) / alpha).tolist())
    draws.append(np.zeros((m, 2)).tolist())
    found = page.ask(
        f"core.run(core.sets.{shape}, core.functions.{name}, {TARGET.tolist()}, {{ alpha: {alpha}, "
        f"m: {m}, rounds: {rounds}, x0: {x0.tolist()}, "
        f"draw: (k, i) => ({json.dumps(draws)})[k][i] }})"
    )
    for (fun, bound, state), here in zip(states, found, strict=True):
        np.testing.assert_allclose(here["x"], np.asarray(state.x), rtol=0, atol=1e-9)
        assert here["value"] == pytest.approx(state.at.value, abs=1e-9)
        assert here["upper"] == pytest.approx(fun, abs=1e-9)
        assert here["lower"] == pytest.approx(bound, abs=1e-9)
    least = wp.minimize(FUNCTIONS[name], K, tol=1e-7).fun
    shown = page.ask(
        f"core.minimum(core.sets.{shape}, core.functions.{name}, {TARGET.tolist()}).value"
    )
    assert shown == pytest.approx(least, abs=2e-7)
    assert found[-1]["lower"] <= shown <= found[-1]["upper"]


@pytest.mark.browser
def test_the_noise_is_normal_and_one_slider_does_not_change_it(page: Tab) -> None:
    make = "Array.from({ length: 4000 }, (_, i) => core.noise(3)(i % 40, Math.floor(i / 40)))"
    z = np.array(page.ask(make))
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=0.06)
    np.testing.assert_allclose(np.cov(z.T), np.eye(2), atol=0.08)
    assert abs(np.mean(np.abs(z) < 1.0) - 0.6827) < 0.02
    few, many = (
        page.ask(
            "core.run(core.sets.disc, core.functions.distance, [0, 3], { alpha: 0.5, rounds: 1, "
            f"m: {m}, draw: core.noise(2) }})[0].answers"
        )
        for m in (3, 30)
    )
    assert many[:3] == few
    assert np.hypot(*np.transpose(many)) == pytest.approx(2.0)


TOLD = "document.querySelector('#told').textContent"


def count(page: Tab, selector: str) -> int:
    return page.ask(f"document.querySelectorAll({selector!r}).length")


@pytest.mark.browser
def test_it_is_used_with_the_keyboard(page: Tab) -> None:
    assert page.ask(TOLD).startswith("Round 16:")
    order = ["set", "function", "m", "alpha", "round", "across", "up", "play", "again"]
    page.ask("document.querySelector('#set').focus()")
    for name in order[1:]:
        page.press("Tab")
        assert page.ask("document.activeElement.id") == name
    page.ask("document.querySelector('#round').focus()")
    page.press("ArrowRight", 4)
    assert page.ask(TOLD).startswith("Round 20:")
    page.press("Home")
    first = page.ask(TOLD)
    assert first.startswith("Round 0:")
    page.ask("document.querySelector('#m').focus()")
    page.press("Home")
    assert "The one answer is" in page.ask(TOLD)
    assert count(page, "#plane .answer") == 1
    page.press("End")
    assert "The 500 answers name" in page.ask(TOLD)
    # less noise: fewer corners are named
    page.ask("document.querySelector('#alpha').focus()")
    corners = re.compile(r"name (\d) of the 7 corners")
    page.press("End")
    wide = int(corners.search(page.ask(TOLD))[1])
    page.press("Home")
    assert int(corners.search(page.ask(TOLD))[1]) == 1 < wide
    assert page.ask("document.querySelector('#alpha').getAttribute('aria-valuetext')") == "0.02"


@pytest.mark.browser
def test_it_is_used_with_the_mouse(page: Tab) -> None:
    before = page.ask(TOLD)
    page.click("#plane", at=(0.5, 0.5))  # the target is at the middle of the set: the minimum is 0
    assert page.ask("document.querySelector('#across').value") == "0"
    assert page.ask("document.querySelector('#up').value") == "0"
    assert "it is 0. " in page.ask(TOLD) != before
    box = page.ask("document.querySelector('#plane').getBoundingClientRect().toJSON()")
    page.mouse("mousePressed", box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    x, y = box["x"] + 6 / 7 * box["width"], box["y"] + 2 / 6 * box["height"]
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="left", buttons=1)
    page.mouse("mouseReleased", x, y)
    assert page.ask("document.querySelector('#across').value") == "2.5"
    assert page.ask("document.querySelector('#up').value") == "1"
    same = page.ask(TOLD)
    page.click("#again")
    assert page.ask(TOLD) != same
    page.click("#play")
    page.wait(f"!{TOLD}.startsWith('Round 16:')")
    assert page.ask("document.querySelector('#play').textContent") == "Stop"
    page.click("#play")
    assert page.ask("document.querySelector('#play').textContent") == "Play"
    page.ask(
        "(() => { const set = document.querySelector('#set'); set.value = 'disc'; "
        "set.dispatchEvent(new Event('input', { bubbles: true })) })()"
    )
    assert "places of the circle" in page.ask(TOLD)


@pytest.mark.browser
@pytest.mark.parametrize("width", [340, 700, 1400])
@pytest.mark.parametrize("dark", [False, True])
def test_it_suits_screens_and_colour_schemes(page: Tab, width: int, dark: bool) -> None:
    page.look(width, 900, dark)
    page.wait(f"document.querySelector('#plane').viewBox.baseVal.width <= {width}")
    assert page.ask("document.documentElement.scrollWidth") <= width
    # letters are as large on narrow screens as on wide ones
    drawn = "(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width)"
    for name in ("#plane", "#band"):
        page.wait(f"Math.abs({drawn}(document.querySelector('{name}')) - 1) < 0.02")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.ask(background) == ("rgb(18, 23, 30)" if dark else "rgb(255, 255, 255)")


@pytest.mark.browser
def test_everything_has_a_name(page: Tab) -> None:
    named = "[...document.querySelectorAll('input, select')].every(i => i.labels.length === 1)"
    assert page.ask(named)
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    wanted = {"slider", "combobox", "button", "img", "image", "status"}
    for node in nodes:
        if not node.get("ignored") and node["role"]["value"] in wanted - {"status"}:
            assert node["name"]["value"], node
    roles = [node["role"]["value"] for node in nodes if not node.get("ignored")]
    assert roles.count("slider") == 5
    assert "status" in roles
