r"""Performance profiles of Dolan and Moré.

A problem p is a case with an accuracy, :math:`t_{p,s}` what method s takes for it (seconds, rounds,
oracle calls), infinite if it does not reach the accuracy or does not apply. The profile of s is

.. math:: \rho_s(\tau) = \frac{|\{p : t_{p,s} \le \tau \min_{s'} t_{p,s'}\}|}{|\{p\}|},

the share of problems for which s takes at most :math:`\tau` times what the best method takes:
:math:`\rho_s(1)` is how often it is the best, the limit how often it reaches the accuracy at all.

References
----------
E. D. Dolan, J. J. Moré, Benchmarking optimization software with performance profiles, Mathematical
Programming 91 (2002).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from .measure import LEVELS
from .suites import CaseResult


@dataclass(frozen=True)
class Profile:
    """The profiles of several methods: row i of ``rho`` is that of ``methods[i]`` at each ``tau``.

    ``methods`` go from the largest area under the profile, over the logarithm of tau, to the
    smallest. ``tau`` holds every ratio at which a profile steps, from 1 on.
    """

    methods: list[str]
    tau: np.ndarray
    rho: np.ndarray


def ratios(times: np.ndarray) -> np.ndarray:
    """Return each problem's (row's) times over its shortest; problems nobody solved are left out.

    Examples
    --------
    >>> ratios(np.array([[1.0, 2.0], [3.0, np.inf], [np.inf, np.inf]]))
    array([[ 1.,  2.],
           [ 1., inf]])
    """
    best = times.min(axis=1, initial=np.inf)
    solved = np.isfinite(best)
    return times[solved] / best[solved, None]


def profile(cases: Sequence[CaseResult], what: str = "seconds") -> Profile | None:
    """Return the profiles of all methods; None if no problem was solved.

    ``what`` is compared: "seconds", "rounds" or "calls". Methods that do not report it are left
    out.
    """
    # below a tenth of a millisecond the clock says little
    floor = 1e-4 if what == "seconds" else 1
    spent = {
        (i, j, entry.method): max(asdict(reach)[what], floor)
        for i, case in enumerate(cases)
        for entry in case.entries
        for j, level in enumerate(LEVELS)
        if (reach := entry.reach(level)) is not None and asdict(reach)[what] is not None
    }
    if not spent:
        return None
    names = list(dict.fromkeys(method for _, _, method in spent))
    times = np.full((len(cases), len(LEVELS), len(names)), np.inf)
    for (i, j, method), value in spent.items():
        times[i, j, names.index(method)] = value
    table = ratios(times.reshape(-1, len(names)))
    tau = np.unique(np.append(table[np.isfinite(table)], 1.0))
    rho = (table[:, :, None] <= tau).mean(axis=0)
    # the area under each profile over log(tau), up to a hundred times the last step
    area = rho @ np.diff(np.log(np.append(tau, 100 * tau[-1])))
    order = np.argsort(-area, kind="stable")
    return Profile([names[i] for i in order], tau, rho[order])
