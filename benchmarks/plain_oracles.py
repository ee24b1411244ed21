"""Linear oracles as one would write them without the library: one direction, a dense vertex."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, linprog, milp
from scipy.sparse import csgraph, csr_array, kron
from scipy.sparse import eye as sparse_eye


def one_hot(n: int, index: Any, value: float) -> np.ndarray:
    v = np.zeros(n)
    v[index] = value
    return v


def signed_argmax(scale: np.ndarray | float):
    def answer(g: np.ndarray) -> np.ndarray:
        i = int((np.abs(g) * scale).argmax())
        return one_hot(g.size, i, -np.sign(g[i]) * np.broadcast_to(scale, g.shape)[i])

    return answer


def top_k(k: int, values: Callable[[np.ndarray], Any], key: Callable[[np.ndarray], np.ndarray]):
    def answer(g: np.ndarray) -> np.ndarray:
        v = np.zeros(g.size)
        i = np.argpartition(key(g), k)[:k]
        v[i] = values(g[i])
        return v

    return answer


def fill(caps: np.ndarray, total: float):
    def answer(g: np.ndarray) -> np.ndarray:
        order = np.argsort(g)
        v = np.empty(g.size)
        sorted_caps = caps[order]
        v[order] = np.clip(total - np.cumsum(sorted_caps) + sorted_caps, 0.0, sorted_caps)
        return v

    return answer


def hoelder(p: float):
    def answer(g: np.ndarray) -> np.ndarray:
        power = np.abs(g) ** (1.0 / (p - 1.0))
        return -np.sign(g) * power / np.linalg.norm(power, p)

    return answer


def best_group(groups: list[np.ndarray]):
    def answer(g: np.ndarray) -> np.ndarray:
        group = max(groups, key=lambda group: np.linalg.norm(g[group]))
        v = np.zeros(g.size)
        v[group] = -g[group] / np.linalg.norm(g[group])
        return v

    return answer


def arrange(w: np.ndarray):
    descending = np.sort(w)[::-1]

    def answer(g: np.ndarray) -> np.ndarray:
        v = np.empty(g.size)
        v[np.argsort(g)] = descending
        return v

    return answer


def assign(g: np.ndarray) -> np.ndarray:
    v = np.zeros(g.shape)
    v[linear_sum_assignment(g)] = 1.0
    return v


def highs_transport(K: Any):
    p, q = K.shape
    rows = kron(sparse_eye(p), np.ones((1, q)))
    columns = kron(np.ones((1, p)), sparse_eye(q))
    A, b = scipy.sparse.vstack([rows, columns]), np.concatenate([K.a, K.b])
    return lambda g: linprog(g.reshape(-1), A_eq=A, b_eq=b).x.reshape(p, q)


def top_pair(g: np.ndarray) -> np.ndarray:
    U, _, Vt = np.linalg.svd(g, full_matrices=False)
    return -np.outer(U[:, 0], Vt[0])


def polar(g: np.ndarray) -> np.ndarray:
    U, _, Vt = np.linalg.svd(g, full_matrices=False)
    return -U @ Vt


def schatten(p: float):
    def answer(g: np.ndarray) -> np.ndarray:
        U, s, Vt = np.linalg.svd(g, full_matrices=False)
        power = s ** (1.0 / (p - 1.0))
        return -(U * (power / np.linalg.norm(power, p))) @ Vt

    return answer


def low_eigenvector(g: np.ndarray) -> np.ndarray:
    v = np.linalg.eigh(0.5 * (g + g.T))[1][:, 0]
    return np.outer(v, v)


def shortest_path(edges: list[tuple[int, int]], source: int, target: int):
    tails, heads = np.array(edges).T
    position, nodes = (
        {edge: i for i, edge in enumerate(edges)},
        int(max(tails.max(), heads.max())) + 1,
    )

    def answer(g: np.ndarray) -> np.ndarray:
        graph = csr_array((g, (tails, heads)), shape=(nodes, nodes))
        back = csgraph.bellman_ford(graph, indices=source, return_predecessors=True)[1]
        v, node = np.zeros(g.size), target
        while node != source:
            v[position[back[node], node]] = 1.0
            node = back[node]
        return v

    return answer


def light_tree(edges: list[tuple[int, int]], nodes: int):
    tails, heads = np.array(edges).T
    position = {edge: i for i, edge in enumerate(edges)}

    def answer(g: np.ndarray) -> np.ndarray:
        # a spanning tree of positive weights: SciPy takes a zero for a missing edge
        graph = csr_array((g - g.min() + 1.0, (tails, heads)), shape=(nodes, nodes))
        tree = csgraph.minimum_spanning_tree(graph).tocoo()
        v = np.zeros(g.size)
        v[[position[edge] for edge in zip(tree.row, tree.col, strict=True)]] = 1.0
        return v

    return answer


def route(edges: list[tuple[int, int]], demands: list[tuple[int, int, float]]):
    paths = [(shortest_path(edges, o, d), amount) for o, d, amount in demands]
    return lambda g: sum(amount * path(g) for path, amount in paths)


def greedy(independent: Callable[[tuple[int, ...]], bool], rank: int):
    def answer(g: np.ndarray) -> np.ndarray:
        chosen: list[int] = []
        for i in np.argsort(g).tolist():
            if independent((*chosen, i)):
                chosen.append(i)
            if len(chosen) == rank:
                break
        v = np.zeros(g.size)
        v[chosen] = 1.0
        return v

    return answer


def highs(A: np.ndarray, b: np.ndarray):
    return lambda g: linprog(g, A_ub=A, b_ub=b, bounds=(0, 1)).x


def highs_integer(A: np.ndarray, b: np.ndarray):
    limit = LinearConstraint(A, ub=b)
    ones = np.ones(A.shape[1])
    return lambda g: milp(g, constraints=limit, integrality=ones, bounds=Bounds(0, 1)).x
