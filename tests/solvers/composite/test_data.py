"""Where the data come from, how they are sampled, and runs that are saved."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import wolfpack as wp
from wolfpack.gradients import Minibatches, make_gradients
from wolfpack.gradients.sparse_rows import SparseRows
from wolfpack.objectives import Batches, Huber, LeastSquares, Logistic, Multinomial
from wolfpack.regularizers import ElasticNet, SquaredNorm

N, D, MU = 120, 5, 0.05
RNG = np.random.default_rng(11)
A = RNG.standard_normal((N, D)) * np.array([1.0, 2.0, 0.5, 1.0, 3.0])
A[::10] *= 4.0
B = A @ RNG.standard_normal(D) + RNG.standard_normal(N)
LABELS = np.where(B > 0, 1, -1)
H = ElasticNet(0.01, MU)
PAIRS = [(A[i : i + 24], LABELS[i : i + 24]) for i in range(0, N, 24)]


def best(G, H=H):
    return wp.minimize_composite(G, H, tol=1e-9)


class Tensor:
    """What wolfpack knows of a tensor of PyTorch."""

    def __init__(self, array):
        self.array = array

    def detach(self):
        return self

    cpu = detach

    def numpy(self):
        return self.array


def test_memory_mapped_rows_are_read_when_they_are_needed(tmp_path):
    np.save(tmp_path / "rows.npy", A.astype(np.float32))
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    G = Logistic(rows, LABELS, batch=10)
    assert np.shares_memory(G.A, rows)
    res = wp.minimize_composite(G, H, max_rounds=200, tol=0)
    again = wp.minimize_composite(
        Logistic(np.array(rows), LABELS, batch=10), H, max_rounds=200, tol=0
    )
    np.testing.assert_array_equal(res.x, again.x)


def test_large_matrices_are_checked_in_pieces():
    big = np.ones((2**20, 5))
    big[700_000, 2] = np.nan
    with pytest.raises(ValueError, match=r"A\[0:838860\] has 1 NaN"):
        LeastSquares(big, np.ones(2**20))


SOURCES = {
    "list": lambda: PAIRS,
    "function": lambda: lambda: iter(PAIRS),
    "tensors": lambda: [[Tensor(X), Tensor(y)] for X, y in PAIRS],
    "sparse": lambda: [(csr_array(X), y) for X, y in PAIRS],
}


@pytest.mark.parametrize("source", SOURCES)
def test_minibatches_from_a_source_minimise_the_mean(source):
    reference = best(Logistic(A, LABELS))
    G = Batches("logistic", SOURCES[source]())
    assert pytest.approx(Logistic(A, LABELS).L, rel=1e-6) == G.L
    np.testing.assert_allclose(G.gradient(reference.x), Logistic(A, LABELS).gradient(reference.x))
    res = wp.minimize_composite(G, H, method="converging", max_rounds=4000, tol=2e-3)
    assert res.lower_bound <= reference.fun + 1e-12
    assert res.success
    assert res.fun - reference.fun <= res.gap
    assert res.sigma2 > 0


def test_a_generator_ends_the_run_with_the_last_point():
    G = Batches("huber", iter([(X, X @ np.ones(D)) for X, _ in PAIRS] * 4), delta=2.0)
    res = wp.minimize_composite(G, H, max_rounds=100)
    assert (res.status, res.nit) == ("data_end", 20)
    assert "ended after 20 minibatches" in res.message
    assert "a function that returns a new generator" in res.message
    assert "no gap can be certified" in res.message
    assert np.isnan(res.fun)
    np.testing.assert_array_equal(res.x, res.state.x)
    full = Huber(A, A @ np.ones(D), delta=2.0)
    assert full.value(res.x) + H.value(res.x) < 0.5 * full.value(np.zeros(D))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("logistic", []), ValueError, "source must have at least one minibatch"),
        (("logistic", [(A[:0], LABELS[:0])]), ValueError, "minibatch 0 must not be empty"),
        (("logistic", [A]), TypeError, r"minibatch 0 must be a pair \(features, targets\)"),
        (("logistic", [(A, B)]), ValueError, "minibatch 0: labels must be"),
        (("logistic", [PAIRS[0], (A[:, :3], LABELS)]), ValueError, r"minibatch 1 needs y of shape"),
        (("hinge", PAIRS), ValueError, "loss must be a callable or one of huber, least_squares"),
        ((3, PAIRS), TypeError, "loss must be a name or a callable"),
        (("logistic", 3), TypeError, "source must be an iterable"),
        (("poisson", PAIRS), ValueError, "needs cap="),
        (
            ("logistic", iter(PAIRS), None, True),
            ValueError,
            "needs a source that can be read again",
        ),
    ],
)
def test_bad_sources(arguments, error, message):
    with pytest.raises(error, match=message):
        Batches(*arguments)


def test_sources_that_come_in_turn_have_no_other_order():
    with pytest.raises(TypeError, match="need a finite sum with its rows at hand, found Batches"):
        wp.minimize_composite(Batches("logistic", PAIRS), H, sampling="shuffle")
    with pytest.raises(ValueError, match="stays the same"):
        wp.minimize_composite(Batches("logistic", PAIRS), H, method="converging", batch="auto")


@pytest.mark.parametrize("make", [lambda: LeastSquares(A, B), lambda: Multinomial(A, LABELS > 0)])
def test_importance_sampling_is_unbiased_around_any_anchor(make):
    G = make()
    y, other = RNG.standard_normal((2, *G.shape))
    for reduction in (None, "svrg"):
        draws = Minibatches(G, 8, 0, "importance", reduction)
        anchor = draws.variate(None, other, 0, 8)
        assert (anchor is not None) == bool(reduction)
        sample = np.array([draws.at(y, k, 8, anchor).mean for k in range(4000)])
        error = np.linalg.norm(sample.mean(axis=0) - G.gradient(y))
        deviation = np.sqrt(draws.variance(y, 8, "l2", 400, variate=anchor) / 4000)
        assert error <= 4 * deviation


@pytest.mark.parametrize("sampling", ["uniform", "importance", "blocks"])
@pytest.mark.parametrize("make", [lambda: LeastSquares(A, B), lambda: Multinomial(A, LABELS > 0)])
def test_a_table_is_unbiased_and_keeps_its_sum(make, sampling):
    G = make()
    v, *others = RNG.standard_normal((6, *G.shape))
    draws = Minibatches(G, 50, 0, sampling, "saga")
    table = None
    for k, y in enumerate(others):
        table = draws.at(y, k, 50, draws.variate(table, y, k, 50)).variate
    again = draws.variate(table, v, 9, 50)
    np.testing.assert_allclose(again.gradient, G.A.T @ draws.table(again), atol=1e-10)
    seen = again.table.values.copy()
    sample = np.array([draws.at(v, k, 50, again).mean for k in range(2000)])
    np.testing.assert_array_equal(again.table.values, seen)
    error = np.linalg.norm(sample.mean(axis=0) - G.gradient(v))
    assert error <= 4 * np.sqrt(draws.variance(v, 50, "l2", 400, variate=again) / 2000)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_sparse_rows_multiply_like_the_matrix(dtype):
    dense = np.where(RNG.random((9, 7)) < 0.3, RNG.standard_normal((9, 7)), 0).astype(dtype)
    dense[4] = 0
    A = csr_array(dense)
    y, theta = RNG.standard_normal(7).astype(dtype), RNG.standard_normal(4).astype(dtype)
    for rows in ([3, 0, 3, 4], [4, 4, 4, 4], [8, 7, 6, 5]):
        part = SparseRows(A, np.array(rows))
        np.testing.assert_allclose(part @ y, dense[rows] @ y, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(part.T @ theta, dense[rows].T @ theta, rtol=1e-5, atol=1e-6)
        assert (part @ y).dtype == (part.T @ theta).dtype == dtype


@pytest.mark.parametrize("sampling", ["uniform", "importance", "blocks", "windows"])
@pytest.mark.parametrize("batch", [1, 6])
def test_sparse_and_dense_rows_give_the_same_run(sampling, batch):
    def run(data):
        G, how = Logistic(data, LABELS), {"variance_reduction": True, "sampling": sampling}
        return wp.minimize_composite(G, H, batch=batch, tol=0, max_rounds=50, **how).x

    np.testing.assert_allclose(run(csr_array(A)), run(A), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("features", [A, csr_array(A)])
def test_growing_batches_see_as_many_rows_as_they_say(features):
    sizes = []

    class Counting(Logistic):
        def row_loss_gradient(self, z, rows):
            sizes.append(len(rows))
            return super().row_loss_gradient(z, rows)

    G = Counting(features, LABELS)
    how = {"variance_reduction": True, "max_rounds": 20, "tol": 0, "variance": 1.0}
    wp.minimize_composite(G, H, batch=lambda k: 1 + k, **how)
    assert sizes == list(range(1, 21))


def test_importance_draws_have_their_probabilities():
    draws = Minibatches(LeastSquares(A, B), 100, 3, "importance")
    rows = np.concatenate([draws.rows.of_round(k, 100).rows for k in range(400)])
    counts = np.bincount(rows, minlength=N)
    expected = len(rows) * draws.rows.probabilities
    assert np.all(np.abs(counts - expected) <= 5 * np.sqrt(expected))


@pytest.mark.parametrize("features", [A, csr_array(A)])
def test_blocks_are_equally_likely_and_make_up_the_sum(features):
    G = Logistic(features, LABELS)
    draws = Minibatches(G, 50, 0, "blocks")
    y = RNG.standard_normal(D)
    sample = {tuple(draws.at(y, k, 50).mean) for k in range(40)}
    assert len(sample) == 3
    np.testing.assert_allclose(np.mean(list(sample), axis=0), G.gradient(y))
    rows = np.concatenate([block.rows for block in draws.rows._blocks])
    np.testing.assert_array_equal(np.sort(rows), np.arange(N))


@pytest.mark.parametrize("features", [A, csr_array(A), A.astype(np.float32)])
def test_windows_are_equally_likely_and_make_up_the_sum(features):
    G = Logistic(features, LABELS)
    draws = Minibatches(G, 50, 0, "windows")
    y = RNG.standard_normal(D).astype(features.dtype)
    windows = {tuple(c.rows): c for c in (draws.rows.of_round(k, 50) for k in range(40 * N))}
    assert len(windows) == N
    assert np.all(np.bincount(np.concatenate(list(windows))) == 50)
    for chosen in list(windows.values())[:5]:
        np.testing.assert_array_equal(chosen.part @ y, G.A[chosen.rows] @ y)
    with_fewer = draws.rows.of_round(3, 20)
    assert len(with_fewer.rows) == 20
    assert len(set(draws.rows.of_round(3, 70).rows)) == 70


@pytest.mark.parametrize("sampling", ["uniform", "windows"])
@pytest.mark.parametrize("m", [4, 60, 119])
def test_choices_without_replacement_are_quieter(sampling, m):
    G = Logistic(A, LABELS)
    draws = Minibatches(G, m, 0, sampling, "svrg")
    assert draws.rows.noise(m) == pytest.approx(draws.rows.noise(1) / m * (N - m) / (N - 1))
    y, v = np.random.default_rng(1).standard_normal((2, D))
    anchor = draws.variate(None, y, 0, m)
    excess = G.value(y) - G.value(v) - G.gradient(v) @ (y - v)
    bound = 2 * draws.rows.noise(m) * excess
    assert draws.variance(v, m, "l2", 500, variate=anchor) <= 1.15 * bound


def test_what_is_drawn_by_default_follows_the_noise_and_where_the_data_are(tmp_path):
    np.save(tmp_path / "rows.npy", A)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")

    def run(data, batch, sampling=None):
        G, how = Logistic(data, LABELS), {"variance_reduction": True, "sampling": sampling}
        return wp.minimize_composite(G, H, batch=batch, tol=0, max_rounds=30, **how).x

    np.testing.assert_array_equal(run(A, 115), run(A, 115, "windows"))
    np.testing.assert_array_equal(run(mapped, 115), run(A, 115, "uniform"))
    np.testing.assert_array_equal(run(A, 5), run(A, 5, "importance"))
    np.testing.assert_array_equal(run(csr_array(A), 5), run(csr_array(A), 5, "blocks"))
    assert not np.array_equal(run(A, 115, "uniform"), run(A, 115, "windows"))


def test_shuffled_passes_see_every_row_once_and_can_be_entered_anywhere():
    f = LeastSquares(np.eye(7), np.zeros(7))
    draws, late = (Minibatches(f, 3, 5, "shuffle") for _ in range(2))
    seen = sum(draws.at(np.ones(7), k, 3).mean for k in range(7)) * 3 / 7
    np.testing.assert_allclose(seen, 3)
    np.testing.assert_array_equal(late.at(np.ones(7), 4, 3).mean, draws.at(np.ones(7), 4, 3).mean)


def test_the_variance_vanishes_at_the_anchor_and_shrinks_near_it():
    G = Logistic(A, LABELS)
    draws = Minibatches(G, 4, 0, "importance", "svrg")
    y = best(G).x
    anchor = draws.variate(None, y, 0, 4)
    assert draws.variance(y, 4, "l2", variate=anchor) <= 1e-25
    near = draws.variance(y + 0.01, 4, "l2", variate=anchor)
    assert near <= 0.01 * draws.variance(y + 0.01, 4, "l2")


@pytest.mark.parametrize("make", [LeastSquares, Logistic, Huber])
def test_lemma_c2_bounds_the_variance(make):
    G = make(A, LABELS)
    draws = Minibatches(G, 4, 0, "importance", "svrg")
    for seed in range(5):
        y, v = np.random.default_rng(seed).standard_normal((2, D))
        anchor = draws.variate(None, y, 0, 4)
        excess = G.value(y) - G.value(v) - G.gradient(v) @ (y - v)
        bound = 2 * draws.rows.noise(1) / 4 * excess
        assert draws.variance(v, 4, "l2", 500, variate=anchor) <= 1.15 * bound


@pytest.mark.parametrize("batch", [1, 8])
@pytest.mark.parametrize("make", [LeastSquares, Logistic])
@pytest.mark.parametrize("kind", ["saga", "svrg"])
def test_variance_reduction_reaches_the_minimum_from_small_batches(kind, make, batch):
    G = make(A, LABELS)
    simple = SquaredNorm(MU if make is Logistic else MU * N)
    reference = best(G, simple)
    start = G.value(np.zeros(D)) - reference.fun
    res = wp.minimize_composite(
        G, simple, batch=batch, variance_reduction=kind, max_rounds=60 * N // batch, tol=0
    )
    assert res.fun - reference.fun <= 1e-6 * start
    assert res.gap <= 1e-5 * start
    pace = Minibatches(G, batch, 0, "importance").largest_step()
    rho = 1 / pace - res.beta * simple.mu * pace / (1 + simple.mu * pace)
    assert res.neighbourhood == pytest.approx(
        res.sigma2 / (2 * max(rho, (simple.mu * res.beta) ** 0.5))
    )
    assert 1 < res.passes <= 100
    plain = wp.minimize_composite(G, simple, batch=batch, max_rounds=60 * N // batch, tol=0)
    assert plain.fun - reference.fun >= 1e-5 * start


def test_a_stable_beta_keeps_tiny_batches_of_least_squares():
    G = LeastSquares(A, B)
    simple = SquaredNorm(1.0)
    away = wp.minimize_composite(G, simple, batch=1, max_rounds=2000, tol=0)
    assert "diverged" in away.message
    assert "beta='stable'" in away.message
    res = wp.minimize_composite(G, simple, batch=1, beta="stable", max_rounds=2000, tol=0)
    assert "diverged" not in res.message
    assert res.history["fun"][-1] <= 0.5 * res.history["fun"][0]


def test_batch_of_theorem_1():
    G = Logistic(A, LABELS)
    one = Minibatches(G, 1).variance(np.zeros(D), 1, "l2")
    m = wp.theory.batch_for(0.5, G.L, MU, one)
    assert 1 < m < N
    assert wp.theory.bound_composite(10**9, G.L, MU, 1.0, 1.0, one / m) <= 0.5
    assert wp.theory.bound_composite(10**9, G.L, MU, 1.0, 1.0, one / (m - 1)) > 0.5


def test_beta_is_estimated_and_raised():
    G = LeastSquares(A, B)
    simple = SquaredNorm(1.0)
    call, method = G.value_and_gradient, "accelerated"  # Algorithm 1 as printed searches no beta
    res = wp.minimize_composite(call, simple, np.zeros(D), method=method, tol=1e-6)
    assert res.success
    assert G.L <= res.beta <= 3 * G.L
    assert "was estimated" in res.message

    def random(y, rng):
        return G.minibatch_gradient(y, rng.integers(N, size=30))

    noisy = wp.minimize_composite(random, simple, np.zeros(D), max_rounds=50, tol=0)
    assert 0.5 * G.L <= noisy.beta <= 10 * G.L

    def cliff(y):
        """Flat where the run begins, and curved where it goes."""
        s = np.maximum(y - 1.0, 0.0)
        return float(50 * s @ s - 8 * y.sum()), 100 * s - 8

    res = wp.minimize_composite(cliff, SquaredNorm(1.0), np.zeros(3), tol=1e-8)
    assert res.success
    assert res.beta >= 100
    np.testing.assert_allclose(res.x, (8 + 100) / 101, atol=1e-4)


@pytest.mark.parametrize(("max_passes", "rounds"), [(1.0, 4), (1.5, 6), (1.7, 6), (0.1, 1)])
def test_a_limit_on_passes_counts_the_rows_of_each_round(max_passes, rounds):
    """A round that would read more than is allowed is not begun; the first one always is."""
    rows = N // 4
    run = {"method": "accelerated", "batch": rows, "tol": 0, "beta": "stable", "max_rounds": 9}
    res = wp.minimize_composite(LeastSquares(A, B), SquaredNorm(1.0), max_passes=max_passes, **run)
    assert (res.status, res.nit) == ("max_rounds", rounds)
    assert res.passes == rounds * rows / N
    assert f"max_passes = {max_passes}" in res.message


def test_scaled_columns():
    wild = A * np.array([1e-4, 1.0, 1e3, 1.0, 1.0])
    wild[:, 3] = 0.0
    for features in (wild, csr_array(wild)):
        G = Logistic(features, LABELS)
        res = wp.minimize_composite(G, SquaredNorm(MU), scale="columns", tol=1e-8, max_rounds=2000)
        assert res.success
        root = np.sqrt((wild**2).mean(axis=0))
        np.testing.assert_allclose(res.scale, 1 / np.where(root > 0, root, 1))
        same = best(Logistic(wild * res.scale, LABELS), SquaredNorm(MU))
        np.testing.assert_allclose(res.x, res.scale * same.x, rtol=1e-3, atol=1e-12)
        assert res.fun == pytest.approx(same.fun, abs=1e-7)
        assert res.nit < 300


RUNS = {
    "accelerated": {"batch": 7},
    "exact": {},
    "converging": {"method": "converging", "batch": "auto"},
    "saga": {"batch": 7, "variance_reduction": True},
    "svrg": {"batch": 7, "variance_reduction": "svrg"},
    "blocks": {"batch": 7, "variance_reduction": True, "sampling": "blocks"},
    "search": {"beta": "search"},
    "searched batches": {"batch": 60, "variance_reduction": True, "beta": "search"},
    "shuffled": {"batch": 7, "sampling": "shuffle", "scale": "columns", "y0": np.full(D, 0.1)},
    "entropy": {"H": wp.regularizers.Entropy(0.1), "w": "entropy", "batch": 5},
    "source": {"G": Batches("logistic", PAIRS), "record_every": 10},
}


@pytest.mark.parametrize("name", RUNS)
def test_a_resumed_run_has_the_same_bits(name, tmp_path):
    arguments = {"G": Logistic(A, LABELS), "H": H, "tol": 0.0, "seed": 3} | RUNS[name]
    whole = wp.minimize_composite(**arguments, max_rounds=90)
    path = tmp_path / "run.ckpt"
    wp.minimize_composite(**arguments, max_rounds=47, checkpoint=path)
    res = wp.resume(path, arguments["G"], arguments["H"], max_rounds=90)
    np.testing.assert_array_equal(res.state.x, whole.state.x)
    np.testing.assert_array_equal(res.state.z, whole.state.z)
    # the round at which the first part stopped is recorded as well
    assert set(whole.history["round"]) <= set(res.history["round"])
    assert res.passes == whole.passes


def test_a_resumed_run_that_runs_away_stalls_no_sooner(tmp_path):
    # bounds of iterates that have run away must not set the floor of the gap
    G, path = LeastSquares(A.astype(np.float32), B.astype(np.float32)), tmp_path / "run.ckpt"
    options = {"batch": 1, "seed": 4, "tol": 0.0, "record_every": 10}
    whole = wp.minimize_composite(G, H, **options, max_rounds=400)
    wp.minimize_composite(G, H, **options, max_rounds=300, checkpoint=path)
    res = wp.resume(path, G, H, max_rounds=400)
    assert "diverged" in whole.message
    assert (res.nit, res.status) == (whole.nit, whole.status) == (400, "max_rounds")


def test_another_problem_is_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    wp.minimize_composite(Logistic(A, LABELS), H, max_rounds=3, tol=0, checkpoint=path)
    with pytest.raises(
        ValueError, match=r"another problem: the data of G \(reduction\) were 'mean', now"
    ):
        wp.resume(path, Logistic(A, LABELS, reduction="sum"), H)
    # at 0 the logistic loss is log 2 whatever the data, and their order does not matter to G
    with pytest.raises(ValueError, match=r"another problem: the data of G \(labels\) have changed"):
        wp.resume(path, Logistic(A, -LABELS), H)
    with pytest.raises(ValueError, match=r"another problem: the data of G \(features\)"):
        wp.resume(path, Logistic(A[::-1], LABELS[::-1]), H)
    with pytest.raises(
        ValueError, match=r"another problem: the data of H \(l1\) .* 0.01 was there"
    ):
        wp.resume(path, Logistic(A, LABELS), ElasticNet(0.02, MU))
    with pytest.raises(ValueError, match="another problem: G was Logistic, now it is SquaredHinge"):
        wp.resume(path, wp.objectives.SquaredHinge(A, LABELS), H)
    with pytest.raises(TypeError, match="H must be a regulariser"):
        wp.resume(path, Logistic(A, LABELS), wp.sets.Simplex(D))


def test_solutions_have_the_structure_of_the_regulariser():
    for simple in (ElasticNet(0.1, MU), wp.regularizers.GroupLasso([[0, 1], [2, 3], [4]], 0.1, MU)):
        for batch in (None, 10):
            G = Logistic(A, LABELS, batch=batch)
            res = wp.minimize_composite(
                G, simple, np.ones(D), method="accelerated", tol=1e-3, max_rounds=3000
            )
            assert np.count_nonzero(res.x) < np.count_nonzero(res.state.x) == D
            assert res.fun == pytest.approx(Logistic(A, LABELS).value(res.x) + simple.value(res.x))
            assert res.fun <= res.history["fun"].min()
            assert res.gap == pytest.approx(res.fun - res.lower_bound)


@pytest.mark.extras
def test_a_data_loader_of_pytorch():
    torch = pytest.importorskip("torch")
    rows = torch.utils.data.TensorDataset(torch.from_numpy(A), torch.from_numpy(LABELS))
    loader = torch.utils.data.DataLoader(rows, batch_size=24, shuffle=True)
    res = wp.minimize_composite(Batches("logistic", loader), H, method="converging", tol=5e-3)
    assert res.success
    assert res.lower_bound <= best(Logistic(A, LABELS)).fun


def test_batches_of_numpy_integers():
    G = Logistic(A, LABELS)
    mine = wp.minimize_composite(G, H, batch=lambda k: np.int64(k + 1), max_rounds=20)
    same = wp.minimize_composite(G, H, batch=lambda k: k + 1, max_rounds=20)
    np.testing.assert_array_equal(mine.x, same.x)
    with pytest.raises(TypeError, match="batch must be an integer >= 1, found True"):
        Logistic(A, LABELS, batch=True)


@pytest.mark.extras
@pytest.mark.parametrize(
    "options",
    [
        {"variance_reduction": True},
        {"variance_reduction": True, "sampling": "importance"},
        {"variance_reduction": "svrg", "sampling": "windows", "scale": "columns"},
        {"sampling": "importance"},
    ],
)
@pytest.mark.parametrize("make", [Logistic, lambda X, y: Multinomial(X, y > 0)])
def test_minibatches_of_tensors(make, options, tmp_path):
    torch = pytest.importorskip("torch")
    features, labels = torch.from_numpy(A), torch.from_numpy(LABELS)
    options = options | {"batch": 9, "tol": 0.0}
    here = wp.minimize_composite(make(A, LABELS), H, **options, max_rounds=40)
    path = tmp_path / "run.ckpt"
    wp.minimize_composite(make(features, labels), H, **options, max_rounds=23, checkpoint=path)
    there = wp.resume(path, make(features, labels), H, max_rounds=40)
    assert isinstance(there.x, torch.Tensor)
    np.testing.assert_allclose(there.state.x.numpy(), here.state.x, atol=1e-10)


@pytest.mark.extras
def test_tensors_of_pytorch():
    torch = pytest.importorskip("torch")
    features, labels = torch.from_numpy(A), torch.from_numpy(LABELS)
    # the default takes Newton steps on arrays of NumPy alone
    there = wp.minimize_composite(Logistic(features, labels), H, beta="search", max_rounds=20)
    here = wp.minimize_composite(Logistic(A, LABELS), H, beta="search", max_rounds=20)
    assert isinstance(there.x, torch.Tensor)
    np.testing.assert_allclose(there.x.numpy(), here.x, atol=1e-10)
    halves = [(features.bfloat16(), labels)]
    stored = features.bfloat16().double().numpy()
    res = wp.minimize_composite(Batches("logistic", halves), H, method="converging", tol=1e-2)
    assert res.success
    assert res.lower_bound <= best(Logistic(stored, LABELS)).fun


def test_sparse_rows_come_in_blocks():
    G = Logistic(csr_array(A), LABELS)
    res = wp.minimize_composite(G, H, batch=30, variance_reduction=True, tol=1e-6)
    assert res.success
    assert make_gradients(G, 30, True, None, "saga", 0).sampling == "blocks"
    dense = make_gradients(Logistic(A, LABELS), 30, True, None, "saga", 0)
    assert dense.sampling == "importance"


def test_the_table_certifies():
    """Slopes of many rounds bracket the minimum more closely than those of the last one."""
    G = Logistic(A, LABELS)
    reference = best(G)
    res = wp.minimize_composite(G, H, batch=8, variance_reduction=True, tol=0, max_rounds=300)
    theta = res.state.reading.variate.table.values
    bound = H.minimum(G.A.T @ theta) - G.conjugate_bound(theta)
    last = H.minimum(G.gradient(res.state.x)) - G.conjugate_bound(G.evaluate(res.state.x).dual)
    assert bound - 1e-12 <= res.lower_bound <= reference.fun
    assert reference.fun - bound <= 1e-6
    assert max(bound, last) <= res.lower_bound + 1e-14


def test_a_last_step_into_the_tolerance_counts():
    """Found by the proximal step after the run, which a limit had ended."""
    rng, ended = np.random.default_rng(0), []
    features = rng.standard_normal((60, 12))
    G = Logistic(features, np.sign(features[:, 0] + 0.3 * rng.standard_normal(60)))
    for rounds in range(20, 40):
        H = ElasticNet(0.02, 0.05)
        limits = {"max_rounds": rounds, "tol": 1e-6, "record_every": 7}
        res = wp.minimize_composite(G, H, method="accelerated", **limits)
        assert res.success == (res.gap <= 1e-6) == (res.status == "converged")
        assert ("within the tolerance" in res.message) == res.success
        ended.append(res.success and min(res.history["gap"]) > 1e-6)
    assert any(ended)


def test_a_sampling_without_a_batch_is_refused():
    G = Logistic(A, LABELS)
    with pytest.raises(ValueError, match="'windows' needs a batch"):
        wp.minimize_composite(G, H, sampling="windows")
    assert wp.minimize_composite(G, H, sampling="windows", variance_reduction=True).success


def test_passes_over_sources_of_unknown_length_are_counted():
    """A function tells no length; F is evaluated once per pass over what it really returns."""
    rows = 300

    def source():
        for i in range(rows):
            yield A[i % N : i % N + 1], LABELS[i % N : i % N + 1]

    plain = {"method": "accelerated", "tol": 0, "max_rounds": 2 * rows}
    res = wp.minimize_composite(Batches("logistic", source), H, **plain)
    assert res.passes == 2.0
    assert res.history["round"].tolist() == [0, rows, 2 * rows]


def test_variance_reduction_of_sources_that_can_be_read_again():
    best = wp.minimize_composite(Logistic(A, LABELS), H, tol=1e-12)
    G = Batches("logistic", PAIRS)
    res = wp.minimize_composite(G, H, tol=1e-6, max_rounds=20_000)
    assert res.success
    assert "auto chose variance_reduction='svrg'" in res.message
    assert res.lower_bound <= best.fun <= res.fun <= best.fun + 1e-6
    plain = wp.minimize_composite(G, H, method="accelerated", tol=1e-6, max_rounds=res.nit)
    assert res.gap < 0.1 * plain.gap
    with pytest.raises(TypeError, match="needs data that can be read again"):
        wp.minimize_composite(Batches("logistic", iter(PAIRS)), H, variance_reduction=True)
    with pytest.raises(TypeError, match="variance_reduction='saga' needs a finite sum"):
        wp.minimize_composite(G, H, variance_reduction="saga")


def test_a_run_at_its_noise_floor_says_so():
    G = Logistic(A, LABELS)
    simple = SquaredNorm(1e-3)
    res = wp.minimize_composite(G, simple, batch=2, tol=1e-8)
    assert (res.status, res.success) == ("stalled", False)
    assert res.nit < 100_000
    assert "noise floor" in res.message
    assert "variance_reduction=True" in res.message
    assert "raise max_rounds" not in res.message
    assert wp.minimize_composite(G, simple, batch=2, tol=1e-8, variance_reduction=True).success
    # who asks for rounds gets them
    asked = wp.minimize_composite(G, simple, batch=2, tol=0, max_rounds=res.nit + 100)
    assert asked.nit == res.nit + 100


def test_a_warm_start_of_variance_reduction_begins_with_what_it_knows():
    G, simple = Logistic(A, LABELS), SquaredNorm(1e-2)
    options = {"batch": 8, "variance_reduction": True, "tol": 1e-7}
    cold = wp.minimize_composite(G, simple, **options)
    warm = wp.minimize_composite(G, simple, cold.x, **options)
    assert warm.success
    assert warm.passes <= 0.3 * cold.passes


def test_single_precision_is_converted_once():
    """Products of a float32 matrix with y in double precision would convert it in every round."""
    G = Logistic(A.astype(np.float32), LABELS)
    res = wp.minimize_composite(G, H, tol=1e-8)
    assert res.state.images.y.dtype == np.float64
    assert "in_double" in vars(G)
    assert wp.minimize_composite(G.in_double, H, tol=1e-8).fun == res.fun
