"""Methods that take a step of many problems at once, written once for every array library."""

from .active_set import face_steps
from .projected import Motion, advance, first_motion

__all__ = ["Motion", "advance", "face_steps", "first_motion"]
