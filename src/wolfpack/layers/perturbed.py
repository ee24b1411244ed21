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

from typing import Any

import numpy as np

from .. import noise as laws
from ..arrays import (
    ArgumentError,
    Array,
    Streams,
    as_float_array,
    as_type,
    check_finite,
    full,
    is_foreign,
    like,
    namespace,
    reshape,
    sum_last,
    to_host,
    wide_dtype,
)
from ..engines import EngineLike
from ..front.choose import as_set
from ..problem import CapabilityError
from ..problem.checks import checked, choice, count, either, extent, seed
from ..sets import Set
from ..sets.batched import batched
from ..smoothing.draws import SAMPLINGS
from ._bridge import Layer, batch_of
from ._maximisers import Maximisers

_STEP = 1e-3
"""Step, in units of the scale, of differences of a closed form, whose error is of order four."""


class PerturbedArgmax(Layer):
    r"""The mean maximiser over K of theta plus noise, with gradients in theta.

    Parameters
    ----------
    K : Set
        Any set. A closed form is computed for the whole batch where theta is, if the set has a
        batched form (see `wolfpack.minimize_many`); all other sets are asked on the host.
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
    engine : optional
        Where the oracle is asked, as in `wolfpack.minimize` ("mpi" excepted), for oracles that are
        slow: this process by default. The numbers are the same everywhere. Workers start with the
        first call, and `close` stops them.

    Notes
    -----
    All draws of a batch are one question to the oracle, and the derivative uses its answers again.
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
        scale=extent,
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
        engine: EngineLike = None,
    ) -> None:
        self.K, self.scale, self.m, self.sampling, self.seed = as_set(K), scale, m, sampling, seed
        self.noise = None if isinstance(noise, str) and noise == "auto" else noise
        if self.m == "exact":
            self._need_closed_form()
            if engine is not None:
                raise ArgumentError(
                    "engine asks the oracle, which m='exact' does not need: leave engine out, or "
                    "pass a number of draws, for example m=64"
                )
        elif sampling == "antithetic" and int(m) % 2:
            raise ArgumentError(f"m must be even for antithetic draws, found {m}")
        self.law = (
            None
            if self.m == "exact"
            else laws.get(self.K.default_noise if self.noise is None else self.noise)
        )
        self._maximisers = Maximisers(self.K, engine)
        self._calls = 0

    def __repr__(self) -> str:
        return f"PerturbedArgmax({self.K}, scale={self.scale:g}, m={self.m!r})"

    def close(self) -> None:
        """Stop the workers of ``engine``; another call starts them again."""
        self._maximisers.close()

    def forward(self, theta: Array) -> tuple[Array, tuple[Array, ...]]:
        batch_of(theta, self.K.shape)
        if self.m == "exact":
            means, _ = self._closed(_in_double(theta))
            return _beside(means, theta), (theta,)
        _, v, z = self._drawn(theta)
        assert self.law is not None
        saved = like(v, theta), like(self.law.score(z), theta)
        return like(v.mean(axis=1), theta), saved

    def backward(self, saved: tuple[Array, ...], weights: Array) -> Array:
        if self.m == "exact":
            theta = _in_double(saved[0])
            return _beside(self._difference(theta, _in_double(weights)), saved[0])
        v, score = saved
        return self._estimate(v, score, weights)

    def with_values(self, theta: Array) -> tuple[Array, Array]:
        """Return the mean maximisers of a batch, and s(theta) for each of its rows."""
        batch_of(theta, self.K.shape)
        if self.m == "exact":
            means, values = self._closed(_in_double(theta), values=True)
            return _beside(means, theta), _beside(values, theta)
        perturbed, v, _ = self._drawn(theta)
        products = (perturbed * v).reshape(*v.shape[:2], -1).sum(axis=2)
        return like(v.mean(axis=1), theta), like(products.mean(axis=1), theta)

    def _need_closed_form(self) -> None:
        known = self.K.closed_forms
        name = getattr(self.noise, "name", self.noise)
        if not known or (name is not None and name not in known):
            listed = f"for {', '.join(known)}" if known else "for no noise"
            raise CapabilityError(
                f"{self.K} has closed forms {listed}: pass a number of draws, for example m=64"
            )

    def _closed(self, theta: Array, values: bool = False) -> tuple[Array, Array]:
        """Return the closed form, and s(theta) if ``values`` are wanted, in double precision."""
        own = isinstance(self.noise, str) and self.noise == self.K.closed_forms[0]
        law = None if self.noise is None or own else laws.get(self.noise)
        flat = reshape(theta, (theta.shape[0], -1))
        K = batched(self.K, flat.shape[0], flat)
        if K is not None and K.closes(law):
            scales = full((flat.shape[0],), self.scale, flat)
            means, supports = K.smoothed(flat, scales, law)
            return reshape(means, tuple(theta.shape)), supports
        rows = [np.asarray(row) for row in to_host(theta)]
        found = [self.K.smoothed(row, self.scale, self.noise) for row in rows]
        means = like(np.stack(found), theta)
        if not values:
            return means, None
        supports = [self.K.smoothed_support(row, self.scale, self.noise) for row in rows]
        return means, like(np.array(supports, dtype=np.float64), theta)

    def _difference(self, theta: Array, u: Array) -> Array:
        """Return the derivatives of the closed form along u, which are their own transposes."""
        xp = namespace(theta)
        size = xp.max(reshape(abs(u), (u.shape[0], -1)), axis=1)
        h = _STEP * self.scale / xp.where(size > 0, size, xp.ones_like(size))
        h = reshape(h, (-1, *(1,) * (u.ndim - 1)))
        near = self._closed(theta + h * u)[0] - self._closed(theta - h * u)[0]
        far = self._closed(theta + 2.0 * h * u)[0] - self._closed(theta - 2.0 * h * u)[0]
        return (8.0 * near - far) / (12.0 * h)

    def _drawn(self, theta: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return perturbed rows, their maximisers and the noise, each (batch, m, ...)."""
        assert self.law is not None
        host = np.asarray(to_host(theta), dtype=np.float64)
        call, streams = self._calls, Streams(self.seed)
        self._calls += 1
        couple, shape = SAMPLINGS[self.sampling], (int(self.m), *self.K.shape)
        rngs = (couple(streams.at(call, row)) for row in range(len(host)))
        z = np.stack([np.asarray(self.law.sample(rng, shape)) for rng in rngs])
        perturbed = host[:, None] + self.scale * z
        v = self._maximisers(perturbed.reshape(-1, *self.K.shape)).reshape(z.shape)
        return perturbed, v, z

    def _estimate(self, v: Array, score: Array, weights: Array) -> Array:
        """Return the estimate by integration by parts, from maximisers and scores of a batch."""
        batch, m = v.shape[:2]
        along = sum_last(reshape(v * weights[:, None, ...], (batch, m, -1)), 1)
        # independent draws: their own mean takes away 1/m of the derivative, which is given back
        factor = m / (m - 1.0) if self.sampling == "iid" and m > 1 else 1.0
        xp = namespace(along)
        along = along - xp.mean(along, axis=1)[:, None] if m > 1 else along
        along = as_type(factor / (self.scale * m) * along, score.dtype)
        found = xp.matmul(along[:, None, :], reshape(score, (batch, m, -1)))
        return reshape(found, (batch, *self.K.shape))


