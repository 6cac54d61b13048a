"""Have the chains met, and how many independent draws are they worth? For many components at once.

Rank-normalised split R-hat, bulk and tail effective sample sizes and Monte-Carlo errors as in Vehtari,
Gelman, Simpson, Carpenter and Bürkner (2021). All take chains × draws × components, components of any shape.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from credwarp.shapes import Draws, PerDrawn

FEWEST_DRAWS = 4
TAIL = 0.05
# Doubles of a slab of components: with what is made from them, about 0.1 GB.
SLAB = 2_000_000

Series: TypeAlias = Float[Tensor, "components chains draws"]
Each: TypeAlias = Float[Tensor, " components"]


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

    def all_of(series: Tensor) -> Tensor:
        halves = _split(series)
        scores = _scores(halves)
        size = _effective(halves)
        errors = (_mean_error(series, size), _sd_error(series, size))
        return torch.stack([_rhat(halves, scores), _effective(scores), _ess_tail(series), *errors])

    return Mixing(*_by_slabs(all_of, draws, 5))


def rhat(draws: Draws) -> PerDrawn:
    """The larger of the rank-normalised split R-hat and that of distances from the median."""
    return _by_slabs(lambda series: _rhat(_split(series), _scores(_split(series)))[None], draws)[0]


def ess_bulk(draws: Draws) -> PerDrawn:
    """The effective sample size for the location, from rank-normalised draws."""
    return _by_slabs(lambda series: _effective(_scores(_split(series)))[None], draws)[0]


def ess_tail(draws: Draws) -> PerDrawn:
    """The smaller of the effective sample sizes for the 5 % and the 95 % quantile."""
    return _by_slabs(lambda series: _ess_tail(series)[None], draws)[0]


def effective_size(draws: Draws) -> PerDrawn:
    """The effective sample size for the mean."""
    return _by_slabs(lambda series: _effective(_split(series))[None], draws)[0]


def autocorrelation_time(draws: Draws) -> PerDrawn:
    """How many draws of a chain are worth one that is independent."""
    return draws.shape[0] * draws.shape[1] / effective_size(draws)


def mean_error(draws: Draws) -> PerDrawn:
    """The Monte-Carlo error of the mean: SD / √ESS."""
    return _by_slabs(lambda series: _mean_error(series, _effective(_split(series)))[None], draws)[0]


def sd_error(draws: Draws) -> PerDrawn:
    """The Monte-Carlo error of the standard deviation, by the delta method.

    Like ArviZ's it takes squares to mix as fast as the draws do. Where chains swing, squares mix slower: then
    `mean_error` of the squared deviations is the honest figure.
    """
    return _by_slabs(lambda series: _sd_error(series, _effective(_split(series)))[None], draws)[0]


def _by_slabs(function: Callable[[Tensor], Tensor], draws: Draws, measures: int = 1) -> Tensor:
    """Measures × components, of as many components at a time as fit; not a number where a draw is not one."""
    chains, steps = draws.shape[:2]
    shape = (measures, *draws.shape[2:])
    if steps < FEWEST_DRAWS:
        return torch.full(shape, math.nan, dtype=torch.float64, device=draws.device)
    values = []
    for slab in draws.reshape(chains, steps, -1).split(max(1, SLAB // (chains * steps)), dim=2):
        series = slab.permute(2, 0, 1).to(torch.float64, memory_format=torch.contiguous_format)
        known = torch.isfinite(series).all(dim=2).all(dim=1)
        result = function(torch.where(known[:, None, None], series, 0.0))
        values.append(torch.where(known, result, math.nan))
    return torch.cat(values, dim=1).reshape(shape)


def _rhat(halves: Series, scores: Series) -> Each:
    folded = (halves - _quantile(_ordered(halves), 0.5)[:, None, None]).abs()
    found = torch.maximum(_scale_reduction(scores), _scale_reduction(_scores(folded)))
    # Two halves of one chain are no evidence that chains meet.
    return found if halves.shape[1] > 2 else torch.full_like(found, math.nan)


def _ess_tail(series: Series) -> Each:
    ordered = _ordered(series)
    low, high = (
        _effective(_split((series <= _quantile(ordered, q)[:, None, None]).to(series.dtype)))
        for q in (TAIL, 1 - TAIL)
    )
    return torch.minimum(low, high)


def _mean_error(series: Series, size: Each) -> Each:
    return series.flatten(1).std(dim=1) / size.sqrt()


def _sd_error(series: Series, size: Each) -> Each:
    flat = series.flatten(1)
    square = (flat - flat.mean(dim=1, keepdim=True)).square()
    variance = square.mean(dim=1)
    spread = square.square().mean(dim=1) - variance.square()
    return (spread / size / variance / 4).sqrt()


def _split(series: Series) -> Float[Tensor, "components halves half"]:
    """Each chain's first and last half as chains of their own; an odd one out in the middle is left out."""
    half = series.shape[2] // 2
    return torch.cat([series[..., :half], series[..., -half:]], dim=1)


