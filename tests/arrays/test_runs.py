"""What surrounds a run on other arrays: checkpoints, results, memory, copies to the host."""

import logging

import numpy as np
import pytest

import wolfpack as wp
from backends import TORCH32, Backend, every_backend
from wolfpack.arrays import describe, is_out_of_memory, to_host

__all__ = ["every_backend"]

RNG = np.random.default_rng(4)
A = RNG.standard_normal((10, 12))
B = RNG.standard_normal(10)
SETS = [wp.sets.Simplex(12), wp.sets.L1Ball(12), wp.sets.KSparse(12, 2)]


def problem(backend: Backend):
    return wp.objectives.LeastSquares(backend.array(A), backend.array(B))


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("anytime", {"m": 4}),
        ("anytime", {"m": "exact"}),
        ("pfw", {"m": 4, "alpha": 0.1}),
        ("r-pfw", {"m": 4}),
        ("fw-ls", {}),
        ("away", {}),
        ("corrective", {"m": 4}),
        ("lazy", {}),
    ],
)
@pytest.mark.parametrize(
    "K", [wp.sets.Simplex(12), wp.sets.L1Ball(12), wp.sets.KSparse(12, 2)], ids=str
)
def test_a_run_resumes_to_the_same_numbers(backend: Backend, K, method, options, tmp_path):
    if options.get("m") == "exact" and not K.closed_forms:
        pytest.skip("no closed form")
    path, f = tmp_path / "run.ckpt", problem(backend)
    whole = wp.minimize(f, K, method=method, max_rounds=12, tol=0.0, **options)
    wp.minimize(f, K, method=method, max_rounds=7, tol=0.0, checkpoint=path, **options)
    found = wp.resume(path, f, K, max_rounds=12)
    assert describe(found.x) == describe(backend.array(B))
    np.testing.assert_array_equal(to_host(found.x), to_host(whole.x))
    assert found.nit == whole.nit
    assert found.gap == whole.gap


def test_a_checkpoint_asks_where_to_go_on(backend: Backend, tmp_path):
    if backend.library == "numpy":
        pytest.skip("NumPy arrays are on the host")

    def f(x):
        return 0.5 * wp.arrays.inner(x, x), x

    path, K, x0 = tmp_path / "run.ckpt", wp.sets.Simplex(3), backend.array([1.0, 0.0, 0.0])
    wp.minimize(f, K, x0=x0, method="fw", max_rounds=3, tol=0.0, checkpoint=path)
    with pytest.raises(ValueError, match="pass like=, an array"):
        wp.resume(path, f, K, max_rounds=5)
    assert describe(wp.resume(path, f, K, max_rounds=5, like=x0).x) == describe(x0)


def test_results_are_saved_from_the_host(backend: Backend, tmp_path):
    found = wp.minimize(problem(backend), wp.sets.Simplex(12), method="fw", max_rounds=3)
    found.save(tmp_path / "result.npz")
    np.testing.assert_array_equal(wp.load(tmp_path / "result.npz").x, to_host(found.x))
    assert found.to_dict()["nit"] == 3


class Small(wp.sets.L2Ball):
    """A ball on a device that has memory for few directions at once."""

    def __init__(self, n: int, room: int) -> None:
        super().__init__(n)
        self.room = room
        self.asked: list[int] = []

    def _lmo(self, g):
        if g.ndim == 2:
            if g.shape[0] > self.room:
                raise MemoryError("out of memory on the device")
            self.asked.append(g.shape[0])
        return super()._lmo(g)


@pytest.mark.parametrize("block", [None, 3, 16])
def test_a_batch_that_does_not_fit_is_split(backend: Backend, block, caplog):
    if backend.library == "numpy":
        pytest.skip("the host's memory is not split")
    options = {"method": "anytime", "m": 16, "max_rounds": 6, "tol": 0.0, "block": block}
    K = Small(12, room=5)
    with caplog.at_level(logging.WARNING, "wolfpack"):
        found = wp.minimize(problem(backend), K, **options)
    assert any("no memory for 16 directions" in text for text in caplog.messages)
    assert max(K.asked) <= 5
    expected = wp.minimize(problem(backend), wp.sets.L2Ball(12), **options)
    np.testing.assert_allclose(to_host(found.x), to_host(expected.x), atol=1e3 * backend.eps)
    # later rounds ask what fits, and fail no more
    assert len(caplog.messages) <= 6


def test_one_direction_that_does_not_fit_is_an_error(backend: Backend):
    if backend.library == "numpy":
        pytest.skip("the host's memory is not split")
    with pytest.raises(MemoryError, match="out of memory"):
        wp.minimize(problem(backend), Small(12, room=0), method="anytime", m=4, max_rounds=3)


def test_knows_what_out_of_memory_looks_like():
    assert is_out_of_memory(type("OutOfMemoryError", (RuntimeError,), {})())
    assert is_out_of_memory(RuntimeError("RESOURCE_EXHAUSTED: Out of memory while ..."))
    assert not is_out_of_memory(RuntimeError("shapes differ"))


