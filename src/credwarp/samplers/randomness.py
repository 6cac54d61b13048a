"""Random numbers that belong to a chain: what it draws does not depend on how many others there are."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Randomness:
    """A generator's state per chain. Drawing returns the numbers and the randomness that is left."""

    states: UInt8[Tensor, "chains bytes"]

    @classmethod
    def seeded(cls, seed: int, chains: int, device: torch.device) -> "Randomness":
        """Streams for `chains` chains; the first are the same however many follow."""
        seeds = [int(np.random.SeedSequence([seed, c]).generate_state(1)[0]) for c in range(chains)]
        return cls(torch.stack([torch.Generator(device).manual_seed(s).get_state() for s in seeds]))

    def normals(self, count: int, like: Tensor) -> tuple[Float[Tensor, "chains count"], "Randomness"]:
        """Standard normals, a row per chain, of the type and on the device of `like`."""
        return self._drawn(count, like, lambda row, generator: row.normal_(generator=generator))

    def uniforms(self, count: int, like: Tensor) -> tuple[Float[Tensor, "chains count"], "Randomness"]:
        """Uniform numbers in [0, 1)."""
        return self._drawn(count, like, lambda row, generator: row.uniform_(generator=generator))

    def _drawn(
        self, count: int, like: Tensor, fill: Callable[[Tensor, torch.Generator], Tensor]
    ) -> tuple[Tensor, "Randomness"]:
        values = torch.empty((self.states.shape[0], count), dtype=like.dtype, device=like.device)
        after = []
        for row, state in zip(values, self.states, strict=True):
            generator = torch.Generator(like.device)
            # A copy: torch 2.13 reads a view's state from the start of its storage.
            generator.set_state(state.clone())
            fill(row, generator)
            after.append(generator.get_state())
        return values, Randomness(torch.stack(after))
