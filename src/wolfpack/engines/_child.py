"""What a worker process runs: ``python -m wolfpack.engines._child``.

Started with file descriptors it is a worker. Started with a single one it is a nursery: a process
without threads that has imported everything and forks a worker, in milliseconds, whenever it is
sent the descriptors of one.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

from ..smoothing.job import Question
from ._shared import Slots
from ._worker import Bench, Loaded


def main(arguments: list[str]) -> None:
    """Be a worker or a nursery, until the driver goes away."""
    # Ctrl-C in a terminal reaches the whole process group; the driver decides what becomes of us
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if len(arguments) == 1:
        _raise_workers(socket.socket(fileno=int(arguments[0])))
    else:
        _serve(*map(int, arguments))


def _raise_workers(link: socket.socket) -> None:
    """Fork a worker for every message with descriptors; answer with its process number."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # workers that end leave nothing behind
    while True:
        message, inherited, _, _ = socket.recv_fds(link, 64, 3)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            link.close()
            status = 1
            try:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _serve(*inherited, int(message))  # pyright: ignore[reportCallIssue]
                status = 0
            finally:
                os._exit(status)
        for handle in inherited:
            os.close(handle)
        link.sendall(pid.to_bytes(8, "big"))


def _serve(handle: int, life: int, memory: int, nbytes: int) -> None:
    """Read jobs, answer tickets."""
    threading.Thread(target=_die_with_the_driver, args=(life,), daemon=True).start()
    connection, slots = Connection(handle), Slots(nbytes, memory)
    bench: Bench | None = None
    connection.send_bytes(pickle.dumps(Loaded(-1)))
    while True:
        try:
            message = pickle.loads(connection.recv_bytes())
        except EOFError:
            return
        if len(message) == 2:
            bench = None  # frees the old job before the new one arrives
            bench, answer = _load(*message)
        else:
            assert bench is not None
            answer = _work(bench, slots, *message)
        connection.send_bytes(pickle.dumps(answer, protocol=5))


def _load(serial: int, blob: bytes) -> tuple[Bench | None, Loaded]:
    try:
        return Bench(blob), Loaded(serial)
    except Exception as error:
        return None, Loaded(serial, f"{type(error).__name__}: {error}")


def _work(bench: Bench, slots: Slots, ticket: int, question: Question, blocks: range) -> Any:
    question = question._replace(v=slots.read(*question.v))
    return bench.work(ticket, question, blocks)


def _die_with_the_driver(life: int) -> None:
    # nothing is ever written to this pipe: reading ends when the driver's end is closed
    os.read(life, 1)
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
