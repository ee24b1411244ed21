"""The areas of the library, each with its hostile inputs and how to run one of them."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from . import api, combinations, command_line, files, scales, toml_files
from .judge import Outcome, Verdict
from .workers import judged

BAD = (Outcome.RAW, Outcome.CRASH, Outcome.HANG, Outcome.FALSE)
"""Outcomes that must not happen."""


class Source(NamedTuple):
    """Inputs and their run; ``share`` of all inputs, ``batch`` of them in one child."""

    inputs: Callable[[int, int], Sequence[Any]]
    run: Callable[[Any], Verdict]
    share: float
    batch: int


SOURCES = {
    "API": Source(api.inputs, api.run, 0.73, 2000),
    "combinations": Source(combinations.inputs, combinations.run, 0.02, 500),
    "units": Source(scales.inputs, scales.run, 0.05, 1000),
    "problem files": Source(toml_files.inputs, toml_files.run, 0.1, 500),
    "data files": Source(files.data_inputs, files.run_data, 0.05, 500),
    "checkpoints and results": Source(files.saved_inputs, files.run_saved, 0.045, 500),
    "command line": Source(command_line.inputs, command_line.run, 0.005, 50),
}


def area_of(source: str, given: Any) -> str:
    """Return the area that an input belongs to."""
    return given.call.partition(":")[0] if isinstance(given, api.Input) else source


def run_all(runs: int, seed: int = 0) -> Iterator[tuple[str, Any, Verdict]]:
    """Yield area, input and verdict of ``runs`` inputs of all sources."""
    for name, source in SOURCES.items():
        inputs = source.inputs(max(1, round(source.share * runs)), seed)
        for given, verdict in judged(inputs, source.run, source.batch):
            yield area_of(name, given), given, verdict


def sample(runs: int, seed: int) -> Iterator[tuple[str, Any, Verdict]]:
    """Yield inputs as `run_all` does, in few children: for tests."""
    rng = random.Random(seed)
    for name, source in SOURCES.items():
        inputs = list(source.inputs(max(1, round(source.share * runs)), rng.randrange(2**32)))
        for given, verdict in judged(inputs, source.run, max(len(inputs), 1)):
            yield area_of(name, given), given, verdict


class Tally:
    """Outcomes by area, and the bad ones."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[Outcome]] = defaultdict(Counter)
        self.bad: list[str] = []

    def add(self, area: str, given: object, verdict: Verdict) -> None:
        """Count one outcome."""
        self.counts[area][verdict.outcome] += 1
        if verdict.outcome in BAD:
            self.bad.append(f"{verdict.outcome}: {given}: {verdict.reason}")