def _in_double(theta: Array) -> Array:
    """Return a batch in double precision: where it is, if its library has that, or on the host."""
    dtype = wide_dtype(theta)
    if str(dtype).endswith("float32"):
        return np.asarray(to_host(theta), dtype=np.float64)
    return as_type(theta, dtype)


def _beside(values: Array, theta: Array) -> Array:
    """Return values as an array of the library, device and type of theta."""
    return as_type(like(values, theta), theta.dtype)


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
        ``scale``, ``m``, ``noise``, ``sampling``, ``seed`` and ``engine``, as for
        `PerturbedArgmax`.

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

    def close(self) -> None:
        """Stop the workers of ``engine``; another call starts them again."""
        self.argmax.close()

    def __call__(self, theta: Array, target: Array) -> Array:
        """Return the losses of ``theta`` against ``target``, both of shape (batch, ...)."""
        theta = theta if is_foreign(theta) else as_float_array(theta, "theta")
        target = check_finite(as_float_array(target, "target"), "target")
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
        means, values = self.argmax.with_values(theta)
        target = _beside(self.target, theta)
        products = sum_last(reshape(theta * target, (theta.shape[0], -1)), 1)
        return as_type(values - products, theta.dtype), (means, target)

    def backward(self, saved: tuple[Array, ...], weights: Array) -> Array:
        means, target = saved
        return reshape(weights, (-1, *(1,) * (means.ndim - 1))) * (means - target)
