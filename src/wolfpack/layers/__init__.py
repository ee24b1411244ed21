"""Solutions and perturbed maximisers as layers that PyTorch and JAX differentiate.

The libraries are imported on use. A layer is called with a batch ``theta`` of one of them, and the
answer belongs to the graph of derivatives. NumPy's arrays get answers without derivatives.
"""

from .perturbed import FenchelYoungLoss, PerturbedArgmax
from .solution import Solution

__all__ = ["FenchelYoungLoss", "PerturbedArgmax", "Solution"]
