"""Which worker keeps which blocks of data, so that each block is loaded once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

_UNEVEN = 1.25  # a worker may have this many times its share before a new one takes some


class Homes:
    """The workers of blocks, in runs of consecutive ones.

    ``weights`` tell how long blocks take, relative to each other. Blocks stay where they are until
    their worker is lost, or a worker that has none joins.
    """

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights
        self.owners: list[Any] = [None] * len(weights)
        self._refused: set[tuple[int, int]] = set()  # blocks that cannot be loaded on a worker

    def assign(self, workers: Sequence[Any]) -> list[tuple[Any, range]]:
        """Return runs of blocks with their workers, all of which are in ``workers``."""
        if not workers:
            return [(None, range(len(self.owners)))]
        here = set(map(id, workers))
        orphans = [i for i, owner in enumerate(self.owners) if id(owner) not in here]
        if len(orphans) == len(self.owners):
            self._divide(workers)
        else:
            self._adopt(orphans, workers)
            self._share(workers)
        runs = itertools.groupby(range(len(self.owners)), key=lambda i: id(self.owners[i]))
        found = [list(run) for _, run in runs]
        return [(self.owners[run[0]], range(run[0], run[-1] + 1)) for run in found]

    def move(self, blocks: Sequence[int], owner: Any, refused_by: Any) -> None:
        """Give blocks that raised on one worker to another one, which has computed them."""
        for i in blocks:
            self.owners[i] = owner
            self._refused.add((i, id(refused_by)))

    def _divide(self, workers: Sequence[Any]) -> None:
        """Give consecutive blocks of about equal weight to each worker."""
        middle = np.cumsum(self.weights) - 0.5 * self.weights
        places = (middle * (len(workers) / self.weights.sum())).astype(int)
        self.owners = [workers[min(place, len(workers) - 1)] for place in places.tolist()]

    def _adopt(self, orphans: list[int], workers: Sequence[Any]) -> None:
        """Give blocks without a worker to those that have least."""
        load = self._load(workers)
        for i in orphans:
            fit = [worker for worker in workers if (i, id(worker)) not in self._refused]
            least = min(fit or workers, key=lambda worker: load[id(worker)])
            self.owners[i] = least
            load[id(least)] += float(self.weights[i])

    def _share(self, workers: Sequence[Any]) -> None:
        """Let workers that have no blocks take some from those that have most."""
        share = float(self.weights.sum()) / len(workers)
        load = self._load(workers)
        for worker in workers:
            while load[id(worker)] == 0.0:
                most = max(workers, key=lambda other: load[id(other)])
                own = [i for i, owner in enumerate(self.owners) if owner is most]
                if load[id(most)] <= _UNEVEN * share or len(own) < 2:
                    break
                taken = [i for i in own[len(own) // 2 :] if (i, id(worker)) not in self._refused]
                if not taken:
                    break
                for i in taken:
                    self.owners[i] = worker
                moved = float(self.weights[taken].sum())
                load[id(most)] -= moved
                load[id(worker)] += moved

    def _load(self, workers: Sequence[Any]) -> dict[int, float]:
        load = {id(worker): 0.0 for worker in workers}
        for owner, weight in zip(self.owners, self.weights.tolist(), strict=True):
            if id(owner) in load:
                load[id(owner)] += weight
        return load
