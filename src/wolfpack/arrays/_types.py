"""The type of arrays in annotations."""

from __future__ import annotations

from typing import Any, TypeAlias

Array: TypeAlias = Any
"""An array of NumPy, PyTorch, JAX, CuPy or another library of the Array API standard.

No static type covers them all, so the alias documents what is meant and checks nothing.
"""

Index: TypeAlias = int | slice | Array
"""A position, a slice or an array of positions."""
