"""Have the chains met, and how many independent draws are they worth? For many components at once.

Rank-normalised split R-hat, bulk and tail effective sample sizes and Monte-Carlo errors as in Vehtari,
Gelman, Simpson, Carpenter and Bürkner (2021). All take chains × draws × components, components of any shape.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from credwarp.shapes import Draws, PerDrawn

FEWEST_DRAWS = 4
TAIL = 0.05
# Doubles held at a time by the transforms of a slab of components: about 0.1 GB.
SLAB = 2_000_000


@dataclass(frozen=True, eq=False)
class Mixing:
    """Per component: R-hat, effective sample sizes, the errors of the mean and of the standard deviation."""

    rhat: PerDrawn
    ess_bulk: PerDrawn
    ess_tail: PerDrawn
    mean_error: PerDrawn
    sd_error: PerDrawn

    @property
    def worst(self) -> int:
        """The component that mixed worst: the largest R-hat, one that is not a number before all others."""
        return int(torch.nan_to_num(self.rhat, nan=math.inf).argmax())


def mixing(draws: Draws) -> Mixing:
    """Everything there is to say about chains × draws × components."""
    size = effective_size(draws)
    return Mixing(
        rhat(draws), ess_bulk(draws), ess_tail(draws), _mean_error(draws, size), _sd_error(draws, size)
    )


def rhat(draws: Draws) -> PerDrawn:
    """The larger of the rank-normalised split R-hat and that of distances from the median."""

    def both(slab: Draws) -> PerDrawn:
        halves = _split(slab)
        folded = (halves - _median(halves)).abs()
        return torch.maximum(_scale_reduction(_scores(halves)), _scale_reduction(_scores(folded)))

    if draws.shape[0] < 2:
        return torch.full(draws.shape[2:], math.nan, dtype=torch.float64, device=draws.device)
    return _by_slabs(both, draws)


def ess_bulk(draws: Draws) -> PerDrawn:
    """The effective sample size for the location, from rank-normalised draws."""
    return _by_slabs(lambda slab: _effective(_scores(_split(slab))), draws)


def ess_tail(draws: Draws) -> PerDrawn:
    """The smaller of the effective sample sizes for the 5 % and the 95 % quantile."""

    def smaller(slab: Draws) -> PerDrawn:
        ordered = slab.flatten(0, 1).sort(dim=0).values
        sizes = [_effective(_split((slab <= _quantile(ordered, q)).to(slab.dtype))) for q in (TAIL, 1 - TAIL)]
        return torch.minimum(*sizes)

    return _by_slabs(smaller, draws)


def effective_size(draws: Draws) -> PerDrawn:
    """The effective sample size for the mean."""
    return _by_slabs(lambda slab: _effective(_split(slab)), draws)


def autocorrelation_time(draws: Draws) -> PerDrawn:
    """How many draws of a chain are worth one that is independent."""
    return draws.shape[0] * draws.shape[1] / effective_size(draws)


def mean_error(draws: Draws) -> PerDrawn:
    """The Monte-Carlo error of the mean: SD / √ESS."""
    return _mean_error(draws, effective_size(draws))


def sd_error(draws: Draws) -> PerDrawn:
    """The Monte-Carlo error of the standard deviation, by the delta method."""
    return _sd_error(draws, effective_size(draws))


def _mean_error(draws: Draws, size: PerDrawn) -> PerDrawn:
    return draws.to(torch.float64).flatten(0, 1).std(dim=0) / size.sqrt()


def _sd_error(draws: Draws, size: PerDrawn) -> PerDrawn:
    away = draws.to(torch.float64).flatten(0, 1)
    square = (away - away.mean(dim=0)).square()
    variance = square.mean(dim=0)
    spread = square.square().mean(dim=0) - variance.square()
    return (spread / size / variance / 4).sqrt()


def _by_slabs(function: Callable[[Draws], PerDrawn], draws: Draws) -> PerDrawn:
    """The function in float64, of as many components at a time as fit; not a number where a draw is not."""
    chains, steps = draws.shape[:2]
    flat = draws.reshape(chains, steps, -1)
    if steps < FEWEST_DRAWS:
        return torch.full(draws.shape[2:], math.nan, dtype=torch.float64, device=draws.device)
    values = []
    for slab in flat.split(max(1, SLAB // (chains * steps)), dim=2):
        wide = slab.to(torch.float64)
        known = torch.isfinite(wide).all(dim=0).all(dim=0)
        result = function(torch.where(known, wide, 0.0))
        values.append(torch.where(known, result, math.nan))
    return torch.cat(values).reshape(draws.shape[2:])


def _split(draws: Draws) -> Float[Tensor, "halves half *components"]:
    """Each chain's first and last half as chains of their own; an odd one out in the middle is left out."""
    half = draws.shape[1] // 2
    return torch.cat([draws[:, :half], draws[:, -half:]])


