"""The timeline of workers: every message is drawn, and the page says what the log says."""

from __future__ import annotations

import re

import numpy as np
import pytest

from engines.cases import Flaky, cube, run
from report.document import Document
from report.test_browser import browse
from wolfpack.engines import EngineLog, Span, Stats
from wolfpack.report import run_page, workers
from wolfpack.report.workers import MAX_ROWS, MAX_SPANS, STATUSES, sections, timelines


def log_of(spans: list[Span], count: int = 2) -> EngineLog:
    log = EngineLog("test:2")
    log._began = 0.0
    for k in range(1 + max(span.round for span in spans)):
        own = tuple(span for span in spans if span.round == k)
        log.add(k, 4, 0, Stats(count, spans=own, bytes_out=100 * k, bytes_in=7))
    return log


def even(rounds: int, people: int = 2) -> list[Span]:
    return [
        Span(k, f"w{i}", 2 * i, 2 * i + 1, 0.1 * k, 0.1 * k + 0.05)
        for k in range(rounds)
        for i in range(people)
    ]


def test_every_message_of_a_short_run_is_a_bar():
    spans = even(5)
    spans[3] = spans[3]._replace(status="failed")
    spans.append(Span(1, "w0", 2, 3, 0.16, 0.19, "recomputed"))
    (drawing,) = timelines(log_of(spans).timeline)
    assert drawing.svg.count("<rect") == 11
    for name, count in (("ok", 9), ("failed", 1), ("recomputed", 1)):
        assert drawing.svg.count(f'fill="var(--{STATUSES[name][0]})"') == count
    assert drawing.svg.count("<path") == 1  # the cross of the failure
    assert "worker 1, round 1, blocks 2 to 3, 0.1 to 0.15 s: lost or failed" in drawing.svg
    assert [color for color, _ in drawing.legend] == ["many", "exact", "one"]
    assert drawing.alt == (
        "The whole run: 9 computed, 1 computed in place of another worker, 1 lost or failed"
    )


def test_of_a_long_run_the_whole_and_a_part_are_drawn():
    spans = even(MAX_SPANS)
    whole, part = timelines(log_of(spans).timeline)
    assert part.caption.startswith("The last rounds, rounds")
    assert part.svg.count("<rect") == MAX_SPANS // 2
    # each worker sleeps half of the time, and the bins say so
    shares = [int(x) for x in re.findall(r"busy (\d+)%", whole.svg)]
    assert np.mean(shares) == pytest.approx(50, abs=2)
    spans[100] = spans[100]._replace(status="failed")
    whole, part = timelines(log_of(spans).timeline)
    assert "round 50," in whole.svg  # a line with its title
    assert part.caption.startswith("Around the first trouble, rounds 0 to 99")


def test_busy_time_is_counted_in_the_bins_where_it_was():
    edges = np.linspace(0, 4, 5)
    before = workers._time_before(edges, np.array([2.5, 0.5]), np.array([3.0, 1.25]))
    np.testing.assert_allclose(np.diff(before), [0.5, 0.25, 0.5, 0.0])


def test_many_workers_and_none():
    (drawing, _) = timelines(log_of(even(20, MAX_ROWS + 8), 40).timeline)
    assert "8 more workers are not drawn" in drawing.caption
    assert timelines(EngineLog("x").timeline) == []
    assert sections(None) == sections(EngineLog("x")) == []


def test_the_page_says_what_the_log_says(tmp_path):
    problem = cube(Flaky("kill", tmp_path / "flag", after=5))
    result = run(problem, engine="processes:2")
    document = Document(run_page(result, problem[1]))
    log = result.engine
    assert f"{log['recomputed'].sum()} blocks computed again" in document.text
    assert "1 worker lost or failed on the way" in document.text
    (table,) = [t for t in document.tables if t[0][0] == "Worker"]
    for row, person in zip(table[1:], log.per_worker, strict=True):
        assert row[0].replace("\u00a0", " ") == f"{person['worker']}: {person['name']}"
        assert row[1] == f"{person['blocks']:,}"
        assert row[-1] == str(person["failed"])


@pytest.mark.browser
def test_in_a_browser_it_loads_without_complaints(tmp_path):
    result = run(cube(), engine="threads:2", rounds=300, record_every=50)
    (tmp_path / "page.html").write_text(run_page(result), "utf-8")
    dom, log = browse(tmp_path / "page.html", tmp_path / "profile", "--window-size=500,900")
    assert "CONSOLE" not in log
    assert dom.count('data-series="busy"') == 1
