"""Write the table of digests anew: `python tests/bits/update.py [case ...]`.

Run it where results are meant to change, and say in the commit why they do. Without names all
cases are run whose optional modules are installed; the others keep what they had. On a machine
other than the table's all of them must be run, since one table has one machine.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bits import stored
from bits.cases import CASES, NEEDS, SAME
from bits.digest import bits_of
from bits.machine import machine, module_versions


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in CASES or name in SAME]
    if unknown:
        raise SystemExit(f"no case with a digest of its own is called {unknown[0]!r}")
    table, kinds = stored.read(), ("digests", "parts", "numbers")
    if names and not stored.same_machine(table):
        raise SystemExit("the table is of another machine: update all cases, without names")
    chosen = names or [name for name in CASES if name not in SAME]
    for kind in kinds:  # cases that are gone
        table[kind] = {name: entry for name, entry in table[kind].items() if name in CASES}
    changed = 0
    for name in chosen:
        module = NEEDS.get(name)
        if module is not None and find_spec(module) is None:
            print(f"{name}: kept, since {module} is not installed")
            continue
        found = bits_of(CASES[name])
        changed += table["digests"].get(name) != found.digest
        entries = found.digest, stored.digits(found.parts), found.numbers
        for kind, entry in zip(kinds, entries, strict=True):
            table[kind][name] = entry
        if module is not None:
            table["modules"][module] = module_versions()[module]
    stored.write(machine() | table | machine())
    print(f"{len(chosen)} cases were run, and {changed} digests are other than before.")


if __name__ == "__main__":
    main(sys.argv[1:])
