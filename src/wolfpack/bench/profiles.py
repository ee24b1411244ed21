r"""Performance profiles of Dolan and Moré.

A problem p is a case with an accuracy, :math:`t_{p,s}` what method s takes for it (seconds, rounds,
oracle calls), infinite if it does not get there or does not apply. The profile of s is

.. math:: \rho_s(\tau) = \frac{|\{p : t_{p,s} \le \tau \min_{s'} t_{p,s'}\}|}{|\{p\}|},

the share of problems for which s takes at most :math:`\tau` times what the best method takes:
:math:`\rho_s(1)` is how often it is the best, the limit how often it gets there at all.

References
----------
E. D. Dolan, J. J. Moré, Benchmarking optimization software with performance profiles, Mathematical
Programming 91 (2002).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .measure import LEVELS
from .suites import CaseResult, Entry


@dataclass(frozen=True)
class Profile:
    """The profiles of several methods.

    Attributes
    ----------
    methods : list of str
        From the largest area under the profile, over the logarithm of tau, to the smallest.
    outside : list of bool
        Which of them belong to another library.
    tau : array of shape (n,)
        Every ratio at which a profile steps, from 1 on.
    rho : array of shape (methods, n)
        The profiles there.
    """

    methods: list[str]
    outside: list[bool]
    tau: np.ndarray
    rho: np.ndarray


def ratios(times: np.ndarray) -> np.ndarray:
    """Return each problem's (row's) times over its shortest; problems that none solved are out.

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
    """Return the profiles of all methods in ``what`` they take; None if no problem was solved.

    Parameters
    ----------
    cases : sequence of CaseResult
    what : str
        "seconds", or "rounds" or "calls", where methods that do not tell are left out.
    """
    known = {e.method: not e.ours for case in cases for e in case.entries if _tells(e, what)}
    if not known:
        return None
    times = np.full((len(cases) * len(LEVELS), len(known)), np.inf)
    columns = {name: column for column, name in enumerate(known)}
    for i, case in enumerate(cases):
        for entry in case.entries:
            for j, level in enumerate(LEVELS):
                spent = getattr(entry.reach(level), what, None)
                if spent is not None:
                    # below a tenth of a millisecond the clock says little
                    floor = 1e-4 if what == "seconds" else 1
                    times[i * len(LEVELS) + j, columns[entry.method]] = max(spent, floor)
    table = ratios(times)
    if not len(table):
        return None
    tau = np.unique(np.append(table[np.isfinite(table)], 1.0))
    rho = (table[:, :, None] <= tau).mean(axis=0)
    area = _area(tau, rho)
    order = np.argsort(-area, kind="stable")
    names = list(known)
    return Profile([names[i] for i in order], [known[names[i]] for i in order], tau, rho[order])


def _tells(entry: Entry, what: str) -> bool:
    reaches = [entry.reach(level) for level in LEVELS]
    return any(reach is not None and getattr(reach, what) is not None for reach in reaches)


def _area(tau: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """Return the area under each profile over log(tau), up to a hundred times the last step."""
    widths = np.diff(np.log(np.append(tau, 100 * tau[-1])))
    return rho @ widths
