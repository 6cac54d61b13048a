"""What a registration leaves: the pair, the plan, and draws from the posterior over warps."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import torch

from credwarp.errors import InputError
from credwarp.fields import to_millimetres
from credwarp.plan import Plan
from credwarp.posterior import Hypers
from credwarp.register.draws import Drawn
from credwarp.register.stages import Series
from credwarp.shapes import Fields, Parameters
from credwarp.space import Affine, Pair, Warp
from credwarp.transforms import Svf

Side: TypeAlias = Literal["fixed", "moving"]


@dataclass(frozen=True, eq=False)
class Run:
    """A pair, the plan it was registered by, and draws of the parameters of `transform`.

    `hyper` are the hyperparameters that the draws were made with, `series` what was tracked of each draw
    (chains × draws × …), `facts` what each stage has to say, `screen` the first screen of its report.
    """

    pair: Pair
    plan: Plan
    transform: Svf
    draws: Drawn
    hyper: Hypers = field(default_factory=lambda: Hypers({}, {}))
    series: Series = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    screen: str = ""

    def _repr_html_(self) -> str:
        """What a notebook shows: the report's first screen, or in a word what there is without a report."""
        shape = " × ".join(str(n) for n in self.pair.grid.shape)
        return self.screen or (
            f"<p>{self.total} draws of {self.draws.chains} chains on {shape} voxels; no report was made of "
            "them.</p>"
        )

    @property
    def total(self) -> int:
        """How many draws all chains have together."""
        return self.draws.chains * self.draws.draws

    def displacements(self, count: int | None = None) -> Iterator[Fields]:
        """φ − id in voxels of the pair's grid: of `count` draws evenly spread, or of all, chain by chain."""
        return (self._displacement(w) for w in self._parameters(count))

    def inverse_displacements(self, count: int | None = None) -> Iterator[Fields]:
        """φ⁻¹ − id of the same draws."""
        return (self._displacement(-w) for w in self._parameters(count))

    def warps(self, count: int | None = None, to: Side = "fixed") -> Iterator[Warp]:
        """Maps of points that resample onto the `to` side: `fixed` takes points of fixed to points of moving.

        RAS+ millimetres of the images as they were given: the pre-alignment is part of each map.
        """
        there, still = self.pair.initial, Affine.identity()
        fields = self.displacements(count) if to == "fixed" else self.inverse_displacements(count)
        before, after = (still, there) if to == "fixed" else (there.inverse(), still)
        return (
            Warp(self.pair.grid, to_millimetres(field[0], self.pair.grid), before, after) for field in fields
        )

    def places(self, count: int | None = None) -> list[tuple[int, int]]:
        """Chain and draw of `count` draws evenly spread over all, or of all."""
        wanted = self.total if count is None else count
        if not 1 <= wanted <= self.total:
            raise InputError(
                f"{wanted} draws were asked for, but the run holds {self.total}; ask for 1 to {self.total}."
            )
        flat = [(2 * k + 1) * self.total // (2 * wanted) for k in range(wanted)]
        return [divmod(place, self.draws.draws) for place in flat]

    def _parameters(self, count: int | None) -> Iterator[Parameters]:
        return (self.draws.parameters(chain, draw) for chain, draw in self.places(count))

    @torch.no_grad()
    def _displacement(self, w: Parameters) -> Fields:
        return self.transform.displacement(w)
