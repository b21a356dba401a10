"""The archive of a bundle: wheels, experiments, what they need, and the script that measures."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.bundle.contents import Contents
from harness.errors import RunFailed

ENDING = ".tar.gz"
MANIFEST = "bundle.json"
SCRIPT = Path(__file__).with_name("measure.py")
WORK = "work"
WHEELS = "wheels"
COMPRESSION = 1
"""Level of gzip: wheels, nearly all of the archive, are compressed already."""


def write_archive(
    path: Path,
    contents: Contents,
    wheels: Path,
    needs: dict[str, Any],
    progress: Callable[[int, int], None],
) -> None:
    """Write the archive, as a whole or not at all; `progress` gets the bytes packed so far, and
    those of all. Raises RunFailed if the system refuses.
    """
    top = Path(path.name.removesuffix(ENDING))
    files = {top / WHEELS / each.name: each for each in sorted(wheels.glob("*.whl"))}
    files |= {top / WORK / place: file for place, file in contents.files.items()}
    texts = {
        top / MANIFEST: json.dumps(manifest(contents, needs), indent=2) + "\n",
        top / SCRIPT.name: SCRIPT.read_text(encoding="utf-8"),
    }
    whole, packed = sum(file.stat().st_size for file in files.values()), 0
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with tarfile.open(temporary, "x:gz", compresslevel=COMPRESSION) as archive:
            for place, text in texts.items():
                data = text.encode()
                entry = tarfile.TarInfo(str(place))
                entry.size, entry.mode = len(data), 0o644
                archive.addfile(entry, io.BytesIO(data))
            for place, file in files.items():
                archive.add(file, str(place), filter=_plain)
                packed += file.stat().st_size
                progress(packed, whole)
        temporary.rename(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise RunFailed(f"cannot write {path}: {error.strerror}") from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def manifest(contents: Contents, needs: dict[str, Any]) -> dict[str, Any]:
    """Return what the script reads: needs of the machine, and the words of `sweep`."""
    return {
        "needs": needs,
        "sweep": contents.words,
        "results": contents.config.results,
        "experiments": [each.name for each in contents.experiments],
    }


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return an entry without the user who packed it."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
