"""A user's oracle that answers arrays of any library on their device."""

from __future__ import annotations

from ...arrays import fetch, is_foreign, namespace, norm, rows
from ...atoms import Atoms, Dense
from .._base import Array
from ._base import Exact, Twin


class OracleTwin(Exact, Twin, anywhere=True):
    """The set of a callable; the host is asked unless the callable takes arrays of any library."""

    def _lmo(self, g: Array) -> Atoms:
        if not self.K.anywhere:
            return super()._lmo(g)
        if g.ndim == len(self.shape) or self.K.batched:
            return self._ask(g)
        answers = [self._ask(rows(g, i)).to_dense() for i in range(g.shape[0])]
        return Dense(namespace(g).stack(answers), self.shape)

    def certify(self, g: Array, vertex: Atoms) -> float:
        return super().certify(g, vertex) - self.K.inexact * norm(g) * self.K.r

    def _ask(self, g: Array) -> Atoms:
        """Return the checked answer to ``g``; what the callable raises is raised, with a note."""
        try:
            answer = self.K.fun(g + 0.0)
        except Exception as error:
            error.add_note(f"raised by the oracle of {self}, for directions of shape {g.shape}")
            raise
        if not isinstance(answer, Atoms):
            if not is_foreign(answer):
                raise TypeError(
                    f"{self}: lmo must answer an array like its argument, found "
                    f"{type(answer).__name__}"
                )
            if tuple(answer.shape) != tuple(g.shape):
                raise ValueError(
                    f"{self}: lmo must answer shape {tuple(g.shape)}, found {tuple(answer.shape)}"
                )
            answer = Dense(answer, self.shape)
        squares = answer.norms_squared()
        (size,) = fetch(namespace(squares).max(squares) if squares.ndim else squares)
        if not size <= (self.K.r * (1 + 1e-5)) ** 2:  # NaN included
            raise ValueError(
                f"{self}: lmo answered a point of norm {size**0.5:g}, beyond radius={self.K.r:g}"
            )
        return answer
