"""What a worker process runs: ``python -m wolfpack.engines._child``."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

from ..smoothing.job import Question
from ._shared import Slots
from ._worker import Bench


def main() -> None:
    """Serve the driver at the other end of the inherited socket until it goes away."""
    # Ctrl-C in a terminal reaches the whole process group; the driver decides what becomes of us
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    socket, life, memory, nbytes = map(int, sys.argv[1:5])
    threading.Thread(target=_die_with_the_driver, args=(life,), daemon=True).start()
    connection, slots = Connection(socket), Slots(nbytes, memory)
    sys.path[:] = pickle.loads(connection.recv_bytes())
    bench: Bench | None = None
    while True:
        try:
            message = pickle.loads(connection.recv_bytes())
        except EOFError:
            return
        if message is None:
            return
        if isinstance(message, bytes):
            bench = None  # frees the old job before the new one arrives
            bench, answer = _load(message)
        else:
            assert bench is not None
            answer = _work(bench, slots, *message)
        connection.send_bytes(pickle.dumps(answer, protocol=5))


def _load(blob: bytes) -> tuple[Bench | None, str]:
    try:
        return Bench(blob), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def _work(bench: Bench, slots: Slots, ticket: int, question: Question, blocks: range) -> Any:
    question = question._replace(v=slots.read(*question.v))
    return bench.work(ticket, question, blocks)


def _die_with_the_driver(life: int) -> None:
    # nothing is ever written to this pipe: reading ends when the driver's end is closed
    os.read(life, 1)
    os._exit(1)


if __name__ == "__main__":
    main()
