"""Smooth random patterns of space, the same for everyone: what makes folds wander and tissue uneven."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.ndimage import map_coordinates

from credwarp.phantom.solids import Distance, Places

PERIOD = 224.0


@dataclass(frozen=True, eq=False)
class Noise:
    """A periodic Gaussian pattern of standard deviation 1 with its typical `wavelength` in millimetres."""

    wavelength: float
    values: Float[np.ndarray, "n n n"]

    def __call__(self, places: Places) -> Distance:
        """The pattern's value at places."""
        return self._look_up(self.values, places)

    def slope(self, places: Places) -> Places:
        """The derivative along x, y and z."""
        return np.stack([self._look_up(part, places) for part in self._slopes])

    @functools.cached_property
    def _slopes(self) -> list[np.ndarray]:
        step = 2 * PERIOD / self.values.shape[0]
        return [
            (np.roll(self.values, -1, a) - np.roll(self.values, 1, a)) / np.float32(step) for a in range(3)
        ]

    def _look_up(self, values: np.ndarray, places: Places) -> Distance:
        lattice = places * np.float32(values.shape[0] / PERIOD)
        return np.asarray(map_coordinates(values, lattice, output=np.float32, order=1, mode="grid-wrap"))


@functools.cache
def stripes(wavelength: float, seed: int) -> Noise:
    """A pattern that has nearly one wavelength only, so that its zero level meanders like a sulcus."""
    return _filtered(wavelength, seed, 10, lambda k: np.exp(-0.5 * ((k - 1) / 0.16) ** 2))


@functools.cache
def clouds(wavelength: float, seed: int) -> Noise:
    """A pattern of blobs no finer than the wavelength."""
    return _filtered(wavelength, seed, 4, lambda k: np.exp(-0.5 * k**2))


def _filtered(
    wavelength: float, seed: int, samples: int, response: Callable[[np.ndarray], np.ndarray]
) -> Noise:
    """White noise at `samples` a wavelength, filtered by a response to wavelength × frequency."""
    n = 2 * round(PERIOD * samples / wavelength / 2)
    full, half = np.fft.fftfreq(n, PERIOD / n), np.fft.rfftfreq(n, PERIOD / n)
    frequency = np.sqrt(full[:, None, None] ** 2 + full[:, None] ** 2 + half**2)
    white = np.fft.rfftn(np.random.default_rng(seed).standard_normal((n, n, n)))
    values = np.fft.irfftn(white * response(wavelength * frequency), s=(n, n, n), axes=(0, 1, 2))
    return Noise(wavelength, (values / values.std()).astype(np.float32))
