"""Classification by Algorithm 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from ..arrays import ArgumentError, Array
from ..objectives import Logistic, Multinomial, SquaredHinge
from ..objectives.finite_sum import FiniteSum
from ..problem.checks import Kind, choice, shown, weight
from ._linear_model import AcceleratedLinear

_LOSSES = ("log_loss", "squared_hinge")


def _class_weight(value: Any, name: str) -> None:
    """Raise unless ``value`` is None, "balanced" or weights by label."""
    if value is None or (isinstance(value, str) and value == "balanced"):
        return
    if not isinstance(value, Mapping):
        raise ArgumentError(
            f"{name} must be a dict of weights by label, 'balanced' or None, found {shown(value)}"
        )
    weights: Mapping[Any, Any] = value
    for label, given in weights.items():
        weight(given, f"{name}[{shown(label)}]")


@dataclass(eq=False, repr=False)
class AcceleratedClassifier(ClassifierMixin, AcceleratedLinear):
    r"""Linear classifier: mean loss plus :math:`\alpha (\rho \|w\|_1 + \frac{1-\rho}{2} \|w\|^2)`.

    Parameters
    ----------
    loss : {"log_loss", "squared_hinge"}
        Logistic (multinomial for more than two classes), or half the squared hinge (one class
        against the rest).
    penalty : {"l2", "elasticnet"}
        Ridge, rho = 0; or elastic net.
    alpha : float
        Weight of the penalty, positive.
    l1_ratio : float
        rho of the elastic net, from 0 to 1. With 1 a ridge of 1e-6 alpha is left.
    fit_intercept : bool
        Add a constant feature as long as a typical row. It is not penalised, except for a ridge of
        1e-6 of the curvature along it, which Algorithm 1 needs. `partial_fit` penalises it.
    batch_size : int or "auto"
        Rows in a round. "auto" leaves the choice to `wolfpack.minimize_composite`.
    tol : float
        Stop when the certified gap is at most ``tol`` times the loss of a zero model.
    max_iter : int
        Passes over the data, at most.
    random_state : int, RandomState or None
        Chooses the rows.
    warm_start : bool
        Start at the coefficients of the last fit.
    engine : None, str or an engine
        Where `fit` computes gradients, as for `wolfpack.minimize`: the rows are cut into 64 blocks,
        and each worker computes its share. All rows count in a round then (no small batches), and
        weights of rows are for squared errors alone. `partial_fit` computes in this process.
    class_weight : dict, "balanced" or None
        Weights of the classes, by label, 1 for labels without; "balanced" gives all classes the
        same total weight.

    Attributes
    ----------
    coef_, intercept_ : array
        One row per class; a single one for two classes.
    classes_ : array
        The labels.
    n_iter_ : int
        Passes over the data (rounds, after `partial_fit`).
    result_ : Result
        The whole result of the last `fit`, certificate included. The last entry of its ``x`` is the
        intercept divided by the length of the constant feature.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array(["a", "a", "b", "b"])
    >>> AcceleratedClassifier(alpha=0.01, random_state=0).fit(X, y).predict([[0.5], [3.5]])
    array(['a', 'b'], dtype='<U1')
    """

    loss: str = "log_loss"
    _: KW_ONLY
    class_weight: Mapping[Any, float] | str | None = None

    _kinds: ClassVar[dict[str, Kind]] = {"loss": choice(*_LOSSES), "class_weight": _class_weight}

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None) -> AcceleratedClassifier:
        """Fit the model to the rows of ``X`` and their labels, with weights if given."""
        X, y = self._data(X, y, classes=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have at least 2 classes, found one class: {self.classes_[0]}")
        self._fit(X, codes, self._both_weights(X, codes, sample_weight))
        return self

    def partial_fit(
        self,
        X: Array,
        y: Array,
        classes: Array | None = None,
        sample_weight: Array | None = None,
    ) -> AcceleratedClassifier:
        """Continue with one pass over the given rows; the first call names all ``classes``."""
        first = self._stream is None and not hasattr(self, "classes_")
        X, y = self._data(X, y, reset=False)
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all labels at once: pass a dict of weights to "
                "partial_fit"
            )
        if first:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit")
            self.classes_ = np.unique(classes)
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(
                f"classes must be those of the first call, {self.classes_}, found {classes!r}"
            )
        codes = np.searchsorted(self.classes_, y)
        if not np.array_equal(self.classes_[np.minimum(codes, len(self.classes_) - 1)], y):
            raise ValueError(f"y must hold labels among {self.classes_}, found {np.unique(y)}")
        self._partial_fit(X, codes, self._both_weights(X, codes, sample_weight))
        return self

    def _both_weights(self, X: Array, codes: Array, given: Array | None) -> Array | None:
        """Return the weights of rows times those of their classes."""
        weights = self._weights(X, given)
        if self.class_weight is None:
            return weights
        of_class = self._weights_of_classes(codes)[codes]
        return of_class if weights is None else weights * of_class

    def _weights_of_classes(self, codes: Array) -> Array:
        """Return the weight of each class; labels that ``class_weight`` does not name have 1."""
        if isinstance(self.class_weight, str):  # "balanced"
            return len(codes) / (len(self.classes_) * np.bincount(codes))
        assert self.class_weight is not None
        labels = self.classes_.tolist()
        unknown = [label for label in self.class_weight if label not in labels]
        # Rows that happen to lack a class, as in cross-validation, are no mistake.
        if unknown and not all(label in self.class_weight for label in labels):
            raise ArgumentError(
                f"class_weight must name labels among {shown(labels)}, found {shown(unknown[0])}"
            )
        return np.array([float(self.class_weight.get(label, 1.0)) for label in labels])

    def _objective(self, features: Array, y: Array, weights: Array | None) -> FiniteSum:
        count = len(self.classes_)
        if self.loss == "squared_hinge":
            labels = y if count == 2 else y[:, None] == np.arange(count)
            G = self._sum(SquaredHinge, features, labels)
        elif count == 2:
            G = self._sum(Logistic, features, y)
        else:
            G = self._sum(Multinomial, features, y, classes=count)
        return self._weighted(G, weights)

    def decision_function(self, X: Array) -> Array:
        """Return the scores, one per row (two classes) or one per row and class."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Array) -> Array:
        """Return the label of each row."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(1)]

    @available_if(lambda self: self.loss == "log_loss")
    def predict_proba(self, X: Array) -> Array:
        """Return the probability of each class, for each row."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.stack([expit(-scores), expit(scores)], axis=1)
        return softmax(scores, axis=1)

    @available_if(lambda self: self.loss == "log_loss")
    def predict_log_proba(self, X: Array) -> Array:
        """Return the logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))
