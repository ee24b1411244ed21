"""Run figures and write what they show into a folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..engines._choose import cores
from ..files import staging, write_text
from ..report import save
from .experiments import RunsProgress, execute
from .explain import Circumstances, page
from .results import Results
from .series import FigureSpec, runs_of


@dataclass(frozen=True)
class Outcome:
    """What `reproduce` found and wrote."""

    results: Results
    files: list[Path]
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether every run reached its last round, or the limit of double precision."""
        ends = ("max_rounds", "stalled", "converged")
        return all(record.status in ends for record in self.results.records.values())


def reproduce(
    figures: Sequence[FigureSpec],
    out: Path,
    rounds: int,
    workers: int | None = None,
    command: str = "",
    watch: Callable[[RunsProgress], None] | None = None,
) -> Outcome:
    """Run every series of the figures and write figures, curves and a page into ``out``.

    ``out`` is an existing folder, which gets name.png, name.svg and name.csv for each figure, and
    index.html, which quotes ``command``. ``workers`` and ``watch`` are those of `execute`.
    """
    began = time.monotonic()
    workers = workers or cores()
    results = Results(tuple(figures), execute(runs_of(figures), rounds, workers, watch), rounds)
    written, drawings = [], {}
    with staging(out) as stage:
        for figure in figures:
            drawings[figure.name] = save(results.chart(figure), stage, figure.name)
            results.write_csv(figure, stage / f"{figure.name}.csv")
            written += [out / f"{figure.name}.{suffix}" for suffix in ("png", "svg", "csv")]
        seconds = time.monotonic() - began
        document = page(results, drawings, Circumstances(command, seconds, workers))
        write_text(stage / "index.html", document.html())
    return Outcome(results, [*written, out / "index.html"], seconds)
