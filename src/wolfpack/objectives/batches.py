r"""Data that come in minibatches: lists, generators, data loaders.

G is the mean loss over all rows of a source, of which a round sees the next minibatches. Where the
source can be read again, G is evaluated by a pass over it, off the clock, and certified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from ..problem import Evaluation
from ._base import Array, Objective
from ._spectrum import spectral_norm_squared
from .finite_sum import FiniteSum
from .huber import Huber
from .least_squares import LeastSquares
from .logistic import Logistic
from .multinomial import Multinomial
from .poisson import Poisson
from .quantile import Quantile
from .squared_hinge import SquaredHinge

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


class Batches(Objective):
    r"""The mean loss over minibatches that a source hands out.

    Parameters
    ----------
    loss : str or callable
        "least_squares", "logistic", "multinomial", "huber", "squared_hinge", "poisson", "quantile",
        or a function (features, targets, **options) that returns a `FiniteSum` whose value is a
        mean over rows.
    source : iterable or callable
        Of pairs (features, targets): arrays, sparse matrices or tensors of PyTorch. A list or a
        `DataLoader` is read again and again; so is what a function without arguments returns anew
        each time it is called. A generator can be read once: the run ends with it, and no value of
        G is known.
    beta : float, optional
        Lipschitz constant of grad G; by default that of the first 16 minibatches, joined.
    evaluate : bool, optional
        Whether G may be evaluated by passes over the source: for the history and the certificate,
        which then suppose that every pass has the same rows. True by default where possible.
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

    def __init__(
        self,
        loss: Any,
        source: Any,
        beta: float | None = None,
        evaluate: bool | None = None,
        **options: Any,
    ) -> None:
        if isinstance(loss, str) and loss not in LOSSES:
            raise ValueError(
                f"loss must be a callable or one of {', '.join(LOSSES)}, found {loss!r}"
            )
        if not (isinstance(loss, str) or callable(loss)):
            raise TypeError(f"loss must be a name or a callable, found {loss!r}")
        if not (callable(source) or isinstance(source, Iterable)):
            raise TypeError(
                "source must be an iterable of (features, targets) or a function that returns "
                f"one, found {type(source).__name__}"
            )
        if loss == "poisson" and "cap" not in options:
            raise ValueError("loss='poisson' needs cap=..., the same for all minibatches")
        self._make: Any = LOSSES[loss] if isinstance(loss, str) else loss
        self._options = options | ({"reduction": "mean"} if isinstance(loss, str) else {})
        self._source: Any = source
        self._beta = beta
        self.first: list[FiniteSum] = []
        self.repeats = not isinstance(source, Iterator)
        if evaluate and not self.repeats:
            raise ValueError(
                "evaluate=True needs a source that can be read again, found a generator"
            )
        self.has_values = self.repeats if evaluate is None else bool(evaluate)
        self._begin()

    def _begin(self) -> None:
        """Read the first minibatches, which tell the shape of y and the smoothness."""
        batches = self.open()
        for _, batch in zip(range(KEPT_BATCHES), batches, strict=False):
            self.first.append(batch)
            self.shape = self.first[0].shape
        if not self.first:
            raise ValueError("the source of minibatches is empty")
        known = hasattr(self._source, "__len__")
        few = self.repeats and len(self.first) < KEPT_BATCHES
        found = len(self._source) if known else len(self.first) if few else None
        self.counted = found is not None
        # without a length: as many as there can be before the first look
        self.length: int = 100 if found is None else found
        if not self.repeats:
            self._rest = batches

    def open(self) -> Iterator[FiniteSum]:
        """Return an iterator over the losses of the minibatches, from the beginning."""
        source: Any = self._source() if callable(self._source) else self._source
        for number, pair in enumerate(source):
            yield self._loss(number, pair)

    def stream(self) -> Iterator[FiniteSum]:
        """Return an endless iterator for a source that can be read again; else what it has."""
        if not self.repeats:
            yield from self.first
            yield from self._rest
            return
        while True:
            yield from self.open()

    def _loss(self, number: int, pair: Any) -> FiniteSum:
        try:
            features, targets = pair
        except (TypeError, ValueError):
            raise TypeError(
                f"minibatch {number} must be a pair (features, targets), found "
                f"{type(pair).__name__}"
            ) from None
        features, targets = _array(features), _array(targets)
        if not getattr(features, "shape", (1,))[0]:
            raise ValueError(f"minibatch {number} is empty")
        try:
            loss = self._make(features, targets, **self._options)
        except ValueError as error:
            raise ValueError(f"minibatch {number}: {error}") from error
        if self.shape is not None and loss.shape != self.shape:
            raise ValueError(
                f"minibatch {number} needs y of shape {loss.shape}, the first one {self.shape}"
            )
        return loss

    @cached_property
    def L(self) -> float:
        """The user's beta, or the smoothness of the first minibatches, joined."""
        if self._beta is not None:
            return self._beta
        parts = [batch.A for batch in self.first]
        joined = vstack(parts) if any(map(issparse, parts)) else np.concatenate(parts)
        unit = max(batch.n * batch.loss_smoothness for batch in self.first)
        return unit * spectral_norm_squared(joined) / joined.shape[0]

    def evaluate(self, x: Array) -> Evaluation:
        """Return value and gradient from a pass over the source; NaN where there is none."""
        if not self.has_values:
            return Evaluation(float("nan"), None, None)
        value, gradient, dual, rows = 0.0, 0.0, 0.0, 0
        for batch in self.open():
            at = batch.evaluate(x)
            value += batch.n * at.value
            gradient = gradient + batch.n * at.gradient
            dual += batch.n * batch.conjugate_bound(at.dual)
            rows += batch.n
        return Evaluation(value / rows, gradient / rows, dual / rows)


def _array(part: Any) -> Any:
    """Return a tensor of PyTorch as an array, anything else as it is."""
    if hasattr(part, "detach"):
        part = part.detach().cpu()
        narrow = str(getattr(part, "dtype", "")) == "torch.bfloat16"
        part = (part.float() if narrow else part).numpy()
    return part if hasattr(part, "shape") else np.asarray(part)
