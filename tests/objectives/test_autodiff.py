"""Objectives by automatic differentiation: value, gradient, phi, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import wolfpack as wp
from backends import JAX, JAX32, TORCH, TORCH32
from wolfpack.arrays import namespace, to_host

RNG = np.random.default_rng(0)
A = RNG.standard_normal((20, 6))
B = RNG.standard_normal(20)
X = RNG.uniform(size=6)
MAKERS = {"torch": wp.objectives.from_torch, "jax": wp.objectives.from_jax}


BACKENDS = TORCH, TORCH32, JAX, JAX32


@pytest.fixture(params=[pytest.param(b, id=b.name, marks=pytest.mark.extras) for b in BACKENDS])
def backend(request):
    pytest.importorskip(request.param.library)
    with request.param.active():
        yield request.param


@pytest.fixture
def make(backend):
    return MAKERS[backend.library]


def squares(backend):
    """Least squares in the library's own terms."""
    matrix, right = backend.array(A), backend.array(B)
    return lambda x: 0.5 * namespace(x).sum((matrix @ x - right) ** 2)


def test_value_and_gradient_where_x_is(backend, make):
    exact = wp.objectives.LeastSquares(A, B).evaluate(X)
    at = make(squares(backend)).evaluate(backend.array(X))
    assert type(at.value) is float
    assert at.value == pytest.approx(exact.value, rel=40 * backend.eps)
    np.testing.assert_allclose(backend.host(at.gradient), exact.gradient, atol=400 * backend.eps)
    phi = float(X @ exact.gradient) - exact.value
    assert at.dual == pytest.approx(phi, rel=400 * backend.eps)


def test_numpy_in_numpy_out(backend, make):
    f = make(squares(backend))
    x = X.astype(backend.dtype)
    x.flags.writeable = False
    at = f.evaluate(x)
    assert type(at.gradient) is np.ndarray
    assert at.gradient.dtype == backend.dtype
    at.gradient[0] += 1.0  # it is the caller's
    exact = wp.objectives.LeastSquares(A, B).gradient(X)
    np.testing.assert_allclose(f.gradient(x), exact, atol=400 * backend.eps)


def test_minimises_over_a_set_of_numpy(backend, make):
    if backend.dtype == np.float32:
        pytest.skip("the answer would be in double precision")
    K = wp.sets.Simplex(6)
    res = wp.minimize(make(squares(backend)), K, x0=K.start(), method="bpcg", tol=1e-8)
    best = wp.minimize(wp.objectives.LeastSquares(A, B), K, method="bpcg", tol=1e-10)
    assert res.success
    assert res.fun == pytest.approx(best.fun, abs=1e-8)


def test_vectors_are_no_value(backend, make):
    matrix = backend.array(A)
    with pytest.raises(ValueError, match=r"fn must return one number, .* shape \(20,\)"):
        make(lambda x: matrix @ x).evaluate(backend.array(X))


def test_functions_that_do_not_depend_on_x(backend, make):
    constant = backend.array(np.ones(6))
    with pytest.raises(ValueError, match="fn does not depend on x"):
        make(lambda x: namespace(constant).sum(constant)).evaluate(backend.array(X))


def test_integers_have_no_gradient(backend, make):
    f = make(squares(backend))
    with pytest.raises(TypeError, match=r"x must be a real floating-point array, found .*int"):
        f.evaluate(backend.array(np.arange(6)))
    with pytest.raises(TypeError, match="x0 must be a real floating-point array"):
        wp.minimize(f, wp.sets.Simplex(6), x0=backend.array(np.eye(6, dtype=int)[0]))


def test_nan_is_not_a_value(backend, make):
    f = make(lambda x: namespace(x).sum(namespace(x).log(x - 10.0)))
    assert np.isnan(f.evaluate(backend.array(X)).value)
    with pytest.raises(ValueError, match="f is not finite at the starting point"):
        wp.minimize(f, wp.sets.Simplex(6), x0=np.eye(6)[0].astype(backend.dtype))


