r"""Which noise finds useful vertices: a ladder of scales, and what each has brought.

The scales are :math:`2^j h`, h being a number that follows the gap. Each round tries the current
rung and its two neighbours on a third of the answers each, then sees which answers were new and
which of those got weight in the correction. Rates are weighted means that forget by a fifth a
round; the rung with the best rate becomes the current one. Where nothing was useful, answers that
were mostly known already call for more noise, and answers that were mostly new for less, once
there are enough of them to tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array

_RUNGS = range(-24, 17)
_OFFSETS = (0, -1, 1)
_MEMORY = 0.8
_SEEN = 0.5
_ENOUGH = 6.0


class Scales(NamedTuple):
    """The current rung and the weighted counts of every rung.

    Attributes
    ----------
    rung : int
        j of the current scale.
    tried, new, used : array
        Per rung: answers, those that were not known before, and those that got weight.
    """

    rung: int
    tried: Array
    new: Array
    used: Array

    @classmethod
    def start(cls, rung: int) -> Scales:
        """Return a ladder without experience."""
        zeros = np.zeros(len(_RUNGS))
        return cls(rung, zeros, zeros, zeros)

    def rungs(self, count: int, k: int) -> Array:
        """Return the rung of each of ``count`` answers in round k, a third at each of three."""
        # in turns where there are few, and in groups, so that those of one scale lie side by side
        offsets = np.sort(np.resize(np.roll(_OFFSETS, -k), count))
        return np.clip(self.rung + offsets, _RUNGS[0], _RUNGS[-1])

    def learned(self, rungs: Array, new: Array, used: Array) -> Scales:
        """Return the ladder after a round in which answer i came from ``rungs[i]``."""
        if not len(rungs):
            return self
        place, size = rungs - _RUNGS[0], len(_RUNGS)
        tried = _MEMORY * self.tried + np.bincount(place, minlength=size)
        news = _MEMORY * self.new + np.bincount(place, new, size)
        useful = _MEMORY * self.used + np.bincount(place, used, size)
        near = [j for j in (self.rung, self.rung - 1, self.rung + 1) if j in _RUNGS]
        seen = [j - _RUNGS[0] for j in near if tried[j - _RUNGS[0]] > _SEEN]
        # one more failure than seen: a rung that was hardly tried is not trusted
        rates = useful[seen] / (tried[seen] + 1.0)
        rung = self.rung
        if rates.max() > 0:
            rung = seen[int(rates.argmax())] + _RUNGS[0]
        elif tried[seen].sum() >= _ENOUGH:
            rung += -1 if 2 * news[seen].sum() > tried[seen].sum() else 1
        return Scales(min(max(rung, _RUNGS[0]), _RUNGS[-1]), tried, news, useful)
