"""Tables in the documentation: each stands between two comments, and scripts write them anew."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def where(facts: dict[str, str]) -> str:
    """Return the machine and the versions in words."""
    first = ("processor", "cores", "system")
    versions = ", ".join(f"{name} {number}" for name, number in facts.items() if name not in first)
    return f"{facts['processor']}, {facts['cores']} cores, {facts['system']}; {versions}"


def origin() -> str:
    """Say which command made a table, and when."""
    script = os.path.relpath(sys.argv[0])
    command = shlex.join(["python", script, *_without_page(sys.argv[1:])])
    return f"`{command}`, {datetime.now(UTC).date().isoformat()}."


def lines_below(page: Path, heading: str) -> list[str]:
    """Return the rows of the first table of a page with this line of headings."""
    lines = page.read_text(encoding="utf-8").splitlines()
    if heading not in lines:
        return []
    return list(takewhile(lambda line: line.startswith("|"), lines[lines.index(heading) + 2 :]))


def insert(page: Path, name: str, text: str) -> None:
    """Replace what stands between ``<!-- name -->`` and ``<!-- end -->`` on a page."""
    pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(\n<!-- end -->)", re.S)
    content, count = pattern.subn(
        lambda found: f"{found[1]}\n{text}\n{found[2]}", page.read_text(encoding="utf-8")
    )
    if count != 1:
        raise ValueError(f"{page} must hold one '<!-- {name} -->' with an end, found {count}")
    page.write_text(content, encoding="utf-8")


def _without_page(arguments: list[str]) -> list[str]:
    if "--page" not in arguments:
        return arguments
    at = arguments.index("--page")
    return arguments[:at] + arguments[at + 2 :]
