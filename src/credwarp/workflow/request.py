"""What a user asks for: files of two subjects, and how they come to overlap."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from credwarp.affine import align
from credwarp.errors import InputError
from credwarp.files import Landmarks, provenance_of, read, read_labels, read_mask, read_points, read_transform
from credwarp.plan import Plan
from credwarp.space import Affine, Pair, Scan, prepare, refuse_unusable


@dataclass(frozen=True)
class Subject:
    """The files of one side."""

    image: Path
    mask: Path | None = None
    labels: Path | None = None
    points: Path | None = None

    @property
    def files(self) -> dict[str, Path]:
        """All that there are, by what they are."""
        named = {"image": self.image, "mask": self.mask, "labels": self.labels, "points": self.points}
        return {name: path for name, path in named.items() if path is not None}

    def read(self) -> Scan:
        """Everything, in memory."""
        mask = None if self.mask is None else read_mask(self.mask)
        labels = None if self.labels is None else read_labels(self.labels)
        return Scan(read(self.image), mask, labels)


@dataclass(frozen=True)
class Request:
    """Two subjects; `initial` is a file that takes points of fixed to points of moving, if there is one.

    `network` is a trained one's file, which some plans need.
    """

    fixed: Subject
    moving: Subject
    initial: Path | None = None
    network: Path | None = None

    def prepare(self, plan: Plan) -> Pair:
        """The pair, read and pre-aligned as the plan says."""
        fixed, moving = self.fixed.read(), self.moving.read()
        refuse_unusable(fixed, "fixed")
        refuse_unusable(moving, "moving")
        spacing = None if plan.preparation.spacing == "fixed" else plan.preparation.spacing
        return prepare(fixed, moving, self._initial(fixed, moving, plan), spacing)

    def landmarks(self) -> Landmarks | None:
        """Points of moving to carry, and where they truly are in fixed, if that is known."""
        if self.moving.points is None:
            if self.fixed.points is not None:
                raise InputError(
                    f"{self.fixed.points} has nothing to compare with; give --moving-points too."
                )
            return None
        carried = read_points(self.moving.points)
        known = None if self.fixed.points is None else read_points(self.fixed.points)
        if known is not None and known.names != carried.names:
            raise InputError(
                f"{self.fixed.points} and {self.moving.points} do not name the same points in the same "
                "order; give both the same names."
            )
        return Landmarks(carried.names, carried.positions, None if known is None else known.positions)

    def provenance(self) -> dict[str, Any]:
        """What identifies every file."""
        found: dict[str, Any] = {}
        for side, subject in (("fixed", self.fixed), ("moving", self.moving)):
            found[side] = provenance_of(subject.image, read(subject.image).grid)
            for name, path in subject.files.items():
                if name != "image":
                    found[f"{side}_{name}"] = provenance_of(path)
        if self.initial is not None:
            found["initial"] = provenance_of(self.initial)
        if self.network is not None:
            found["network"] = provenance_of(self.network)
        return found

    def _initial(self, fixed: Scan, moving: Scan, plan: Plan) -> Affine:
        if self.initial is not None:
            transform = read_transform(self.initial, fixed.image.grid, moving.image.grid)
            if not isinstance(transform, Affine):
                raise InputError(f"{self.initial} is not linear; give an affine transform as --init.")
            return transform
        kind = plan.prealignment.kind
        if kind == "header":
            return Affine.identity()
        return align(fixed.image, moving.image, fixed.mask, moving.mask, kind).affine
