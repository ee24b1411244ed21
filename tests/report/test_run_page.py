"""The page of a run: its numbers are the result's, its parts follow what the run had."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import wolfpack as wp
from report.document import Document
from report.test_browser import browse, measured
from wolfpack.loop import History
from wolfpack.report.live_chart import MAX_POINTS, LiveChart, Series, thinned
from wolfpack.report.run_figure import draw
from wolfpack.report.run_page import run_page
from wolfpack.report.solution import MAX_BARS, bars, drawings, heat_map

FACTS = {
    "title": "A <b>bold</b> title",
    "problem": {"stop": {"tol": 1e-3}, "data": {"A": [0.5] * 100}},
    "versions": {"wolfpack": "1"},
    "command": "wolfpack solve p.toml",
    "finished": "today",
}
rng = np.random.default_rng(0)
A, b = rng.standard_normal((30, 20)), rng.standard_normal(30)
SIMPLEX = wp.sets.Simplex(20)


def solved(**settings):
    f = wp.objectives.LeastSquares(A, b)
    return wp.minimize(f, SIMPLEX, **{"tol": 1e-2, "max_rounds": 2000, **settings})


@pytest.fixture(scope="module")
def result():
    return solved(method="anytime", m=4)


def charts(html: str) -> dict[str, dict]:
    found = re.findall(
        r'<figure class="live" id="(\w+)">.*?<script type="application/json">(.*?)</script>',
        html,
        re.S,
    )
    return {name: json.loads(text) for name, text in found}


def test_the_page_of_a_tree_shows_how_it_grew():
    f = wp.objectives.LeastSquares(A[:, :6], 3.0 * b)
    res = wp.minimize_integer(f, wp.sets.Box(np.full(6, -2.0), np.full(6, 2.0)))
    html = run_page(res)
    found = charts(html)
    assert list(found) == ["bounds", "open", "gap"]  # m is no number of oracles here
    assert found["open"]["labels"]["node"] == "nodes solved"
    assert found["open"]["series"][0]["values"] == res.history["open"].tolist()
    upper, lower = (found["bounds"]["series"][i]["values"] for i in (0, 1))
    assert (upper[0], lower[0]) == (None, None)
    assert upper[-1] == res.fun
    assert lower[-1] == pytest.approx(res.lower_bound, abs=1e-9)
    heads = Document(html).tables[1][0]
    assert heads[:2] == ["Nodes", "Open nodes"]


def test_the_numbers_of_the_page_are_those_of_the_result(result):
    html = run_page(result, SIMPLEX, FACTS)
    document = Document(html)
    values = {row[0]: row[1] for row in document.tables[0][1:]}
    assert float(values["f(x)"]) == result.fun
    assert float(values["Lower bound on the minimum"]) == result.lower_bound
    assert float(values["Certified gap"]) == result.gap
    assert values["Rounds"] == f"{result.nit:,}"
    found = charts(html)
    assert list(found) == ["gap", "bounds", "schedule"]
    history, rows = result.history, thinned(len(result.history["round"]))
    assert found["gap"]["x"]["nlmo"] == history["nlmo"][rows].tolist()
    assert found["gap"]["series"][0]["values"] == history["gap"][rows].tolist()
    upper, lower = (series["values"] for series in found["bounds"]["series"])
    assert upper[-1] == pytest.approx(result.fun, rel=1e-12)
    assert lower[-1] == pytest.approx(result.lower_bound, rel=1e-12)
    assert "<b>" not in html
    assert "wolfpack solve p.toml" in document.text
    assert [a["href"] for a in document.all("a") if not (a["href"] or "#").startswith("#")] == []


def test_parts_follow_what_the_run_had():
    plain = charts(run_page(solved(method="fw-ls"), SIMPLEX, FACTS))
    assert "schedule" not in plain
    assert "workers" not in plain
    engine = solved(method="anytime", m=4, block=1, engine="threads:2")
    workers = charts(run_page(engine, SIMPLEX, FACTS))["workers"]
    assert workers["series"][0]["values"] == engine.engine["workers"].tolist()


def test_a_run_without_a_certificate_or_a_history(result):
    broken = wp.Result(result)
    broken.update(gap=np.inf, lower_bound=-np.inf, success=False, status="interrupted")
    broken["history"] = History()
    html = run_page(broken, None, FACTS)
    assert "with no gap certified" in Document(html).text
    assert charts(html) == {}


def test_texts_cannot_end_the_script():
    one = np.ones(2)
    chart = LiveChart("c", "alt", {"round": one}, [Series("s", "</script><b>", one, "one")], "")
    html = chart.html()
    assert html.count("</script>") == 1
    Document(html)


def test_long_histories_are_thinned_with_both_ends():
    rows = thinned(100_000)
    assert len(rows) <= MAX_POINTS + 1
    assert (rows[0], rows[1], rows[-1]) == (0, 1, 99_999)
    assert (np.diff(rows) > 0).all()
    assert thinned(5).tolist() == [0, 1, 2, 3, 4]


def test_the_figure_is_drawn_where_there_is_a_curve(result, tmp_path):
    assert draw(result.history, tmp_path, "run").startswith("<svg")
    assert (tmp_path / "run.png").exists()
    flat = {name: result.history[name] for name in result.history}
    flat["gap"] = np.ones(len(flat["round"]))
    for history in (History(), History.from_columns(flat)):
        assert draw(history, tmp_path, "none") == ""
    assert not (tmp_path / "none.png").exists()


def test_bars_show_the_largest():
    values = np.zeros(500)
    values[[3, 400]] = -2.0, 5.0
    drawing = bars(values)
    assert drawing.svg.count("<rect") == MAX_BARS
    assert "<title>3: -2</title>" in drawing.svg
    assert "var(--one)" in drawing.svg
    assert "2 of them above a millionth" in drawing.caption
    bars(np.zeros(3))


def test_a_large_matrix_is_shown_by_block_means():
    x = np.kron(np.array([[1.0, -3.0]]), np.ones((200, 100)))
    drawing = heat_map(x)
    assert "full colour at 3" in drawing.caption
    assert "48 x 48 blocks" in drawing.caption
    assert drawing.svg.count("<title>") == 48 * 48


def test_matrices_come_with_their_singular_values():
    names = [drawing.alt.split()[0] for drawing in drawings(np.diag([3.0, 1.0]), None)]
    assert names == ["Heat", "Bars"]


def test_doubly_stochastic_matrices_show_the_nearest_permutation():
    x = np.array([[0.2, 0.8, 0.0], [0.7, 0.1, 0.2], [0.1, 0.1, 0.8]])
    drawing = next(drawings(x, wp.sets.Birkhoff(3)))
    centres = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawing.svg)
    assert [(float(a) // 24, float(b) // 24) for a, b in centres] == [(1, 0), (0, 1), (2, 2)]
    assert "holds 76.7% of it" in drawing.caption
    assert "circle" not in next(drawings(x, None)).svg


@pytest.mark.parametrize("loop", [False, True])
def test_flows_are_drawn_on_their_graph(loop):
    edges = [("s", "a"), ("a", "t"), ("s", "t")] + [("t", "s")] * loop
    K = wp.sets.FlowPolytope(edges, [("s", "t", 1.0)], capacity=1.0)
    drawing = next(drawings(np.full(3 + loop, 0.25), K))
    assert drawing.svg.count("<line") == 3 + loop
    assert "<title>s - a: 0.25</title>" in drawing.svg
    assert drawing.svg.count("<circle") == 3


def test_layers_of_a_graph_are_ordered_to_cross_little():
    # named so that the order of appearance crosses: s to a, b; a to d, b to c
    K = wp.sets.DagFlow(
        [("s", "a"), ("s", "b"), ("b", "c"), ("a", "d"), ("c", "t"), ("d", "t")], "s", "t"
    )
    drawing = next(drawings(np.full(6, 0.5), K))
    ends = {}
    for x1, y1, x2, y2, name in re.findall(
        r'<line x1="(.*?)" y1="(.*?)" x2="(.*?)" y2="(.*?)".*?<title>(.*?):', drawing.svg
    ):
        ends[name] = (float(x1), float(y1), float(x2), float(y2))
    above = ends["a - d"][1] < ends["b - c"][1]
    assert above == (ends["a - d"][3] < ends["b - c"][3])


def test_what_cannot_change_is_a_sentence():
    history = solved(method="corrective", m=1)
    html = run_page(history, SIMPLEX, FACTS)
    assert "schedule" not in charts(html)
    assert "Along the whole run: oracles a round, m = 1." in html


PLAY = """
<script>
const note = {}, gap = document.querySelector("#gap"), svg = gap.querySelector("figure > svg");
const lines = () => [...svg.querySelectorAll(".line")].map((line) => line.dataset.series);
const press = (key) => svg.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
const said = () => gap.querySelector("output").textContent;
note.lines = lines();
note.end = said();
press("Home");
note.home = said();
gap.querySelector("input[value=own]").click();
note.fewer = lines();
gap.querySelector("input[value=nlmo]").click();
press("End");
note.calls = said();
gap.querySelector("input[value=gap]").click();
note.none = svg.textContent;
note.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
note.bands = document.querySelectorAll("#bounds .band").length;
document.documentElement.dataset.measured = JSON.stringify(note);
</script>
"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [500, 1100])
def test_in_a_browser_toggles_work_and_values_are_right(result, tmp_path, width):
    html = run_page(result, SIMPLEX, FACTS).replace("</body>", PLAY + "</body>")
    (tmp_path / "report.html").write_text(html, encoding="utf-8")
    dom, log = browse(tmp_path / "report.html", tmp_path / "profile", f"--window-size={width},900")
    assert "CONSOLE" not in log
    note = json.loads(measured(dom))
    assert note["lines"] == ["gap", "own"]
    assert note["fewer"] == ["gap"]
    assert note["none"] == "Nothing to draw."
    assert note["overflow"] <= 0
    assert note["bands"] == 1
    gap = float(re.search(r"certified gap: ([-+.e\d]+)", note["end"]).group(1))
    assert gap == pytest.approx(result.gap, rel=1e-3)
    assert note["end"].startswith(f"rounds: {result.nit}")
    assert note["home"].startswith("rounds: 1 ")
    assert note["calls"].startswith(f"oracle calls: {result.nlmo}")
