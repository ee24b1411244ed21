"""All paths, spanning trees and routings of small graphs, by plain search."""

from __future__ import annotations

import itertools

import numpy as np


def paths(edges, source, target) -> list[list[int]]:
    """List the simple paths from source to target, each as the positions of its edges."""
    if source == target:
        return [[]]
    found = []
    for i, (tail, head) in enumerate(edges):
        if tail == source:
            onward = [e if source not in e else (None, None) for e in edges]
            found += [[i, *rest] for rest in paths(onward, head, target)]
    return found


def indicators(subsets, n: int) -> np.ndarray:
    """Return the 0/1 vectors of subsets of range(n)."""
    rows = np.zeros((len(subsets), n))
    for row, subset in zip(rows, subsets, strict=True):
        row[list(subset)] = 1.0
    return rows


def path_vectors(edges, source, target) -> np.ndarray:
    return indicators(paths(edges, source, target), len(edges))


def is_tree(edges, subset, nodes) -> bool:
    """Tell whether the edges join all nodes without a cycle, by merging groups."""
    groups = [{v} for v in nodes]
    for i in subset:
        joined = [g for g in groups if g & set(edges[i])]
        if len(joined) != 2:
            return False
        groups = [g for g in groups if g not in joined] + [joined[0] | joined[1]]
    return len(groups) == 1


def tree_vectors(edges) -> np.ndarray:
    nodes = {v for edge in edges for v in edge}
    subsets = itertools.combinations(range(len(edges)), len(nodes) - 1)
    return indicators([s for s in subsets if is_tree(edges, s, nodes)], len(edges))


def random_dag(n: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Return edges between nodes 0..n+1, shuffled; some are parallel, some lead nowhere."""
    chosen = [(0, n + 1), (0, n + 1)]
    for a, b in itertools.combinations(range(n + 2), 2):
        chosen += [(a, b)] * int(rng.integers(0, 3) if rng.random() < 0.5 else 0)
    order = rng.permutation(len(chosen))
    return [chosen[i] for i in order]


def matching_vectors(edges, perfect: bool = False) -> np.ndarray:
    """Return the 0/1 vectors of all matchings, by trying all sets of edges."""
    nodes = {v for edge in edges for v in edge}
    found = []
    for size in range(len(nodes) // 2 + 1):
        for chosen in itertools.combinations(range(len(edges)), size):
            ends = [v for i in chosen for v in edges[i]]
            if len(set(ends)) == len(ends) and (not perfect or 2 * size == len(nodes)):
                found.append(chosen)
    return indicators(found, len(edges))
