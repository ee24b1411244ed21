"""Problem files that are damaged in their text: values, keys, lines, characters."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import NamedTuple

import wolfpack as wp
from wolfpack.problem_file import read_problem

from .calls import folder, use_result
from .judge import Verdict, judge

SOUND = {
    "simplex": """
title = "least squares"
[objective]
type = "LeastSquares"
A = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.25], [0.5, 0.0, 1.0]]
b = [0.93, 0.41, 0.17]
[set]
type = "Simplex"
radius = 1.0
[method]
name = "corrective"
m = 2
[stop]
tol = 1e-3
rtol = 1e-6
max_rounds = 3
max_seconds = 5.0
max_lmo = 100
[run]
seed = 1
record_every = 1
x0 = [0.5, 0.25, 0.25]
[output]
folder = "there"
figure = false
report = true
checkpoint = false
""",
    "flow": """
[data]
c = [1.0, 2.0, 0.5, 0.25, 1.5]
[objective]
type = "Quadratic"
Q = 1.0
c = "c"
r = 0.5
[set]
type = "DagFlow"
edges = [[0, 1], [1, 2], [0, 2], [2, 3], [1, 3]]
source = 0
target = 3
[method]
name = "anytime"
m = 4
noise = "gaussian"
sampling = "antithetic"
block = 2
[stop]
tol = 1e-3
max_rounds = 3
""",
    "product": """
[objective]
type = "Logistic"
features = [[1.0, 0.0, 2.0, 1.0, 0.0], [0.0, 1.0, -1.0, 0.5, 0.25]]
labels = [1, -1]
reduction = "mean"
[set]
type = "Product"
sets = [{type = "Simplex", n = 3}, {type = "Box", lower = [0.0, 0.0], upper = [1.0, 2.0]}]
[stop]
max_rounds = 3
""",
}

_PLAIN = """
nan inf -inf -1 0 1 2 0.5 1e400 1e200 1e-320 9223372036854775808 true false [] {} '' [[]] 0x10
[1,'a'] [[1.0],[1.0,2.0]] [[[1.0]]] [nan,inf] "no-such-name" "../../etc/passwd" "\\u0000" "\\u202e"
"A.npy" {file='x.npy'} {file='/dev/zero.npy'} 1979-05-27T07:32:00Z {type='Simplex'} "exact" 1_00
"LeastSquares" "Simplex" {a={b={c=1}}} ["a","b"] "ü" +1 1e3
"""
WORDS = tuple(_PLAIN.split())
"""Values that may stand in the place of any other."""


class Damaged(NamedTuple):
    """A sound problem file by name, and the seed of what is done to it."""

    sound: str
    seed: int


def inputs(count: int, seed: int = 0) -> list[Damaged]:
    """Return ``count`` damaged problem files."""
    names = list(SOUND)
    return [Damaged(names[i % len(names)], seed + i) for i in range(count)]


def text_of(given: Damaged) -> bytes:
    """Return the text of a damaged file."""
    rng = random.Random(given.seed)
    text = SOUND[given.sound]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        text = rng.choice(_DAMAGES)(text, rng)
    raw = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.05:
        at = rng.randrange(len(raw) + 1)
        raw = raw[:at] + rng.randbytes(3) + raw[at:]
    return raw


def _other_value(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    places = [i for i, line in enumerate(lines) if "=" in line]
    at = rng.choice(places or [0])
    lines[at] = f"{lines[at].partition('=')[0]}= {rng.choice(WORDS)}"
    return "\n".join(lines)


def _other_key(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    key, equals, value = lines[at].partition("=")
    keys = ("nmae", "type", "", "A", "engines", "'a b'", "ü", key.strip()[:-1], key * 2)
    lines[at] = f"{rng.choice(keys)} {equals}{value}"
    return "\n".join(lines)


def _without_line(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines)


def _line_twice(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines.insert(to, lines[at])
    return "\n".join(lines)


def _other_character(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice("[]{}=\"'\n#.,-\0é\u2028 e9") + text[at + rng.choice((0, 1)) :]


def _cut(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text) + 1)]


_DAMAGES = (_other_value,) * 6 + (_other_key, _without_line, _line_twice, _other_character, _cut)


@cache
def _place() -> Path:
    place = folder() / "problems"
    place.mkdir(exist_ok=True)
    return place


def run(given: Damaged) -> Verdict:
    """Read the file, and solve what it describes if it is accepted."""
    path = _place() / "problem.toml"
    path.write_bytes(text_of(given))

    def solve() -> None:
        task = read_problem(path)
        settings = dict(task.settings)
        settings["max_rounds"] = min(settings.get("max_rounds", 3), 3)
        settings.setdefault("max_seconds", 3.0)
        settings["progress"] = False
        use_result(wp.minimize(task.objective, task.set, **settings), task.objective, task.set)

    return judge(solve)
