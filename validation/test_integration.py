"""How exact scaling and squaring is: against 2¹² steps, against itself backwards."""

import pytest
import torch
from rich.console import Console
from rich.table import Table

from credwarp import fields, spectral
from credwarp.space import Grid
from credwarp.transforms import BsplineSvf, DenseSvf

GRID = Grid.isotropic((64, 64, 64), 1.82)
SIZES = [1.0, 3.0, 6.0, 10.0]
CHOICES = {
    "dense, every voxel": DenseSvf(coarsening=1),
    "dense, every second voxel": DenseSvf(),
    "B-spline δ = 2, every voxel": BsplineSvf(spacing=2.0, coarsening=1),
    "B-spline δ = 2": BsplineSvf(spacing=2.0),
    "B-spline δ = 4": BsplineSvf(spacing=4.0),
}


# How speed falls with frequency: a draw from the default prior, a posterior mean, a field smooth over 15 mm.
SPECTRA = {"prior draw": 1, "mean-like": 2, "smooth": 4}


def parameters(svf, largest: float, power: int) -> torch.Tensor:
    """Random velocities of a given spectrum, scaled to a largest speed in voxels of the data."""
    shape = svf.parameters.shape
    spacing = svf.parameters.spacing[0] / 1.82
    white = torch.randn((1, 3, *shape), generator=torch.Generator().manual_seed(0))
    laplacian = spectral.laplacian_eigenvalues(shape, (spacing,) * 3)
    field = spectral.idct((1 / (0.15**2 + laplacian) ** power).to(torch.float32) * white)
    return field * largest / field.norm(dim=1).max()


def test_the_error_against_four_thousand_steps_is_printed_and_small():
    table = Table("parametrisation", "velocity", "largest speed", "squarings", "error (voxels)")
    for name, choice in CHOICES.items():
        svf = choice.bind(GRID)
        for spectrum, power in SPECTRA.items():
            for largest in SIZES:
                w = parameters(svf, largest, power)
                tuned = svf.tuned(w)
                error = tuned.integration_error(w)
                table.add_row(name, spectrum, f"{largest:g}", str(tuned.squarings), f"{error:.4f}")
                assert error <= 0.025
    Console().print("auto squarings against 2¹²:", table)


def test_what_a_coarser_integration_grid_changes_is_printed():
    table = Table("control points", "velocity", "largest speed", "mean (voxels)", "max (voxels)")
    for spacing in (2.0, 4.0):
        coarse, full = (BsplineSvf(spacing=spacing, coarsening=c, squarings=8).bind(GRID) for c in (2, 1))
        for spectrum, power in SPECTRA.items():
            for largest in SIZES:
                w = parameters(full, largest, power)
                apart = (coarse.displacement(w) - full.displacement(w)).norm(dim=1)
                row = (f"{largest:g}", f"{apart.mean():.4f}", f"{apart.max():.4f}")
                table.add_row(f"δ = {spacing:g}", spectrum, *row)
                assert float(apart.mean()) <= 0.02 * largest
    Console().print("integrated on every second voxel against on every voxel:", table)


@pytest.mark.parametrize("largest", SIZES)
def test_backwards_undoes_forwards_to_a_fiftieth_of_a_voxel(largest):
    svf = DenseSvf(coarsening=1, squarings=10).bind(GRID)
    for spectrum, power in SPECTRA.items():
        w = parameters(svf, largest, power)
        left_over = fields.compose(svf.displacement(w), svf.inverse_displacement(w)).norm(dim=1)
        edge = int(largest) + 2
        inner = left_over[:, edge:-edge, edge:-edge, edge:-edge]
        Console().print(f"φ(w) ∘ φ(−w), {spectrum}, largest speed {largest:g}: {inner.max():.4f} voxels")
    assert float(inner.max()) <= 0.02
