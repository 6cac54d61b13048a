"""On how many threads this process computes, whoever does the computing."""

import SimpleITK as sitk
import torch

from credwarp.kernels.threads import use


def compute_on(threads: int) -> None:
    """PyTorch, the compiled kernels and ITK from now on."""
    torch.set_num_threads(threads)
    use(threads)
    sitk.ProcessObject.SetGlobalDefaultNumberOfThreads(threads)
