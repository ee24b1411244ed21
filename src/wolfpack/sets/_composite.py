"""What sets made of other sets share: which closed forms their parts leave them."""

from __future__ import annotations

from typing import Any

from ..noise import get as get_noise
from ..problem import CapabilityError
from ._base import Set
from ._laws import LIFTED


class Composite(Set):
    """A set made of other sets.

    Parameters
    ----------
    parts : sequence of Set
        What it is made of.

    Notes
    -----
    It has a closed form for the laws for which every part has one.
    """

    def __init__(self, parts: Any) -> None:
        for i, part in enumerate(parts):
            if not isinstance(part, Set):
                raise TypeError(
                    f"{type(self).__name__} is made of sets, found {type(part).__name__} at "
                    f"position {i}"
                )
        if not parts:
            raise ValueError(f"{type(self).__name__} needs at least one set, found none")
        self.parts: tuple[Set, ...] = tuple(parts)

    @property
    def polytope(self) -> bool:  # type: ignore[override]
        return all(part.polytope for part in self.parts)

    @property
    def releases_gil(self) -> bool:  # type: ignore[override]
        return all(part.releases_gil for part in self.parts)

    @property
    def cheap_violation(self) -> bool:  # type: ignore[override]
        return all(part.cheap_violation for part in self.parts)

    @property
    def one_by_one(self) -> bool:  # type: ignore[override]
        return all(part.one_by_one for part in self.parts)

    @property
    def batch_hint(self) -> int | None:  # type: ignore[override]
        hints = [part.batch_hint for part in self.parts if part.batch_hint is not None]
        return min(hints, default=None)

    @property
    def closed_forms(self) -> tuple[str, ...]:  # type: ignore[override]
        first, *others = self.parts
        return tuple(
            law for law in first.closed_forms if all(law in part.closed_forms for part in others)
        )

    @property
    def default_noise(self) -> str:  # type: ignore[override]
        coordinate = [law for law in self.closed_forms if law != LIFTED]
        return coordinate[0] if coordinate else self.parts[0].default_noise

    def has(self, capability: str) -> bool:
        if not super().has(capability):
            return False
        if capability in ("smoothed", "smoothed_support"):
            return bool(self.closed_forms)
        if capability == "draw":
            return bool(self.closed_forms) and all(
                part.has("draw") and part.closed_forms[0] == self.closed_forms[0]
                for part in self.parts
            )
        if capability in ("project", "k_best"):
            return all(part.has(capability) for part in self.parts)
        return True

    def _reason(self, capability: str) -> str:
        lacking = [str(part) for part in self.parts if not part.has(capability)]
        return f": {lacking[0]} has none" if lacking else ""

    def _closed_form(self, noise: Any) -> Any:
        """Return what `_law` returns; raise if there is no closed form for it."""
        law = self._law(noise)
        if self._name(law) not in self.closed_forms:
            known = ", ".join(self.closed_forms) or "no law"
            raise CapabilityError(f"{self} has a closed form for {known}, found {noise!r}")
        return law

    def _law(self, noise: Any) -> Any:
        """Return the law object, or "lifted", that ``noise`` stands for; None is the first one."""
        if noise is None:
            noise = self.closed_forms[0] if self.closed_forms else self.default_noise
        return noise if isinstance(noise, str) and noise == LIFTED else get_noise(noise)

    @staticmethod
    def _name(law: Any) -> str:
        return law if isinstance(law, str) else law.name

    def _at_zero(self, law: Any, parts: Any) -> list[float] | None:
        """Return s_1(0) of each (part, law); None if a part does not know it."""
        if self._name(law) == LIFTED and LIFTED not in self.closed_forms:
            return None
        values = [part.smoothed_at_zero(own) for part, own in parts]
        return None if any(value is None for value in values) else values

    def _curvatures(self, law: Any, parts: Any) -> list[float] | None:
        """Return c with s_alpha c/alpha-smooth for each (part, law); None for an unknown law."""
        if self._name(law) == LIFTED:
            if LIFTED not in self.closed_forms:
                return None
            return [part.smoothness(LIFTED) for part, _ in parts]
        return [_curvature(part, own) for part, own in parts]


def _curvature(part: Set, law: Any) -> float:
    sharper = part.smoothness(law)
    return part.radius * law.M(part.dimension, "sharp") if sharper is None else sharper
