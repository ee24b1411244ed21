"""Starting worker processes and making sure that they end."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import select
import signal
import socket
import subprocess
import sys
import time

from ..problem import tick, time_left
from ._interrupts import interrupts_held
from ._shared import Slots

_ONE_THREAD = [f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL")]
_ONE_THREAD += ["VECLIB_MAXIMUM_THREADS"]

_CHECK_SECONDS = 0.1


class ProcessStarter:
    """Starts workers: forked from a fork server, or each as a new interpreter.

    Nothing is ever forked from the user's process, which may have threads. By default workers are
    forked on Linux alone, where forking is safe with compiled libraries.
    """

    def __init__(self, fork: bool = sys.platform == "linux") -> None:
        self._fork = fork
        self._server: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None
        self._ready = False  # whether the server has forked a worker

    def start(self, inherited: tuple[int, int, int], nbytes: int) -> subprocess.Popen[bytes] | int:
        """Start a worker that inherits a socket, a pipe and shared memory.

        Return its process: a child, or the number of a grandchild that was forked.
        """
        if not self._fork:
            return _python([*inherited, nbytes], inherited)
        try:
            return self._forked(inherited, nbytes)
        except OSError:  # The fork server itself was killed: start another one.
            self.close()
            return self._forked(inherited, nbytes)

    def _forked(self, inherited: tuple[int, int, int], nbytes: int) -> int:
        if self._link is None:
            self._link, there = socket.socketpair()
            with there:
                self._server = _python([there.fileno()], (there.fileno(),))
        socket.send_fds(self._link, [str(nbytes).encode()], list(inherited))
        while not select.select([self._link], [], [], min(_CHECK_SECONDS, time_left()))[0]:
            tick()  # the server may still be importing the library
        pid = self._link.recv(8, socket.MSG_WAITALL)
        if len(pid) < 8:
            raise BrokenPipeError("the fork server has ended")
        self._ready = True
        return int.from_bytes(pid, "big")

    def close(self) -> None:
        """End the fork server; its workers have ended before."""
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._server is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._server.wait(1.0 if self._ready else 0.0)
            self._server.kill()
            self._server.wait()
            self._server = None
        self._ready = False


class WorkerProcess:
    """One worker with the driver's ends of its socket and of the pipe that keeps it alive.

    ``ready`` says whether the process has reported that it waits for a job.
    """

    def __init__(self, slots: Slots, starter: ProcessStarter) -> None:
        self.ready = False
        self.link, there = multiprocessing.Pipe()
        lifeline, self._lifeline = os.pipe()
        try:
            with interrupts_held():
                process = starter.start((there.fileno(), lifeline, slots.handle), slots.nbytes)
        except BaseException:
            self.link.close()
            os.close(self._lifeline)
            raise
        finally:
            there.close()
            os.close(lifeline)
        self._child = None if isinstance(process, int) else process
        self.pid = process if isinstance(process, int) else process.pid

    def end(self, grace: float) -> None:
        """Close the socket, wait ``grace`` seconds for the process to end, then kill it."""
        self.link.close()
        pause, deadline = 1e-4, time.monotonic() + grace
        while not self._ended():
            if time.monotonic() >= deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
                deadline = float("inf")
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        os.close(self._lifeline)

    def _ended(self) -> bool:
        if self._child is not None:
            return self._child.poll() is not None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        return False


def _python(arguments: list[int], inherited: tuple[int, ...]) -> subprocess.Popen[bytes]:
    # -P: a user's file with the name of a module must not be imported in its place.
    command = [sys.executable, "-P", "-m", "wolfpack.engines._child", *map(str, arguments)]
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        pass_fds=inherited,
        env=os.environ | dict.fromkeys(_ONE_THREAD, "1") | {"PYTHONPATH": path},
    )
