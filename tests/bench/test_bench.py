"""Benchmarks: fair turns, honest tables, profiles by their definition, a page that agrees."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

import wolfpack as wp
from report.document import Document
from report.test_browser import browse, measured
from wolfpack import cli
from wolfpack.bench import (
    CASES,
    LEVELS,
    SUITES,
    Case,
    Entry,
    SuiteResult,
    Trace,
    run_suite,
    suites,
    tables,
    write,
)
from wolfpack.bench.measure import Contestant, contestants, trace
from wolfpack.bench.profiles import profile, ratios
from wolfpack.bench.suites import CaseResult


def tiny() -> Case:
    A, b = np.diag([3.0, 2.0, 1.0]), np.array([0.93, 0.41, 0.17])
    f = wp.objectives.LeastSquares(A, b)
    return Case("a tiny simplex", f, wp.sets.Simplex(3), {"A": A, "b": b})


def some(case: Case) -> list[Contestant]:
    ours = [
        Contestant(name, True, lambda c, limit, name=name: trace(c, {"method": name}, limit))
        for name in ("auto", "bpcg", "fw")
    ]
    return [*ours, Contestant("a library", False, lambda c, limit: course([1e-7], [1e-9]))]


def course(gap, seconds) -> Trace:
    return Trace(np.array(seconds, float), np.array(gap, float), {})


@pytest.fixture
def short(monkeypatch):
    """Let every suite be one tiny case with few methods."""
    monkeypatch.setitem(suites.CASES, "tiny", tiny)
    for name, (words, _) in list(SUITES.items()):
        monkeypatch.setitem(SUITES, name, (words, ("tiny",)))
    monkeypatch.setattr(suites, "contestants", some)


@pytest.fixture
def result(short) -> SuiteResult:
    return run_suite("paper", repeats=2, limit=0.2)


def test_every_suite_has_cases_that_exist():
    assert set(SUITES["all"][1]) == set(CASES)
    assert {name for _, names in SUITES.values() for name in names} <= set(CASES)
    assert list(cli.bench.SuiteName) == list(SUITES)


def test_all_methods_run_on_a_tiny_case():
    case = tiny()
    team = contestants(case)
    assert team[0].name == "auto"
    for contestant in team:
        trace = contestant.run(tiny(), 0.05)
        assert len(trace.gap) == len(trace.seconds) > 0
        assert trace.reach(LEVELS[0]) is not None, contestant.name
        if contestant.ours:
            assert trace.reach(LEVELS[0]).calls > 0


def test_methods_take_turns(short):
    seen = []
    run_suite("paper", repeats=3, limit=0.05, watch=lambda words, done, total: seen.append(words))
    names = [words.partition(", ")[2] for words in seen]
    one_turn = ["auto", "bpcg", "fw", "a library"]
    turns = [names[i : i + 4] for i in range(0, len(names), 4)]
    assert len(turns) == 1 + 3  # the first is not counted
    assert all(sorted(turn) == sorted(one_turn) for turn in turns)
    assert len({turn[0] for turn in turns[1:]}) == 3


def test_a_run_that_met_the_limit_is_not_repeated(result):
    entries = {entry.method: entry for entry in result.cases[0].entries}
    assert len(entries["auto"].traces) == 2
    assert entries["fw"].reach(LEVELS[-1]) is None
    assert len(entries["fw"].traces) == 1


def test_a_library_that_fails_is_said_and_ours_is_an_error(short, monkeypatch):
    def team(case):
        def broken(case, limit):
            raise RuntimeError("no such solver")

        return [*some(case)[:1], Contestant("broken", False, broken)]

    monkeypatch.setattr(suites, "contestants", team)
    found = run_suite("paper", repeats=2, limit=0.1)
    assert found.cases[0].entries[1].failure == "RuntimeError: no such solver"
    assert "broken: RuntimeError: no such solver" in tables.markdown(found)
    monkeypatch.setattr(
        suites, "contestants", lambda case: [Contestant("ours", True, team(case)[1].run)]
    )
    with pytest.raises(RuntimeError, match="no such solver"):
        run_suite("paper", repeats=1, limit=0.1)


def test_ctrl_c_keeps_the_cases_that_were_done(short):
    def watch(words, done, total):
        if words.startswith("birkhoff"):
            raise KeyboardInterrupt

    found = run_suite("paper", 1, 0.1, watch, cases=["tiny", "birkhoff"])
    assert not found.complete
    assert [case.name for case in found.cases] == ["tiny"]


def test_medians_need_most_of_the_runs():
    entry = Entry("x", True, [course([1e-3], [t]) for t in (3.0, 1.0, 2.0)])
    assert entry.reach(1e-2).seconds == 2.0
    assert entry.spread(1e-2) == (1.0, 3.0)
    assert entry.reach(1e-4) is None
    entry.traces[:2] = [course([1.0], [1.0])] * 2
    assert entry.reach(1e-2) is None


def test_profiles_are_what_dolan_and_more_define():
    rng = np.random.default_rng(0)
    times = rng.exponential(size=(6, 3, 4)) + 0.01
    times[rng.random(times.shape) < 0.3] = np.inf
    cases = []
    for i, rows in enumerate(times):
        entries = []
        for s in range(4):
            # one trace whose gap passes each level at its time: times must grow with accuracy
            rows[:, s] = np.maximum.accumulate(rows[:, s])
            points = [(t, level) for t, level in zip(rows[:, s], LEVELS, strict=True) if t < np.inf]
            seconds, gap = zip(*[(1e-5, 1.0), *points], strict=True)
            entries.append(Entry(f"s{s}", s > 0, [course(gap, seconds)]))
        cases.append(CaseResult(f"c{i}", f"c{i}", entries))
    found = profile(cases)
    table = times.reshape(-1, 4)
    solved = table[np.isfinite(table).any(axis=1)]
    for name, rho in zip(found.methods, found.rho, strict=True):
        s = int(name[1])
        for tau, value in zip(found.tau, rho, strict=True):
            wins = [row[s] <= tau * row.min() * (1 + 1e-12) for row in solved]
            assert value == pytest.approx(np.mean(wins))
    assert found.tau[0] == 1.0
    assert ratios(np.full((2, 2), np.inf)).shape == (0, 2)
    assert profile([CaseResult("c", "c", [Entry("x", True, [course([1.0], [1.0])])])]) is None
    assert profile(cases, "rounds") is None  # no method tells


def test_a_library_that_wins_is_shown_as_the_winner(result):
    rows = tables.winners(result)
    assert [row[2] for row in rows] == ["a library (other library)"] * 3
    assert tables.score(result).endswith("the fastest for 0, another library for 3.")
    assert "| a library (other library) |" in tables.markdown(result)


def test_files_agree_with_each_other(result, tmp_path):
    written, notes = write(result, tmp_path, "wolfpack bench")
    names = ["tables.md", "results.csv", "results.json", "profile.png", "profile.svg", "index.html"]
    assert [path.name for path in written] == names
    assert notes == []
    found = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert found["machine"]["numpy"] == np.__version__
    with (tmp_path / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(found["rows"]) == 4 * len(LEVELS)
    for row, same in zip(rows, found["rows"], strict=True):
        assert row["method"] == same["method"]
        assert row["seconds"] == ("" if same["seconds"] is None else repr(same["seconds"]))
    html = (tmp_path / "index.html").read_text("utf-8")
    document = Document(html)
    entries = result.cases[0].entries
    shown = [[cell.replace("\u00a0", " ") for cell in row] for row in document.tables[1][1:]]
    assert shown == [tables.cells(entry) for entry in entries]
    assert found["started"] in html


def test_results_can_be_shown_again_and_together(result, tmp_path, capsys):
    write(result, tmp_path, "")
    saved = tmp_path / "results.json"
    other = json.loads(saved.read_text("utf-8"))
    other["rows"] = [row | {"case": "birkhoff"} for row in other["rows"]]
    (tmp_path / "other.json").write_text(json.dumps(other), "utf-8")
    command = ["bench", "--from", str(saved), "--from", str(tmp_path / "other.json")]
    assert cli.run([*command, "--out", str(tmp_path / "both"), "--json"]) == 0
    both = json.loads(capsys.readouterr().out)
    assert [row["case"] for row in both["rows"][::12]] == ["tiny", "birkhoff"]
    keys = ("method", "accuracy", "rounds", "calls", "gradients", "seconds")
    for row, before in zip(both["rows"], other["rows"] * 2, strict=True):
        assert {key: row[key] for key in keys} == {key: before[key] for key in keys}
    assert both["started"] == result.started
    assert (tmp_path / "both" / "profile.png").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"machine": {"processor": "another"}}, "come from different machines or versions"),
        ({"levels": [0.5]}, "is not a result of this version"),
        ("no JSON", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_results_that_do_not_fit_are_refused(result, tmp_path, capsys, change, message):
    write(result, tmp_path, "")
    saved, other = tmp_path / "results.json", tmp_path / "other.json"
    if isinstance(change, dict):
        other.write_text(json.dumps(json.loads(saved.read_text("utf-8")) | change), "utf-8")
    elif change is not None:
        other.write_text(change, "utf-8")
    command = ["bench", "--from", str(saved), "--from", str(other), "--out", str(tmp_path / "x")]
    assert cli.run(command) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert message in printed.err


@pytest.mark.parametrize("broken", ["nothing solved", "no Matplotlib"])
def test_what_cannot_be_drawn_is_left_out(result, tmp_path, monkeypatch, broken):
    if broken == "no Matplotlib":
        from wolfpack.report import plots

        monkeypatch.setattr(plots, "find_spec", lambda name: None)
    else:
        for entry in result.cases[0].entries:
            entry.traces[:] = [course([1.0, 0.9], [0.1, 0.2])]
    written, notes = write(result, tmp_path, "")
    assert "profile.png" not in [path.name for path in written]
    assert notes == (["figures need Matplotlib: pip install 'wolfpack[plots]'"] * ("M" in broken))


def test_the_command(short, capsys, tmp_path):
    out = tmp_path / "b"
    assert cli.run(["bench", "--suite", "flows", "--quick", "--out", str(out)]) == 0
    printed = capsys.readouterr()
    assert "another library for 3" in " ".join(printed.out.split())
    assert (out / "index.html").exists()
    assert cli.run(["bench", "--quick", "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["suite"] == "paper"
    assert found["repeats"] == 1
    assert len(found["files"]) == 6


def test_missing_libraries_are_said_with_the_way_to_install_them(
    short, capsys, tmp_path, monkeypatch
):
    from wolfpack.bench import outside

    monkeypatch.setattr(outside, "find_spec", lambda name: None)
    assert cli.run(["bench", "--quick", "--out", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().err.split())
    names = ", ".join(outside.LIBRARIES)
    assert f"left out: {names}. To add them: make install-bench" in said
    assert cli.run(["bench", "--list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["libraries"] == dict.fromkeys(outside.LIBRARIES, False)
    assert found["suites"].keys() == SUITES.keys()
    assert cli.run(["bench", "--list"]) == 0
    assert "make install-bench" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--suite", "nothing"], "'nothing' is not one of"),
        (["--quick", "--repeats", "2"], "--quick means"),
        (["--repeats", "0"], "--repeats"),
        (["--limit", "0"], "--limit"),
        (["--out", __file__], "must be a folder"),
    ],
)
def test_bad_input_is_one_line(short, capsys, arguments, message):
    assert cli.run(["bench", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert message in printed.err


def test_an_interrupted_suite_says_what_is_there(short, capsys, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(suites, "contestants", lambda c: [Contestant("a", True, stop)])
    assert cli.run(["bench", "--out", str(tmp_path / "x")]) == 130
    assert capsys.readouterr().err.endswith("interrupted\n")
    once = {"tiny": some(tiny())}
    monkeypatch.setattr(
        suites, "contestants", lambda c: once.pop("tiny", [Contestant("a", True, stop)])
    )
    monkeypatch.setitem(SUITES, "paper", ("two", ("tiny", "milp")))
    assert cli.run(["bench", "--quick", "--out", str(tmp_path / "y")]) == 1
    assert "holds the 1 cases" in capsys.readouterr().err
    assert (tmp_path / "y" / "index.html").exists()


PLAY = """
<script>
const note = {}, figure = document.querySelector("#profile-seconds");
const svg = figure.querySelector("figure > svg");
const lines = () => [...svg.querySelectorAll(".line")].map((line) => line.dataset.series);
note.lines = lines();
figure.querySelector("input[value=fw]").click();
note.fewer = lines();
const points = document.querySelectorAll("#case-tiny .point");
note.points = [...points].map((point) => point.dataset.series);
note.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
document.documentElement.dataset.measured = JSON.stringify(note);
</script>
"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [500, 1100])
def test_in_a_browser_the_page_works(result, tmp_path, width):
    write(result, tmp_path, "wolfpack bench")
    page = tmp_path / "index.html"
    page.write_text(page.read_text("utf-8").replace("</body>", PLAY + "</body>"), "utf-8")
    dom, log = browse(page, tmp_path / "profile", f"--window-size={width},900")
    assert "CONSOLE" not in log
    note = json.loads(measured(dom))
    assert sorted(note["lines"]) == ["a-library", "auto", "bpcg", "fw"]
    assert sorted(note["fewer"]) == ["a-library", "auto", "bpcg"]
    assert "a-library" in note["points"]  # of which the last point alone is known
    assert "fw" not in note["points"]
    assert note["overflow"] <= 0
    spec = re.search(r'id="profile-seconds"[^>]*>.*?json">(.*?)</script>', dom, re.S)
    assert spec
    series = {s["name"]: s["values"] for s in json.loads(spec.group(1))["series"]}
    assert series["a-library"][0] == 1.0
