"""How far the surfaces of a label are apart on two maps."""

from dataclasses import dataclass

import numpy as np

from credwarp.kernels import streams
from credwarp.summaries.ballot import Boxes, box_round, boxes_of

# Millimetres beyond which neighbours are no longer looked through by distance, and voxels likewise.
NEAR_MM, NEAR_VOXELS = 10.0, 10


@dataclass(frozen=True, eq=False)
class Surfaces:
    """The surfaces of the codes of a map: voxels with a neighbour that is none of them."""

    marks: np.ndarray
    counts: np.ndarray
    boxes: Boxes

    @classmethod
    def of(cls, codes: np.ndarray, count: int) -> "Surfaces":
        """Of codes 1 to `count` on a whole map."""
        boxes = boxes_of(np.array([box_round(codes == code) for code in range(1, count + 1)]))
        marks = np.zeros_like(codes)
        return cls(marks, streams.edges(codes, boxes.around, marks, count), boxes)


@dataclass(frozen=True, eq=False)
class Ruler:
    """Steps to neighbours, the shortest first, and how long they are."""

    spacing: np.ndarray
    steps: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, spacing: tuple[float, float, float]) -> "Ruler":
        """For voxels of this size."""
        reach = min(NEAR_MM, NEAR_VOXELS * min(spacing))
        axes = [np.arange(-int(reach / h), int(reach / h) + 1) for h in spacing]
        steps = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        lengths = np.linalg.norm(steps * np.array(spacing), axis=1)
        order = np.argsort(lengths, kind="stable")
        order = order[lengths[order] <= reach]
        return cls(np.array(spacing), steps[order], lengths[order])


def distances(first: Surfaces, second: Surfaces, ruler: Ruler) -> np.ndarray:
    """Per code: mean distance from the first to the second, mean back, and HD95, all in mm.

    HD95 is the larger of the two 95 % quantiles. Not a number where a map lacks the code.
    """
    there, back = (
        streams.distances(
            (one.marks, other.marks),
            one.boxes.ends,
            (ruler.steps, ruler.lengths, other.boxes.ends, ruler.spacing),
            one.counts,
        )
        for one, other in ((first, second), (second, first))
    )
    return np.array([_of_label(one, other) for one, other in zip(there, back, strict=True)])


def _of_label(there: np.ndarray, back: np.ndarray) -> tuple[float, float, float]:
    if len(there) == 0 or len(back) == 0:
        return np.nan, np.nan, np.nan
    far = max(float(np.quantile(there, 0.95)), float(np.quantile(back, 0.95)))
    return float(there.mean()), float(back.mean()), far
