"""Several methods in turn: who gets the rounds, what is kept, and that a run can be repeated."""

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.front.plan import Plan
from wolfpack.solvers import Conjugate, Corrective
from wolfpack.solvers.adaptive import Adaptive, Leg

RNG = np.random.default_rng(3)
A = RNG.standard_normal((40, 30))
B = A @ RNG.dirichlet(np.ones(30)) + 0.1 * RNG.standard_normal(40)
F = wp.objectives.LeastSquares(A, B)


def hidden(K):
    """Return the set as an oracle of which nothing is known."""
    return wp.sets.Oracle(lambda g: K.lmo(g).to_dense(), shape=K.shape, radius=K.radius)


def steep():
    """Return an ill-conditioned problem, on which gradient steps are slow."""
    t = np.linspace(-1.0, 1.0, 100)
    f = wp.objectives.LeastSquares(np.vander(t, 10, increasing=True), np.sin(5.0 * t))
    # a product does not list its vertices, with which least squares would be solved at once
    return f, wp.sets.Product(wp.sets.L1Ball(9, 100.0), wp.sets.LinfBall(1, 100.0))


def test_vertices_of_an_unknown_polytope_are_kept_after_all():
    res = wp.minimize(F, hidden(wp.sets.Simplex(30)), tol=1e-8)
    assert res.success
    assert res.method == "corrective"
    assert [leg for _, leg in res.plan.switches] == [1]
    assert "took turns" in res.message


def test_repeated_answers_show_a_polytope():
    res = wp.minimize(F, hidden(wp.sets.Simplex(30)), tol=1e-8)
    ((k, leg),) = res.plan.switches
    assert leg == 1
    assert k < 20  # before the gap was measured a second time


def test_a_method_that_is_fast_keeps_its_turn():
    res = wp.minimize(F, hidden(wp.sets.L2Ball(30, 0.05)), tol=1e-8)
    assert res.success
    assert res.method == "conjugate"
    assert res.plan.switches == ()
    assert "took turns" not in res.message


def test_an_opening_that_is_enough_is_said():
    res = wp.minimize(F, wp.sets.Simplex(30))
    assert res.method == "nnls"
    assert "'nnls', which came first, was enough" in res.message
    assert "enough" not in wp.minimize(F, wp.sets.Simplex(30), method="nnls").message


def test_slow_gradient_steps_give_way():
    f, K = steep()
    auto = wp.minimize(f, K, tol=1e-9, max_rounds=400)
    projected = wp.minimize(f, K, method="projected", tol=1e-9, max_rounds=400)
    assert auto.success
    assert not projected.success


@pytest.mark.parametrize("problem", [steep, lambda: (F, hidden(wp.sets.Simplex(30)))])
def test_the_plan_repeats_the_run(problem):
    f, K = problem()
    first = wp.minimize(f, K, tol=1e-9)
    again = wp.minimize(f, K, tol=1e-9, method=first.plan)
    assert first.plan.switches
    assert again.plan == first.plan
    assert np.array_equal(again.x, first.x)
    assert again.nit == first.nit


def test_resumed_in_every_turn(tmp_path):
    f, K = steep()
    whole = wp.minimize(f, K, tol=1e-9)
    (begun, _), *_ = whole.plan.switches
    for rounds in (begun - 1, begun, begun + 1):
        path = tmp_path / f"{rounds}.ckpt"
        wp.minimize(f, K, tol=1e-9, max_rounds=rounds, checkpoint=path)
        res = wp.resume(path, f, K, max_rounds=100_000)
        assert np.array_equal(res.x, whole.x)
        assert res.plan == whole.plan
        assert res.method == whole.method


def test_the_turn_goes_back_to_the_better_method():
    # The rounds of the second method cost a thousand times as much as those of the first.
    slow = Leg("conjugate", Conjugate(1, rule=wp.solvers.OpenLoop()), 10, 1000.0)
    good = Leg("corrective", Corrective(m=1, accuracy=0.9), 4, 1.0)
    K = wp.sets.Simplex(30)
    res = wp.minimize(F, K, method=Adaptive((good, slow), tol=1e-13), tol=1e-13, max_rounds=500)
    turns = [leg for _, leg in res.state.past]
    assert turns[-1] == 0


def test_the_bound_of_all_methods_counts():
    res = wp.minimize(F, hidden(wp.sets.Simplex(30)), tol=1e-8, record_every=1)
    assert res.lower_bound == pytest.approx(np.max(res.history["lower_bound"]), abs=1e-12)
    assert np.all(np.diff(res.history["gap"]) <= 0)


def test_options_beside_a_plan_are_refused():
    plan = Plan((("projected", {}),))
    with pytest.raises(TypeError, match=r"method is a plan.*found \['m'\] beside it"):
        wp.minimize(F, wp.sets.Simplex(30), method=plan, m=3)


def test_options_of_the_method_leave_one_method():
    res = wp.minimize(F, wp.sets.Simplex(30), L0=100.0, tol=1e-6)
    assert res.plan == Plan((("projected", {"L0": 100.0}),), ())


def test_a_plan_reads_as_a_sentence():
    plan = Plan((("conjugate", {}), ("corrective", {"m": 4})), ((20, 1),))
    assert str(plan) == "conjugate from round 0, then corrective m=4 from round 20"


