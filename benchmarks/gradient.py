"""One gradient of the log posterior: this package against the plain-PyTorch formulation of the paper."""

import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from benchmarks.plain import plain_gradient
from credwarp import spectral
from credwarp.likelihoods import Mixture
from credwarp.posterior import Posterior
from credwarp.priors import SobolevEnergy
from credwarp.space import Affine, Grid, Pair
from credwarp.transforms import BsplineSvf, DenseSvf

LARGEST_SPEED = 6.0
CHOICES = {
    "dense": DenseSvf(coarsening=1),
    "half resolution": DenseSvf(coarsening=2),
    "B-spline δ = 2, every voxel": BsplineSvf(coarsening=1),
    "B-spline δ = 2": BsplineSvf(coarsening=2),
}


def images(sides: int) -> Pair:
    """Two smooth random images with a common structure and their own noise."""
    grid = Grid.isotropic((sides, sides, sides), 1.82)
    generator = torch.Generator().manual_seed(0)
    shape = (3, 1, sides, sides, sides)
    laplacian = spectral.laplacian_eigenvalues(grid.shape, (1.0, 1.0, 1.0))
    smooth = spectral.idct((1 / (0.05 + laplacian)).float() * torch.randn(shape, generator=generator))
    smooth = smooth / smooth.std()
    fixed, moving = ((smooth[0, 0] + 0.3 * smooth[i, 0]).contiguous() for i in (1, 2))
    everywhere = torch.ones(grid.shape, dtype=torch.bool)
    return Pair(grid, fixed, moving, everywhere, everywhere, Affine.identity())


def velocity(shape: tuple[int, int, int], spacing: float) -> torch.Tensor:
    """As smooth as a posterior mean, `LARGEST_SPEED` voxels at its fastest."""
    white = torch.randn((1, 3, *shape), generator=torch.Generator().manual_seed(1))
    laplacian = spectral.laplacian_eigenvalues(shape, (spacing, spacing, spacing))
    field = spectral.idct((1 / (0.15**2 + laplacian) ** 2).float() * white)
    return field * LARGEST_SPEED / field.norm(dim=1).max()


def ours(name: str, sides: int) -> tuple[Callable[[], object], Posterior]:
    """The gradient to be timed, squarings as few as the paper's accuracy allows."""
    posterior = Posterior.of(images(sides), CHOICES[name], Mixture(), SobolevEnergy())
    w = velocity(posterior.transform.parameters.shape, posterior.transform.parameters.spacing[0] / 1.82)
    posterior = posterior.tuned(w)
    hyper = posterior.fit(w, posterior.init(w), 5)
    return (lambda: posterior.gradient(w, hyper)), posterior


def plain(sides: int) -> Callable[[], object]:
    """The same in the paper's arithmetic: twelve squarings by `grid_sample`, dense box convolutions."""
    pair = images(sides)
    w = velocity((sides, sides, sides), 1.0)
    return lambda: plain_gradient(w, pair.fixed[None, None], pair.moving[None, None])


def seconds(run: Callable[[], object], repeats: int) -> float:
    """The median of several runs after a first one."""
    run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def copy_bandwidth() -> float:
    """Bytes read and written per second by a large copy."""
    source = torch.ones(50_000_000)
    target = torch.empty_like(source)
    return 2 * source.numel() * 4 / seconds(lambda: target.copy_(source), 5)


def traffic(posterior: Posterior) -> int:
    """Bytes if each field of each squaring were read and written once, forwards (2) and backwards (3)."""
    svf = posterior.transform
    voxels = math.prod(math.ceil(n / f) for n, f in zip(svf.grid.shape, svf.factors, strict=True))
    return svf.squarings * 5 * 3 * voxels * 4


def peak_megabytes(name: str, sides: int) -> float:
    """The memory that one gradient takes above what stands before it, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.gradient", "peak", name, str(sides)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def print_peak(name: str, sides: int) -> None:
    """The peak in this process, which does nothing else."""
    run = plain(sides) if name == "plain" else ours(name, sides)[0]
    if name != "plain":
        ours(name, 16)[0]()
    before = _resident()
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    run()
    print(_peak() - before)


def _status(field: str) -> float:
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def _resident() -> float:
    return _status("VmRSS")


def _peak() -> float:
    return max(_status("VmHWM"), 0.0) or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def against_plain(console: Console, bandwidth: float) -> None:
    """Side by side on the same inputs."""
    columns = ("sides", "transform", "squarings", "seconds", "× faster", "× bandwidth bound", "peak MB")
    table = Table(*columns, title=f"one gradient, one chain, {torch.get_num_threads()} threads")
    for sides in (64, 128):
        slow = seconds(plain(sides), 2)
        table.add_row(
            str(sides), "plain PyTorch", "12", f"{slow:.3f}", "1", "", f"{peak_megabytes('plain', sides):.0f}"
        )
        for name in CHOICES:
            run, posterior = ours(name, sides)
            fast = seconds(run, 7)
            bound = traffic(posterior) / bandwidth
            cells = (f"{fast:.4f}", f"{slow / fast:.1f}", f"{fast / bound:.1f}")
            peak = f"{peak_megabytes(name, sides):.0f}"
            table.add_row(str(sides), name, str(posterior.transform.squarings), *cells, peak)
    console.print(table)


def against_size(console: Console) -> None:
    """How the cost grows from 32³ to 160³."""
    table = Table("transform", *(f"{n}³" for n in (32, 64, 96, 128, 160)), "slope in voxels")
    for name in ("dense", "half resolution"):
        sizes, times = (32, 64, 96, 128, 160), []
        for sides in sizes:
            times.append(seconds(ours(name, sides)[0], 5))
        slope = np.polyfit(3 * np.log(sizes), np.log(times), 1)[0]
        table.add_row(name, *(f"{t * 1e3:.0f} ms" for t in times), f"{slope:.2f}")
    console.print(table)


def against_chains(console: Console) -> None:
    """Four chains in one batch against four times one."""
    for name in ("dense", "half resolution"):
        run, posterior = ours(name, 64)
        one = seconds(run, 7)
        w = velocity(posterior.transform.parameters.shape, 1.0).expand(4, -1, -1, -1, -1).contiguous()
        hyper = posterior.init(w)
        four = seconds(lambda p=posterior, w=w, h=hyper: p.gradient(w, h), 7)
        console.print(f"{name}, 64³: four chains cost {four / one:.2f} × one")


def main() -> None:
    console = Console(width=110)
    bandwidth = copy_bandwidth()
    console.print(f"copy bandwidth {bandwidth / 1e9:.1f} GB/s")
    against_plain(console, bandwidth)
    against_chains(console)
    against_size(console)


if __name__ == "__main__":
    print_peak(sys.argv[2], int(sys.argv[3]))
