"""Have the chains met, and what are their draws worth? By the functionals that are tracked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from credwarp.plan import Quality
from credwarp.register.stages import Series
from credwarp.summaries.mixing import FEWEST_DRAWS, Mixing, mixing

TRACKED = ("displacement", "structure", "low", "energy", "data")


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """How every tracked functional of these kinds mixed, by name; and the verdict on the worst."""

    kinds: tuple[str, ...]
    names: tuple[str, ...]
    mixing: Mixing
    converged: bool

    @property
    def worst(self) -> str:
        """The functional that mixed worst."""
        return self.names[self.mixing.worst]

    def facts(self, gradients: int) -> dict[str, Any]:
        """As `qc.json` has them; effective sizes per thousand gradients of all chains together."""
        ess = self.mixing.ess_bulk
        return {
            "converged": self.converged,
            "rhat_max": float(self.mixing.rhat.max()),
            "ess_min": float(ess.min()),
            "ess_median": float(ess.median()),
            "ess_tail_min": float(self.mixing.ess_tail.min()),
            "ess_per_1000_gradients": 1000 * float(ess.min()) / max(gradients, 1),
            "worst": self.worst,
        }


def diagnose(series: Series, names: Mapping[str, Sequence[str]], quality: Quality) -> Diagnosis:
    """From chains × draws × numbers of each kind."""
    kinds = [kind for kind in TRACKED if kind in series and series[kind].shape[2]]
    draws = torch.cat([series[kind].to(torch.float64) for kind in kinds], dim=2)
    found = mixing(draws)
    met = bool((found.rhat <= quality.rhat).all() and (found.ess_bulk >= quality.ess).all())
    return Diagnosis(tuple(kinds), tuple(name for kind in kinds for name in names[kind]), found, met)


def glance(series: Series) -> dict[str, float]:
    """The worst of the tracked displacements so far, for whoever watches."""
    displacement = series["displacement"]
    if displacement.shape[1] < 2 * FEWEST_DRAWS:
        return {}
    found = mixing(displacement)
    return {"R-hat": float(found.rhat.max()), "worst ESS": float(found.ess_bulk.min())}
