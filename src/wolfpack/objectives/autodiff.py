"""Objectives whose gradient is found by automatic differentiation in PyTorch or JAX."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable
from types import ModuleType

import numpy as np

from ..arrays import Array, describe, is_foreign, library, to_host
from ..problem import Evaluation
from ..problem.checks import as_shape, constant, optional
from ._base import Objective, conjugate_evaluation

Shape = int | tuple[int, ...]


def from_torch(
    fn: Callable[[Array], Array],
    L: float | None = None,
    shape: Shape | None = None,
    like: Array = None,
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
        A tensor of the type and the device that x should have, for runs without x0.
    compile : bool or str
        Compile fn and its gradient by `torch.compile` at the first evaluation; a name chooses the
        backend. Compilation pays where fn has many small operations and the run has many rounds.

    Returns
    -------
    Objective
        Its gradients are tensors on the device of x. For a NumPy x, fn is given a tensor on the
        device of ``like``, or the CPU, and the gradient is a NumPy array. The value and the number
        of the certificate come from the device in one transfer.

    Examples
    --------
    ::

        A, b = torch.randn(200, 50, device="cuda"), torch.randn(200, device="cuda")
        f = wp.objectives.from_torch(lambda x: torch.logsumexp(A @ x - b, 0), like=A)
        res = wp.minimize(f, wp.sets.Simplex(50))      # res.x is on the GPU
    """
    if not isinstance(compile, bool | str):
        raise TypeError(f"compile must be True, False or a backend's name, found {compile!r}")
    f = _Torch(fn, L, shape, like)
    if compile:
        f.call = f.library.compile(fn, backend="inductor" if compile is True else compile)
    return f


def from_jax(
    fn: Callable[[Array], Array],
    L: float | None = None,
    shape: Shape | None = None,
    like: Array = None,
    jit: bool = True,
) -> Objective:
    """Return the objective x -> fn(x) for a function written in JAX.

    Parameters
    ----------
    fn : callable
        Maps an array to one number, convex and smooth in x, by operations that JAX can
        differentiate.
    L, shape, like
        As for `from_torch`.
    jit : bool
        Compile value and gradient together by `jax.jit`. False for functions that JAX cannot trace.

    Returns
    -------
    Objective
        Its gradients are JAX arrays on the device of x. For a NumPy x the gradient is a NumPy
        array, and a float64 x is evaluated in float64 even where JAX's default is float32.

    Examples
    --------
    ``from_jax(lambda x: jax.nn.logsumexp(A @ x - b), like=A)``; see also `from_torch`.
    """
    if not isinstance(jit, bool):
        raise TypeError(f"jit must be True or False, found {jit!r}")
    f = _Jax(fn, L, shape, like)
    both = f.library.value_and_grad(fn)
    f.jit, f.call = jit, f.library.jit(both) if jit else both
    return f


class _Differentiated(Objective):
    """The checks, and evaluation at NumPy arrays, which both libraries share.

    `call` is what `_value_and_gradient` calls: fn, or what a compiler has made of it.
    """

    checked = True
    convex = None
    title: str
    module: str

    def __init__(
        self, fn: Callable[[Array], Array], L: float | None, shape: Shape | None, like: Array
    ) -> None:
        if not callable(fn):
            raise TypeError(f"fn must be callable, found {type(fn).__name__}")
        self.fn = self.call = fn
        self.like = like
        self.L, self.shape = constant(L, "L"), optional(as_shape)(shape, "shape")
        known = isinstance(like, np.ndarray) or (is_foreign(like) and not isinstance(like, type))
        if like is not None and not (known and library(like) == self.module):
            found = describe(like) if known else repr(like)
            raise TypeError(f"like must be an array of {self.title}, found {found}")
        try:
            self.library: ModuleType = importlib.import_module(self.module)
        except ImportError:
            raise ImportError(
                f"from_{self.module} needs {self.module}: pip install 'wolfpack[{self.module}]'"
            ) from None

    def evaluate(self, x: Array) -> Evaluation:
        if is_foreign(x):
            if library(x) != self.module:
                raise TypeError(f"f is written in {self.title}, but x is {describe(x)}")
            value, gradient = self._value_and_gradient(x)
        else:
            value, gradient = self._on_host(np.asarray(x))
        return conjugate_evaluation(value, x, gradient)

    @abstractmethod
    def _on_host(self, x: np.ndarray) -> tuple[Array, Array]:
        """Return value and gradient for a NumPy array, the gradient as a NumPy array."""

    @abstractmethod
    def _value_and_gradient(self, x: Array) -> tuple[Array, Array]:
        """Return value and gradient for an array of the library."""


def _check_number(value: Array, x: Array) -> None:
    """Refuse a value of fn that is not one number of the precision of x."""
    if value.dtype != x.dtype and "float64" not in str(value.dtype):
        raise TypeError(
            f"fn must return a number of x's type, {x.dtype}, found {value.dtype}, whose precision "
            "does not suffice to certify a gap"
        )
    if tuple(value.shape) != ():
        raise ValueError(
            f"fn must return one number, found an array of shape {tuple(value.shape)}: "
            "take its sum or mean"
        )


_NO_GRADIENT = (
    "fn does not depend on x by operations that {} can differentiate, so its gradient would be "
    "zero: do not detach x or turn it into numbers or another library's arrays"
)


class _Torch(_Differentiated):
    title, module = "PyTorch", "torch"

    def _on_host(self, x: np.ndarray) -> tuple[Array, Array]:
        device = None if self.like is None else self.like.device
        value, gradient = self._value_and_gradient(self.library.tensor(x, device=device))
        return float(value), gradient.cpu().numpy()

    def _value_and_gradient(self, x: Array) -> tuple[Array, Array]:
        if not x.is_floating_point():
            raise TypeError(f"x must be a real floating-point array, found {x.dtype}")
        torch, point = self.library, x.detach().requires_grad_(True)
        with torch.enable_grad():
            value = self.call(point)
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
    jit = True
    _first = True  # until the first evaluation

    def _on_host(self, x: np.ndarray) -> tuple[Array, Array]:
        with self.library.enable_x64(x.dtype == np.float64):
            value, gradient = self._value_and_gradient(self.library.numpy.asarray(x))
            return float(value), np.array(to_host(gradient))

    def _value_and_gradient(self, x: Array) -> tuple[Array, Array]:
        if not self.library.numpy.issubdtype(x.dtype, self.library.numpy.floating):
            raise TypeError(f"x must be a real floating-point array, found {x.dtype}")
        if self._first:
            self._check(x)
            self._first = False
        return self.call(x)

    def _check(self, x: Array) -> None:
        """Refuse a function without a gradient."""
        if not self.jit:
            _check_number(self.library.numpy.asarray(self.fn(x)), x)
            return
        try:
            trace = self.library.make_jaxpr(self.fn)(x).jaxpr
        except self.library.errors.ConcretizationTypeError as error:
            raise TypeError(
                "fn depends on numbers that JAX does not know while it compiles (in an if or a "
                "float): write it without, or pass jit=False"
            ) from error
        for value in trace.outvars:
            _check_number(value.aval, x)
        (given,) = trace.invars
        uses = [v for step in trace.eqns for v in step.invars] + list(trace.outvars)
        if not any(v is given for v in uses):
            raise ValueError(_NO_GRADIENT.format(self.title))
