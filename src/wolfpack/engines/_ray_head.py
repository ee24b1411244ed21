"""Whether Ray's head answers, and which nodes it knows.

Ray waits for a head that is gone, and after 60 seconds it ends the process of whoever is waiting.
So the driver never asks the head itself: a thread greets it every second, without Ray, and asks
Ray for the nodes only if the head has greeted back.
"""

from __future__ import annotations

import atexit
import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from ._pace import Deadline

_CHECK_SECONDS = 1.0
_GREET_SECONDS = 5.0
_SILENT_SECONDS = 20.0
"""Seconds without an answer after which the head is taken for dead; Ray's own limit is 60."""

_SHUTDOWN_SECONDS = 10.0
"""Seconds to wait until Ray has said goodbye to a silent head; to a frozen one it never does."""

_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""How a client of gRPC begins: a server that is not frozen has something to say to it."""


class Node(NamedTuple):
    """A machine of the cluster that is alive."""

    id: str
    host: str
    cpus: int


class Head:
    """Asks Ray's head for its nodes, once a second and when `ask` is called.

    Parameters
    ----------
    address : str
        Where the head listens, as "host:port"; empty if it is not known.
    nodes : callable
        What asks Ray for its nodes: ``ray.nodes``.
    """

    def __init__(self, address: str, nodes: Callable[[], list[dict[str, Any]]]) -> None:
        self._place = address
        self._ask_ray = nodes
        self._answer: tuple[Node, ...] | None = None
        self._answers = self._seen = 0
        self._deadline = Deadline(_SILENT_SECONDS)
        self._wanted, self._ended = threading.Event(), False
        threading.Thread(target=self._watch, daemon=True, name="wolfpack-ray").start()

    def ask(self) -> None:
        """Ask now, and use no answer from before."""
        self._answer = None
        self._wanted.set()

    def nodes(self) -> tuple[Node, ...] | None:
        """Return the nodes that are alive if there is a new answer; it is returned once."""
        answer, self._answer = self._answer, None
        return answer

    @property
    def silent(self) -> bool:
        """Whether the head has not answered for too long; to be asked several times a second."""
        if self._seen != self._answers:
            self._seen, self._deadline = self._answers, Deadline(_SILENT_SECONDS)
        return self._deadline.passed()

    def close(self) -> None:
        """Stop asking."""
        self._ended = True
        self._wanted.set()

    def _watch(self) -> None:
        while not self._ended:
            if self._greets():
                with contextlib.suppress(Exception):
                    self._answer = tuple(_node(node) for node in self._ask_ray() if node["Alive"])
                    self._answers += 1
            self._wanted.wait(_CHECK_SECONDS)
            self._wanted.clear()

    def _greets(self) -> bool:
        host, _, port = self._place.rpartition(":")
        if not port:
            return True
        try:
            place = host.strip("[]"), int(port)
            with socket.create_connection(place, _GREET_SECONDS) as link:
                link.sendall(_GREETING)
                link.recv(1)  # A server that wants TLS hangs up, which is an answer as well.
        except ConnectionResetError:
            return True
        except OSError:
            return False
        return True


def _node(known: dict[str, Any]) -> Node:
    host = known.get("NodeManagerHostname") or known["NodeManagerAddress"]
    return Node(known["NodeID"], host, int(known["Resources"].get("CPU", 0)))


def shut_down(shutdown: Callable[[], object], silent: bool) -> None:
    """Leave a cluster, in a thread that need not end where the head is silent."""
    if not silent:
        shutdown()
        return
    leaving = threading.Thread(target=shutdown, daemon=True, name="wolfpack-ray")
    leaving.start()
    leaving.join(_SHUTDOWN_SECONDS)
    if leaving.is_alive():
        atexit.unregister(shutdown)  # Ray would try again at the end of the program, and hang.
