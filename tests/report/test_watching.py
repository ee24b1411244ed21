"""The page of a run that goes on: what it says in each state, and who may ask for it."""

from __future__ import annotations

import http.client
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import wolfpack as wp
from chromium import browsing
from report.document import Document
from wolfpack.files import LOCK
from wolfpack.loop import live_file
from wolfpack.loop.live_file import NAME
from wolfpack.report.watching import PageServer, Watched

F = wp.objectives.LeastSquares(np.diag([3.0, 2.0, 1.0]), np.array([0.93, 0.41, 0.17]))
K = wp.sets.Simplex(3)


def leave(folder: Path, rounds: int, running: bool = True, **settings) -> None:
    """Leave the file of a run that is in the middle, or has ended."""
    kept = []
    look = lambda now: kept.append((folder / NAME).read_bytes() if now.nit else b"")  # noqa: E731
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_LOOK", "_PAUSE"):
            patch.setattr(live_file, name, 0.0)
        patch.setattr(live_file, "_SHARE", 1e9)
        settings = {"method": "fw", "tol": 0.0, "max_rounds": rounds} | settings
        wp.minimize(F, K, callback=look, watch=folder, **settings)
    if running:
        (folder / "new").write_bytes(kept[-1])
        os.replace(folder / "new", folder / NAME)


def test_an_empty_folder_is_waited_for(tmp_path):
    state, page = Watched(tmp_path).page()
    assert state.kind == "waiting"
    assert f"There is no run in {tmp_path} yet." in page
    (tmp_path / LOCK).write_text("process 1")
    state, page = Watched(tmp_path).page()
    assert "has begun, and has no numbers yet" in page


def test_the_page_of_a_run_is_its_report(tmp_path):
    leave(tmp_path, 12, engine="threads:2", method="pfw", m=4, block=1)
    watched = Watched(tmp_path, lambda: {"title": "Three numbers", "problem": {"set": "S"}})
    state, page = watched.page()
    assert state.kind == "running"
    assert "<h1>Three numbers</h1>" in page
    assert "The run has not ended yet. So far f(x) = " in page
    assert "s left" in state.words  # the limit of rounds, at the pace so far
    assert state.words in page
    for section in ("Result", "Convergence", "Certificate", "Workers", "Solution", "Settings"):
        assert f'id="{section.lower()}"' in page
    assert ("h2", "Workers") in Document(page).headings
    assert watched.page()[1] is page  # made once for each file
    leave(tmp_path, 20)
    assert watched.page()[0].stamp != state.stamp


def test_a_run_that_was_killed_is_told(tmp_path):
    leave(tmp_path, 12)
    old = time.time() - 600
    os.utime(tmp_path / NAME, (old, old))
    state, page = Watched(tmp_path).page()
    assert state.kind == "silent"
    assert f"wolfpack resume {tmp_path}" in page


def test_the_end_is_told_with_its_status(tmp_path):
    leave(tmp_path, 12, running=False)
    state, page = Watched(tmp_path).page()
    assert (state.kind, state.words) == ("ended", "The run has ended: max_rounds.")
    assert "The run ended with max_rounds" in page


def test_the_last_page_is_the_one_that_the_run_wrote(tmp_path):
    res = wp.minimize(F, K, method="fw", max_rounds=5)
    res.save(tmp_path / "result.npz")
    state, page = Watched(tmp_path).page()
    assert state.kind == "ended"
    assert "The run ended with max_rounds" in page
    res.report(tmp_path / "report.html", K, "The last word")
    state, page = Watched(tmp_path).page()
    assert state.kind == "ended"
    written = (tmp_path / "report.html").read_text()
    assert page.replace(page[page.rindex("<script>") : page.rindex("</body>")], "") == written
    leave(tmp_path, 12)  # another run in the same folder
    assert Watched(tmp_path).state().kind == "running"


def test_files_that_are_not_of_a_run_are_passed_over(tmp_path):
    (tmp_path / NAME).write_text("no archive")
    assert Watched(tmp_path).state().kind == "waiting"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[PageServer, list[str]]]:
    told: list[str] = []
    with PageServer(Watched(tmp_path), 0, lambda state: told.append(state.kind)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server, told
        finally:
            server.shutdown()
            thread.join()


def ask(server: PageServer, path: str = "/", method: str = "GET", **headers: str):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, headers=named)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_only_the_page_is_served_and_only_to_this_machine(server, tmp_path):
    server, _ = server
    (tmp_path / "secret").write_text("x")
    assert server.server_address[0] == "127.0.0.1"
    assert ask(server, "/secret")[0].status == 404
    assert ask(server, "/../secret")[0].status == 404
    assert ask(server, Host="example.org")[0].status == 403
    assert ask(server, method="POST")[0].status == 501
    answer, body = ask(server, method="HEAD")
    assert (answer.status, body) == (200, b"")


def test_the_same_page_is_sent_once(server, tmp_path):
    server, told = server
    first, body = ask(server)
    assert (first.status, first.headers["X-Run"]) == (200, "waiting")
    assert ask(server, If_None_Match=first.headers["ETag"])[0].status == 304
    leave(tmp_path, 6)
    second, page = ask(server, If_None_Match=first.headers["ETag"])
    assert (second.status, second.headers["X-Run"]) == (200, "running")
    assert page != body
    leave(tmp_path, 6, running=False)
    end = time.monotonic() + 10.0
    while told[-1] != "ended" and time.monotonic() < end:
        time.sleep(0.02)
    assert told[0] == "waiting"
    assert told[-1] == "ended"


@pytest.mark.browser
def test_the_page_follows_the_run_and_keeps_what_the_reader_chose(server, tmp_path):
    server, _ = server
    leave(tmp_path, 30)
    table = "document.querySelector('section[aria-labelledby=result] table')"
    rounds = f"{table}.innerText.match(/Rounds\\s+([\\d,]+)/)[1]"
    with browsing(tmp_path / "profile") as tab:
        tab.open(server.address)
        assert tab.wait(rounds) == "29"
        tab.wait("document.querySelector('.news').textContent.includes('follows')")
        tab.click('#gap input[value="nlmo"]')
        tab.click('#gap input[value="own"]')
        tab.ask("document.querySelector('#gap > svg').focus()")
        tab.press("Home")
        before = tab.ask("document.querySelector('#gap output').textContent")
        assert before.startswith("oracle calls: 1 ")
        leave(tmp_path, 60)
        tab.wait(f"{rounds} === '59'")
        chosen = "[...document.querySelectorAll('#gap input:checked')].map(i => i.value).join()"
        assert tab.ask(chosen) == "nlmo,gap,x,y"
        assert tab.ask("document.activeElement === document.querySelector('#gap > svg')")
        assert tab.ask("document.querySelector('#gap output').textContent") == before
        tab.press("End")
        assert "oracle calls: 60" in tab.ask("document.querySelector('#gap output').textContent")
        wp.minimize(F, K, method="fw", max_rounds=80).report(tmp_path / "report.html")
        (tmp_path / NAME).unlink()
        tab.wait("document.querySelector('.news').textContent === 'The run has ended.'")
        assert tab.ask(rounds) == "80"
        assert tab.complaints == []
        server.shutdown()
        server.socket.close()
        tab.wait("document.querySelector('.news').textContent.includes('has ended: nothing')", 30)
