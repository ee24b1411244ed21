r"""Does the oracle minimise? Its answers against points of K that are known already.

If v answers g and p is any point of K, then :math:`\langle g, v\rangle \le \langle g, p\rangle`. A
point that is better than the answer disproves the oracle. Both questions are asked of each pair of
answers (is v_1 better for g_2, is v_2 better for g_1), which includes the monotonicity
:math:`\langle g_1 - g_2, v_1 - v_2\rangle \le 0`: it is the sum of the two.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ..arrays import Array, epsilon, inner, norm, to_host
from ..problem import Region
from .finding import Finding

KEPT = 8
"""Answers that a run remembers; a new one is compared with each of them."""

ASKED = 32
"""Directions that are kept for a checkpoint, as long as they have few entries in all."""

_ENTRIES = 2**20
_INEXACT = 1e-2
"""Relative error that makes an oracle wrong. A smaller one makes it inexact, which is remarked."""


class Witness:
    """Remembers the last answers of an oracle, and what disproves it.

    ``finding`` is the first thing that was wrong. Without ``compares`` it only remembers. An
    inexact oracle may declare what it has missed: `Region.certify` is compared, not the answer's
    own value.
    """

    def __init__(self, K: Region, kept: int = KEPT, compares: bool = True) -> None:
        self.K = K
        self.compares = compares
        self.answers: deque[tuple[Array, Any, float]] = deque(maxlen=kept)
        # the last directions, with the minimum that was claimed for each
        asked = max(kept, min(ASKED, _ENTRIES // max(1, K.dimension)))
        self.asked: deque[tuple[Array, float]] = deque(maxlen=asked)
        self.finding: Finding | None = None
        self.inexact = 0.0

    @property
    def remark(self) -> str:
        """What is to be said of an oracle that is inexact but not wrong."""
        if not self.inexact:
            return ""
        return (
            f"Answers of the oracle were improved upon by up to {self.inexact:.1e}, and the gap "
            "may be too small by as much: declare it with Oracle(..., inexact=...)."
        )

    def __call__(self, g: Array, vertex: Any) -> None:
        """Take the oracle's answer to g."""
        if self.finding is not None:
            return
        if not self.compares:
            self.answers.append((g, vertex, 0.0))
            return
        claimed = self.K.certify(g, vertex)
        for former, v, claim in self.answers:
            if self._beaten(g, claimed, float(v.dot(g))):
                self._disproved(g, claimed, float(v.dot(g)), "an earlier answer")
            elif self._beaten(former, claim, float(vertex.dot(former))):
                self._disproved(former, claim, float(vertex.dot(former)), "a later answer")
        self.answers.append((g, vertex, claimed))
        self.asked.append((g, claimed))

    def meet(self, point: Array, name: str) -> None:
        """Compare all answers with a point of K."""
        for g, _, claimed in self.answers:
            value = inner(g, point)
            if self.finding is None and self._beaten(g, claimed, value):
                self._disproved(g, claimed, value, name)

    def _beaten(self, g: Array, claimed: float, value: float) -> bool:
        scale, excess = norm(g) * self.K.radius, claimed - value
        if excess > max(1e-9, 1e3 * epsilon(g)) * scale:
            self.inexact = max(self.inexact, excess)
        return excess > max(_INEXACT, 1e3 * epsilon(g)) * scale

    def _disproved(self, g: Array, claimed: float, value: float, name: str) -> None:
        direction = to_host(g).reshape(-1)
        shown = ", ".join(f"{entry:.4g}" for entry in direction[:6])
        shown += ", ..." if len(direction) > 6 else ""
        self.finding = Finding(
            "oracle",
            "The oracle's answers are not minimisers over K: for the direction g = "
            f"[{shown}] it claims that <g, v> is at least {claimed:.6g} on K, and {name} has "
            f"{value:.6g}. lmo(g) must return a minimiser of <g, v>, not a maximiser.",
        )
