"""Sums over draws, in place; what is read at positions in other images."""

import numpy as np
import torch
from torch import Tensor

from credwarp.kernels import threads
from credwarp.kernels.cpu.adding import determinants, moments
from credwarp.kernels.cpu.memory import launch, padded, readable, rows, voxels
from credwarp.kernels.cpu.surfaces import Search, count_edges, measure
from credwarp.kernels.cpu.voting import Boxes, Results, Sources, count_votes, read


def add_moments(sums: Tensor, field: Tensor, count: int) -> None:
    """As in `streams`."""
    ats = (readable(field[None]), rows(sums[None]))
    launch(moments, field.shape[1], ats, voxels(field), (1 / count, 1 - 1 / count))


def add_determinants(sums: Tensor, field: Tensor, count: int) -> int:
    """As in `streams`."""
    folds = np.empty(field.shape[1], np.int64)
    ats = (padded(field[None]), rows(sums[None]))
    launch(determinants, field.shape[1], ats, voxels(field), (1 / count, 1 - 1 / count), folds)
    return int(folds.sum())


def look_up(values: Tensor, field: Tensor, matrix: Tensor, outside: float) -> Tensor:
    """As in `streams`."""
    found = np.empty(voxels(field), np.float32)
    given = (
        np.ascontiguousarray(values, np.float32),
        np.ascontiguousarray(field, np.float32),
        np.ascontiguousarray(matrix, np.float64),
    )
    threads.launch(read, field.shape[1], *given, outside, found)
    return torch.from_numpy(found)


def vote(
    sources: Sources, matrix: np.ndarray, boxes: Boxes, results: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """As in `streams`."""
    first, last = boxes[2][:, 0].tolist()
    tallies = np.empty((last + 1, len(boxes[0]) + 1, 3))
    filled: Results = (*results, tallies)
    threads.launch(count_votes, last - first + 1, sources, matrix, boxes, filled)
    return np.asarray(tallies[first:].sum(axis=0))


def edges(codes: np.ndarray, around: np.ndarray, out: np.ndarray, count: int) -> np.ndarray:
    """As in `streams`."""
    first, last = around[:, 0].tolist()
    counts = np.empty((last + 1, count + 1), np.int64)
    threads.launch(count_edges, last - first + 1, codes, around, out, counts)
    return np.asarray(counts[first:].sum(axis=0)[1:])


def distances(
    surfaces: tuple[np.ndarray, np.ndarray], around: np.ndarray, search: Search, counts: np.ndarray
) -> list[np.ndarray]:
    """As in `streams`."""
    ends = np.cumsum(counts)
    out = np.empty(int(ends[-1]))
    threads.launch(measure, len(counts), surfaces, around, search, (ends - counts, out))
    return np.split(out, ends[:-1])