def _scores(draws: Draws) -> Draws:
    """Normal scores of the ranks over all chains, ties sharing their mean rank (Blom 1958)."""
    flat = draws.flatten(0, 1).movedim(0, -1).contiguous()
    ordered = flat.sort(dim=-1).values
    below = torch.searchsorted(ordered, flat, right=False)
    upto = torch.searchsorted(ordered, flat, right=True)
    rank = (below + upto + 1).to(torch.float64) / 2
    scores: Tensor = torch.special.ndtri((rank - 3 / 8) / (flat.shape[-1] + 1 / 4))
    return scores.movedim(-1, 0).reshape(draws.shape)


def _scale_reduction(draws: Draws) -> PerDrawn:
    steps = draws.shape[1]
    within = draws.var(dim=1).mean(dim=0)
    between = steps * draws.mean(dim=1).var(dim=0)
    return ((between / within + steps - 1) / steps).sqrt()


def _effective(draws: Draws) -> PerDrawn:
    """Chains · draws / τ, τ from Geyer's initial monotone sequence of the chains' common autocorrelation."""
    chains, steps = draws.shape[:2]
    total = chains * steps
    flat = draws.flatten(0, 1)
    constant = flat.amax(dim=0) - flat.amin(dim=0) < torch.finfo(torch.float64).resolution
    correlation = _autocorrelation(draws)
    even, odd = correlation[0 : max(steps - 2, 1) : 2], correlation[1 : max(steps - 1, 2) : 2]
    pairs = even[: len(odd)] + odd
    places = torch.arange(len(pairs), device=draws.device)[:, None]
    last = torch.where(pairs <= 0, places, len(pairs) - 1).amin(dim=0)
    monotone = pairs.cummin(dim=0).values
    time = -1 + 2 * torch.where(places < last, monotone, 0.0).sum(dim=0)
    # The pair that ends the sequence still gives its even member, unless both are negative.
    final, sum_ = even.gather(0, last[None])[0], pairs.gather(0, last[None])[0]
    time = time + torch.where((final > 0) | (sum_ >= 0), final, 0.0)
    effective = total / time.clamp(min=1 / math.log10(total))
    return torch.where(constant, float(total), effective)


def _autocorrelation(draws: Draws) -> Float[Tensor, "draws components"]:
    """Of all chains together: 1 − (W − mean autocovariance) / V, V including the spread between chains."""
    chains, steps = draws.shape[:2]
    covariance = _autocovariance(draws).mean(dim=0)
    within = covariance[0] * steps / (steps - 1)
    whole = covariance[0]
    if chains > 1:
        whole = whole + draws.mean(dim=1).var(dim=0)
    correlation = 1 - (within - covariance) / whole
    correlation[0] = 1
    return correlation


def _autocovariance(draws: Draws) -> Draws:
    steps = draws.shape[1]
    away = draws - draws.mean(dim=1, keepdim=True)
    spectrum = torch.fft.rfft(away, n=2 * steps, dim=1)
    power = spectrum.real.square() + spectrum.imag.square()
    covariance: Tensor = torch.fft.irfft(power, n=2 * steps, dim=1)[:, :steps]
    return covariance / steps


def _median(draws: Draws) -> PerDrawn:
    return _quantile(draws.flatten(0, 1).sort(dim=0).values, 0.5)


def _quantile(ordered: Float[Tensor, "draws components"], share: float) -> PerDrawn:
    """Linear between order statistics, the first at 0 and the last at 1."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return torch.lerp(ordered[low], ordered[high], place - low)