def test_explain_names_what_is_tried_next():
    text = str(wp.explain(F, hidden(wp.sets.Simplex(30))))
    assert "'corrective' and then 'anytime' will be tried" in text


def knapsack():
    """An exponential loss over the fractional knapsack, both known by calls alone."""
    rng = np.random.default_rng(50)
    sizes, room = rng.uniform(0.2, 1.0, 30), 5.0

    def lmo(g):
        x, left = np.zeros(30), room
        for i in np.argsort(g / sizes):
            if g[i] >= 0 or left <= 0:
                break
            x[i] = min(1.0, left / sizes[i])
            left -= x[i] * sizes[i]
        return x

    rows = rng.standard_normal((80, 30))

    def f(x):
        e = np.exp(-0.5 * (rows @ x))
        return float(e.sum()), -0.5 * (rows.T @ e)

    f = wp.objectives.Function(f, convex=True)
    return f, wp.sets.Oracle(lmo, shape=(30,), radius=np.sqrt(30.0))


def test_an_oracle_and_a_loss_of_a_users_own():
    f, K = knapsack()
    res = wp.minimize(f, K, tol=1e-4)
    assert res.success
    assert res.nlmo < 100
    assert res.njev < 400
    assert res.method == "corrective"


def test_a_product_of_a_spectrahedron_and_a_program():
    rng = np.random.default_rng(53)
    program = wp.sets.LinearProgram(A_ub=rng.random((6, 10)), b_ub=np.ones(6), bounds=(0, 1))
    K = wp.sets.Product(wp.sets.Spectrahedron(8), program)
    f = wp.objectives.Quadratic(1.0, -0.5 * rng.random(K.shape))
    res = wp.minimize(f, K, tol=1e-6)
    assert res.success
    assert res.nit < 60


@pytest.mark.parametrize(
    "K", [wp.sets.Birkhoff(6), wp.sets.Spectrahedron(7), wp.sets.KSparse(20, 4)]
)
def test_a_projection_is_one_round(K):
    f = wp.objectives.Quadratic(3.0, -np.random.default_rng(1).standard_normal(K.shape))
    res = wp.minimize(f, K, tol=1e-8)
    assert (res.success, res.nit, res.method) == (True, 1, "projected")


def test_strictly_convex_sets_begin_with_line_searches():
    K = wp.sets.LpBall(60, 1.5, 2.0)
    f = wp.objectives.Quadratic(1.0, -np.random.default_rng(1).standard_normal(60))
    res = wp.minimize(f, K, tol=1e-6)
    assert (res.success, res.method) == (True, "fw-ls")
    assert res.nit < 30


def test_an_answer_at_a_vertex_takes_the_opening_alone():
    f = wp.objectives.LeastSquares(np.diag(np.logspace(0, -3, 30)), 5.0 * np.eye(30)[0])
    res = wp.minimize(f, wp.sets.CappedSimplex(30, 1.0), tol=1e-9)
    assert res.success
    assert res.nit <= 4
    assert res.method == "conjugate"


def test_ill_conditioning_shows_in_the_first_rounds():
    f, K = steep()
    res = wp.minimize(f, K, tol=1e-6)
    assert res.success
    assert res.nit < 60
    assert res.method in ("conic", "corrective")


def test_a_method_goes_on_where_it_was():
    slow = Leg("conjugate", Conjugate(1, rule=wp.solvers.OpenLoop()), 3, 1.0)
    good = Leg("corrective", Corrective(m=1, accuracy=0.9), 2, 1.0)
    res = wp.minimize(F, wp.sets.Simplex(30), method=Adaptive((slow, good), 1e-13), tol=1e-13)
    state = res.state
    assert {leg for _, leg in state.past} == {0, 1}
    assert sum(account.rounds for account in state.accounts) == state.k
    assert state.states[1].k == state.accounts[1].rounds  # it was not begun anew


@pytest.mark.parametrize("unit", [1e-7, 1e5])
def test_without_tol_the_unit_of_f_does_not_matter(unit):
    K = wp.sets.Simplex(30)
    scaled = wp.objectives.LeastSquares(np.sqrt(unit) * A, np.sqrt(unit) * B)
    one, other = wp.minimize(F, K), wp.minimize(scaled, K)
    assert one.success
    assert other.success
    gain = one.history["fun"][0] - one.lower_bound
    assert one.gap <= 1e-6 * gain
    assert other.gap <= 1e-6 * gain * unit
    np.testing.assert_allclose(other.x, one.x, atol=1e-3)


def test_without_tol_an_optimal_start_has_converged():
    x = np.eye(30)[0]
    res = wp.minimize(wp.objectives.LeastSquares(A, A @ x), wp.sets.Simplex(30), x0=x)
    assert (res.status, res.nit) == ("converged", 0)


def test_a_tol_that_is_given_is_absolute():
    first = wp.minimize(F, wp.sets.Simplex(30), method="fw-ls", tol=0.3)
    assert 1e-6 < first.gap <= 0.3


def test_a_resumed_run_may_be_given_a_tol(tmp_path):
    path, K = tmp_path / "run.ckpt", wp.sets.Simplex(30)
    begun = wp.minimize(F, K, method="fw-ls", max_rounds=5, checkpoint=path)
    assert not begun.success
    assert wp.resume(path, F, K, tol=begun.gap, max_rounds=5).success
