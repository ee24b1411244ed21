"""Objectives whose gradient is found by automatic differentiation in PyTorch or JAX."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import describe, is_foreign, library, to_host
from ..problem import Evaluation
from ._base import Array, Objective, settle
from ._options import as_constant, as_shape


def from_torch(
    fn: Callable[[Any], Any],
    L: float | None = None,
    shape: tuple[int, ...] | None = None,
    like: Any = None,
    compile: bool | str = False,
) -> Objective:
    """Return the objective x -> fn(x) for a function written in PyTorch.

    Parameters
    ----------
    fn : callable
        Maps a tensor to a tensor that holds one number, convex and smooth in x, by operations that
        autograd follows.
    L : float, optional
        Lipschitz constant of the gradient, if known.
    shape : int or tuple of int, optional
        Shape of x, if fixed.
    like : tensor, optional
        A tensor of the type and the device that x should have: runs without x0 start there.
    compile : bool or str
        Compile fn, and with it its gradient, by `torch.compile` at the first evaluation; a name
        chooses its backend. It pays where fn consists of many small operations and the run of many
        rounds.

    Returns
    -------
    Objective
        Its gradients are tensors where x is. For a NumPy x, fn is given a tensor on the device of
        ``like``, or the CPU, and the gradient is a NumPy array. The value and the number of the
        certificate come from the device in one transfer.

    Examples
    --------
    ::

        A, b = torch.randn(200, 50, device="cuda"), torch.randn(200, device="cuda")
        f = wp.objectives.from_torch(lambda x: torch.logsumexp(A @ x - b, 0), like=A)
        res = wp.minimize(f, wp.sets.Simplex(50))      # res.x is on the GPU
    """
    return _Torch(fn, L, shape, like, compile)


def from_jax(
    fn: Callable[[Any], Any],
    L: float | None = None,
    shape: tuple[int, ...] | None = None,
    like: Any = None,
    jit: bool = True,
) -> Objective:
    """Return the objective x -> fn(x) for a function written in JAX.

    Parameters
    ----------
    fn : callable
        Maps an array to one number, convex and smooth in x, by operations that JAX can
        differentiate.
    L : float, optional
        Lipschitz constant of the gradient, if known.
    shape : int or tuple of int, optional
        Shape of x, if fixed.
    like : array, optional
        An array of the type and the device that x should have: runs without x0 start there.
    jit : bool
        Compile value and gradient together by `jax.jit`. False for functions that JAX cannot trace.

    Returns
    -------
    Objective
        Its gradients are JAX arrays where x is. For a NumPy x the gradient is a NumPy array, and a
        float64 x is computed with in float64, whether or not JAX does so elsewhere.

    Examples
    --------
    ::

        f = wp.objectives.from_jax(lambda x: jax.nn.logsumexp(A @ x - b), like=A)
        res = wp.minimize(f, wp.sets.Simplex(50))
    """
    return _Jax(fn, L, shape, like, jit)


class _Differentiated(Objective):
    """What both libraries share: the checks, NumPy arrays in and out, the number phi."""

    checked = True
    title: str
    module: str

    def __init__(self, fn: Any, L: Any, shape: Any, like: Any) -> None:
        if not callable(fn):
            raise TypeError(f"fn must be callable, found {type(fn).__name__}")
        self.fn, self.like = fn, like
        self._L, self.shape = as_constant(L), as_shape(shape)
        known = not isinstance(like, type) and hasattr(like, "dtype")
        if like is not None and not (known and library(like) == self.module):
            found = describe(like) if known else repr(like)
            raise TypeError(f"like must be an array of {self.title}, found {found}")

    @property
    def L(self) -> float | None:
        return self._L

    def evaluate(self, x: Array) -> Evaluation:
        if is_foreign(x):
            if library(x) != self.module:
                raise TypeError(f"f is written in {self.title}, but x is {describe(x)}")
            value, gradient = self._value_and_gradient(x)
        else:
            value, gradient = self._on_host(np.asarray(x))
        number, product = settle(value, x, gradient)
        return Evaluation(number, gradient, product - number)

    @abstractmethod
    def _on_host(self, x: np.ndarray) -> tuple[Any, Array]:
        """Return value and gradient for a NumPy array, the gradient as one."""

    @abstractmethod
    def _value_and_gradient(self, x: Array) -> tuple[Any, Array]:
        """Return value and gradient for an array of the library."""


def _check_number(value: Any, x: Array) -> None:
    if value.dtype != x.dtype and "float64" not in str(value.dtype):
        raise TypeError(
            f"fn must return a number of x's type, {x.dtype}, found {value.dtype}: no gap could be "
            "certified with it"
        )
    if tuple(value.shape) != ():
        raise ValueError(
            f"fn must return one number, found an array of shape {tuple(value.shape)}: "
            "take its sum or mean"
        )


_NO_GRADIENT = (
    "fn does not depend on x by operations that {} can differentiate: its gradient would be zero "
    "(is x detached, or turned into numbers or another library's arrays?)"
)


class _Torch(_Differentiated):
    title, module = "PyTorch", "torch"

    def __init__(self, fn: Any, L: Any, shape: Any, like: Any, compile: Any) -> None:
        super().__init__(fn, L, shape, like)
        self._torch = _library("torch", "from_torch", "torch")
        self._call = fn
        if not isinstance(compile, bool | str):
            raise TypeError(f"compile must be True, False or a backend's name, found {compile!r}")
        if compile:
            backend = "inductor" if compile is True else compile
            self._call = self._torch.compile(fn, backend=backend)

    def _on_host(self, x: np.ndarray) -> tuple[Any, Array]:
        device = None if self.like is None else self.like.device
        value, gradient = self._value_and_gradient(self._torch.tensor(x, device=device))
        return float(value), gradient.cpu().numpy()

    def _value_and_gradient(self, x: Array) -> tuple[Any, Array]:
        if not x.is_floating_point():
            raise TypeError(f"x must be a real floating-point array, found {x.dtype}")
        torch, point = self._torch, x.detach().requires_grad_(True)
        with torch.enable_grad():
            value = self._call(point)
        if not torch.is_tensor(value):
            raise TypeError(f"fn must return a tensor, found {type(value).__name__}")
        _check_number(value, x)
        gradient = None
        if value.requires_grad:
            (gradient,) = torch.autograd.grad(value, point, allow_unused=True)
        if gradient is None:
            raise ValueError(_NO_GRADIENT.format(self.title))
        return value.detach(), gradient


class _Jax(_Differentiated):
    title, module = "JAX", "jax"

    def __init__(self, fn: Any, L: Any, shape: Any, like: Any, jit: bool) -> None:
        super().__init__(fn, L, shape, like)
        self._jax = _library("jax", "from_jax", "jax")
        if not isinstance(jit, bool):
            raise TypeError(f"jit must be True or False, found {jit!r}")
        both = self._jax.value_and_grad(fn)
        self._call = self._jax.jit(both) if jit else both
        self._jit, self._traced = jit, False

    def _on_host(self, x: np.ndarray) -> tuple[Any, Array]:
        with self._jax.enable_x64(x.dtype == np.float64):
            value, gradient = self._value_and_gradient(self._jax.numpy.asarray(x))
            return float(value), np.array(to_host(gradient))

    def _value_and_gradient(self, x: Array) -> tuple[Any, Array]:
        if not self._jax.numpy.issubdtype(x.dtype, self._jax.numpy.floating):
            raise TypeError(f"x must be a real floating-point array, found {x.dtype}")
        if not self._traced:
            self._look(x)
        return self._call(x)

    def _look(self, x: Array) -> None:
        """Refuse, at the first x, what has no gradient."""
        if not self._jit:
            _check_number(self._jax.numpy.asarray(self.fn(x)), x)
            self._traced = True
            return
        try:
            trace = self._jax.make_jaxpr(self.fn)(x).jaxpr
        except self._jax.errors.ConcretizationTypeError as error:
            raise TypeError(
                "fn looks at numbers that JAX does not know while it compiles: write it without, "
                "or pass jit=False"
            ) from error
        for value in trace.outvars:
            _check_number(value.aval, x)
        (given,) = trace.invars
        uses = [v for step in trace.eqns for v in step.invars] + list(trace.outvars)
        if not any(v is given for v in uses):
            raise ValueError(_NO_GRADIENT.format(self.title))
        self._traced = True


def _library(name: str, caller: str, extra: str) -> Any:
    """Return a library, or say how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"{caller} needs {name}: pip install 'wolfpack[{extra}]'") from None
