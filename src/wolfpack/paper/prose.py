"""The texts of the page about the paper's figures that do not depend on the runs."""

from __future__ import annotations

LEAD = """
Parallel Frank-Wolfe and its restarted form, from “Fast Stochastic Composite Minimization and an
Accelerated Frank-Wolfe Algorithm under Parallelization” (Dubois-Taine, Bach, Berthet, Taylor,
NeurIPS 2022), on the authors’ data
"""

FIGURE1 = """
Parallel Frank-Wolfe (Algorithm 2) takes one gradient and m linear problems a round, each with a
randomly perturbed direction. The size α of the perturbations is fixed, so the method reaches a
neighbourhood of the optimum and stays there. With a smaller α the neighbourhood is smaller and
takes longer to reach. More oracles a round average the noise out.
"""

FIGURE1_CAPTION = """
Figure 1. Best primal-dual gap so far of Parallel Frank-Wolfe (solid) and two bounds on its mean:
Theorem 2 of the paper with the constants of its 2024 correction (dotted), and the sharp bound
(dashed). Least squares on the simplex, n = 200, d = 50, M = √d.
"""

BELOW = "Every measured curve lies below both of its bounds at every iteration drawn."

CROSSES = """
A measured curve crosses one of its bounds. The bounds are on the mean over the noise, which a
single run may exceed.
"""

SHARP = """
Both bounds hold for the run that is drawn. The sharp one has the variance R²/m in place of 4R²/m,
and the weights A_k of the method in place of an exponential that lies below them. The weights
grow like k² from the first iteration, so it falls at once, where Theorem 2 is flat for long.
"""

COINCIDE = """
the curves with m = 1 and with m = 1/√α coincide, or nearly so. The gap is still far above the
neighbourhood that the noise sets, and until it comes near to that, more oracles a round change
nothing. The curves part in longer runs; those of the paper have 100,000 iterations.
"""

FIGURE2 = """
Restarted Parallel Frank-Wolfe (Algorithm 3) halves α from 1 on and so goes past the neighbourhood
of Figure 1. With m = 1 a round costs what a round of Frank-Wolfe costs. With m = 1/√α a round
solves more linear problems, which can run in parallel, and fewer rounds are needed.
"""

FIGURE2_CAPTION = """
Figure 2. Best primal-dual gap so far of Restarted Parallel Frank-Wolfe and of Frank-Wolfe. Top: M
as in the paper’s theory; bottom: M = 1. (a), (b): least squares on the simplex. (c), (d):
generalised matrix completion on the trace-norm ball, p = 10, q = 8, with the authors’ L, the
Frobenius norm of CᵀC. (c′), (d′): the same with the spectral norm, the smallest valid L.
"""

FIGURE3 = """
The anytime method needs no accuracy, no L and no restarts: its smoothing shrinks with every round
and follows the certificate. Where the set knows the mean of its perturbed answers in closed form,
one evaluation stands for infinitely many oracles.
"""

FIGURE3_CAPTION = """
Figure 3, which is ours. Best primal-dual gap so far against iterations (top) and against oracle
calls, those of the certificates included (bottom). L is given to R-PFW and to no other method. (a),
(b): the problems of Figure 2. (c): projection onto the simplex in dimension 10,000, whose solution
has thousands of nonzeros. The thin black line in (c) and (f) is a lower bound: no method is below
it whose points mix one answer a round (c) or so many answers (f). The closed form is no mixture.
"""

FIGURE3_HONESTLY = """
More oracles a round buy fewer rounds, which is what counts when they run in parallel. Counted one
by one, as in the bottom row, m = 16 and m = 256 are no better than m = 1 on the small problems. In
(c) a method that adds one vertex a round cannot have found the thousands that the solution needs:
a lower bound proves it (Theorem B2 of the documentation). Only many answers a round, or their mean
in closed form, overcome that, and with m answers a round at most a factor m is gained.
"""

M_IS_ONE = """
The paper reports that M = 1 worked better than the theory’s √d and √(pq). It is the right
constant: the curvature of the smoothed support function is at most R/α times the square root of
the largest eigenvalue of the noise’s Fisher information, and that eigenvalue is 1 for standard
Gumbel and Gaussian noise in every dimension.
"""

REFERENCES = """
Some of these numbers have a reference value, measured with an independent implementation and
quoted with one or two digits. R-PFW depends on the random numbers, and Frank-Wolfe’s path on the
trace ball on rounding errors, so that ratios between about 0.8 and 1.25 are agreement.
"""

SETTINGS = [
    """The data are the authors’, from NumPy’s legacy generator with the seeds above. The noise
    has seed 0 in every run.""",
    """The gap is certified: the best value of f so far minus the best proved lower bound so far,
    at every iteration. The files keep about 400 iterations, evenly spaced in the logarithm.""",
    """R-PFW: α is halved after √(L/α) log(1/α) iterations, at least one; m is 1/√α rounded
    up.""",
]

DIFFERENCES = [
    """Frank-Wolfe’s step is 2/(k+2) from k = 0 on. Some of the scripts have 2/(k+1), which is 2 at
    k = 0 and leaves the set for one iteration.""",
    """The bound of Figure 1 is Theorem 2 as corrected in 2024, with s₁(0) and M. The scripts plot
    the earlier constants and leave these two out, so that their bound starts lower.""",
    """The Gumbel noise is centred, as the theory wants it. No answer of the simplex’s oracle
    changes by that.""",
    """On the trace ball the scripts take the Frobenius norm of CᵀC for L, shown in (c) and (d).
    The spectral norm, in (c′) and (d′), is smaller and also valid.""",
    """Best value and best lower bound are kept apart, so that the gap is at most the smallest gap
    of a single iteration, which the scripts plot.""",
]