@pytest.mark.extras
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("anytime", {"m": 4, "kappa": 1.0}),
        ("anytime", {"m": "exact"}),
        ("pfw", {"m": 4, "alpha": 0.1, "L": 30.0}),
        ("fw", {}),
        ("fw-ls", {}),
    ],
)
@pytest.mark.parametrize("K", SETS[:2], ids=str)
def test_only_numbers_come_to_the_host(method, options, K, monkeypatch):
    torch = pytest.importorskip("torch")
    f, copied = problem(TORCH32), []

    def watched(original):
        def copy(tensor, *args, **kwargs):
            copied.append(tensor.numel())
            return original(tensor, *args, **kwargs)

        return copy

    for name in ("numpy", "cpu", "__array__", "tolist"):
        monkeypatch.setattr(torch.Tensor, name, watched(getattr(torch.Tensor, name)))

    def forget(intermediate):
        if intermediate.nit == 0:
            copied.clear()  # the start of a run may look at all it is given

    options = {"max_rounds": 40, "tol": 0.0, "callback": forget, **options}
    wp.minimize(f, K, method=method, **options)
    assert copied
    assert max(copied) < 10  # numbers that are fetched together: A has 10 rows, x 12 entries


@pytest.mark.extras
@pytest.mark.parametrize(
    "f",
    [
        wp.objectives.LeastSquares(A, B),
        wp.objectives.LeastSquares(A.astype(np.float32), B.astype(np.float32)),
        wp.objectives.Logistic(A, np.sign(B)),
        wp.objectives.Huber(A, B),
        wp.objectives.Quadratic(A.T @ A, A.T @ B),
    ],
    ids=lambda f: f"{type(f).__name__}-{f.like.dtype}",
)
def test_moves_numpy_data_to_a_device(f):
    torch = pytest.importorskip("torch")
    K, options = wp.sets.Simplex(12), {"method": "anytime", "m": 4, "max_rounds": 10}
    found = wp.minimize(f, K, device="cpu", **options)
    assert isinstance(found.x, torch.Tensor)
    expected = wp.minimize(f, K, **options)
    eps = np.finfo(f.like.dtype).eps
    assert str(found.x.dtype).endswith(str(f.like.dtype))
    np.testing.assert_allclose(to_host(found.x), expected.x, atol=1e4 * eps)


@pytest.mark.extras
def test_says_that_there_is_no_gpu():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is one")
    f, K = wp.objectives.LeastSquares(A, B), wp.sets.Simplex(12)
    with pytest.raises(ValueError, match=r"device='cuda' cannot be used here: .* 0 GPUs"):
        wp.minimize(f, K, device="cuda")
    with pytest.raises(ValueError, match="device='gpu' cannot be used here"):
        wp.minimize(f, K, device="gpu")
    with pytest.raises(TypeError, match="device must be the name of a device"):
        wp.minimize(f, K, device=1)


@pytest.mark.extras
def test_moves_dense_data_only():
    pytest.importorskip("torch")
    from scipy.sparse import csr_array

    f = wp.objectives.LeastSquares(csr_array(A), B)
    with pytest.raises(wp.problem.CapabilityError, match="moves dense arrays"):
        wp.minimize(f, wp.sets.Simplex(12), device="cpu")


@pytest.mark.extras
def test_asks_a_callable_on_the_device():
    torch = pytest.importorskip("torch")

    def f(x):
        assert isinstance(x, torch.Tensor)
        return 0.5 * float(x @ x), x

    found = wp.minimize(f, wp.sets.Simplex(4), device="cpu", method="fw", max_rounds=5)
    assert isinstance(found.x, torch.Tensor)


@pytest.mark.extras
def test_leaves_data_that_are_there_already():
    torch = pytest.importorskip("torch")
    f = wp.objectives.LeastSquares(torch.tensor(A), torch.tensor(B))
    found = wp.minimize(f, wp.sets.Simplex(12), device="cpu", method="fw", max_rounds=2)
    assert isinstance(found.x, torch.Tensor)
    strict = pytest.importorskip("array_api_strict")
    f = wp.objectives.LeastSquares(strict.asarray(A), strict.asarray(B))
    with pytest.raises(ValueError, match="are already"):
        wp.minimize(f, wp.sets.Simplex(12), device="cpu")


@pytest.mark.extras
@pytest.mark.parametrize("method", ["fw", "anytime", "away"])
def test_no_graph_of_pytorch_is_kept(method):
    torch = pytest.importorskip("torch")
    data = torch.tensor(A, requires_grad=True), torch.tensor(B, requires_grad=True)
    x0 = torch.full((12,), 1.0 / 12.0, dtype=torch.float64, requires_grad=True)
    f, K = wp.objectives.LeastSquares(*data), wp.sets.Simplex(12)
    found = wp.minimize(f, K, x0=x0, method=method, max_rounds=4)
    assert not found.x.requires_grad
    assert not any(isinstance(v, torch.Tensor) and v.requires_grad for v in found.state)


def test_short_types_are_no_start(backend: Backend):
    if backend.library != "torch":
        pytest.skip("PyTorch has such types")
    x0 = backend.array(np.full(3, 1.0 / 3.0)).half()
    with pytest.raises(TypeError, match="x0 must be float32 or float64, found torch float16"):
        wp.minimize(lambda x: (0.0, x), wp.sets.Simplex(3), x0=x0)
