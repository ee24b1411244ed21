"""Ray that can be reached from the network is stopped; here with a stand-in for Ray."""

from __future__ import annotations

import socket
from contextlib import closing
from types import SimpleNamespace

import pytest

from wolfpack.engines import EngineFailure, Ray
from wolfpack.engines._ray_network import _outer_addresses, reachable_from_outside


class StandIn:
    """What the engine asks Ray for, with one service at a port."""

    def __init__(self, port: int) -> None:
        self.port, self.stopped = port, False

    def get_runtime_context(self) -> SimpleNamespace:
        return SimpleNamespace(gcs_address=f"127.0.0.1:{self.port}")

    def nodes(self) -> list[dict[str, int]]:
        return [{"NodeManagerPort": self.port, "ObjectManagerPort": self.port}]

    def shutdown(self) -> None:
        self.stopped = True


def listening(host: str) -> socket.socket:
    server = socket.socket()
    server.bind((host, 0))
    server.listen()
    return server


def test_services_on_loopback_are_fine():
    with closing(listening("127.0.0.1")) as server:
        assert reachable_from_outside(StandIn(server.getsockname()[1])) == ""


def test_a_service_on_the_network_ends_the_run():
    addresses = _outer_addresses()
    if not addresses:
        pytest.skip("this machine has no network")
    with closing(listening("")) as server:
        port = server.getsockname()[1]
        engine = Ray(2)
        engine._ray = stand_in = StandIn(port)
        engine._owns_cluster = True
        with pytest.raises(EngineFailure, match=rf"listens on the network, at .*:{port}"):
            engine._check_unreachable()
        assert stand_in.stopped
