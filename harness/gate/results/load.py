"""The text of a file of results: UTF-8 or UTF-16, with or without a byte-order mark, maybe packed
by gzip."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import zlib
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.files.given import read_given
from harness.gate.errors import UnusableResults

GZIP = b"\x1f\x8b"
# otherwise a packed file of a few kilobytes could fill the memory
MAX_UNPACKED_BYTES = 1 << 30
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def load_text(path: str | os.PathLike[str]) -> str:
    """Return the text in a file. Raises UserError if it cannot be read or is no text,
    UnusableResults if it is empty or cut short."""
    try:
        data = _unpacked(Path(path))
        text = data.decode("utf-16" if data.startswith(UTF_16) else "utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UnusableResults(
            f"{path}: is packed by gzip, and broken or cut short: {error}"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: must be UTF-8 text ({error.reason} at byte {error.start})"
        ) from error
    if not text.strip():
        raise UnusableResults(f"{path}: is empty")
    return text


def parse_json(text: str, path: object) -> Any:
    """Return the JSON in a text. Raises UnusableResults if it is not JSON, or cut short."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UnusableResults(
            f"{path}: not JSON, or cut short: {error.msg} in line {error.lineno}"
        ) from error
    # a number of too many digits; lists in lists in lists
    except (ValueError, RecursionError) as error:
        raise UnusableResults(f"{path}: not JSON for us: {str(error).splitlines()[0]}") from error


def load_json(path: str | os.PathLike[str]) -> Any:
    """Return the JSON in a file. Raises the errors of `load_text` and `parse_json`."""
    return parse_json(load_text(path), path)


def _unpacked(path: Path) -> bytes:
    data = read_given(path, MAX_UNPACKED_BYTES)
    if data.startswith(GZIP):
        data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(MAX_UNPACKED_BYTES + 1)
    if len(data) > MAX_UNPACKED_BYTES:
        raise UserError(f"{path}: holds more than {MAX_UNPACKED_BYTES >> 20} MiB")
    return data