def test_infinite_gradients_show_in_the_value(backend, make):
    f = make(lambda x: namespace(x).sum(namespace(x).sqrt(x)))
    assert np.isnan(f.evaluate(backend.array(np.zeros(6))).value)


def test_arrays_of_another_library(backend, make):
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(TypeError, match=r"f is written in .*, but x is array_api_strict"):
        make(squares(backend)).evaluate(strict.asarray(X))
    with pytest.raises(TypeError, match=r"like must be an array of .*, found NumPy float64"):
        make(squares(backend), like=A)


def test_fn_must_be_callable(make):
    with pytest.raises(TypeError, match="fn must be callable, found int"):
        make(3)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"L": -1}, ValueError, "L must be a finite number >= 0, or None if unknown, found -1"),
        ({"L": True}, ValueError, "L must be a finite number >= 0"),
        (
            {"shape": "ab"},
            TypeError,
            "shape must be a positive integer or a tuple of them or None, found 'ab'",
        ),
        ({"shape": (3, 0)}, ValueError, "shape must be at least 1 or None, found .3, 0."),
        ({"like": int}, TypeError, "like must be an array of .*, found <class 'int'>"),
        ({"like": 3}, TypeError, "like must be an array of .*, found 3"),
    ],
)
def test_options_are_checked(backend, make, options, error, text):
    with pytest.raises(error, match=text):
        make(squares(backend), **options)


def test_a_number_is_the_shape_of_a_vector(backend, make):
    assert make(squares(backend), shape=12).shape == (12,)


@pytest.mark.extras
def test_torch_functions_must_return_tensors():
    torch = pytest.importorskip("torch")
    x = torch.ones(3)
    with pytest.raises(TypeError, match="fn must return a tensor, found float"):
        wp.objectives.from_torch(lambda x: 1.0).evaluate(x)
    with pytest.raises(ValueError, match="fn does not depend on x"):
        wp.objectives.from_torch(lambda x: x.detach().sum()).evaluate(x)
    x.requires_grad_(True)
    at = wp.objectives.from_torch(lambda x: (x * x).sum()).evaluate(x)
    assert not at.gradient.requires_grad
    assert x.grad is None


@pytest.mark.extras
def test_jax_functions_that_cannot_be_traced():
    pytest.importorskip("jax")

    def fn(x):
        return (x * x).sum() if x[0] > 0 else (x * x).sum() / 2

    with pytest.raises(TypeError, match="pass jit=False"):
        wp.objectives.from_jax(fn).evaluate(np.ones(3))
    assert wp.objectives.from_jax(fn, jit=False).evaluate(np.ones(3)).value == 3.0


@pytest.mark.extras
def test_jax_computes_in_double_precision_for_numpy():
    jnp = pytest.importorskip("jax.numpy")
    f = wp.objectives.from_jax(lambda x: 0.5 * jnp.sum(x * x))
    x = np.array([1.0, 1e-9])
    assert f.evaluate(x).value == 0.5 * (1.0 + 1e-18)
    np.testing.assert_array_equal(to_host(f.gradient(x + 1e-12)), x + 1e-12)


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyTorch about itself
def test_torch_compiles():
    torch = pytest.importorskip("torch")
    matrix, right = torch.tensor(A), torch.tensor(B)
    seen = []

    def fn(x):
        seen.append(torch.compiler.is_compiling())
        return 0.5 * ((matrix @ x - right) ** 2).sum()

    f = wp.objectives.from_torch(fn, compile="aot_eager")  # without the minutes of a C++ compiler
    exact = wp.objectives.LeastSquares(A, B).evaluate(X)
    at = f.evaluate(torch.tensor(X))
    assert at.value == pytest.approx(exact.value, rel=1e-12)
    np.testing.assert_allclose(at.gradient.numpy(), exact.gradient, rtol=1e-10)
    assert seen[0]


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_says_how_to_install_a_library_that_is_missing(monkeypatch, name):
    monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(ImportError, match=rf"from_{name} needs {name}: pip install 'wolfpack\["):
        MAKERS[name](lambda x: x)
