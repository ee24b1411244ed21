"""Starting worker processes and making sure that they end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

from ._interrupts import interrupts_held
from ._link import Link
from ._shared import Slots

_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class Nursery:
    """Starts workers: forked from a clean process of its own, or each as a new interpreter.

    Nothing is ever forked from the user's process, which may have threads.

    Parameters
    ----------
    fork : bool
        Whether workers are forked; by default where fork is safe with compiled libraries, on Linux.
    """

    def __init__(self, fork: bool = sys.platform == "linux") -> None:
        self._fork = fork
        self._process: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None

    def start(self, inherited: tuple[int, int, int], nbytes: int) -> Kin:
        """Start a worker that inherits a socket, a pipe and shared memory."""
        if not self._fork:
            return Kin(_child([*inherited, nbytes], inherited))
        try:
            return Kin(self._forked(inherited, nbytes))
        except OSError:  # the nursery itself was killed: once more, with another one
            self.close()
            return Kin(self._forked(inherited, nbytes))

    def _forked(self, inherited: tuple[int, int, int], nbytes: int) -> int:
        if self._link is None:
            self._link, there = socket.socketpair()
            with there:
                self._process = _child([there.fileno()], (there.fileno(),))
        socket.send_fds(self._link, [str(nbytes).encode()], list(inherited))
        data = b""
        while len(data) < 8:
            more = self._link.recv(8 - len(data))
            if not more:
                raise BrokenPipeError("the process that forks workers has ended")
            data += more
        return int.from_bytes(data, "big")

    def close(self) -> None:
        """End the process that forks; the workers have ended before."""
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1.0)
            self._process.kill()
            self._process.wait()
            self._process = None


class Kin:
    """A worker's process: a child, or a grandchild known by its number."""

    def __init__(self, process: subprocess.Popen[bytes] | int) -> None:
        self._child = None if isinstance(process, int) else process
        self.pid = process if isinstance(process, int) else process.pid

    def gone(self) -> bool:
        """Tell whether the process has ended."""
        if self._child is not None:
            return self._child.poll() is not None
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        return False

    def end(self, grace: float) -> None:
        """Wait ``grace`` seconds for the process to end, then kill it."""
        pause, deadline = 1e-4, time.monotonic() + grace
        while not self.gone():
            if time.monotonic() >= deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
                deadline = float("inf")
            time.sleep(pause)
            pause = min(2 * pause, 0.02)


class Process:
    """One worker with the driver's ends of its socket and of the pipe that keeps it alive."""

    def __init__(self, slots: Slots, nursery: Nursery) -> None:
        here, there = socket.socketpair()
        life, self._life = os.pipe()
        self.up = False
        self.link = Link(here.detach())
        try:
            with interrupts_held():
                self.kin = nursery.start((there.fileno(), life, slots.handle), slots.nbytes)
        except BaseException:
            self.link.close()
            os.close(self._life)
            raise
        finally:
            there.close()
            os.close(life)

    def end(self, grace: float = 0.0) -> None:
        """End the process, after ``grace`` seconds at the latest."""
        self.link.close()
        self.kin.end(grace)
        os.close(self._life)


def _child(arguments: list[int], inherited: tuple[int, ...]) -> subprocess.Popen[bytes]:
    # -P: a file of the user's that is called like a module must not be imported instead of it
    command = [sys.executable, "-P", "-m", "wolfpack.engines._child", *map(str, arguments)]
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        pass_fds=inherited,
        env=os.environ | dict.fromkeys(_ONE_THREAD, "1") | {"PYTHONPATH": path},
    )
