"""ITK transform files as records of type and parameters: text, Matlab 4 and HDF5, without ITK's readers.

Those crash or hang on some broken files; records are checked before anything is made of them.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from credwarp.errors import InputError
from credwarp.files.atomic import write_bytes, write_text
from credwarp.files.explain import explained
from credwarp.files.hdf import new_hdf5, opened_hdf5
from credwarp.files.memory import demand

BANNER = "#Insight Transform File V1.0"
LARGEST_TEXT = 1 << 26
COMPOSITE = "CompositeTransform"


@dataclass(frozen=True, eq=False)
class Record:
    """One transform of a file: ITK's name for its kind, and its numbers (LPS)."""

    kind: str
    parameters: np.ndarray
    fixed: np.ndarray


def read_text(path: Path) -> list[Record]:
    """`.tfm` and `.txt`."""
    with explained(path, "ITK transform"):
        demand(path, path.stat().st_size * 4.0)
        lines = path.read_text(encoding="ascii").splitlines()
        if not lines or not lines[0].startswith("#Insight Transform File"):
            raise ValueError("no Insight Transform File")
        records: list[Record] = []
        for line in lines[1:]:
            key, _, value = line.partition(":")
            if key != "Transform" and not records:
                continue
            if key == "Transform":
                records.append(Record(_three_dimensional(path, value.strip()), np.empty(0), np.empty(0)))
            elif key == "Parameters":
                records[-1] = replace(records[-1], parameters=np.array(value.split(), dtype=np.float64))
            elif key == "FixedParameters":
                records[-1] = replace(records[-1], fixed=np.array(value.split(), dtype=np.float64))
        return records


def read_matlab(path: Path) -> list[Record]:
    """`.mat` as ANTs and ITK write it: level 4, one matrix named after the kind and one named `fixed`."""
    with explained(path, "ITK transform"):
        if path.stat().st_size > LARGEST_TEXT:
            raise ValueError("too long for a linear transform")
        block = path.read_bytes()
        entries: list[tuple[str, np.ndarray]] = []
        while block:
            order = "<" if struct.unpack_from("<i", block)[0] < 1000 else ">"
            form, rows, columns, _, length = struct.unpack_from(f"{order}5i", block)
            kind = np.dtype(order + {0: "f8", 10: "f4"}[form % 1000])
            count, start = rows * columns, 20 + length
            if min(rows, columns, length) < 0 or start + count * kind.itemsize > len(block):
                raise ValueError("cut off")
            values = np.frombuffer(block, kind, count, start).astype(np.float64)
            entries.append((block[20 : start - 1].decode("ascii"), values))
            block = block[start + count * kind.itemsize :]
        kinds, fixed = entries[::2], entries[1::2]
        return [
            Record(_three_dimensional(path, name), parameters, centre)
            for (name, parameters), (_, centre) in zip(kinds, fixed, strict=True)
        ]


def read_hdf5(path: Path) -> list[Record]:
    """`.h5`."""
    with explained(path, "ITK transform"), opened_hdf5(path) as file:
        group = file["TransformGroup"]
        return [_record(path, group[str(i)]) for i in range(len(group))]


def write_itk_text(path: Path, records: Sequence[Record]) -> None:
    """`.tfm` and `.txt`, every digit kept."""
    lines = [BANNER]
    for i, record in enumerate(records):
        lines += [
            f"#Transform {i}",
            f"Transform: {record.kind}_double_3_3",
            "Parameters: " + " ".join(repr(float(value)) for value in record.parameters),
            "FixedParameters: " + " ".join(repr(float(value)) for value in record.fixed),
        ]
    write_text(path, "\n".join([*lines, ""]))


def write_itk_matlab(path: Path, record: Record) -> None:
    """`.mat`, as ANTs reads it."""
    block = b""
    for name, values in ((f"{record.kind}_double_3_3", record.parameters), ("fixed", record.fixed)):
        block += struct.pack("<5i", 0, len(values), 1, 0, len(name) + 1) + name.encode() + b"\0"
        block += values.astype("<f8").tobytes()
    write_bytes(path, block)


def write_itk_hdf5(path: Path, records: Sequence[Record]) -> None:
    """`.h5`: a composite of the records; fields in single precision and compressed, affines in double."""
    import h5py  # loads slowly, and few commands need it

    text = h5py.string_dtype("ascii")
    with new_hdf5(path) as file:
        file.create_dataset("ITKVersion", data=["5.4.0"], dtype=text)
        file.create_dataset("HDFVersion", data=[h5py.version.hdf5_version], dtype=text)
        group = file.create_group("TransformGroup")
        group.create_group("0").create_dataset("TransformType", data=[f"{COMPOSITE}_double_3_3"], dtype=text)
        for i, record in enumerate(records, start=1):
            one = group.create_group(str(i))
            one.create_dataset("TransformType", data=[f"{record.kind}_double_3_3"], dtype=text)
            one.create_dataset("TransformFixedParameters", data=record.fixed)
            packing = (
                {"compression": "gzip", "shuffle": True} if record.parameters.dtype == np.float32 else {}
            )
            one.create_dataset("TransformParameters", data=record.parameters, **packing)


def _record(path: Path, group: Any) -> Record:
    said = group["TransformType"][0]
    kind = _three_dimensional(path, said.decode("ascii") if isinstance(said, bytes) else str(said))
    if kind == COMPOSITE:
        return Record(kind, np.empty(0), np.empty(0))
    # Older ITK spells it without the s.
    prefix = "Transform" if "TransformParameters" in group else "Tranform"
    parameters, fixed = group[f"{prefix}Parameters"], group[f"{prefix}FixedParameters"]
    demand(path, (parameters.size + fixed.size) * 12.0)
    return Record(kind, np.asarray(parameters).ravel(), np.asarray(fixed, dtype=np.float64).ravel())


def _three_dimensional(path: Path, name: str) -> str:
    """`AffineTransform` of `AffineTransform_double_3_3`."""
    kind, *rest = name.split("_")
    if not name.isidentifier():
        raise ValueError("a transform without a name")
    if rest[-2:] != ["3", "3"]:
        raise InputError(f"{path} holds a {name}, not a 3-D one; give a 3-D transform.")
    return kind
