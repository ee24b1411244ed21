"""User equilibria on road networks in the TNTP format.

    python benchmarks/tntp.py FOLDER ... [--limit SECONDS] [--out FILE] [--page FILE]

Each folder holds a network, ``*_net.tntp`` and ``*_trips.tntp``, as in the collection
Transportation Networks for Research (github.com/bstabler/TransportationNetworks; for research, name
the source). Nothing of it is part of this package.

Printed are the rounds to a relative gap of 1e-3 and 1e-4: the certified gap over the total travel
cost <t(x), x>. Link costs are those of `wolfpack.objectives.BPR`, with the weights of tolls and
lengths given by --toll and --length; by default 0.02 and 0.04 on Chicago-Sketch, which asks for
them, and zero elsewhere.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from pages import insert, table
from rich.console import Console
from rich.markdown import Markdown
from threadpoolctl import threadpool_limits

import wolfpack as wp

LEVELS = (1e-3, 1e-4)
METHODS: dict[str, dict[str, Any]] = {
    "fw-ls": {"method": "fw-ls"},
    "conjugate": {"method": "conjugate"},
    "biconjugate": {"method": "biconjugate"},
    "anytime, no noise": {"method": "anytime", "noise": None},
    "corrective, m=1": {"method": "corrective", "m": 1},
    "corrective, m=16": {"method": "corrective", "m": 16},
}


@dataclass
class Network:
    """Links and trips of one network; zones numbered below ``first_thru`` may not be passed."""

    name: str
    links: np.ndarray
    trips: list[tuple[int, int, float]]
    first_thru: int

    @classmethod
    def read(cls, folder: Path) -> Network:
        """Read a folder; raise ValueError where files are missing or ambiguous."""
        files = {kind: list(folder.glob(f"*_{kind}.tntp")) for kind in ("net", "trips")}
        for kind, found in files.items():
            if len(found) != 1:
                raise ValueError(f"{folder} must hold one *_{kind}.tntp, found {len(found)}")
        header, body = _parts(files["net"][0])
        rows = [line.rstrip("; \t").split() for line in body if line and not line.startswith("~")]
        links = np.array([row[:9] for row in rows], dtype=float)
        first = int(header.get("FIRST THRU NODE", "1"))
        return cls(folder.name, links, list(_trips(files["trips"][0])), first)

    def problem(self, toll: float, length: float) -> tuple[Any, Any]:
        """Return the objective and the set."""
        tails, heads, capacity, distance, time, b, power, _, tolls = self.links.T
        f = wp.objectives.BPR(time, capacity, b, power, toll * tolls + length * distance)
        # zones that may not be passed are split: flows leave from "out", which nothing enters
        edges = [(self._leaving(int(i)), int(j)) for i, j in zip(tails, heads, strict=True)]
        demands = [(self._leaving(o), d, amount) for o, d, amount in self.trips]
        return f, wp.sets.FlowPolytope(edges, demands)

    def _leaving(self, node: int) -> Any:
        return ("out", node) if node < self.first_thru else node


def _parts(path: Path) -> tuple[dict[str, str], list[str]]:
    """Return the header's entries and the lines after it."""
    head, mark, body = path.read_text().partition("<END OF METADATA>")
    if not mark:
        raise ValueError(f"{path} has no <END OF METADATA>")
    entries = re.findall(r"^<([^>]+)>\s*([^~\s]*)", head, re.M)
    return dict(entries), [line.strip() for line in body.splitlines()]


def _trips(path: Path) -> Iterator[tuple[int, int, float]]:
    origin = 0
    for line in _parts(path)[1]:
        if line.startswith("Origin"):
            origin = int(line.split()[1])
        for destination, amount in re.findall(r"(\d+)\s*:\s*([\d.eE+-]+)\s*;", line):
            if int(destination) != origin and float(amount) > 0:
                yield origin, int(destination), float(amount)


def rounds(f: Any, K: Any, limit: float, settings: dict[str, Any]) -> list[int | None]:
    """Return the rounds to each level, None where it was not reached."""
    x0 = K.lmo(f.gradient(np.zeros(K.shape))).to_dense()
    relative: list[float] = []

    def enough(r: Any) -> None:
        relative.append(r.gap / float(f.gradient(r.x) @ r.x))
        if relative[-1] <= LEVELS[-1]:
            raise StopIteration

    run = {"tol": 0, "max_seconds": limit, "callback": enough, "progress": False} | settings
    wp.minimize(f, K, x0, **run)
    hits = [np.flatnonzero(np.array(relative) <= level) for level in LEVELS]
    return [int(found[0]) if found.size else None for found in hits]


def weights(network: Network, options: argparse.Namespace) -> tuple[float, float]:
    """Return the weights of tolls and lengths."""
    usual = (0.02, 0.04) if network.name == "Chicago-Sketch" else (0.0, 0.0)
    given = (options.toll, options.length)
    return tuple(b if a is None else a for a, b in zip(given, usual, strict=True))  # pyright: ignore


def text(found: dict[str, dict[str, list[int | None]]]) -> str:
    """Return the table of all networks."""

    def cell(counts: list[int | None]) -> str:
        return " / ".join("–" if count is None else f"{count:,}" for count in counts)

    rows = [[name, *(cell(by[method]) for method in METHODS)] for name, by in found.items()]
    return table(["network", *METHODS], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--toll", type=float, help="weight of tolls in the cost")
    parser.add_argument("--length", type=float, help="weight of lengths in the cost")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each run")
    parser.add_argument("--out", type=Path, default=Path("tntp-out.json"), help="file of results")
    parser.add_argument("--page", type=Path, help="write all results into this page")
    options = parser.parse_args()
    out: Path = options.out
    found = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    with threadpool_limits(1):
        for folder in options.folders:
            network = Network.read(folder)
            f, K = network.problem(*weights(network, options))
            found[network.name] = {
                name: rounds(f, K, options.limit, settings) for name, settings in METHODS.items()
            }
            out.write_text(json.dumps(found, indent=1), encoding="utf-8")
    Console(width=120).print(Markdown(text(found)))
    if options.page is not None:
        facts = f"`python benchmarks/tntp.py FOLDER ...`, {datetime.now(UTC).date().isoformat()}."
        insert(options.page, "user equilibrium", f"{text(found)}\n\n{facts}")


if __name__ == "__main__":
    main()
