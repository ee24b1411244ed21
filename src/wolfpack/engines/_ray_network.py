"""A local Ray cluster that nobody else can reach."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from typing import Any

_SWITCH = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""What Ray reads to decide whether its node has an address of the network. By default it has one
on Linux, whatever ``_node_ip_address`` says, and all services then listen on every interface."""

_LONGEST_FOLDER = 30  # names of sockets below it must have at most 107 characters
_CONNECT_SECONDS = 0.5


@contextmanager
def loopback_only() -> Iterator[None]:
    """Make a cluster that is started in this block listen on the loopback address alone."""
    constants: Any = import_module("ray._private.ray_constants")
    before, known = os.environ.get(_SWITCH), getattr(constants, "ENABLE_RAY_CLUSTER", None)
    # Ray has read the variable when it was imported; the processes that it starts read it again.
    os.environ[_SWITCH], constants.ENABLE_RAY_CLUSTER = "0", False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = known
        if before is None:
            del os.environ[_SWITCH]
        else:
            os.environ[_SWITCH] = before


def private_folder() -> str:
    """Return a new folder for Ray's files that only this user can read."""
    short = len(tempfile.gettempdir()) <= _LONGEST_FOLDER
    return tempfile.mkdtemp(prefix="wolfpack-ray-", dir=None if short else "/tmp")


def reachable_from_outside(ray: Any) -> str:
    """Return an address of the network at which Ray answers, empty if there is none."""
    ports = {int(ray.get_runtime_context().gcs_address.rpartition(":")[2])}
    for node in ray.nodes():
        ports |= {node["NodeManagerPort"], node["ObjectManagerPort"]}
    for host in _outer_addresses():
        for port in ports:
            with closing(socket.socket()) as link:
                link.settimeout(_CONNECT_SECONDS)
                if link.connect_ex((host, port)) == 0:
                    return f"{host}:{port}"
    return ""


def _outer_addresses() -> set[str]:
    """Return addresses of this machine that others can reach, as far as they can be found."""
    found: set[str] = set()
    with suppress(OSError), closing(socket.socket(type=socket.SOCK_DGRAM)) as link:
        link.connect(("198.51.100.1", 9))  # sends nothing; it only chooses an interface
        found.add(link.getsockname()[0])
    with suppress(OSError):
        found |= set(socket.gethostbyname_ex(socket.gethostname())[2])
    return {host for host in found if not host.startswith("127.")}
