"""The corrective method: the rounds it must save, its guarantees, and oracles that misbehave."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest

import rival_problems
import wolfpack as wp
from problems import paper_simplex, paper_trace_ball, small_logistic
from wolfpack.problem import Problem
from wolfpack.smoothing import Ambient, Oracles
from wolfpack.solvers import Corrective
from wolfpack.solvers.parts.correction import correction_kind


def nearest(K: Any, target: np.ndarray) -> Any:
    return wp.objectives.Quadratic(1.0, -target, 0.5 * float(np.vdot(target, target)))


def birkhoff(n: int = 30, seed: int = 0) -> tuple[Any, Any]:
    """The projection onto the Birkhoff polytope of the benchmark."""
    K = wp.sets.Birkhoff(n)
    return nearest(K, np.random.default_rng(seed).random((n, n))), K


@cache
def birkhoff_rounds(m: int) -> int:
    f, K = birkhoff()
    res = wp.minimize(f, K, method="corrective", m=m, tol=1e-6, max_rounds=400)
    assert res.success
    assert K.contains(res.x)
    return res.nit


@pytest.mark.parametrize(("m", "share"), [(16, 3), (64, 8)])
def test_parallel_oracles_save_rounds_on_birkhoff(m, share):
    assert birkhoff_rounds(m) <= birkhoff_rounds(1) / share


@pytest.mark.parametrize(("m", "rounds"), [(1, 50), (16, 15)])
def test_reaches_on_the_paper_simplex(m, rounds):
    f, K, x0 = paper_simplex()
    res = wp.minimize(f, K, x0, method="corrective", m=m, tol=1e-6, max_rounds=rounds)
    assert res.success


def test_reaches_on_the_paper_trace_ball():
    f, K, x0 = paper_trace_ball()
    res = wp.minimize(f, K, x0, method="corrective", m=16, tol=1e-5, max_rounds=60)
    assert res.success


@pytest.mark.parametrize("m", [1, 6])
@pytest.mark.parametrize("name", rival_problems.CASES)
def test_agrees_with_an_independent_solver(name, m):
    f, K = rival_problems.case(name)
    res = wp.minimize(f, K, method="corrective", m=m, tol=1e-7, max_rounds=200)
    best = rival_problems.minimum(name)
    assert res.success
    assert abs(res.fun - best) <= 2e-7
    assert np.all(res.history["lower_bound"] <= best + 1e-8)
    assert K.contains(res.x)


class Plain(wp.objectives.Objective):
    """An objective that hides some of what another one knows."""

    def __init__(self, f: Any, *knows: str) -> None:
        self.f = f
        for name in knows:
            setattr(self, name, getattr(f, name))

    def evaluate(self, x: Any) -> Any:
        at = self.f.evaluate(x)
        return at._replace(dual=float(np.vdot(x, at.gradient)) - at.value)


@pytest.mark.parametrize(
    ("knows", "kind"),
    [
        ((), "gradient"),
        (("hessian_product",), "newton"),
        (("hessian_product", "curvature"), "quadratic"),
    ],
)
def test_the_three_corrections_agree(knows, kind):
    f, K = rival_problems.case("quadratic hull")
    plain = Plain(f, *knows)
    assert correction_kind(Problem(plain, K), K.start()) == kind
    res = wp.minimize(plain, K, method="corrective", m=3, tol=1e-7, max_rounds=100)
    assert res.success
    assert abs(res.fun - rival_problems.minimum("quadratic hull")) <= 2e-7


@pytest.mark.parametrize("products", [True, False])
@pytest.mark.parametrize("m", [1, 4])
def test_traffic_with_and_without_second_derivatives(products, m):
    net = rival_problems.Traffic()
    f = wp.objectives.Function(net.f)
    if products:
        f.hessian_product = net.hessian_product  # type: ignore[method-assign]
    run = {"m": m, "tol": 1e-4, "max_rounds": 300}
    res = wp.minimize(f, net.K, net.x0, method="corrective", **run)
    assert res.success
    reference = wp.minimize(f, net.K, net.x0, method="fcfw", tol=1e-4, max_rounds=300)
    assert abs(res.fun - reference.fun) <= 2e-4


def test_value_falls_in_every_round_and_by_the_sure_amount():
    f, K = birkhoff(8)
    seen: list[tuple[float, float]] = []

    def note(r: Any) -> None:
        g, x, v = r.state.at.gradient, r.state.x, r.state.answers.vertices.take(0)
        seen.append((r.state.at.value, float(np.vdot(g, x)) - float(v.dot(g))))

    wp.minimize(f, K, method="corrective", m=3, tol=1e-10, callback=note)
    for (value, gap), (value_next, _) in itertools.pairwise(seen):
        sure = min(gap / 2, gap**2 / (4 * f.L * K.diameter**2))
        assert value_next <= value - sure + 1e-12


def test_corrections_meet_their_tolerance():
    f, K = birkhoff(10)
    states: list[Any] = []
    run = {"m": 5, "tol": 1e-8, "accuracy": 0.2}
    wp.minimize(f, K, method="corrective", callback=lambda r: states.append(r.state), **run)
    for before, after in itertools.pairwise(states):
        g, x = before.at.gradient, before.x
        gap = float(np.vdot(g, x)) - float(before.answers.vertices.take(0).dot(g))
        slopes, w = after.hull.scores(after.at.gradient), after.hull.weights
        mean = float(slopes @ w)
        assert mean - slopes.min() <= 0.2 * gap + 1e-12
        assert slopes[w > 0].max() - mean <= 0.2 * gap + 1e-12


def test_pool_keeps_its_limits_and_what_has_weight():
    f, K = birkhoff(9)
    sizes: list[tuple[int, int]] = []

    def note(r: Any) -> None:
        hull = r.state.hull
        assert abs(hull.weights.sum() - 1.0) <= 1e-12
        np.testing.assert_allclose(hull.point(hull.weights), r.state.x, atol=1e-12)
        sizes.append((len(hull.weights), int((hull.weights > 0).sum())))

    run = {"m": 6, "tol": 1e-9, "max_pool": 20, "max_age": 2, "max_rounds": 200}
    res = wp.minimize(f, K, method="corrective", callback=note, **run)
    assert res.success
    assert all(size <= max(20, used + 1) + 6 for size, used in sizes)


@pytest.mark.parametrize("engine", ["threads:2", "processes:2"])
def test_engines_give_the_same_bits(engine):
    f, K = birkhoff(7)
    run = {"method": "corrective", "m": 9, "block": 2, "tol": 1e-8}
    here, there = (wp.minimize(f, K, engine=where, **run) for where in (None, engine))
    assert here.x.tobytes() == there.x.tobytes()
    assert here.nlmo == there.nlmo


@pytest.mark.parametrize("policy", [{"stragglers": "drop", "quorum": 0.3}, {"mode": "async"}])
def test_late_and_missing_answers_do_not_spoil_certificates(policy):
    f, K = birkhoff(7)
    best = wp.minimize(f, K, method="corrective", tol=1e-10).fun
    run = {"method": "corrective", "m": 12, "block": 2, "engine": "threads:2", "tol": 1e-7}
    res = wp.minimize(f, K, max_rounds=200, **run, **policy)
    assert res.success
    assert np.all(res.history["lower_bound"] <= best + 1e-9)


@pytest.mark.parametrize("m", [2, 5])
def test_m_oracle_calls_a_round_where_answers_may_come_late(m):
    """The clean answer is asked by itself there; the others are the m - 1 perturbed ones."""
    f, K = birkhoff(7)
    run = {"method": "corrective", "tol": 0, "max_rounds": 6, "block": 1, "engine": "threads:2"}
    res = wp.minimize(f, K, m=m, stragglers="drop", quorum=1.0, **run)
    assert np.all(np.diff(res.history["nlmo"]) == m)


@pytest.mark.parametrize("K", [wp.sets.Birkhoff(5), wp.sets.KSparse(9, 2)])
def test_one_question_with_several_scales_and_another_point(K):
    rng = np.random.default_rng(0)
    g, y = rng.standard_normal((2, *K.shape))
    problem = Problem(nearest(K, g), K)
    for block in (None, 2):
        oracles = Oracles(problem, Ambient(K, wp.noise.Gaussian()), seed=4, block=block)
        parts = oracles.answers(g, np.array([0.0, 0.1, 0.1, 30.0, 30.0]), 5, 3, y)
        assert sum(len(part) for part in parts) == 6
        assert parts[0].take(0).key() == K.lmo(g).key()
        assert parts[-1].take(0).key() == K.lmo(y).key()
    assert problem.counts.nlmo == 12


@pytest.mark.parametrize("m", [2, 5])
def test_m_oracle_calls_a_round_all_of_them_by_the_engine(m):
    f, K = birkhoff(7)
    run = {"method": "corrective", "tol": 0, "max_rounds": 8, "block": 1, "engine": "threads:2"}
    res = wp.minimize(f, K, m=m, **run)
    assert np.all(np.diff(res.history["nlmo"]) == m)
    assert np.all(res.engine["blocks"] == m)
    assert np.all(np.diff(res.history["njev"]) == 1)


def oracle(answer: Any) -> Any:
    return wp.sets.Oracle(answer, shape=6, radius=1.0 + 1e-8)


MISBEHAVING = {
    "always the same": lambda g: np.full(6, 1 / 6),
    "not a vertex": lambda g: 0.5 * (np.eye(6)[g.argmin()] + np.eye(6)[g.argsort()[1]]),
    "a little outside": lambda g: (1 + 1e-9) * np.eye(6)[g.argmin()],
    "never twice the same": lambda g: np.eye(6)[g.argmin()] * (1 + 1e-13 * np.abs(g).sum()),
}


@pytest.mark.parametrize("m", [1, 4])
@pytest.mark.parametrize("name", MISBEHAVING)
def test_oracles_that_misbehave(name, m):
    rng = np.random.default_rng(3)
    f = wp.objectives.LeastSquares(rng.standard_normal((12, 6)), rng.standard_normal(12))
    res = wp.minimize(
        f, oracle(MISBEHAVING[name]), method="corrective", m=m, tol=1e-8, max_rounds=60
    )
    assert res.status in ("converged", "stalled")
    assert res.gap <= 1e-7


FLAT = {
    "linear": lambda x: (float(np.arange(8.0) @ x), np.arange(8.0)),
    "constant": lambda x: (1.0, np.zeros(8)),
    "one direction": wp.objectives.LeastSquares(np.arange(8.0)[None], np.array([3.3])),
}


@pytest.mark.parametrize("m", [1, 4])
@pytest.mark.parametrize("name", FLAT)
def test_functions_that_are_not_strongly_convex(name, m):
    res = wp.minimize(FLAT[name], wp.sets.KSparse(8, 3), method="corrective", m=m, tol=1e-9)
    assert res.success


@pytest.mark.parametrize("m", [1, 8])
def test_the_level_of_rounding_ends_a_run(m):
    for f, K, x0 in ((*birkhoff(8), None), paper_simplex(), small_logistic()):
        res = wp.minimize(f, K, x0, method="corrective", m=m, tol=0, max_rounds=300)
        assert res.status == "stalled"
        assert "rounding" in res.message
        assert res.gap <= 1e-11 * abs(res.fun)


def test_a_minimiser_on_a_degenerate_face():
    # the identity is a vertex, and many faces of Birkhoff's polytope meet there
    K = wp.sets.Birkhoff(6)
    for m in (1, 5):
        res = wp.minimize(nearest(K, np.eye(6)), K, method="corrective", m=m, tol=1e-12)
        assert res.success
        np.testing.assert_allclose(res.x, np.eye(6), atol=1e-6)


def test_float32_stays_float32():
    f, K, x0 = paper_simplex()
    res = wp.minimize(f, K, x0.astype(np.float32), method="corrective", m=4, tol=1e-3)
    assert res.success
    assert res.x.dtype == np.float32


@pytest.mark.parametrize(
    "options", [{"m": 0}, {"accuracy": 1.0}, {"max_pool": 0}, {"max_age": -1}, {"max_rank": 0}]
)
def test_options_are_checked(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Corrective(**options)


def single(name: str) -> tuple[Any, Any]:
    """Problems for each kind of correction, in single precision."""
    rng = np.random.default_rng(0)
    A, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((60, 40), 60))
    B, C = (rng.standard_normal(shape).astype(np.float32) for shape in ((10, 10), (10, 8)))
    return {
        "quadratic": (wp.objectives.LeastSquares(A, b), wp.sets.KSparse(40, 5)),
        "logistic": (wp.objectives.Logistic(A, np.sign(b)), wp.sets.L1Ball(40, 5.0)),
        "huber": (wp.objectives.Huber(A, b), wp.sets.L1Ball(40, 2.0)),
        "trace ball": (wp.objectives.LeastSquares(B, C), wp.sets.TraceNormBall((10, 8))),
    }[name]


@pytest.mark.parametrize("m", [1, 8])
@pytest.mark.parametrize("name", ["quadratic", "logistic", "huber", "trace ball"])
def test_single_precision_ends_at_its_floor_without_a_struggle(name, m):
    f, K = single(name)
    x0 = K.start().astype(np.float32)
    res = wp.minimize(f, K, x0, method="corrective", m=m, tol=0, max_rounds=300)
    assert res.status == "stalled"
    assert "The floor is about" in res.message
    assert 0 <= res.gap <= 2e-5 * abs(res.fun)
    assert res.njev <= 1500


class Counted:
    """A quadratic as a callable, ``bend`` times a term that is not quadratic from x_0 = edge on."""

    def __init__(self, n: int = 40, bend: float = 0.0, edge: float = 0.0) -> None:
        rng = np.random.default_rng(0)
        root = rng.standard_normal((n, n))
        self.Q, self.c, self.bend, self.edge, self.calls = root.T @ root / n, root[0], bend, edge, 0

    def __call__(self, x):
        self.calls += 1
        Qx, over = self.Q @ x, max(0.0, x[0] - self.edge)
        gradient = Qx + self.c
        gradient[0] += 3.0 * self.bend * over**2
        return 0.5 * x @ Qx + self.c @ x + self.bend * over**3, gradient


def test_a_callable_that_is_quadratic_takes_a_gradient_for_each_vertex():
    f, K = Counted(), wp.sets.Simplex(40)
    res = wp.minimize(f, K, method="corrective", m=2, tol=1e-9, checks=False)
    assert res.state.hull.origin.any()
    assert res.success
    assert res.state.kind == "affine"
    # one in each round, one for each vertex, two for the test
    assert res.njev <= res.nit + len(res.state.hull.weights) + 4
    plain = wp.minimize(wp.objectives.Quadratic(f.Q, f.c), K, method="corrective", m=2, tol=1e-9)
    assert abs(res.fun - plain.fun) <= 1e-9
    hull = res.state.hull
    u = np.array([hull.vertex(i) for i in range(len(hull.weights))]) - hull.origin
    np.testing.assert_allclose(hull.gram, u @ f.Q @ u.T, atol=1e-12)


@pytest.mark.parametrize("edge", [-10.0, 0.2, 1.0])
def test_a_callable_that_is_not_quadratic_everywhere_is_corrected_by_gradients(edge):
    f = Counted(bend=5.0, edge=edge)
    f.c = f.c - 6.0 * np.eye(40)[0]  # the solution is beyond the edge
    K = wp.sets.L1Ball(40, 4.0)
    res = wp.minimize(f, K, method="corrective", tol=1e-8, x0=np.zeros(40))
    assert res.success
    assert res.x[0] > edge
    assert res.state.kind == "gradient"
    best = wp.minimize(f, K, method="away", tol=1e-8)
    assert abs(res.fun - best.fun) <= 2e-8


def test_a_vertex_outside_the_domain_ends_the_guess_that_f_is_quadratic():
    def f(x):
        if x[2] > 0.9:
            return np.inf, np.full(3, np.nan)
        return 0.5 * float((x - [0.1, 0.2, 0.8]) @ (x - [0.1, 0.2, 0.8])), x - [0.1, 0.2, 0.8]

    res = wp.minimize(f, wp.sets.Simplex(3), method="corrective", x0=np.eye(3)[0], tol=1e-9)
    assert res.fun <= 0.5 * 3 * (0.1 / 3) ** 2 + 1e-9


def test_a_pool_has_no_more_than_twice_the_vertices_with_weight():
    rng = np.random.default_rng(0)
    t = rng.random((12, 12))
    f = wp.objectives.Quadratic(1.0, -t)
    sizes = []

    def look(now):
        hull = now.state.hull
        sizes.append((len(hull.weights), int((hull.weights > 0).sum())))

    wp.minimize(f, wp.sets.Birkhoff(12), method="corrective", m=12, max_rounds=40, callback=look)
    assert max(size for size, _ in sizes) > 64
    for (_, used), (size, _) in itertools.pairwise(sizes):
        assert size <= 64 + 2 * used + 12


def as_callable(f):
    """Return f as a plain callable, declared convex."""
    return wp.objectives.Function(lambda x: f.evaluate(x)[:2], convex=True)


def test_a_quadratic_that_nobody_declared_costs_a_gradient_for_each_vertex():
    K, rng = wp.sets.KSparse(40, 4), np.random.default_rng(4)
    f = wp.objectives.LeastSquares(rng.standard_normal((60, 40)), rng.standard_normal(60))
    known = wp.minimize(f, K, method="corrective", tol=1e-7)
    found = wp.minimize(as_callable(f), K, method="corrective", tol=1e-7)
    assert known.success
    assert found.success
    assert abs(found.nit - known.nit) <= 3
    assert found.njev <= 3 * found.nit + 10


@pytest.mark.parametrize("m", [1, 8])
def test_steps_teach_the_hessian_of_a_loss_without_one(m):
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((80, 30))

    def f(x):
        e = np.exp(rows @ x) / 80
        return float(e.sum()), rows.T @ e

    K = wp.sets.L1Ball(30, 2.0)
    res = wp.minimize(f, K, method="corrective", m=m, tol=1e-8, max_rounds=200)
    assert res.success
    assert res.njev <= 20 * res.nit + 30 * m
    other = wp.minimize(f, K, method="projected", tol=1e-8)
    assert abs(res.fun - other.fun) <= 2e-8


def test_a_hull_at_another_point_keeps_its_vertices():
    f, K, x0 = paper_simplex()
    problem = Problem(f, K)
    oracles = Oracles(problem)
    solver = Corrective()
    state = solver.init(problem, x0, oracles)
    for _ in range(5):
        state = solver.step(problem, state, oracles)
    x = wp.minimize(f, K, x0, method="projected", tol=1e-2).x
    assert f.value(x) < state.at.value
    moved = solver.moved_to(problem, state, x, problem.evaluate(x), oracles)
    assert moved.hull.keys == state.hull.keys
    np.testing.assert_array_equal(moved.hull.point(), x)
    points = [moved.hull.vertex(i) for i in range(len(moved.hull.weights))]
    gram = np.array([[u @ f.hessian_product(x, v) for v in points] for u in points])
    np.testing.assert_allclose(moved.hull.gram, gram, atol=1e-9 * abs(gram).max())
    following = solver.step(problem, moved, oracles)
    assert following.at.value < moved.at.value


def test_a_function_with_kinks_is_not_said_to_meet_rounding_errors():
    rows = np.random.default_rng(1).standard_normal((60, 6))

    def largest(x):
        return float((rows @ x).max()), rows[np.argmax(rows @ x)]

    res = wp.minimize(largest, wp.sets.Simplex(6), method="corrective")
    assert res.status == "stalled"
    assert "no more progress" in res.message
    assert "far above the rounding errors" in res.message
    assert "The floor" not in res.message
