"""Records that were measured on another machine, in the archive that came from there."""

from __future__ import annotations

import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from harness.errors import UserError

ENDINGS = (".tar.gz", ".tgz")
MOST_BYTES = 20_000_000_000
"""Size of the records in an archive, at most."""


@contextmanager
def folder_of(place: str) -> Iterator[str]:
    """Yield a folder with the records that `place` names: itself, or if it is an archive, a folder
    for the time being. Raises UserError for an archive that cannot be read.
    """
    if not place.endswith(ENDINGS):
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="millrace-records-") as folder:
        _unpack(place, Path(folder))
        yield folder


def _unpack(place: str, folder: Path) -> None:
    """Write the records of an archive into a folder."""
    left, found = MOST_BYTES, 0
    try:
        with tarfile.open(place, "r:gz") as archive:
            for entry in archive:
                path = PurePosixPath(entry.name)
                if not entry.isfile() or path.suffix != ".jsonl":
                    continue
                if path.is_absolute() or ".." in path.parts:
                    raise UserError(f"{place}: a name leads out of the archive: {entry.name!r}")
                left -= entry.size
                if left < 0:
                    raise UserError(f"{place}: must have at most {MOST_BYTES / 1e9:.0f} GB")
                found += 1
                content = archive.extractfile(entry)
                assert content is not None
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as file:
                    while part := content.read(1 << 20):
                        file.write(part)
    except FileNotFoundError as error:
        raise UserError(f"{place}: cannot be read: {error.strerror}") from error
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise UserError(f"{place}: cannot be unpacked: {error}") from error
    if not found:
        raise UserError(f"{place}: holds no records; the machine that measures packs them")
