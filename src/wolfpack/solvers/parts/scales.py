r"""Which noise finds useful vertices: a ladder of scales, and how useful each has been.

The scales are :math:`2^j h`, h being a number that follows the gap. Each round tries the current
rung and its two neighbours on a third of the answers each, then counts which answers were new and
which of those got weight in the correction. Rates are weighted means that forget a fifth each
round; the rung with the best rate becomes the current one. Where nothing was useful and there are
enough answers, the noise grows if most answers were known already, and falls if most were new.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array

_RUNGS = range(-24, 17)
_OFFSETS = (0, -1, 1)
_MEMORY = 0.8
_MIN_TRIED = 0.5
_ENOUGH_ANSWERS = 6.0


class Scales(NamedTuple):
    """The current rung, the weighted counts of every rung, and a distance that noise must cover.

    ``rung`` is j of the current scale. Per rung, ``tried`` counts the answers, ``new`` those that
    were not known before and ``used`` those that got weight. ``reach`` is the largest distance of
    an iterate from its clean vertex.
    """

    rung: int
    tried: Array
    new: Array
    used: Array
    reach: float = 0.0

    @classmethod
    def start(cls, rung: int, reach: float = 0.0) -> Scales:
        """Return a ladder without experience."""
        zeros = np.zeros(len(_RUNGS))
        return cls(rung, zeros, zeros, zeros, reach)

    def rungs(self, count: int, k: int) -> Array:
        """Return the rung of each of ``count`` answers in round k, a third at each of three."""
        # few answers take turns; sorting puts the answers of one scale side by side
        offsets = np.sort(np.resize(np.roll(_OFFSETS, -k), count))
        return np.clip(self.rung + offsets, _RUNGS[0], _RUNGS[-1])

    def learned(self, rungs: Array, new: Array, used: Array) -> Scales:
        """Return the ladder after a round in which answer i came from ``rungs[i]``."""
        if not len(rungs):
            return self
        low, size = _RUNGS[0], len(_RUNGS)
        place = rungs - low
        tried = _MEMORY * self.tried + np.bincount(place, minlength=size)
        news = _MEMORY * self.new + np.bincount(place, new, size)
        useful = _MEMORY * self.used + np.bincount(place, used, size)
        nearby = (self.rung, self.rung - 1, self.rung + 1)
        seen = [j - low for j in nearby if j in _RUNGS and tried[j - low] > _MIN_TRIED]
        # counting one failure more keeps a rung that was hardly tried from winning
        rates = useful[seen] / (tried[seen] + 1.0)
        rung = self.rung
        if rates.max() > 0:
            rung = seen[int(rates.argmax())] + low
        elif tried[seen].sum() >= _ENOUGH_ANSWERS:
            rung += -1 if 2 * news[seen].sum() > tried[seen].sum() else 1
        rung = min(max(rung, low), _RUNGS[-1])
        return Scales(rung, tried, news, useful, self.reach)
