"""Inference about a target, whatever it is: optima, approximations and chains, one file per strategy."""

from typing import Annotated, TypeAlias

from pydantic import Field

from credwarp.samplers.adam import Adam, Moments
from credwarp.samplers.approximation import Approximation, Fit, Fitted, Law
from credwarp.samplers.chain import Info, State, Transition, refreshed
from credwarp.samplers.draw import Chunk, Schedule, draw, warm
from credwarp.samplers.hmc import Hmc
from credwarp.samplers.hyper import (
    Decay,
    Evidence,
    Fixed,
    Observed,
    Saem,
    StochasticAverage,
    Strength,
    effective_dimension,
)
from credwarp.samplers.lbfgs import Lbfgs
from credwarp.samplers.map import Ascent, Optimum, distinct
from credwarp.samplers.metrics import Build, Full, LowBlock, Rough
from credwarp.samplers.newton import Newton
from credwarp.samplers.precondition import Block, Diagonal, GaussNewton, Identity
from credwarp.samplers.randomness import Randomness
from credwarp.samplers.sgld import Sgld
from credwarp.samplers.stability import Checked, Estimate, Pilot, check_step, halving_score
from credwarp.samplers.structured import Structured
from credwarp.samplers.target import (
    Adaptive,
    Curved,
    Evaluation,
    Graded,
    Precision,
    Preconditioner,
    Reparametrised,
    Symmetric,
    Target,
)
from credwarp.samplers.underdamped import Underdamped
from credwarp.samplers.variational import DiagonalLowRank

Sampler: TypeAlias = Annotated[Underdamped | Sgld | Hmc, Field(discriminator="kind")]
Optimiser: TypeAlias = Annotated[Lbfgs | Newton, Field(discriminator="kind")]
Hyper: TypeAlias = Annotated[Fixed | Saem | Evidence, Field(discriminator="kind")]
Metric: TypeAlias = Annotated[LowBlock | Rough | Full, Field(discriminator="kind")]
Variational: TypeAlias = Annotated[Structured | DiagonalLowRank, Field(discriminator="kind")]

__all__ = [
    "Adam",
    "Adaptive",
    "Approximation",
    "Ascent",
    "Block",
    "Build",
    "Checked",
    "Chunk",
    "Curved",
    "Decay",
    "Diagonal",
    "DiagonalLowRank",
    "Estimate",
    "Evaluation",
    "Evidence",
    "Fit",
    "Fitted",
    "Fixed",
    "Full",
    "GaussNewton",
    "Graded",
    "Hmc",
    "Hyper",
    "Identity",
    "Info",
    "Law",
    "Lbfgs",
    "LowBlock",
    "Metric",
    "Moments",
    "Newton",
    "Observed",
    "Optimiser",
    "Optimum",
    "Pilot",
    "Precision",
    "Preconditioner",
    "Randomness",
    "Reparametrised",
    "Rough",
    "Saem",
    "Sampler",
    "Schedule",
    "Sgld",
    "State",
    "StochasticAverage",
    "Strength",
    "Structured",
    "Symmetric",
    "Target",
    "Transition",
    "Underdamped",
    "Variational",
    "check_step",
    "distinct",
    "draw",
    "effective_dimension",
    "halving_score",
    "refreshed",
    "warm",
]
