"""All cases: small seeded runs, by public names alone, that must keep their bits.

`CASES` has a function for each, which returns a result, several results, or a fitted estimator.
`SAME` names another case whose digest a case must have: a run on an engine or a resumed run is the
plain run, to the last bit. `NEEDS` names the optional module of the cases that need one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bits import composite, extras, methods, parallel, resumed, spaces

CASES: dict[str, Callable[[], Any]] = {}
for _topic in (methods, spaces, composite, parallel, resumed, extras):
    _twice = CASES.keys() & _topic.CASES.keys()
    if _twice:
        raise ValueError(f"two cases are called {sorted(_twice)[0]!r}")
    CASES |= _topic.CASES

SAME: dict[str, str] = parallel.SAME | resumed.SAME
NEEDS: dict[str, str] = parallel.NEEDS | extras.NEEDS
