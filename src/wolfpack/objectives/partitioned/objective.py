"""A sum over blocks of rows that are loaded, and evaluated, where they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.sparse.linalg import LinearOperator

from ...arrays import ArgumentError, Array, LowRank, one_thread
from ...problem import Evaluation, NonFiniteError
from ...problem.checks import checked, choice, constant, count, flag, instance, optional
from .._base import Objective, conjugate_evaluation
from .._spectrum import MAX_DENSE, largest_eigenvalue
from ..matrix_completion import MatrixCompletion
from .blocks import BlockError, Blocks, Contribution
from .loss import BlockLoss, Facts, as_loss
from .parts import Loading, as_parts
from .tasks import HEAD, Constants, Task
from .tree import sum_of_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator


class Workers(Protocol):
    """What computes blocks in the place of this process."""

    def ask(
        self, blocks: Blocks, task: Task, x: np.ndarray, also: np.ndarray | None
    ) -> dict[int, Contribution]:
        """Return what each block contributes to a task."""
        ...


class Here:
    """Computes one block after the other in the calling process."""

    def ask(
        self, blocks: Blocks, task: Task, x: np.ndarray, also: np.ndarray | None
    ) -> dict[int, Contribution]:
        with one_thread():
            found = blocks.compute(task, x, also, range(len(blocks)))
        return dict(enumerate(found))


@checked(
    reduction=optional(choice("mean", "sum")),
    memory=optional(count),
    rows=optional(count),
    target=optional(instance(str, "the name of a column")),
    check=choice("time", "content"),
    convex=optional(flag),
    L=constant,
)
class Partitioned(Objective):
    r"""A loss summed over blocks of rows, :math:`f(x) = c \sum_i \mathrm{loss}(A_i x, b_i)`.

    The blocks are loaded and evaluated where they are: here one after the other, or on the workers
    of the ``engine`` that `wolfpack.minimize` is given. The result has the same bits everywhere.

    Parameters
    ----------
    loss : str, class or callable
        "least_squares", "logistic", "squared_hinge", "huber", "quantile", "poisson", "multinomial",
        "matrix_completion"; a class of objectives that sums a loss over rows, such as
        `wolfpack.objectives.Logistic`; or a function ``(x, block) -> (value, gradient)``.
    parts : list, str or Dask array
        The blocks: a list of pairs (A_i, b_i) of arrays, dense or sparse; a pattern of file names
        such as ``"rows-*.npz"``, with arrays A and b in each file, or of tables (CSV, Parquet), or
        a pair of patterns ``("A-*.npy", "b-*.npy")`` in a list; pairs of Dask arrays or a data
        frame of Dask; references to Ray objects; or pairs ``(loader, arguments)``. Matrix
        completion takes triples (rows, columns, values). The blocks of a function may be anything.
    reduction : {"mean", "sum"}, optional
        Divide by the number of rows or not; what the loss itself does by default.
    memory : int, optional
        Bytes of blocks that a worker (or this process) keeps in memory. Blocks beyond are read
        again in each round, the next one while one is computed. By default blocks are kept while a
        quarter of the machine's memory is free.
    rows : int, optional
        Rows per block of arrays and npy files that are cut, by default so many that a block has
        about 64 MB. It decides the order of additions, and so the last bits.
    target : str, optional
        The column of tables that holds the targets: by default one called "b", "labels",
        "targets", "counts" or "y", or the last.
    check : {"time", "content"}
        What tells that a file has changed: its size and time, or its size and contents, for hosts
        with copies of their own. The contents are read when f is made.
    L, convex : optional
        The smoothness constant, and whether f is convex, where a function is summed.
    **options
        Those of the loss, such as ``delta``, ``cap``, ``classes`` or ``shape``.

    Notes
    -----
    A round sends x to every worker once and brings back one vector like x for each, or a few, which
    are added in a fixed tree over the blocks. BLAS has one thread in each worker, and also here:
    use ``engine="threads"`` or ``engine="processes"`` for several cores.

    The dual point of the certificate is the number f*(grad f(x)), which each block adds to without
    sending anything of the length of its rows. Averages of it bound f* of the averaged gradients.

    Examples
    --------
    >>> import numpy as np, wolfpack as wp
    >>> rng = np.random.default_rng(0)
    >>> blocks = [(rng.standard_normal((20, 3)), rng.standard_normal(20)) for _ in range(4)]
    >>> f = wp.objectives.Partitioned("least_squares", blocks)
    >>> f
    Partitioned(LeastSquares, 4 blocks)
    >>> wp.minimize(f, wp.sets.L1Ball(3), tol=1e-6).success
    True
    """

    convex: bool | None = None
    tested: bool = True

    def __init__(
        self,
        loss: str | type[Objective] | Callable[..., Any],
        parts: Any,
        *,
        reduction: str | None = None,
        memory: int | None = None,
        rows: int | None = None,
        target: str | None = None,
        check: str = "time",
        L: float | None = None,
        convex: bool | None = None,
        **options: Any,
    ) -> None:
        self.loss: BlockLoss = as_loss(loss, reduction, options)
        loading = Loading(rows, target, check == "content", self.loss.kind is not None)
        self.parts = as_parts(parts, loading)
        self.convex = convex if self.loss.kind is None else True
        self.tested = type(self) is Partitioned and self.loss.kind is not None
        self.joint = self.loss.kind is None
        self._given_L = L
        self._blocks = Blocks(self.parts, self.loss, memory)
        self._workers: Workers = Here()
        self._lines = 0
        for i, part in enumerate(self.parts):
            if part.resident and self.loss.kind is not None:
                self._early(i)

    def _early(self, i: int) -> None:
        """Refuse arrays of this process that cannot be a block, without another pass over them."""
        try:
            self.loss.facts(self.parts[i].load())
        except ValueError as error:
            raise BlockError(f"{self._blocks.title(i)} cannot be used: {error}") from None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_workers"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._workers = Here()

    def __repr__(self) -> str:
        blocks = "1 block" if len(self.parts) == 1 else f"{len(self.parts)} blocks"
        return f"Partitioned({self.loss.name}, {blocks})"

    @contextmanager
    def on(self, workers: Workers) -> Iterator[None]:
        """Compute blocks on other workers inside the context."""
        before, self._workers = self._workers, workers
        try:
            yield
        finally:
            self._workers = before

    @property
    def data(self) -> Blocks:
        """The blocks and their loss, as they are sent to workers."""
        return self._blocks

    @cached_property
    def facts(self) -> list[Facts]:
        """What is known of each block, from a first look at all of them."""
        found = self._ask(Task("facts"), np.zeros(1))
        facts: list[Facts] = [found[i].answer for i in range(len(self.parts))]
        problem = self.loss.disagreement(facts)
        if problem is not None:
            i, why = problem
            raise BlockError(f"{self._blocks.title(i)} does not go with the others: it {why}")
        return facts

    @cached_property
    def options(self) -> dict[str, Any]:
        """All options of the loss."""
        return self.loss.completed(self.facts)

    @cached_property
    def shape(self) -> tuple[int, ...] | None:  # pyright: ignore
        """Shape of x."""
        return self.loss.shape(self.facts[0], self.options)

    @cached_property
    def n(self) -> int:  # pyright: ignore
        """Number of rows."""
        return sum(fact.rows for fact in self.facts)

    @cached_property
    def nbytes(self) -> int:
        """Bytes of all blocks in memory."""
        return sum(fact.nbytes for fact in self.facts)

    @cached_property
    def weight(self) -> float:
        """What the sum is multiplied by."""
        return 1.0 / self.n if self.loss.mean else 1.0

    def evaluate(self, x: Array) -> Evaluation:
        x = self._point(x)
        total = self._sum("evaluate", x)
        value, gradient = self.weight * float(total[0]), self.weight * total[HEAD:].reshape(x.shape)
        if total[1] and self.loss.kind is None:
            culprit = self._culprit(total)
            raise NonFiniteError("f returned a NaN or infinite value or gradient", x, culprit)
        return conjugate_evaluation(value, x, gradient)

    def value(self, x: Array) -> float:
        return self.weight * float(self._sum("value", self._point(x))[0])

    def _culprit(self, total: np.ndarray) -> str:
        """Return which block is not finite, as far as sums tell."""
        bad = int(total[1])
        return self._blocks.title(int(total[2])) if bad == 1 else f"{bad} of its blocks"

    def slope_along(self, x: Array, d: Array) -> Callable[[float], float]:
        x, d = self._point(x), self._point(d)
        if self.constants.quadratic:
            slope, curvature = (self.weight * self._sum("linear_slope", x, d)).tolist()
            return lambda t: slope + t * curvature
        self._lines += 1
        line, known = self._lines, False

        def slope_at(t: float) -> float:
            nonlocal known
            # Workers keep A x and A d, so that t is enough; who has lost them is told again.
            found = self._sum("slope", None, None, line, t) if known else np.ones(2)
            if found[1]:
                found = self._sum("slope", x, d, line, t)
            known = True
            return self.weight * float(found[0])

        return slope_at

    def curvature(self, x: Array, d: Array) -> float | None:
        if not self.constants.quadratic:
            return None
        return self.weight * float(self._sum("curvature", self._point(x), self._point(d))[0])

    def curvature_bound(self, g: Array) -> float:
        smoothness = self.constants.smoothness
        if smoothness is None or self.loss.kind is MatrixCompletion:
            return math.inf
        square = float(self._sum("image_square", self._point(g))[0])
        return self.weight * smoothness * square

    def hessian_product(self, x: Array, d: Array) -> Array | None:
        if not self.constants.hessian:
            return None
        found = self._sum("hessian", self._point(x), self._point(d))
        return self.weight * found.reshape(np.shape(x))

    @cached_property
    def constants(self) -> Constants:
        """What the loss knows of itself."""
        if self.loss.kind is None:
            return Constants(None, False, False)
        found = self._ask(Task("constants", self._all_options), np.zeros(1))
        return next(found[i].answer for i in range(len(self.parts)) if found[i].answer is not None)

    @property
    def loss_smoothness(self) -> float:
        """Smoothness of the loss as a function of one row's score, infinite if it is not known."""
        smoothness = self.constants.smoothness
        return math.inf if smoothness is None else self.weight * smoothness

    @cached_property
    def L(self) -> float | None:  # pyright: ignore
        """Lipschitz constant of the gradient: a power iteration over the blocks."""
        smoothness = self.constants.smoothness
        if self._given_L is not None:
            return self._given_L
        if smoothness is None or not math.isfinite(smoothness):
            return None
        return self.weight * smoothness * self.spectral_norm_squared

    @cached_property
    def L1(self) -> float | None:  # pyright: ignore
        """Lipschitz constant of the gradient from the l1 to the l_inf norm."""
        smoothness = self.constants.smoothness
        if smoothness is None or not math.isfinite(smoothness):
            return None
        return self.weight * smoothness * float(self._sum("columns", np.zeros(1)).max())

    @cached_property
    def spectral_norm_squared(self) -> float:
        """The largest eigenvalue of A'A, rounded up to be safe, A being all blocks together."""
        if self.loss.kind is MatrixCompletion:
            return float(self._sum("columns", np.zeros(1)).max())
        d = self.facts[0].columns
        if d <= MAX_DENSE:
            return largest_eigenvalue(self._sum("gram", np.zeros(1)).reshape(d, d))
        product = LinearOperator(
            (d, d), matvec=lambda u: self._sum("normal", np.ravel(u)), dtype=np.float64
        )
        return largest_eigenvalue(product)

    def remark(self, x: Array) -> str:
        if "cap" not in self.options:
            return ""
        found = self._ask(Task("remark", self._all_options), self._point(x))
        answers = [found[i].answer for i in range(len(self.parts))]
        return next(filter(None, answers), "")

    @property
    def _all_options(self) -> tuple[tuple[str, Any], ...]:
        return tuple(sorted(self.options.items()))

    def _point(self, x: Array) -> np.ndarray:
        """Return x as an array of NumPy in double precision."""
        if isinstance(x, LowRank):
            x = x.to_dense()
        if type(x) is not np.ndarray:
            raise ArgumentError(f"x must be an array of NumPy, found {type(x).__name__}")
        shape = self.shape
        if shape is not None and x.shape != tuple(shape):
            raise ArgumentError(f"x must have shape {tuple(shape)}, found {x.shape}")
        return np.ascontiguousarray(x, dtype=np.float64)

    def _sum(
        self,
        kind: str,
        x: np.ndarray | None,
        also: np.ndarray | None = None,
        line: int = 0,
        t: float = 0.0,
    ) -> np.ndarray:
        """Return the sum over all blocks of what a task asks for."""
        task = Task(kind, self._all_options, line, t)
        found = self._ask(task, np.zeros(1) if x is None else x, also)
        nodes = {i: (part.count, part.vector) for i, part in found.items() if part.count}
        return sum_of_nodes(nodes, len(self.parts))

    def _ask(
        self, task: Task, x: np.ndarray, also: np.ndarray | None = None
    ) -> dict[int, Contribution]:
        return self._workers.ask(self._blocks, task, x, also)
