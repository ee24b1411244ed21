"""What a worker process runs: ``python -m wolfpack.engines._child``.

Started with file descriptors it is a worker. Started with a single one it is a nursery: a process
without threads that has imported everything and forks a worker, in milliseconds, whenever it is
sent the descriptors of one.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import sys
import threading
import traceback
from typing import Any

from ..smoothing.job import Question
from ._link import TICKET, Link, plain
from ._protocol import with_arrays
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
            except BaseException:
                traceback.print_exc()  # nobody else would ever see it
            finally:
                os._exit(status)
        for handle in inherited:
            os.close(handle)
        link.sendall(pid.to_bytes(8, "big"))


def _serve(handle: int, life: int, memory: int, nbytes: int) -> None:
    """Read jobs, answer tickets."""
    threading.Thread(target=_die_with_the_driver, args=(life,), daemon=True).start()
    # the other end closes the link when it has no more use for this worker
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        _answer(Link(handle), Slots(nbytes, memory))


def _answer(link: Link, slots: Slots) -> None:
    bench: Bench | None = None
    link.send(pickle.dumps(Loaded(-1)))
    while True:
        for message in link.receive():
            number, first, end = TICKET.unpack_from(message)
            if number < 0:
                bench = None  # frees the old job before the new one is there
                bench, answer = _load(first, message[TICKET.size :])
            else:
                assert bench is not None
                question = _question(slots, *pickle.loads(message[TICKET.size :]))
                answer = plain(bench.work(number, question, range(first, end)))
            link.send(pickle.dumps(answer, protocol=5))


def _load(serial: int, blob: bytes) -> tuple[Bench | None, Loaded]:
    try:
        return Bench(bytes(blob)), Loaded(serial)
    except Exception as error:
        return None, Loaded(serial, f"{type(error).__name__}: {error}")


def _question(slots: Slots, places: list[Any], fields: tuple[Any, ...]) -> Question:
    v, also = (None if place is None else slots.read(*place) for place in places)
    return with_arrays(Question(*fields), (v, also))


def _die_with_the_driver(life: int) -> None:
    # nothing is ever written to this pipe: reading ends when the driver's end is closed
    os.read(life, 1)
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
