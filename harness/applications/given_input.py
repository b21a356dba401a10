"""Files of real data as input of an application: read whole, unpacked where they are gzip."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from harness.errors import UserError
from harness.given_file import read_given

MOST_BYTES = 4 * 2**30
"""Of an input, packed or not: it is kept in memory, so that reading a disk is not what a run measures."""

GZIP = b"\x1f\x8b"
PIECE = 2**24  # bytes unpacked at a time


@dataclass(frozen=True)
class GivenInput:
    """What is in a file."""

    data: bytes
    truncated: bool  # a gzip file that ends too early, or is damaged: `data` is what comes before


def read_input(path: str) -> GivenInput:
    """The bytes in a file, unpacked if it is gzip. Raises UserError for one that cannot be read or is too large."""
    data = read_given(path, MOST_BYTES)
    if not data.startswith(GZIP):
        return GivenInput(data, False)
    pieces, size = [], 0
    try:
        while data:  # one member after the other
            unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
            while data and not unpacker.eof:
                pieces.append(unpacker.decompress(data, PIECE))
                data = unpacker.unconsumed_tail
                size += len(pieces[-1])
                if size > MOST_BYTES:
                    raise UserError(f"{path}: must have at most {MOST_BYTES} bytes unpacked")
            if not unpacker.eof:
                return GivenInput(b"".join(pieces), True)
            data = unpacker.unused_data.lstrip(b"\0")
    except zlib.error:
        return GivenInput(b"".join(pieces), True)
    return GivenInput(b"".join(pieces), False)
