"""Values, gradients and second derivatives of a user's function f(x, theta) in PyTorch or JAX."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..arrays import ArgumentError, Array, describe, eye, library, namespace, reshape

Function = Callable[[Array, Array], Array]

_NUMBERS = 2**22
"""Numbers of the second derivatives that are computed at once."""


def values_and_gradients(f: Function, X: Array, theta: Array) -> tuple[Array, Array]:
    """Return f (B,) and its gradients in x."""
    if _kind(X) == "torch":
        values, gradients, _ = _torch_gradients(f, X, theta)
        return values.detach(), gradients.detach()
    import jax

    values, pull = jax.vjp(lambda x: _values(f, x, theta), X)
    return values, pull(namespace(X).ones_like(values))[0]


def hessians(f: Function, X: Array, theta: Array) -> Array:
    """Return the second derivatives (B, d, d) in x, flattened."""
    B = X.shape[0]
    flat = reshape(X, (B, -1))
    if _kind(X) == "torch":
        return _torch_hessians(f, X, theta)
    import jax

    def gradient(x: Array) -> Array:
        whole = jax.grad(lambda x: _values(f, reshape(x, X.shape), theta).sum())
        return whole(x)

    def along(direction: Array) -> Array:
        return jax.jvp(gradient, (flat,), (jax.numpy.broadcast_to(direction, flat.shape),))[1]

    one = eye(flat.shape[1], flat)
    parts = [jax.vmap(along)(one[part, :]) for part in _pieces(flat)]
    return namespace(X).moveaxis(namespace(X).concat(parts), 0, 2)


def pulled_back(f: Function, X: Array, theta: Array, W: Array) -> Array:
    """Return the gradient in theta of the sum of <grad_x f, w>."""
    if _kind(X) == "torch":
        import torch

        with torch.enable_grad():
            t = theta.detach().requires_grad_(True)
            _, gradients, _ = _torch_gradients(f, X, t)
            found = torch.autograd.grad((gradients * W).sum(), t, allow_unused=True)[0]
        return torch.zeros_like(theta) if found is None else found
    import jax

    def weighed(t: Array) -> Array:
        return (jax.grad(lambda x: _values(f, x, t).sum())(X) * W).sum()

    return jax.grad(weighed)(theta)


def _torch_gradients(f: Function, X: Array, theta: Array) -> tuple[Array, Array, Array]:
    import torch

    with torch.enable_grad():
        x = X.detach().requires_grad_(True)
        values = _values(f, x, theta)
        gradients = torch.autograd.grad(values.sum(), x, create_graph=True)[0]
    return values, gradients, x


def _torch_hessians(f: Function, X: Array, theta: Array) -> Array:
    import torch

    # one direction at a time: for many at once PyTorch would copy the data that f multiplies with
    B, columns = X.shape[0], []
    _, gradients, x = _torch_gradients(f, X, theta)
    if not gradients.requires_grad:  # f is linear in x
        d = X.numel() // B
        return torch.zeros(B, d, d, dtype=X.dtype, device=X.device)
    with torch.enable_grad():
        g = gradients.reshape(B, -1)
        for j in range(g.shape[1]):
            row = torch.autograd.grad(g[:, j].sum(), x, retain_graph=True, allow_unused=True)[0]
            columns.append(torch.zeros_like(g) if row is None else row.reshape(B, -1))
    return torch.stack(columns, dim=1).detach()


def _pieces(X: Array) -> list[slice]:
    """Return the columns of a batch of rows in pieces, for which there is memory at once."""
    B = X.shape[0]
    d = math.prod(X.shape) // B
    step = max(1, _NUMBERS // (B * d))
    return [slice(first, min(first + step, d)) for first in range(0, d, step)]


def _values(f: Function, X: Array, theta: Array) -> Array:
    values = f(X, theta)
    if tuple(getattr(values, "shape", ())) != (X.shape[0],):
        raise ArgumentError(
            f"objective(x, theta) must return one value per problem, shape ({X.shape[0]},), found "
            f"{tuple(getattr(values, 'shape', ()))}"
        )
    return values


def _kind(X: Array) -> Any:
    kind = library(X)
    if kind not in ("torch", "jax"):
        raise ArgumentError(
            "theta must be an array of PyTorch or JAX, which know the derivatives of the "
            f"objective, found {describe(X)}"
        )
    return kind
