r"""Data that come in minibatches: lists, generators, data loaders.

G is the mean loss over all rows of a source, and a round uses the next minibatches. Where the
source can be read again, a pass over it evaluates and certifies G.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sized
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np
from scipy.sparse import issparse, vstack

from ..arrays import Array
from ..problem import Evaluation, tick, time_left
from ..problem.checks import flag, instance, optional, positive, shown
from ._base import Objective
from ._matrix import Matrix
from ._spectrum import spectral_norm_squared
from .classification import Logistic, Multinomial, SquaredHinge
from .finite_sum import FiniteSum
from .regression import Huber, LeastSquares, Poisson, Quantile

LOSSES: dict[str, Callable[..., FiniteSum]] = {
    "huber": Huber,
    "least_squares": LeastSquares,
    "logistic": Logistic,
    "multinomial": Multinomial,
    "poisson": Poisson,
    "quantile": Quantile,
    "squared_hinge": SquaredHinge,
}
KEPT_BATCHES = 16  # minibatches from which smoothness and variance are estimated


Pairs: TypeAlias = Iterable[tuple[Matrix, Array]]
"""Minibatches (features, targets)."""


class Batches(Objective):
    r"""The mean loss over minibatches that come from a source.

    Parameters
    ----------
    loss : str or callable
        "least_squares", "logistic", "multinomial", "huber", "squared_hinge", "poisson", "quantile",
        or a function (features, targets, **options) that returns a `FiniteSum` whose value is a
        mean over rows.
    source : iterable or callable
        Of pairs (features, targets): arrays, sparse matrices or tensors of PyTorch. A list or a
        `DataLoader` is read again and again. A function without arguments is called for each pass
        and returns an iterable. A generator can be read once: the run ends with it, and no value of
        G is known.
    beta : float, optional
        Lipschitz constant of grad G; by default that of the first 16 minibatches, joined.
    evaluate : bool, optional
        Whether G may be evaluated by passes over the source, for the history and the certificate,
        which then assume that every pass has the same rows. True by default where possible.
    **options
        Passed to the loss: ``classes=10``, ``delta=0.5``...

    Notes
    -----
    Minibatches are used in the order in which they come. A source that shuffles differently in
    every process cannot be resumed to the same bits.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> rng = np.random.default_rng(0)
    >>> A, b = rng.standard_normal((60, 3)), rng.standard_normal(60)
    >>> source = [(A[i : i + 20], b[i : i + 20]) for i in range(0, 60, 20)]
    >>> res = wp.minimize_composite(
    ...     Batches("huber", source), wp.regularizers.SquaredNorm(1.0), tol=0.1
    ... )
    >>> res.success
    True
    """

    random = True
    has_gradients: bool = cast(
        "bool",
        property(lambda self: self.has_values, doc="Whether passes over the source are allowed."),
    )
    _derived = ("first", "length", "counted")  # A source may shuffle, so that these differ.

    def __init__(
        self,
        loss: str | Callable[..., FiniteSum],
        source: Pairs | Callable[[], Pairs],
        beta: float | None = None,
        evaluate: bool | None = None,
        **options: Any,
    ) -> None:
        if isinstance(loss, str) and loss not in LOSSES:
            raise ValueError(
                f"loss must be a callable or one of {', '.join(LOSSES)}, found {shown(loss)}"
            )
        if not (isinstance(loss, str) or callable(loss)):
            raise TypeError(f"loss must be a name or a callable, found {shown(loss)}")
        if not (callable(source) or isinstance(source, Iterable)):
            raise TypeError(
                "source must be an iterable of (features, targets) or a function that returns "
                f"one, found {type(source).__name__}"
            )
        if isinstance(loss, str) and loss == "poisson" and "cap" not in options:
            raise ValueError("loss='poisson' needs cap=..., the same for all minibatches")
        self._make = LOSSES[loss] if isinstance(loss, str) else loss
        self._options = options | ({"reduction": "mean"} if isinstance(loss, str) else {})
        self.source = source
        self._beta = optional(positive)(beta, "beta")
        optional(flag)(evaluate, "evaluate")
        self.first: list[FiniteSum] = []
        self.repeats = not isinstance(source, Iterator)
        if evaluate and not self.repeats:
            raise ValueError(
                "evaluate=True needs a source that can be read again, found a generator"
            )
        self.has_values = self.repeats if evaluate is None else bool(evaluate)
        self._read_first()

    def _read_first(self) -> None:
        """Read the first minibatches, which determine the shape of y and the smoothness."""
        batches = self.open()
        for _, batch in zip(range(KEPT_BATCHES), batches, strict=False):
            self.first.append(batch)
            self.shape = self.first[0].shape
        if not self.first:
            raise ValueError("source must have at least one minibatch, found none")
        found = None
        if isinstance(self.source, Sized):
            found = len(self.source)
        elif self.repeats and len(self.first) < KEPT_BATCHES:
            found = len(self.first)
        self.counted = found is not None
        # without values of G there is no need to know
        self.length: int = 100 if found is None else found
        if not self.repeats:
            self._rest = batches

    def count(self) -> None:
        """Count the minibatches by a pass over the source, if such passes will evaluate F."""
        if self.has_values and not self.counted:
            found = 0
            for _ in self._pairs():
                found += 1
                if time_left() <= 0.0:
                    raise ValueError(
                        f"source must end, or max_seconds be larger: after {found} minibatches the "
                        "time was over, and F is evaluated by passes over the whole source. Pass "
                        "evaluate=False to do without values of F"
                    )
            self.length, self.counted = found, True

    def open(self) -> Iterator[FiniteSum]:
        """Return an iterator over the losses of the minibatches, from the beginning."""
        for number, pair in enumerate(self._pairs()):
            yield self._loss(number, pair)

    def _pairs(self) -> Iterator[tuple[Matrix, Array]]:
        pairs = self.source() if callable(self.source) else self.source
        try:
            return iter(pairs)
        except TypeError as error:
            raise TypeError(
                "source must be an iterable of (features, targets), or a function without "
                f"arguments that returns one, found {shown(self.source)}: {error}"
            ) from error

    def stream(self) -> Iterator[FiniteSum]:
        """Return an iterator that is endless if the source can be read again."""
        if not self.repeats:
            yield from self.first
            yield from self._rest
            return
        while True:
            yield from self.open()

    def _loss(self, number: int, pair: tuple[Matrix, Array]) -> FiniteSum:
        try:
            features, targets = pair
        except (TypeError, ValueError):
            raise TypeError(
                f"source: minibatch {number} must be a pair (features, targets), found "
                f"{type(pair).__name__}"
            ) from None
        features, targets = _on_host(features), _on_host(targets)
        if features.shape and not features.shape[0]:
            raise ValueError(f"source: minibatch {number} must not be empty, found no rows")
        try:
            loss = self._make(features, targets, **self._options)
        except Exception as error:
            if not (isinstance(self._make, type) and isinstance(error, TypeError | ValueError)):
                error.add_note(f"raised by loss, in minibatch {number} of source")
                raise
            raise ValueError(
                f"source and loss must fit each other, found in minibatch {number}: {error}"
            ) from error
        instance(FiniteSum, "a function that returns a loss of wolfpack.objectives")(loss, "loss")
        if self.shape is not None and loss.shape != self.shape:
            raise ValueError(
                f"source: minibatch {number} needs y of shape {loss.shape}, and the first one "
                f"{self.shape}"
            )
        return loss

    @cached_property
    def L(self) -> float:
        # the user's beta, or the smoothness of the first minibatches, joined
        if self._beta is not None:
            return self._beta
        parts = [batch.A for batch in self.first]
        joined = vstack(parts) if any(map(issparse, parts)) else np.concatenate(parts)
        unit = max(batch.n * batch.loss_smoothness for batch in self.first)
        return unit * spectral_norm_squared(joined) / joined.shape[0]

    def evaluate(self, x: Array) -> Evaluation:
        """Return value and gradient from a pass over the source; NaN if it cannot be read again."""
        if not self.has_values:
            return Evaluation(math.nan, None, None)
        value, gradient, dual, rows = 0.0, 0.0, 0.0, 0
        for batch in self.open():
            tick()
            at = batch.evaluate(x)
            value += batch.n * at.value
            gradient = gradient + batch.n * at.gradient
            dual += batch.n * batch.conjugate_bound(at.dual)
            rows += batch.n
        return Evaluation(value / rows, gradient / rows, dual / rows)


def _on_host(part: Matrix) -> Matrix:
    """Return tensors of PyTorch and lists as NumPy arrays, anything else as it is."""
    if hasattr(part, "detach"):
        part = part.detach().cpu()
        narrow = str(getattr(part, "dtype", "")) == "torch.bfloat16"
        part = (part.float() if narrow else part).numpy()
    return part if hasattr(part, "shape") else np.asarray(part)
