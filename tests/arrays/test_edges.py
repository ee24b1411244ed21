"""What strangers do with other arrays: rough values, writing callbacks, resumed callables."""

import numpy as np
import pytest

import wolfpack as wp
from wolfpack.problem import CapabilityError

pytestmark = pytest.mark.extras

RNG = np.random.default_rng(1)
A, B = RNG.standard_normal((30, 12)), RNG.standard_normal(30)


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_a_value_rougher_than_x_is_refused(torch, kind):
    rough = getattr(torch, kind)
    f = wp.objectives.from_torch(lambda x: (x**2).sum().to(rough), like=torch.ones(1))
    with pytest.raises(TypeError, match=r"number of x's type, torch.float32, found torch"):
        wp.minimize(f, wp.sets.Simplex(12))


def test_a_rough_value_of_jax_is_refused():
    jax = pytest.importorskip("jax")
    f = wp.objectives.from_jax(lambda x: (x**2).sum().astype("float16"), like=jax.numpy.ones(1))
    with pytest.raises(TypeError, match="found float16"):
        wp.minimize(f, wp.sets.Simplex(12))


@pytest.mark.parametrize("method", ["projected", "fw", "anytime", "away"])
def test_callbacks_that_write_write_into_copies(torch, method):
    f = wp.objectives.LeastSquares(torch.tensor(A), torch.tensor(B))

    def spoil(result):
        result.x.mul_(0.5)

    res = wp.minimize(f, wp.sets.L1Ball(12), method=method, tol=0, max_rounds=20, callback=spoil)
    assert res.fun == pytest.approx(f.value(res.x), rel=1e-12)


def test_callables_are_resumed_where_like_is(torch, tmp_path):
    a, b = torch.tensor(A, dtype=torch.float32), torch.tensor(B, dtype=torch.float32)
    K, x0 = wp.sets.Simplex(12), torch.full((12,), 1 / 12)

    def f(x):
        residual = a @ x - b
        return (residual**2).sum(), 2 * a.T @ residual

    how = {"method": "fw", "tol": 0}
    whole = wp.minimize(f, K, x0, max_rounds=10, **how)
    wp.minimize(f, K, x0, max_rounds=5, checkpoint=tmp_path / "r.ckpt", **how)
    resumed = wp.resume(tmp_path / "r.ckpt", f, K, like=b, max_rounds=10)
    assert torch.equal(resumed.x, whole.x)


def test_a_checkpoint_of_numpy_is_not_resumed_elsewhere(torch, tmp_path):
    K, path = wp.sets.Simplex(12), tmp_path / "n.ckpt"
    f = wp.objectives.LeastSquares(A, B)
    wp.minimize(f, K, method="fw", tol=0, max_rounds=5, checkpoint=path)
    there = wp.objectives.LeastSquares(torch.tensor(A), torch.tensor(B))
    with pytest.raises(TypeError, match="holds arrays of NumPy, and the data of f are torch"):
        wp.resume(path, there, K, max_rounds=10)


def test_sets_that_cannot_be_traced_are_not_compiled(torch):
    f = wp.objectives.LeastSquares(torch.tensor(A), torch.tensor(B))
    with pytest.raises(CapabilityError, match="a simplex or an l1 ball"):
        wp.minimize(f, wp.sets.LinfBall(12), method="anytime", compile=True)
