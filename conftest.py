"""What pytest must not import: modules whose optional dependency is not installed."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("sklearn") else ["src/wolfpack/estimators/*"]
