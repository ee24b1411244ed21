"""One function with a derivative of its own, for the libraries that differentiate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import Any

from ..arrays import ArgumentError, Array, as_float_array, check_finite, is_foreign, library


class Layer(ABC):
    """A function of a batch theta, and the product of its derivative with a batch of weights.

    Subclasses define `forward` and `backward`, which get and return arrays outside of any graph.
    """

    @abstractmethod
    def forward(self, theta: Array) -> tuple[Array, tuple[Array, ...]]:
        """Return the answers, and the arrays that `backward` needs."""

    @abstractmethod
    def backward(self, saved: tuple[Array, ...], weights: Array) -> Array:
        """Return the gradient in theta of the sum of all answers times weights."""

    def __call__(self, theta: Array) -> Array:
        """Return the answers to a batch ``theta`` of shape ``(batch, ...)``."""
        return apply(self, theta)

    def module(self) -> Any:
        """Return the layer as a module of PyTorch, for models that are made of modules."""
        import torch

        layer = self

        class Module(torch.nn.Module):
            def forward(self, theta: Array) -> Array:
                return layer(theta)

            def extra_repr(self) -> str:
                return repr(layer)

        return Module()


def apply(layer: Layer, theta: Array) -> Array:
    """Call a layer such that derivatives are known to the library of ``theta``."""
    theta = theta if is_foreign(theta) else as_float_array(theta, "theta")
    kind = library(theta)
    if kind == "torch":
        _check(theta.detach())
        return _torch_function().apply(theta, layer)
    if kind == "jax":
        import jax

        @jax.custom_vjp
        def call(theta: Array) -> Array:
            return layer.forward(_concrete(theta))[0]

        call.defvjp(
            lambda theta: layer.forward(_concrete(theta)),
            lambda saved, weights: (layer.backward(saved, weights),),
        )
        return call(theta)
    return layer.forward(_check(as_float_array(theta, "theta")))[0]


def _check(theta: Array) -> Array:
    return check_finite(as_float_array(theta, "theta"), "theta")


def _concrete(theta: Array) -> Array:
    """Return ``theta``, which must hold numbers: a layer decides by them what to compute."""
    from jax.core import Tracer

    if isinstance(theta, Tracer):
        raise ArgumentError(
            "theta must hold numbers, found what jax.jit or vmap traces: call the layer outside of "
            "them, with a batch"
        )
    return _check(theta)


@cache
def _torch_function() -> Any:
    import torch
    from torch.autograd.function import once_differentiable

    class Call(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, theta: Array, layer: Layer) -> Array:
            ctx.layer = layer
            answer, saved = layer.forward(theta.detach())
            ctx.save_for_backward(*saved)
            return answer

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, weights: Array) -> tuple[Array, None]:
            return ctx.layer.backward(ctx.saved_tensors, weights), None

    return Call


def batch_of(theta: Array, shape: tuple[int, ...]) -> None:
    """Raise unless theta is a batch of arrays of a shape."""
    if theta.ndim != len(shape) + 1 or tuple(theta.shape[1:]) != shape or not theta.shape[0]:
        listed = ", ".join(map(str, shape))
        raise ArgumentError(
            f"theta must be a batch of shape (batch, {listed}) with batch >= 1, found "
            f"{tuple(theta.shape)}"
        )
