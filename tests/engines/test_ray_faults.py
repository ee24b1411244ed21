"""Ray clusters whose nodes cannot be used, and a head that is gone."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from engines.cases import cube, digest, run, wait_until
from wolfpack.engines import _ray_head
from wolfpack.engines._ray_head import Head, Node, shut_down

pytestmark = [
    pytest.mark.extras,
    pytest.mark.timeout(150),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
TESTS = str(Path(__file__).parents[1])
WITHOUT_US = """
import os, sys
if "WITHOUT_US" in os.environ:
    sys.modules["wolfpack"] = None
"""
# Ray may end the process of its driver: the fault is tried in a process of its own.
SCRIPT = """
import json, logging, os, psutil, sys, time
sys.path.insert(0, {tests!r})
from engines.cases import Corner, cube, digest, run
from ray.cluster_utils import Cluster
from wolfpack.engines import _ray_head
_ray_head._SILENT_SECONDS = 4.0
cluster = Cluster(initialize_head=True, head_node_args={{"num_cpus": 1}})
warnings, killed = [], []
handler = logging.Handler(logging.WARNING)
handler.emit = lambda record: warnings.append(record.getMessage())
logging.getLogger("wolfpack").addHandler(handler)

def fault(intermediate_result):
    if intermediate_result.nit == 4:
        node = cluster.add_node(num_cpus=1, env_vars={{"WITHOUT_US": "1", "PYTHONPATH": {path!r}}})
    if warnings and not killed:
        killed.append(intermediate_result.nit)
        for process in psutil.Process().children(recursive=True):
            if process.name() == "gcs_server":
                process.kill()
        time.sleep(0.5)

result = run(
    cube(Corner(0.002)), rounds=4000, engine=f"ray:{{cluster.address}}", callback=fault,
    checkpoint={checkpoint!r},
)
print(json.dumps([result.status, result.nit, result.message, int(result.engine.alive), warnings]))
sys.stdout.flush()
"""


def test_a_bad_node_is_set_aside_and_a_head_that_dies_ends_the_run_in_order(tmp_path):
    pytest.importorskip("ray")
    pytest.importorskip("psutil")
    import wolfpack as wp

    (tmp_path / "sitecustomize.py").write_text(WITHOUT_US)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    checkpoint = str(tmp_path / "run.ckpt")
    script = SCRIPT.format(tests=TESTS, path=path, checkpoint=checkpoint)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=140
    )
    assert done.returncode == 0, done.stderr
    status, nit, message, alive, warnings = json.loads(done.stdout.splitlines()[-1])
    assert (status, alive) == ("engine_failure", 1)
    assert 4 < nit < 4000
    assert "does not answer any more" in message
    assert len(warnings) == 1
    assert "the Ray node " in warnings[0]
    assert "ModuleNotFoundError" in warnings[0]
    resumed = wp.resume(checkpoint, *cube(), max_rounds=nit + 10)
    assert digest(resumed) == digest(run(cube(), rounds=nit + 10))


KNOWN = [
    {"Alive": True, "NodeID": "a", "NodeManagerHostname": "one", "Resources": {"CPU": 2.0}},
    {"Alive": True, "NodeID": "b", "NodeManagerAddress": "10.0.0.2", "Resources": {}},
    {"Alive": False, "NodeID": "c", "NodeManagerAddress": "10.0.0.3", "Resources": {}},
]


@pytest.fixture
def quick(monkeypatch):
    for name in ("_CHECK_SECONDS", "_GREET_SECONDS", "_SILENT_SECONDS"):
        monkeypatch.setattr(_ray_head, name, 0.05)


@pytest.mark.parametrize("answers", [True, False])
def test_a_head_that_does_not_greet_is_not_asked(quick, answers):
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            while True:
                try:
                    link, _ = server.accept()
                except OSError:
                    return
                with link:
                    assert link.recv(3) == b"PRI"
                    link.sendall(b"\0")

        if answers:  # A frozen process leaves the connection to its kernel.
            threading.Thread(target=greet, daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        head = Head(address, lambda: asked.append(1) or KNOWN)
        try:
            assert wait_until(lambda: head.silent or bool(asked))
            assert bool(asked) == answers
            if answers:
                assert wait_until(lambda: head._answer is not None)
                assert head.nodes() == (Node("a", "one", 2), Node("b", "10.0.0.2", 0))
        finally:
            head.close()


def test_a_goodbye_that_hangs_is_left_behind(quick, monkeypatch):
    monkeypatch.setattr(_ray_head, "_SHUTDOWN_SECONDS", 0.05)
    ended = threading.Event()
    shut_down(ended.wait, silent=True)
    shut_down(ended.set, silent=False)
    assert ended.is_set()
