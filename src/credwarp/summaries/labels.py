"""Labels of the moving image on the fixed grid: probabilities, volumes, agreement with the fixed image's."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from credwarp.errors import InputError
from credwarp.kernels import streams
from credwarp.shapes import Fields, Image, Labels
from credwarp.space import Affine, Grid, Volume
from credwarp.summaries.ballot import Ballot, Boxes, coded, reach_of, widened
from credwarp.summaries.surfaces import Ruler, Surfaces, distances

Each = Float[Tensor, "draws labels"]


@dataclass(frozen=True, eq=False)
class Agreement:
    """With the other side's labels, per draw and label: Dice; surface distances in mm.

    `distance` is the average surface distance: the mean of the two directed averages. `before` has Dice,
    distance and HD95 of each label before the non-rigid registration.
    """

    dice: Each
    distance: Each
    hausdorff95: Each
    before: Float[Tensor, "3 labels"]


@dataclass(frozen=True, eq=False)
class Probabilities:
    """Votes of all draws for each of `labels`, each in its box; volumes in mm³ per draw and label."""

    grid: Grid
    labels: tuple[int, ...]
    boxes: Boxes
    shares: np.ndarray
    volumes: Each
    agreement: Agreement | None

    def probability(self, label: int) -> Image:
        """How probable the label is at each voxel."""
        if label not in self.labels:
            known = ", ".join(str(name) for name in self.labels)
            raise InputError(f"label {label} is not among the labels, which are {known}; choose from these.")
        index = self.labels.index(label)
        found = np.zeros(self.grid.shape, np.float32)
        found[self.boxes.slices(index)] = self.boxes.votes(self.shares, index)
        return torch.from_numpy(found)

    def background(self) -> Image:
        """How probable it is that a voxel has none of the labels: what they leave of 1."""
        left = np.ones(self.grid.shape, np.float32)
        for index in range(len(self.labels)):
            left[self.boxes.slices(index)] -= self.boxes.votes(self.shares, index)
        return torch.from_numpy(left.clip(0, 1))

    def most_probable(self) -> Labels:
        """The most probable label of each voxel; one that wins nowhere keeps one voxel."""
        best = np.asarray(self.background()).copy()
        found = np.zeros(self.grid.shape, np.int32 if max(map(abs, self.labels)) < 2**31 else np.int64)
        for index, label in enumerate(self.labels):
            where, share = self.boxes.slices(index), self.boxes.votes(self.shares, index)
            wins = share > best[where]
            best[where][wins], found[where][wins] = share[wins], label
        for index, label in enumerate(self.labels):
            share = self.boxes.votes(self.shares, index)
            if share.size and share.max() > 0 and not (found == label).any():
                place = np.unravel_index(int(share.argmax()), share.shape)
                found[self.boxes.slices(index)][place] = label
        return torch.from_numpy(found)


@dataclass(frozen=True, eq=False)
class Count:
    """Boxes for displacements within `reach`, votes and winners in them, what each draw said."""

    reach: np.ndarray
    boxes: Boxes
    votes: np.ndarray
    winners: np.ndarray
    marks: np.ndarray
    tallies: tuple[np.ndarray, ...]
    distances: tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class LabelVotes:
    """The fold that gives `Probabilities`: each draw gives every voxel the linear shares of its labels.

    A draw's own map has the label with the largest share; its Dice and surfaces are measured against the
    labels `other`, on the grid, where there are any.
    """

    grid: Grid
    ballot: Ballot
    other: np.ndarray
    surfaces: Surfaces | None
    ruler: Ruler

    @classmethod
    def of(cls, labels: Volume, grid: Grid, through: Affine, other: Labels | None = None) -> "LabelVotes":
        """`through` takes points of the grid's space to points of the labels': a pair's `initial`."""
        if not labels.labels:
            raise InputError(f"{labels.name} holds background only; give a file with labels.")
        ballot = Ballot.of(labels, grid, through)
        count = len(ballot.labels)
        codes = (
            np.full(grid.shape, -1, np.int16) if other is None else coded(np.asarray(other), ballot.labels)
        )
        surfaces = None if other is None else Surfaces.of(codes, count)
        return cls(grid, ballot, codes, surfaces, Ruler.of(grid.spacing))

    def begin(self, like: Fields) -> Count:
        """No votes; boxes for no displacement."""
        reach = np.zeros((2, 3))
        boxes = self.ballot.boxes(reach)
        blank = np.zeros((2, *self.grid.shape), np.int16)
        return Count(reach, boxes, np.zeros(boxes.size, np.float32), blank[0], blank[1], (), ())

    def add(self, state: Count, displacement: Fields) -> Count:
        """One more draw."""
        reach = widened(state.reach, reach_of(displacement))
        grown = not np.array_equal(reach, state.reach)
        boxes = self.ballot.boxes(reach) if grown else state.boxes
        votes = _carried(state, boxes) if grown else state.votes
        tally, far = self._counted(displacement, boxes, votes, (state.winners, state.marks))
        return Count(
            reach, boxes, votes, state.winners, state.marks, (*state.tallies, tally), (*state.distances, far)
        )

    def end(self, state: Count) -> Probabilities:
        """Shares of all draws."""
        tallies = torch.from_numpy(np.array(state.tallies))[:, 1:]
        voxel = abs(float(np.linalg.det(self.grid.affine[:3, :3])))
        shares = state.votes / np.float32(len(state.tallies))
        agreement = self._agreement(tallies, np.array(state.distances))
        return Probabilities(
            self.grid, self.ballot.labels, state.boxes, shares, tallies[..., 0] * voxel, agreement
        )

    def _counted(
        self, displacement: Fields, boxes: Boxes, votes: np.ndarray, scratch: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        field = np.asarray(displacement[0].to("cpu").contiguous())
        sources = (self.ballot.codes, self.ballot.cells, self.other, field)
        winners, marks = scratch
        tally = streams.vote(sources, self.ballot.matrix, boxes.arrays, (votes, winners))
        if self.surfaces is None:
            return tally, np.empty(0)
        counts = streams.edges(winners, boxes.around, marks, len(self.ballot.labels))
        return tally, distances(Surfaces(marks, counts, boxes), self.surfaces, self.ruler)

    def _agreement(self, tallies: Tensor, far: np.ndarray) -> Agreement | None:
        if self.surfaces is None:
            return None
        still = torch.zeros((1, 3, *self.grid.shape))
        boxes = self.ballot.boxes(np.zeros((2, 3)))
        blank = np.zeros((2, *self.grid.shape), np.int16)
        tally, away = self._counted(still, boxes, np.zeros(boxes.size, np.float32), (blank[0], blank[1]))
        before = torch.from_numpy(tally)[None, 1:]
        apart = torch.from_numpy(far)
        first = torch.from_numpy(away)
        return Agreement(
            self._dice(tallies),
            apart[..., :2].mean(dim=-1),
            apart[..., 2],
            torch.stack([self._dice(before)[0], first[:, :2].mean(dim=-1), first[:, 2]]),
        )

    def _dice(self, tallies: Tensor) -> Each:
        size = torch.tensor([int((self.other == code + 1).sum()) for code in range(len(self.ballot.labels))])
        return 2 * tallies[..., 2] / (tallies[..., 1] + size)


def _carried(state: Count, boxes: Boxes) -> np.ndarray:
    """The votes in larger boxes."""
    votes = np.zeros(boxes.size, np.float32)
    for index in range(len(boxes.starts)):
        old = state.boxes.votes(state.votes, index)
        if old.size:
            start = state.boxes.ends[index, 0] - boxes.ends[index, 0]
            where = tuple(slice(int(a), int(a) + n) for a, n in zip(start, old.shape, strict=True))
            boxes.votes(votes, index)[where] = old
    return votes
