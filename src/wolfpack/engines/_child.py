"""What a worker process runs: ``python -m wolfpack.engines._child``.

Started with several file descriptors it is a worker. Started with a single one it is a fork server:
a process without threads that has imported everything. It forks a worker, in milliseconds, whenever
it receives the descriptors for one.
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
from multiprocessing.connection import Connection

from ._messages import Loaded, on_points, read_ticket, reply_bytes
from ._shared import Slots
from ._worker import BlockWorker


def main(arguments: list[str]) -> None:
    """Be a worker or a fork server, until the driver goes away."""
    # Ctrl-C in a terminal reaches the whole process group. The driver alone reacts to it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if len(arguments) == 1:
        _fork_workers(socket.socket(fileno=int(arguments[0])))
    else:
        _serve(*map(int, arguments))


def _fork_workers(link: socket.socket) -> None:
    """Fork a worker for every message with descriptors; answer with its process number."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Workers that end leave no zombies behind.
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
                handle, lifeline, memory = inherited
                _serve(handle, lifeline, memory, int(message))
                status = 0
            except BaseException:
                traceback.print_exc()  # Nobody else would ever see it.
            finally:
                os._exit(status)
        for handle in inherited:
            os.close(handle)
        try:
            link.sendall(pid.to_bytes(8, "big"))
        except OSError:  # the driver is gone
            return


def _serve(handle: int, lifeline: int, memory: int, nbytes: int) -> None:
    """Read jobs and answer tickets."""
    threading.Thread(target=_exit_with_driver, args=(lifeline,), daemon=True).start()
    # The driver closes the link when it has no more use for this worker.
    with contextlib.suppress(EOFError, OSError):
        _answer(Connection(handle), Slots(nbytes, memory))


def _answer(link: Connection, slots: Slots) -> None:
    worker: BlockWorker | None = None
    link.send_bytes(pickle.dumps(Loaded(-1)))
    while True:
        message = pickle.loads(link.recv_bytes())
        if isinstance(message, int):  # The job of this number follows.
            worker, loaded = None, Loaded(message)  # This frees the old job before the new is read.
            try:
                worker = BlockWorker(link.recv_bytes())
            except Exception as error:
                loaded = Loaded(message, f"{type(error).__name__}: {error}")
            link.send_bytes(pickle.dumps(loaded))
        else:
            assert worker is not None
            ticket, question, blocks = read_ticket(message)
            question = on_points(question, slots.read)
            link.send_bytes(reply_bytes(worker.work(ticket, question, blocks)))


def _exit_with_driver(lifeline: int) -> None:
    # Nothing is ever written to this pipe. Reading ends when the driver's end is closed.
    os.read(lifeline, 1)
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
