"""The table of digests, and how a case is held against it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from bits.cases import NEEDS, SAME
from bits.digest import Bits
from bits.machine import machine, module_versions

PATH = Path(__file__).with_name("digests.json")

ADVICE = (
    "A change that means to change results must run `python tests/bits/update.py` and say in its "
    "commit why they change; any other change must leave them as they are."
)


def read() -> dict[str, Any]:
    """Return the table; an empty one where there is no file."""
    if not PATH.exists():
        return {"modules": {}, "digests": {}, "parts": {}, "numbers": {}}
    return json.loads(PATH.read_text(encoding="utf-8"))


def write(table: dict[str, Any]) -> None:
    """Write the table, cases in the order of their names."""
    ordered = {
        name: dict(sorted(entry.items())) if isinstance(entry, dict) else entry
        for name, entry in table.items()
    }
    PATH.write_text(_lines(ordered), encoding="utf-8")


def _lines(table: dict[str, Any]) -> str:
    """Return the table as JSON with one line for each case."""
    rows = []
    for name, entry in table.items():
        if isinstance(entry, dict):
            inner = [f"    {json.dumps(key)}: {json.dumps(entry[key])}" for key in entry]
            rows.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(inner) + "\n  }")
        else:
            rows.append(f"  {json.dumps(name)}: {json.dumps(entry)}")
    return "{\n" + ",\n".join(rows) + "\n}\n"


def same_machine(table: dict[str, Any], name: str | None = None) -> bool:
    """Tell whether digests can be compared here, those of one case where it is named."""
    here = machine()
    if any(table.get(fact) != value for fact, value in here.items()):
        return False
    module = NEEDS.get(SAME.get(name or "", name or ""))
    return module is None or table["modules"].get(module) == module_versions().get(module)


def digits(parts: dict[str, str]) -> str:
    """Return the digits of all parts in one line, as the table has them."""
    return " ".join(parts.values())


def difference(kept: str, found: dict[str, str]) -> str:
    """Return which part differs first, in words; an empty string if none does.

    Parameters
    ----------
    kept : str
        The digits of the parts, from the table.
    found : dict
        Names and digits of the parts of a run.
    """
    old = kept.split()
    if len(old) != len(found):
        return f"it has {len(found)} parts, and had {len(old)}"
    for (part, new), before in zip(found.items(), old, strict=True):
        if new != before:
            return f"{part} differs first"
    return ""


def distance(numbers: dict[str, float], found: Bits, name: str) -> str:
    """Return which number is too far from the stored one, in words; an empty string if none is.

    Two runs that differ by rounding may part where they choose between vertices or draw rows. What
    they certify then still agrees: both values are within the two gaps of the minimum. Beside that,
    numbers may differ by `tolerance`.
    """
    slack = tolerance(name)
    here = found.numbers
    gap = 2.0 * max(_gap(numbers), _gap(here))
    for key, old in numbers.items():
        new = here.get(key)
        if new is None and key == "nit":
            continue  # rounding errors ended this run, and not that one
        if new is None:
            return f"{key} was {old}, and there is none now"
        if key == "nit":
            room = 3 + 0.25 * old
        elif key == "norm":
            room = 0.02 + 50.0 * slack * max(1.0, abs(old)) + math.sqrt(gap)
        else:
            room = slack * max(1.0, abs(old)) + gap
        if not abs(new - old) <= room:
            return f"{key} was {old}, and is {new} now, which is more than {room:.2g} away"
    return ""


def tolerance(name: str) -> float:
    """Return by how much values of a case may differ on another machine, relative to them."""
    narrow = "float32" in name or name.startswith(("torch", "jax"))
    return 1e-3 if narrow else 1e-5


def _gap(numbers: dict[str, float]) -> float:
    """Return the certified gap of a run, 0 where it has none."""
    if "lower_bound" not in numbers or "fun" not in numbers:
        return 0.0
    return max(0.0, numbers["fun"] - numbers["lower_bound"])
