"""The machine as the package sees it, and whether the package works there."""

import importlib.metadata
import os
import platform
import tempfile
from pathlib import Path

import numpy as np
import torch

from credwarp import __version__, kernels
from credwarp.files import memory_available, read_transform, write_itk
from credwarp.kernels import reference
from credwarp.kernels.compiled import cache_folder
from credwarp.kernels.threads import count
from credwarp.space import Affine, Grid, Warp

PACKAGES = ("torch", "numpy", "scipy", "numba", "nibabel", "SimpleITK", "h5py", "pydantic", "zarr")
# What comes with an extra, and which.
OPTIONAL = {
    "nitransforms": "interop",
    "ipyniivue": "notebook",
    "arviz-stats": "diagnostics",
    "distributed": "batch",
    "dask-jobqueue": "batch",
}


def facts() -> dict[str, str]:
    """Versions, threads, device, memory, compiled kernels."""
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu only"
    found = {
        "credwarp": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "memory available": f"{memory_available() / 1e9:.1f} GB",
        "torch device": device,
        "torch threads": str(torch.get_num_threads()),
        "compiled kernels": _compiled(),
    }
    found |= {name: importlib.metadata.version(name) for name in PACKAGES}
    for name, extra in OPTIONAL.items():
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = rf"absent (pip install 'credwarp\[{extra}]')"
    return found


def _compiled() -> str:
    folder = cache_folder()
    return f"{count()} threads, kept in {folder}" if folder else f"{count()} threads, compiled at every start"


def self_test() -> dict[str, bool]:
    """Short checks of what everything else stands on."""
    return {
        "compiled kernels equal the reference": _kernels_agree(),
        "gradients equal the reference's": _gradients_agree(),
        "a transform survives its file": _transform_survives(),
    }


def _inputs() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    image = torch.randn((1, 18, 17, 20), generator=generator)
    return image, 1.5 * torch.randn((2, 3, 18, 17, 20), generator=generator)


def _near(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool((one - other).abs().max() <= 1e-4 * other.abs().max())


def _kernels_agree() -> bool:
    image, field = _inputs()
    warped = reference.warp(image, field)
    return all(
        _near(one, other)
        for one, other in (
            (kernels.warp(image, field), warped),
            (kernels.square(field), reference.square(field)),
            (kernels.standardise(warped, 2, 0.1), reference.standardise(warped, 2, 0.1)),
        )
    )


def _gradients_agree() -> bool:
    image, field = _inputs()
    found = []
    for room in (kernels, reference):
        leaf = field.clone().requires_grad_(True)
        room.standardise(room.warp(image, room.square(leaf)), 2, 0.1).square().sum().backward()
        assert leaf.grad is not None
        found.append(leaf.grad)
    return _near(found[0], found[1])


def _transform_survives() -> bool:
    grid = Grid.isotropic((6, 7, 5), 2.0)
    field = torch.randn((3, 6, 7, 5), generator=torch.Generator().manual_seed(0))
    warp = Warp(grid, field, Affine.identity(), Affine(np.diag([1.1, 0.9, 1.0, 1.0])))
    points = grid.points()[1:-1, 1:-1, 1:-1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "warp.h5"
        write_itk(warp, path)
        return bool(np.abs(read_transform(path)(points) - warp(points)).max() < 1e-4)
