"""Methods that take a step of many problems at once, written once for every array library."""

from ._base import BatchedMethod
from .active_set import face_steps
from .anytime import BatchedAnytime
from .projected import BatchedProjected

BATCHED_METHODS: dict[str, type[BatchedMethod]] = {
    kind.name: kind for kind in (BatchedProjected, BatchedAnytime)
}

__all__ = ["BATCHED_METHODS", "BatchedAnytime", "BatchedMethod", "BatchedProjected", "face_steps"]
