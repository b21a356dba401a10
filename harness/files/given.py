"""Files that a user names, for reading. Only regular ones: opening a pipe without a writer would
wait for ever.
"""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any

from harness.errors import UserError

OTHER_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read_given(path: str | os.PathLike[str], most_bytes: int | None = None) -> bytes:
    """Return the content of a regular file.

    Raises UserError, in one line that names the file, if there is none (with the folder of a
    relative path), if it is of another kind, if the system refuses it, or if it has more than
    `most_bytes`.
    """
    try:
        with open(path, "rb", opener=open_at_once) as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                kind = OTHER_KINDS.get(stat.S_IFMT(state.st_mode), "something else")
                raise UserError(f"{path}: cannot be read: must be a regular file, not {kind}")
            data = file.read() if most_bytes is None else file.read(most_bytes + 1)
    except FileNotFoundError as error:
        where = "" if Path(path).is_absolute() else f" in {Path.cwd()}"
        raise UserError(f"{path}: cannot be read: {error.strerror}{where}") from error
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        raise UserError(
            f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    if most_bytes is not None and len(data) > most_bytes:
        raise UserError(f"{path}: must have at most {most_bytes} bytes, not {state.st_size}")
    return data


def open_at_once(path: str, flags: int) -> int:
    """Open a file; a pipe without a writer opens at once."""
    return os.open(path, flags | os.O_NONBLOCK)


def read_given_text(path: str | os.PathLike[str], most_bytes: int | None = None) -> str:
    """Return the UTF-8 text in a regular file, without a byte-order mark. Raises UserError as
    `read_given`, and for other bytes.
    """
    return text_of(read_given(path, most_bytes), path)


def text_of(data: bytes, name: object) -> str:
    """Return bytes as UTF-8 text, without a byte-order mark. Raises UserError, which begins with
    `name`, for anything else.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{name}: must be UTF-8 text ({error.reason} at byte {error.start})"
        ) from error


def is_table(path: Path) -> bool:
    """Return True if there may be a Parquet table: a regular file, or a directory of them."""
    return path.is_file() or path.is_dir()


def load_strict_json(text: str) -> Any:
    """Return JSON of unknown origin, in which no key is given twice and all numbers are finite:
    Python reads 1e400 as infinity.

    Raises json.JSONDecodeError for a text that is no JSON; ValueError for other faults, such as a
    number of too many digits; RecursionError for values that are nested too deeply.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))
            raise ValueError(f"key {twice[:60]!r} is given twice")
        return values

    def finite(word: str) -> float:
        value = float(word)
        if not math.isfinite(value):
            raise ValueError(f"must hold finite numbers, not {word[:60]}")
        return value

    return json.loads(text, object_pairs_hook=unique, parse_float=finite, parse_constant=finite)
