"""Which features of FrankWolfe.jl and its companions are here? The table of the documentation.

    python benchmarks/parity.py        # writes docs/benchmarks/parity.md from parity.toml

tests/test_parity.py evaluates every expression of the table and compares the page to the letter.
"""

from __future__ import annotations

import re
import tomllib
from itertools import groupby
from pathlib import Path
from typing import Any

from pages import insert, table

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(__file__).with_suffix(".toml")
PAGE = ROOT / "docs" / "benchmarks" / "parity.md"
LEVELS = ("yes", "in part", "no")


def features() -> list[dict[str, Any]]:
    """Return the rows of the data file."""
    with DATA.open("rb") as file:
        return tomllib.load(file)["feature"]


def level(feature: dict[str, Any]) -> str:
    """Return whether a feature is here: yes, in part, or no."""
    if not feature.get("here"):
        return "no"
    return "in part" if "lacks" in feature else "yes"


def text(found: list[dict[str, Any]]) -> str:
    """Return the summary and the tables, one for each area."""
    counts = {known: sum(level(one) == known for one in found) for known in LEVELS}
    parts = [
        f"Of {len(found)} features, **{counts['yes']} are here**, {counts['in part']} in part and "
        f"{counts['no']} not."
    ]
    for area, members in groupby(found, lambda one: one["area"]):
        rows = [_row(one) for one in members]
        heading = ("feature", "there", "here", "where")
        parts += [f"## Which {_subject(area)} are here?", table(heading, rows)]
    return "\n\n".join(parts)


def _subject(area: str) -> str:
    return {"Integer points": "parts of Boscia.jl"}.get(area, area.lower())


def _row(feature: dict[str, Any]) -> tuple[str, str, str, str]:
    here = level(feature)
    if "lacks" in feature:
        here += f", without {feature['lacks']}"
    names = ", ".join(f"`{_shown(name)}`" for name in feature.get("here", ()))
    if "page" in feature:
        names += f" ([more](../{feature['page']}))"
    return feature["name"], feature["there"], here, names or "-"


def _shown(expression: str) -> str:
    """Return an expression as a reader knows it."""
    if expression.startswith("command "):
        return f"wolfpack {expression.removeprefix('command ')}"
    return re.sub(r"^(Result|result)\.", "res.", expression).replace("|", "\\|")


if __name__ == "__main__":
    insert(PAGE, "parity", text(features()))
