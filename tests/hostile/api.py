"""Hostile inputs of the API: each argument of each call spoiled alone, then several at once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from .calls import Call, calls
from .judge import Outcome, Verdict, judge
from .values import MAKERS, NAMES, NEVER, SKIP


class Input(NamedTuple):
    """A call by name, and the values that replace its arguments."""

    call: str
    changes: tuple[tuple[str, str], ...]


def singles() -> list[Input]:
    """Return every value in the place of every argument, one at a time."""
    return [
        Input(name, ((argument, value),))
        for name, call in calls().items()
        for argument, valid in call.arguments.items()
        for value in NAMES
        if MAKERS[value](valid) is not SKIP
    ]


def several(seed: int) -> Iterator[Input]:
    """Yield inputs with two or three arguments spoiled, without end."""
    rng = random.Random(seed)
    able = [name for name, call in calls().items() if len(call.arguments) > 1]
    while True:
        name = rng.choice(able)
        arguments = list(calls()[name].arguments)
        count = min(len(arguments), rng.choice((2, 2, 3)))
        chosen = rng.sample(arguments, count)
        yield Input(name, tuple((argument, rng.choice(NAMES)) for argument in chosen))


def inputs(count: int, seed: int = 0) -> list[Input]:
    """Return ``count`` inputs: all singles, or a sample of them, and the rest with several."""
    alone = singles()
    if count <= len(alone):
        return random.Random(seed).sample(alone, count)
    return alone + list(islice(several(seed), count - len(alone)))


def run(given: Input) -> Verdict:
    """Call with the spoiled arguments and return what became of it."""
    call = calls()[given.call]
    changed = {}
    for argument, value in given.changes:
        made = MAKERS[value](call.arguments[argument])
        if made is not SKIP:
            changed[argument] = made
    # a message on shapes that do not match may name the other argument
    names = {argument.lstrip("*") for argument in call.arguments}
    verdict = judge(lambda: call(**changed), {*names, *call.words})
    if "ConvergenceError" in verdict.reason and "raise_on_failure" in changed:
        return Verdict(Outcome.RAN, "it was asked to raise")
    own = {name for name, value in changed.items() if callable(value)}
    own |= {"f"} if "g" in own and "f" in call.arguments else set()  # the g of f - g
    raised = verdict.outcome is Outcome.RAW and own & _RAISES
    if raised or (verdict.outcome in (Outcome.RAW, Outcome.FALSE) and own & _OWN_CODE):
        return Verdict(Outcome.RAN, "what a user's function raises or says is taken as it is")
    taken = [
        (argument, value)
        for argument, value in given.changes
        if argument in changed and value in NEVER and not exempt(call, argument, value)
    ]
    if verdict.outcome is Outcome.RAN and taken:
        return Verdict(Outcome.FALSE, f"went on with {taken}")
    return verdict


def exempt(call: Call, argument: str, value: str) -> bool:
    """Tell whether an argument takes the value: missing entries are what some calls are for."""
    method = call.name.rpartition(".")[2].rstrip("!")
    if (argument, value) == ("x", "a nan") and method in _AT_POINTS:
        return True
    return (call.name, argument) in _TAKE_ANYTHING


_OWN_CODE = {"callback", "contains", "lmo", "rank_or_independence"}
_RAISES = {"f", "fun", "G", "draw", "value", "batch", "source", "loss"}
"""Functions whose exceptions come out as they are; what they return is checked."""
_AT_POINTS = {"value", "gradient", "value_and_gradient", "violation", "completed"}
"""What may be asked at points that are not finite, and then answers NaN or infinity."""
_TAKE_ANYTHING = {
    ("MatrixCompletion", "X"),
    *((f"{K}.contains", "x") for K in ("Simplex", "L2Ball", "Box")),
}
