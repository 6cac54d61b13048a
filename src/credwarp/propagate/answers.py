"""What all draws of a run say of a user's labels, points and dose."""

import logging

from credwarp.errors import InputError
from credwarp.propagate.images import overlaps
from credwarp.propagate.summary import Summary, summarise
from credwarp.register import Run, Side
from credwarp.shapes import Labels, Points
from credwarp.space import Affine, Mapping, Pair, Volume, resample_labels
from credwarp.summaries import DoseBands, DoseVolumes, PointClouds, PointMoments, Probabilities, folded

log = logging.getLogger("credwarp")
NAMED = 3
MISSED_MM = 0.1


def labels(run: Run, moving: Volume, fixed: Volume | None = None) -> Probabilities:
    """The moving image's labels on the run's grid; agreement with `fixed` or with the run's own, if any."""
    found = carried(run, moving, fixed).labels
    assert found is not None
    return found


def carried(run: Run, moving: Volume, fixed: Volume | None = None) -> Summary:
    """`labels`, with the moments of the displacement from the same pass over the draws."""
    _refuse_elsewhere(run, moving, "labels", "moving")
    if fixed is not None:
        _refuse_elsewhere(run, fixed, "labels", "fixed")
    return summarise(run, moving, fixed)


def selected(volume: Volume, wanted: tuple[int, ...]) -> Volume:
    """Some of the labels, the others made background; all without any wanted."""
    missing = [label for label in wanted if label not in volume.labels]
    if missing:
        have = ", ".join(str(label) for label in volume.labels) or "none"
        raise InputError(
            f"{volume.name} has no label {missing[0]}; its labels are {have}: choose from these."
        )
    if not wanted:
        return volume
    data = volume.data.clone()
    for label in set(volume.labels) - set(wanted):
        data[volume.data == label] = 0
    return volume.with_data(data)


def points(run: Run, places: Points, side: Side, names: tuple[str, ...]) -> PointClouds:
    """Points of `side` (RAS+ mm) on the other side; refused where the warp says nothing of them."""
    refuse_outside(run.pair, places, side, names)
    fold = PointMoments(places, side, run.pair.grid, run.pair.initial)
    found: PointClouds = folded(run.displacements(), {"points": fold})["points"]
    if found.missed > MISSED_MM:
        log.warning("some draws have no way back to a point: they miss by up to %.1f mm.", found.missed)
    return found


def refuse_outside(pair: Pair, places: Points, side: Side, names: tuple[str, ...]) -> None:
    """Name points that lie beyond the voxels of the pair."""
    seen = places if side == "fixed" else pair.initial.inverse()(places)
    outside = [index for index, inside in enumerate(pair.grid.contains(seen)) if not inside]
    if outside:
        which = ", ".join(names[index] for index in outside[:NAMED]) + (" …" if len(outside) > NAMED else "")
        raise InputError(
            f"{len(outside)} of {len(places)} points lie outside the field of view of the registration "
            f"({which}); check that they are points of {side}, and whether RAS or LPS, or leave them out."
        )


def dose(run: Run, given: Volume, structures: Volume, wanted: tuple[int, ...] = ()) -> DoseBands:
    """A dose planned on the moving image, on the run's grid, and what structures of the fixed one receive."""
    _refuse_elsewhere(run, given, "dose", "moving")
    _refuse_elsewhere(run, structures, "structures", "fixed")
    drawn = selected(structures, wanted)
    regions: Labels = resample_labels(drawn, run.pair.grid).data
    fold = DoseVolumes.of(given, run.pair.grid, run.pair.initial, regions, wanted or drawn.labels)
    found: DoseBands = folded(run.displacements(), {"dose": fold})["dose"]
    return found


def _refuse_elsewhere(run: Run, volume: Volume, what: str, side: Side) -> None:
    through: Mapping = run.pair.initial if side == "moving" else Affine.identity()
    if not overlaps(volume, run.pair.grid, through):
        other = "fixed" if side == "moving" else "moving"
        raise InputError(
            f"{volume.name} lies outside the {side} image, whose space its {what} must be in; "
            f"check that it is not of the {other} one."
        )
