"""What sets made of other sets share: attributes and closed forms that follow from the parts."""

from __future__ import annotations

from collections.abc import Sequence

from ..noise import Noise
from ..noise import get as get_noise
from ..problem import CapabilityError
from ..problem.checks import shown
from ._base import Set
from ._laws import LIFTED, NoiseLike

Law = Noise | str  # the string is "lifted"


class Combination(Set):
    """A set made of other sets.

    It has a closed form for the laws for which every part has one, in the order of the first part.
    """

    def __init__(self, parts: Sequence[Set]) -> None:
        for i, part in enumerate(parts):
            if not isinstance(part, Set):
                raise TypeError(
                    f"{type(self).__name__} is made of sets: K must be a set (wolfpack.sets), "
                    f"found {shown(part)} at position {i}"
                )
        if not parts:
            raise ValueError(f"{type(self).__name__} needs at least one set, found none in sets")
        self.parts = tuple(parts)
        self.polytope = all(part.polytope for part in parts)
        self.strictly_convex = len(parts) == 1 and self.parts[0].strictly_convex
        self.releases_gil = all(part.releases_gil for part in parts)
        self.cheap_violation = all(part.cheap_violation for part in parts)
        self.one_by_one = all(part.one_by_one for part in parts)
        self.proof_calls = max(part.proof_calls for part in parts)
        hints = [part.batch_hint for part in parts if part.batch_hint is not None]
        self.batch_hint = min(hints, default=None)
        self.closed_forms = tuple(
            law
            for law in parts[0].closed_forms
            if self._keeps(law) and all(law in part.closed_forms for part in parts)
        )
        coordinate = (law for law in self.closed_forms if law != LIFTED)
        self.default_noise = next(coordinate, parts[0].default_noise)

    @property
    def tested(self) -> bool:
        return super().tested and all(part.tested for part in self.parts)

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
        kept = ("project", "k_best", "polyhedron", "prices", "lmo_face", "max_step")
        if capability in kept:
            return all(part.has(capability) for part in self.parts)
        return True

    def smoothed_at_zero(self, noise: NoiseLike) -> float | None:
        law = self._law(noise)
        if not self._applies(law):
            return None
        pairs = zip(self.parts, self._part_laws(law), strict=True)
        values = [part.smoothed_at_zero(own) for part, own in pairs]
        known = [value for value in values if value is not None]
        return sum(known) if len(known) == len(values) else None

    def smoothness(self, noise: NoiseLike) -> float | None:
        law = self._law(noise)
        if not self._applies(law):
            return None
        pairs = zip(self.parts, self._part_laws(law), strict=True)
        return self._joint_smoothness([_smoothness(part, own) for part, own in pairs])

    def _joint_smoothness(self, constants: list[float]) -> float:
        """Return c with s_alpha c/alpha-smooth, given that of each part."""
        return sum(constants)

    def _part_laws(self, law: Law) -> Sequence[Law]:
        """Return the law of each part's noise."""
        return [law] * len(self.parts)

    def _keeps(self, law: str) -> bool:
        """Tell whether noise of the named law on this set is noise of that law on the parts."""
        return True

    def _applies(self, law: Law) -> bool:
        name = _name(law)
        return self._keeps(name) and (name != LIFTED or LIFTED in self.closed_forms)

    def _reason(self, capability: str) -> str:
        lacking = [str(part) for part in self.parts if not part.has(capability)]
        return f": {lacking[0]} has none" if lacking else ""

    def _closed_form(self, noise: NoiseLike) -> Law:
        """Return the law as `_law` does; raise if there is no closed form for it."""
        law = self._law(noise)
        if _name(law) not in self.closed_forms:
            known = ", ".join(self.closed_forms) or "no law"
            raise CapabilityError(f"{self} has a closed form for {known}, found {shown(noise)}")
        return law

    def _law(self, noise: NoiseLike) -> Law:
        """Return the law object, or "lifted", that ``noise`` stands for; None is the first one."""
        if noise is None:
            noise = self.closed_forms[0] if self.closed_forms else self.default_noise
        return noise if isinstance(noise, str) and noise == LIFTED else get_noise(noise)

    summary = "{K.listed}; shape={K.shape}"

    @property
    def listed(self) -> str:
        """The number of parts and the types of the first ones, for `repr`."""
        names = [type(part).__name__ for part in self.parts]
        return f"{len(names)} sets: {', '.join(names[:4])}" + (", ..." if len(names) > 4 else "")


def _name(law: Law) -> str:
    return law if isinstance(law, str) else law.name


def _smoothness(part: Set, law: Law) -> float:
    sharper = part.smoothness(law)
    return (
        part.centred_radius * get_noise(law).M(part.dimension, "sharp")
        if sharper is None
        else sharper
    )
