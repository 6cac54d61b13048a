"""Series of numbers as TensorBoard reads them: records of protocol buffers, each with its checksums."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from credwarp.files.atomic import write_bytes

VERSION = b"brain.Event:2"
POLYNOMIAL = 0x82F63B78
MASK = 0xA282EAD8


def write_scalars(path: Path, history: Sequence[Mapping[str, float]]) -> None:
    """One event for each row, counted from 1, whole or not at all. Times are the counts: they say nothing."""
    events = [_record(_double(1, 0.0) + _bytes(3, VERSION))]
    for step, row in enumerate(history, 1):
        values = b"".join(
            _bytes(1, _bytes(1, name.encode()) + _float(2, value)) for name, value in row.items()
        )
        events.append(_record(_double(1, float(step)) + _key(2, 0) + _varint(step) + _bytes(5, values)))
    write_bytes(path, b"".join(events))


def checksum(data: bytes) -> int:
    """CRC-32C (Castagnoli)."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (POLYNOMIAL if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


def _masked(data: bytes) -> bytes:
    """The checksum, turned by 15 bits and shifted, as the format wants it."""
    value = checksum(data)
    return struct.pack("<I", ((value >> 15 | value << 17) + MASK) & 0xFFFFFFFF)


def _key(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _double(field: int, value: float) -> bytes:
    return _key(field, 1) + struct.pack("<d", value)


def _float(field: int, value: float) -> bytes:
    return _key(field, 5) + struct.pack("<f", value)


def _bytes(field: int, value: bytes) -> bytes:
    return _key(field, 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
