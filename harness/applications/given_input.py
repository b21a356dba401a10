"""Files of real data as input of an application: read as a whole, unpacked if they are gzip."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from harness.errors import UserError
from harness.files.given import read_given

MOST_BYTES = 4 * 2**30
"""Largest input [bytes], packed or not: it is kept in memory, so that a run does not measure the
reading of a disk."""

GZIP = b"\x1f\x8b"
PACKED_BYTES_AT_ONCE = 2**14  # packed bytes that are unpacked at a time


@dataclass(frozen=True)
class GivenInput:
    """Content of a file."""

    data: bytes
    truncated: bool  # True if a gzip file ends too early, or is damaged: `data` is the part before


def read_input(path: str) -> GivenInput:
    """Return the bytes in a file, unpacked if it is gzip. Raises UserError for one that cannot be
    read or is too large.
    """
    data = read_given(path, MOST_BYTES)
    if not data.startswith(GZIP):
        return GivenInput(data, False)
    pieces, size, unpacker = [], 0, None
    packed = memoryview(data)  # slices of it are no copies
    for at in range(0, len(packed), PACKED_BYTES_AT_ONCE):
        piece = packed[at : at + PACKED_BYTES_AT_ONCE]
        while piece:
            # one member after the other, with zeros between them
            if unpacker is None or unpacker.eof:
                unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
                piece = bytes(piece).lstrip(b"\0") if pieces else piece
            before = unpacker.copy()
            try:
                pieces.append(unpacker.decompress(piece))
            except zlib.error:
                return GivenInput(b"".join([*pieces, _before_damage(before, piece)]), True)
            size += len(pieces[-1])
            if size > MOST_BYTES:
                raise UserError(f"{path}: must have at most {MOST_BYTES} bytes unpacked")
            piece = unpacker.unused_data
    return GivenInput(b"".join(pieces), not unpacker.eof)


def _before_damage(unpacker: zlib._Decompress, piece: bytes | memoryview) -> bytes:
    """Return the content of a piece before the byte that cannot be unpacked: a failed call returns
    none of the bytes it has unpacked.
    """
    found = []
    try:
        for place in range(len(piece)):
            found.append(unpacker.decompress(piece[place : place + 1]))
    except zlib.error:
        pass
    return b"".join(found)
