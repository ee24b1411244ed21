"""Estimators for scikit-learn, which is imported when the first of them is asked for."""

from __future__ import annotations

import importlib
from typing import Any

_HOME = {
    "AcceleratedClassifier": "classifier",
    "AcceleratedRegressor": "regressor",
    "MatrixCompletion": "matrix_completion",
    "SimplexRegressor": "constrained",
    "TraceNormRegressor": "constrained",
}

__all__ = list(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f".{_HOME[name]}", __name__)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "sklearn":
            raise
        raise ModuleNotFoundError(
            f"wolfpack.estimators.{name} needs scikit-learn: pip install 'wolfpack[sklearn]'"
        ) from error
    return getattr(module, name)


def __dir__() -> list[str]:
    return __all__
