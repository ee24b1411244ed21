r"""Perturbed maximisers and the losses that belong to them (Berthet et al. 2020).

With noise Delta of density exp(-eta) and scale sigma,

.. math::

    s(\theta) = E \max_{v\in K} \langle\theta + \sigma\Delta, v\rangle, \qquad
    v^*(\theta) = \nabla s(\theta) = E \arg\max_{v\in K} \langle\theta + \sigma\Delta, v\rangle .

v* is smooth where the maximiser itself jumps, and its derivative is that of integration by parts:

.. math::

    \nabla v^*(\theta)\,u = \tfrac1\sigma E\,\bigl\langle v(\theta + \sigma\Delta) - \bar v,
    u\bigr\rangle\,\nabla\eta(\Delta) .

Any constant may stand for v-bar, since the score has mean 0; the mean of the draws takes away most
of the variance.

Sources
    Q. Berthet, M. Blondel, O. Teboul, M. Cuturi, J.-P. Vert, F. Bach, Learning with differentiable
    perturbed optimizers, NeurIPS 2020.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .. import noise as laws
from ..arrays import ArgumentError, Array, Streams, like, namespace, to_host
from ..front.choose import as_set
from ..problem import CapabilityError
from ..problem.checks import checked, choice, count, either, positive, seed
from ..sets import Set
from ..smoothing.draws import SAMPLINGS
from ._bridge import Layer, batch_of

_STEP = 1e-3
"""Step, in units of the scale, of differences of a closed form, whose error is of order four."""


class PerturbedArgmax(Layer):
    r"""The mean maximiser over K of theta plus noise, with gradients in theta.

    Parameters
    ----------
    K : Set
        Any set; its oracle is asked on the host.
    scale : float
        The scale sigma of the noise.
    m : "exact" or int
        The closed form, where the set has one for this noise, or the number of draws.
    noise : "auto" or str
        Law of the noise: "gumbel", "gaussian", "logistic"; "auto" is the set's own.
    sampling : {"iid", "antithetic", "sobol"}
        How the draws of one mean depend on each other.
    seed : int
        Seed of the draws. Call number k of a layer draws the same numbers in every program.

    Notes
    -----
    The derivative of a closed form is a central difference of fourth order along the weights; it is
    exact to about 1e-11 relative to the scale. That of m draws is an unbiased estimate of the
    derivative of the mean.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> wp.layers.PerturbedArgmax(wp.sets.Simplex(2))(np.log([[1.0, 3.0]]))
    array([[0.25, 0.75]])
    """

    @checked(
        scale=positive,
        m=either(count, "exact"),
        sampling=choice(*SAMPLINGS),
        seed=seed,
    )
    def __init__(
        self,
        K: Set,
        scale: float = 1.0,
        m: int | str = "exact",
        noise: Any = "auto",
        sampling: str = "iid",
        seed: int = 0,
    ) -> None:
        self.K, self.scale, self.m, self.sampling, self.seed = as_set(K), scale, m, sampling, seed
        self.noise = None if isinstance(noise, str) and noise == "auto" else noise
        if self.m == "exact":
            self._need_closed_form()
        elif sampling == "antithetic" and int(m) % 2:
            raise ArgumentError(f"m must be even for antithetic draws, found {m}")
        self.law = None if self.m == "exact" else laws.get(self.noise or self.K.default_noise)
        self._calls = itertools.count()

    def __repr__(self) -> str:
        return f"PerturbedArgmax({self.K}, scale={self.scale:g}, m={self.m!r})"

    def _need_closed_form(self) -> None:
        known = self.K.closed_forms
        name = getattr(self.noise, "name", self.noise)
        if not known or (name is not None and name not in known):
            listed = f"for {', '.join(known)}" if known else "for no noise"
            raise CapabilityError(
                f"{self.K} has closed forms {listed}: pass a number of draws, for example m=64"
            )

    def forward(self, theta: Array) -> tuple[Array, tuple[Array, ...]]:
        batch_of(theta, self.K.shape)
        host = np.asarray(to_host(theta), dtype=np.float64)
        call = next(self._calls)
        if self.m == "exact":
            mean = np.stack([self._smoothed(row) for row in host])
        else:
            draws = (self._draws(row, call, i) for i, row in enumerate(host))
            mean = np.stack([v.mean(axis=0) for v, _ in draws])
        return like(mean, theta), (theta, like(np.array([float(call)]), theta))

    def backward(self, saved: tuple[Array, ...], weights: Array) -> Array:
        theta, call = saved
        host = np.asarray(to_host(theta), dtype=np.float64)
        u = np.asarray(to_host(weights), dtype=np.float64)
        number = int(to_host(call)[0])
        if self.m == "exact":
            found = [self._difference(row, w) for row, w in zip(host, u, strict=True)]
        else:
            rows = enumerate(zip(host, u, strict=True))
            found = [self._estimate(row, w, number, i) for i, (row, w) in rows]
        return like(np.stack(found), theta)

    def values(self, theta: np.ndarray, call: int) -> np.ndarray:
        """Return s(theta) for each row."""
        if self.m == "exact":
            return np.array([self.K.smoothed_support(row, self.scale, self.noise) for row in theta])
        found: list[float] = []
        for i, row in enumerate(theta):
            v, z = self._draws(row, call, i)
            found.append(float(((row + self.scale * z) * v).reshape(len(v), -1).sum(axis=1).mean()))
        return np.array(found)

    def _smoothed(self, theta: np.ndarray) -> np.ndarray:
        return self.K.smoothed(theta, self.scale, self.noise)

    def _difference(self, theta: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return the derivative of the closed form along u, which is its own transpose."""
        size = float(abs(u).max())
        if size == 0.0:
            return np.zeros_like(u)
        h = _STEP * self.scale / size
        near = self._smoothed(theta + h * u) - self._smoothed(theta - h * u)
        far = self._smoothed(theta + 2.0 * h * u) - self._smoothed(theta - 2.0 * h * u)
        return (8.0 * near - far) / (12.0 * h)

    def _draws(self, theta: np.ndarray, call: int, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the maximisers of one problem and their noise."""
        assert self.law is not None
        rng = SAMPLINGS[self.sampling](Streams(self.seed).at(call, row))
        z = self.law.sample(rng, (int(self.m), *self.K.shape))
        return np.asarray(self.K.lmo(-(theta + self.scale * z)).to_dense()), z

    def _estimate(self, theta: np.ndarray, u: np.ndarray, call: int, row: int) -> np.ndarray:
        assert self.law is not None
        v, z = self._draws(theta, call, row)
        m = len(v)
        along = (v * u).reshape(m, -1).sum(axis=1)
        # independent draws: their own mean takes away 1/m of the derivative, which is given back
        factor = m / (m - 1.0) if self.sampling == "iid" and m > 1 else 1.0
        along = along - along.mean() if m > 1 else along
        score = self.law.score(z).reshape(m, -1)
        return (factor / (self.scale * m) * (along @ score)).reshape(self.K.shape)


class FenchelYoungLoss:
    r"""The loss :math:`s(\theta) - \langle\theta, y\rangle` of targets y in K.

    It is convex in theta, and its gradient v*(theta) - y needs no derivative of v*. It is
    the Fenchel-Young loss of Berthet et al. less the term of y alone, which no training changes.

    Parameters
    ----------
    K : Set
        Where the targets are.
    reduction : {"mean", "sum", "none"}
        What becomes of the losses of a batch.
    **options
        ``scale``, ``m``, ``noise``, ``sampling`` and ``seed``, as for `PerturbedArgmax`.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> loss = wp.layers.FenchelYoungLoss(wp.sets.Simplex(2))
    >>> round(float(loss(np.zeros((1, 2)), np.array([[1.0, 0.0]]))), 6)  # log 2
    0.693147
    """

    @checked(reduction=choice("mean", "sum", "none"))
    def __init__(self, K: Set, reduction: str = "mean", **options: Any) -> None:
        self.argmax = PerturbedArgmax(K, **options)
        self.reduction = reduction

    def __call__(self, theta: Array, target: Array) -> Array:
        """Return the losses of ``theta`` against ``target``, both of shape (batch, ...)."""
        if tuple(target.shape) != tuple(theta.shape):
            raise ArgumentError(
                f"target must have theta's shape {tuple(theta.shape)}, found {tuple(target.shape)}"
            )
        losses = _Losses(self.argmax, target)(theta)
        if self.reduction == "none":
            return losses
        return losses.mean() if self.reduction == "mean" else losses.sum()


class _Losses(Layer):
    """The losses of one batch of targets."""

    def __init__(self, argmax: PerturbedArgmax, target: Array) -> None:
        self.argmax, self.target = argmax, target

    def forward(self, theta: Array) -> tuple[Array, tuple[Array, ...]]:
        mean, (_, call) = self.argmax.forward(theta)
        host = np.asarray(to_host(theta), dtype=np.float64)
        target = np.asarray(to_host(self.target), dtype=np.float64)
        number = int(to_host(call)[0])
        products = (host * target).reshape(len(host), -1).sum(axis=1)
        losses = self.argmax.values(host, number) - products
        return like(losses, theta), (mean, like(target, theta))

    def backward(self, saved: tuple[Array, ...], weights: Array) -> Array:
        mean, target = saved
        xp = namespace(mean)
        return xp.reshape(weights, (-1, *(1,) * (mean.ndim - 1))) * (mean - target)