def _scores(series: Series) -> Series:
    """Normal scores of the ranks over all chains, ties sharing their mean rank (Blom 1958)."""
    flat = series.flatten(1)
    ordered, places = flat.sort(dim=1)
    count = flat.shape[1]
    # Twice the rank is whole, so every score there can be stands in one table.
    table = torch.special.ndtri(
        (torch.arange(2 * count + 1, dtype=torch.float64, device=series.device) / 2 - 3 / 8) / (count + 1 / 4)
    )
    doubled = _doubled_ranks(ordered)
    return torch.empty_like(flat).scatter_(1, places, table[doubled]).view(series.shape)


def _doubled_ranks(ordered: Float[Tensor, "components draws"]) -> Tensor:
    """First plus last rank, from 1, of the run of equal values that each one is in."""
    count = ordered.shape[1]
    ranks = torch.arange(1, count + 1, device=ordered.device).expand(ordered.shape)
    new = torch.ones_like(ordered, dtype=torch.bool)
    new[:, 1:] = ordered.diff(dim=1) != 0
    if bool(new.all()):
        return 2 * ranks
    first = torch.where(new, ranks, 0).cummax(dim=1).values
    ends = torch.ones_like(new)
    ends[:, :-1] = new[:, 1:]
    last = torch.where(ends, ranks, count).flip(1).cummin(dim=1).values.flip(1)
    return first + last


def _scale_reduction(series: Series) -> Each:
    steps = series.shape[2]
    within = series.var(dim=2).mean(dim=1)
    between = steps * series.mean(dim=2).var(dim=1)
    return ((between / within + steps - 1) / steps).sqrt()


def _effective(series: Series) -> Each:
    """Chains · draws / τ, τ from Geyer's initial monotone sequence of the chains' common autocorrelation."""
    chains, steps = series.shape[1:]
    total = chains * steps
    flat = series.flatten(1)
    constant = flat.amax(dim=1) - flat.amin(dim=1) < torch.finfo(torch.float64).resolution
    correlation = _autocorrelation(series)
    even, odd = correlation[:, 0 : max(steps - 2, 1) : 2], correlation[:, 1 : max(steps - 1, 2) : 2]
    pairs = even[:, : odd.shape[1]] + odd
    places = torch.arange(pairs.shape[1], device=series.device)
    last = torch.where(pairs <= 0, places, pairs.shape[1] - 1).amin(dim=1, keepdim=True)
    time = 2 * torch.where(places < last, pairs.cummin(dim=1).values, 0.0).sum(dim=1) - 1
    # The pair that ends the sequence still gives its even member, unless both are negative.
    final, both = even.gather(1, last)[:, 0], pairs.gather(1, last)[:, 0]
    time = time + torch.where((final > 0) | (both >= 0), final, 0.0)
    return torch.where(constant, float(total), total / time.clamp(min=1 / math.log10(total)))


def _autocorrelation(series: Series) -> Float[Tensor, "components draws"]:
    """Of all chains together: 1 − (W − mean autocovariance) / V, V including the spread between chains."""
    chains, steps = series.shape[1:]
    away = series - series.mean(dim=2, keepdim=True)
    spectrum = torch.fft.rfft(away, n=2 * steps, dim=2)
    # The mean over chains commutes with the way back.
    power = (spectrum.real.square() + spectrum.imag.square()).mean(dim=1)
    covariance: Tensor = torch.fft.irfft(power, n=2 * steps, dim=1)[:, :steps] / steps
    within = covariance[:, :1] * steps / (steps - 1)
    whole = covariance[:, :1]
    if chains > 1:
        whole = whole + series.mean(dim=2).var(dim=1)[:, None]
    correlation = 1 - (within - covariance) / whole
    correlation[:, 0] = 1
    return correlation


def _ordered(series: Series) -> Float[Tensor, "components values"]:
    return series.flatten(1).sort(dim=1).values


def _quantile(ordered: Float[Tensor, "components values"], share: float) -> Each:
    """Linear between order statistics, the first at 0 and the last at 1."""
    place = share * (ordered.shape[1] - 1)
    low = math.floor(place)
    high = min(low + 1, ordered.shape[1] - 1)
    return torch.lerp(ordered[:, low], ordered[:, high], place - low)
