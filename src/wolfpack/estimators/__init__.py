"""Estimators for scikit-learn, which is imported when the first of them is asked for."""

from __future__ import annotations

import importlib

_MODULES = {
    "AcceleratedClassifier": "classifier",
    "AcceleratedRegressor": "regressor",
    "MatrixCompletion": "matrix_completion",
    "SimplexRegressor": "constrained_regressors",
    "TraceNormRegressor": "constrained_regressors",
}

__all__ = list(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f".{_MODULES[name]}", __name__)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "sklearn":
            raise
        raise ModuleNotFoundError(
            f"wolfpack.estimators.{name} needs scikit-learn: pip install 'wolfpack[sklearn]'"
        ) from error
    return getattr(module, name)


def __dir__() -> list[str]:
    return __all__
