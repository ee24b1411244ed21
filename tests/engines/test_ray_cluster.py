"""A Ray cluster that grows during a run."""

from __future__ import annotations

import time

import pytest

import wolfpack as wp
from engines.cases import Corner, cube, digest, run

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.extras,
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def test_cpus_that_join_late_are_used_and_the_cluster_is_left_alone():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    grown = []

    def grow(intermediate_result: wp.Result) -> None:
        if intermediate_result.nit == 4:
            cluster.add_node(num_cpus=1)
            grown.append(1)
            time.sleep(2.0)  # so that the next look at the cluster comes in the next rounds

    try:
        result = run(cube(Corner(0.02)), rounds=40, engine=f"ray:{cluster.address}", callback=grow)
        assert not ray.is_initialized()
        workers = result.engine["workers"]
        assert grown
        assert workers[0] == 1
        assert workers[-1] == 2
        assert digest(result) == digest(run(cube(), rounds=40))
        assert len(cluster.list_all_nodes()) == 2
    finally:
        cluster.shutdown()


def test_workers_of_our_own_beside_another_cluster():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        result = run(cube(), engine="ray:1")
        assert result.engine.alive == 1
        assert digest(result) == digest(run(cube()))
        assert len(cluster.list_all_nodes()) == 1
    finally:
        cluster.shutdown()
