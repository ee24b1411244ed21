"""Nodes as the work of an engine: a round's nodes are the blocks of its question.

A question travels as one array: the aim, the pseudo-costs, and each node in a row of fixed length.
A block's contribution is one array too. So nodes run wherever oracles run, and a worker that dies
costs its nodes computed again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from ...arrays import Array
from ...atoms import DenseSummary
from ...problem import Counts, Problem
from ...smoothing import Oracles
from ...smoothing.job import Job, Partial, Question
from .node import KEPT, Aim, Node, Outcome, PseudoCosts, Rules
from .solve import solve_node

_NODE_NUMBERS = 7  # of a node, apart from its arrays
_OUTCOME_NUMBERS = 9


class TreeJob(Job):
    """What a worker needs to solve nodes."""

    def __init__(self, problem: Problem, rules: Rules, batch: int) -> None:
        self.problem, self.rules, self.batch = problem, rules, batch
        region: Any = problem.set
        self.n, self.q = region.dimension, int(region.integer.sum())
        self.node_length = 2 * self.q + _NODE_NUMBERS + KEPT * (self.n + 1)
        self.length_of_question = 2 + 4 * self.q + batch * self.node_length
        # what engines read of a job: the size of a question, and what to call the set
        shown = SimpleNamespace(dimension=self.length_of_question, releases_gil=True)
        self.smoothing = cast("Any", SimpleNamespace(K=shown))
        self.pins = False

    def __reduce__(self) -> tuple[object, ...]:
        # limits hold in the driver's process alone
        return TreeJob, (replace(self.problem, counts=Counts()), self.rules, self.batch)

    def length(self, m: int) -> int:
        return 1

    def answers_of(self, question: Question, block: int) -> int:
        return 0  # a node tells itself how many oracle calls it made

    def quiet(self) -> AbstractContextManager[object]:
        return nullcontext()

    def compute(self, question: Question, blocks: range, pack: bool = True) -> list[Partial]:
        """Return the outcome of each node among ``blocks``."""
        aim, costs = self._read_head(question.v)
        found: list[Partial] = []
        for block in blocks:
            node = self._read_node(question.v, block)
            outcome = solve_node(self.problem, node, aim, costs, self.rules)
            found.append(Partial(1, DenseSummary(self._write_outcome(outcome)), 0.0))
        return found

    def write(self, nodes: Sequence[Node], aim: Aim, costs: PseudoCosts) -> Array:
        """Return the array of a question."""
        v = np.zeros(self.length_of_question)
        head = [*aim, *costs.gains.reshape(-1), *costs.counts.reshape(-1)]
        v[: len(head)] = head
        for i, node in enumerate(nodes):
            numbers = [node.bound, node.depth, node.number, node.entry, node.up, node.shift]
            parts = [np.array([*numbers, len(node.weights)], dtype=np.float64)]
            parts += [node.low, node.high, node.weights, node.vertices.reshape(-1)]
            row = np.concatenate(parts)
            first = len(head) + i * self.node_length
            v[first : first + len(row)] = row
        return v

    def read_outcome(self, row: Array) -> Outcome:
        """Return the outcome that a worker has written."""
        numbers, rest = row[:_OUTCOME_NUMBERS], row[_OUTCOME_NUMBERS:]
        bound, value, fun, entry, nfev, njev, nlmo, rounding, p = numbers.tolist()
        sizes = (self.n, self.n, self.q, self.q, int(p), int(p) * self.n)
        x, point, low, high, weights, vertices = _parts(rest, sizes)
        return Outcome(
            bound=bound,
            value=value,
            fun=fun,
            entry=int(entry),
            nfev=int(nfev),
            njev=int(njev),
            nlmo=int(nlmo),
            rounding=rounding,
            x=x,
            point=point,
            low=low,
            high=high,
            vertices=vertices.reshape(int(p), self.n),
            weights=weights,
        )

    def _write_outcome(self, found: Outcome) -> Array:
        numbers = [found.bound, found.value, found.fun, found.entry, found.nfev, found.njev]
        numbers += [found.nlmo, found.rounding, len(found.weights)]
        parts = [found.x, found.point, found.low, found.high, found.weights]
        return np.concatenate([np.array(numbers), *parts, found.vertices.reshape(-1)])

    def _read_head(self, v: Array) -> tuple[Aim, PseudoCosts]:
        gains, counts = v[2 : 2 + 4 * self.q].reshape(2, self.q, 2)
        return Aim(float(v[0]), float(v[1])), PseudoCosts(gains, counts)

    def _read_node(self, v: Array, block: int) -> Node:
        first = 2 + 4 * self.q + block * self.node_length
        row = v[first : first + self.node_length]
        bound, depth, number, entry, up, shift, p = row[:_NODE_NUMBERS].tolist()
        sizes = (self.q, self.q, int(p), int(p) * self.n)
        low, high, weights, vertices = _parts(row[_NODE_NUMBERS:], sizes)
        # copies: the question's memory is used again
        return Node(
            low=low.copy(),
            high=high.copy(),
            bound=bound,
            depth=int(depth),
            number=int(number),
            entry=int(entry),
            up=int(up),
            shift=shift,
            vertices=vertices.reshape(int(p), self.n).copy(),
            weights=weights.copy(),
        )


def _parts(row: Array, sizes: Sequence[int]) -> list[Array]:
    """Return consecutive parts of a row; `numpy.split` takes ten times as long for short rows."""
    ends = list(itertools.accumulate(sizes))
    return [row[end - size : end] for size, end in zip(sizes, ends, strict=True)]


class TreeOracles(Oracles):
    """The oracle of K, and the nodes of a tree, which an engine may solve.

    ``max_nodes`` is the run's limit on nodes.
    """

    def __init__(self, problem: Problem, job: TreeJob, max_nodes: float = math.inf) -> None:
        super().__init__(problem)
        self.job, self.max_nodes = job, max_nodes

    def lmo(self, g: Array) -> Any:
        """Return the answer of K itself, in this process."""
        self.problem.counts.ask()
        return self.problem.set._lmo(g)

    def solve(
        self, k: int, nodes: Sequence[Node], aim: Aim, costs: PseudoCosts, rules: Rules
    ) -> list[Outcome]:
        """Return the outcomes of the nodes of a round, in their order."""
        job, counts = cast("TreeJob", self.job), self.problem.counts
        if self.driver is None:
            found = [solve_node(self.problem, node, aim, costs, rules) for node in nodes]
        else:
            question = Question(k, job.write(nodes, aim, costs), 0.0, len(nodes))
            partials = self.driver.ask(question, range(len(nodes)))
            found = [job.read_outcome(partial.mean.mean()) for partial in partials]
        for outcome in found:
            counts.nfev, counts.njev = counts.nfev + outcome.nfev, counts.njev + outcome.njev
            counts.nlmo += outcome.nlmo
            counts.rounding = max(counts.rounding, outcome.rounding)
        return found
