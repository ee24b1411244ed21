"""A socket between the driver and a worker process, used with few system calls."""

from __future__ import annotations

import socket
import struct

_SIZE = struct.Struct("<q")
_CHUNK = 2**15


class Link:
    """Whole messages over a stream socket, whose file descriptor the link owns from now on."""

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

    def receive(self) -> list[bytes | memoryview]:
        """Wait for a message; return it and the whole ones that came with it, oldest first."""
        data: bytes | memoryview = self._socket.recv(_CHUNK)
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

    def _completed(self, data: bytes | memoryview, size: int) -> memoryview:
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
