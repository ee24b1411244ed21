"""Messages between the driver and a worker process, in as few system calls as can be."""

from __future__ import annotations

import socket
import struct
from typing import Any

from ..smoothing.job import Partial
from ._worker import Reply

_SIZE = struct.Struct("<q")
_CHUNK = 2**15

TICKET = struct.Struct("<qqq")
"""Number of the ticket and the range of its blocks, before the question; (-1, serial, 0) is
followed by a job."""


class Link:
    """Whole messages over a stream socket.

    Parameters
    ----------
    handle : int
        File descriptor of the socket, which belongs to the link from now on.
    """

    def __init__(self, handle: int) -> None:
        self._socket = socket.socket(fileno=handle)

    def fileno(self) -> int:
        """Return the file descriptor, for waiting on several links."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket; the other side reads EOF."""
        self._socket.close()

    def send(self, message: bytes) -> None:
        """Send one message."""
        if len(message) < _CHUNK:
            self._socket.sendall(_SIZE.pack(len(message)) + message)
        else:
            self._socket.sendall(_SIZE.pack(len(message)))
            self._socket.sendall(message)

    def receive(self) -> list[Any]:
        """Wait for a message; return it and whole ones that came with it, the oldest first."""
        data: Any = self._socket.recv(_CHUNK)
        if not data:
            raise EOFError
        found, at = [], 0
        while at < len(data):
            if len(data) < at + 8:
                data, at = self._completed(data[at:], 8), 0
            end = at + 8 + _SIZE.unpack_from(data, at)[0]
            if end > len(data):
                data, end, at = self._completed(data[at:], end - at), end - at, 0
            found.append(data[at + 8 : end])
            at = end
        return found

    def _completed(self, data: Any, size: int) -> memoryview:
        """Return the ``size`` bytes that begin with ``data``."""
        whole = memoryview(bytearray(size))
        whole[: len(data)] = data
        at = len(data)
        while at < size:
            count = self._socket.recv_into(whole[at:])
            if not count:
                raise EOFError
            at += count
        return whole


def plain(reply: Reply) -> tuple[Any, ...]:
    """Return a reply as plain tuples, which pickle faster than named ones."""
    partials = None if reply.partials is None else list(map(tuple, reply.partials))
    return reply.ticket, partials, reply.error, reply.busy


def named(reply: tuple[Any, ...]) -> Reply:
    """Return what `plain` was given."""
    ticket, partials, error, busy = reply
    partials = None if partials is None else list(map(Partial._make, partials))
    return Reply(ticket, partials, error, busy)
