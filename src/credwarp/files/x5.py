"""X5, the BIDS transform format in HDF5: RAS+ millimetres, points of fixed to points of moving, as here."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from credwarp.errors import InputError
from credwarp.files.explain import explained
from credwarp.files.hdf import new_hdf5, opened_hdf5
from credwarp.files.images import check_file
from credwarp.files.links import Link, Transform, bare_field, joined, taken_apart
from credwarp.files.memory import demand
from credwarp.files.stored import placed, spatial_shape
from credwarp.space import Affine

METADATA = json.dumps({"WrittenBy": "credwarp"})


def write_x5(mapping: Transform, path: str | Path) -> None:
    """Write a map of points; its links are nodes, and the chain names their order, the first one first."""
    links = taken_apart(mapping)
    with new_hdf5(Path(path)) as file:
        file.attrs["Format"] = "X5"
        file.attrs["Version"] = np.uint16(1)
        nodes = file.create_group("TransformGroup")
        for i, link in enumerate(links):
            _write(nodes.create_group(str(i)), link)
        order = "/".join(str(i) for i in range(len(links)))
        file.create_group("TransformChain").create_dataset("0", data=order)


def read_x5(path: str | Path) -> Transform:
    """Read the first chain of an X5 file, or its only node, as a map of RAS+ points."""
    path = Path(path)
    check_file(path)
    with explained(path, "X5 file"), opened_hdf5(path) as file:
        if file.attrs.get("Format") != "X5":
            raise ValueError("it does not say that it is X5")
        nodes = file["TransformGroup"]
        order = ["0"]
        if "TransformChain" in file:
            said = file["TransformChain"]["0"][()]
            order = (said.decode() if isinstance(said, bytes) else str(said)).split("/")
        elif len(nodes) != 1:
            raise InputError(f"{path} holds {len(nodes)} transforms and no chain that orders them; give one.")
        return joined([_read(path, nodes[name]) for name in order])


def _write(group: Any, link: Link) -> None:
    group.attrs["Type"] = "linear" if isinstance(link, Affine) else "nonlinear"
    group.attrs["SubType"] = "affine" if isinstance(link, Affine) else "densefield"
    group.attrs["Representation"] = "matrix" if isinstance(link, Affine) else "displacements"
    group.attrs["ArrayLength"] = 1
    group.attrs["Metadata"] = METADATA
    group.create_dataset("DimensionKinds", data=np.asarray(["space"] * 3 + ["vector"], dtype="S"))
    if isinstance(link, Affine):
        group.create_dataset("Transform", data=link.matrix)
        return
    values = np.moveaxis(np.asarray(link.displacement, dtype=np.float32), 0, -1)
    group.create_dataset("Transform", data=values, compression="gzip", shuffle=True)
    domain = group.create_group("Domain")
    domain.create_dataset("Grid", data=np.uint8(1))
    domain.create_dataset("Size", data=np.asarray(link.grid.shape))
    domain.create_dataset("Mapping", data=link.grid.affine)
    domain.attrs["Coordinates"] = "cartesian"


def _read(path: Path, group: Any) -> Link:
    kind = str(group.attrs["Type"])
    demand(path, group["Transform"].size * 16.0)
    values = np.asarray(group["Transform"], dtype=np.float64)
    if kind == "linear" and values.shape == (4, 4):
        return Affine(values)
    if kind != "nonlinear" or group.attrs.get("SubType", "densefield") != "densefield" or values.ndim != 4:
        said = f"{kind} {group.attrs.get('SubType', '')}".strip()
        raise InputError(
            f"{path} holds a transform that is not read ({said!r}); give a matrix or a dense field."
        )
    grid = placed(path, spatial_shape(path, values.shape[:3]), np.asarray(group["Domain"]["Mapping"]))
    if group.attrs.get("Representation", "displacements") == "deformations":
        values = values - grid.points()
    return bare_field(path, grid, values)
