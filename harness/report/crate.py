"""A run as an RO-Crate 1.1: a zip archive with its records, tables and figures, and a file that
says what each is and which command made it (https://w3id.org/ro/crate/1.1).
"""

from __future__ import annotations

import json
import mimetypes
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness import __version__
from harness.errors import RunFailed

METADATA = "ro-crate-metadata.json"
CONTEXT = "https://w3id.org/ro/crate/1.1/context"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
LICENSE = "https://spdx.org/licenses/Apache-2.0"
TYPES = {".jsonl": "application/jsonl", ".parquet": "application/vnd.apache.parquet"}


def write_crate(path: Path, files: Sequence[Path], command: str, about: Mapping[str, str]) -> None:
    """Write an archive with files, which lie below the working folder, and their description.

    `about`: name and description of the crate. Raises RunFailed if it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    text = json.dumps(metadata(files, command, about), indent=1, ensure_ascii=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(METADATA, text)
            for file in files:
                archive.write(file, file.as_posix())
        temporary.replace(path)
    except OSError as error:
        raise RunFailed(f"cannot write {path}: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def metadata(files: Sequence[Path], command: str, about: Mapping[str, str]) -> dict[str, Any]:
    """Return the description: the crate, the run that made it, the software, and each file."""
    ended = _when(max((file.stat().st_mtime for file in files), default=0.0))
    figures = [file for file in files if file.suffix in (".png", ".svg", ".html", ".md")]
    records = [file for file in files if file.suffix == ".jsonl"]
    entities: list[dict[str, Any]] = [
        {
            "@id": METADATA,
            "@type": "CreativeWork",
            "conformsTo": _ref("https://w3id.org/ro/crate/1.1"),
            "about": _ref("./"),
        },
        {
            "@id": "./",
            "@type": "Dataset",
            **about,
            "datePublished": ended,
            "license": _ref(LICENSE),
            "conformsTo": _ref(PROFILE),
            "hasPart": _refs(files),
            "mentions": _ref("#run"),
        },
        {"@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
        {"@id": LICENSE, "@type": "CreativeWork", "name": "Apache License 2.0"},
        {
            "@id": "#run",
            "@type": "CreateAction",
            "name": command,
            "instrument": _ref("#millrace"),
            "endTime": ended,
            "object": _refs(records),
            "result": _refs(figures),
        },
        {
            "@id": "#millrace",
            "@type": "SoftwareApplication",
            "name": "Millrace",
            "version": __version__,
        },
    ]
    return {"@context": CONTEXT, "@graph": entities + [_file(file) for file in files]}


def _file(path: Path) -> dict[str, Any]:
    kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "text/plain"
    return {
        "@id": path.as_posix(),
        "@type": "File",
        "name": path.name,
        "encodingFormat": kind,
        "contentSize": path.stat().st_size,
        "dateModified": _when(path.stat().st_mtime),
    }


def _ref(name: str) -> dict[str, str]:
    return {"@id": name}


def _refs(paths: Iterable[Path]) -> list[dict[str, str]] | dict[str, str]:
    """Return references to files; one alone is no list, as JSON-LD has it in its compact form."""
    found = [_ref(path.as_posix()) for path in paths]
    return found[0] if len(found) == 1 else found


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
