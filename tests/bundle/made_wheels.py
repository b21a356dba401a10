"""Wheels that are made for tests: files in a zip archive, with the metadata that pip reads."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from harness.files.instructions import needed
from harness.files.places import CODE, CONFIG

TAG = "py3-none-any"


def made_wheel(folder: Path, name: str, files: Mapping[str, bytes], tag: str = TAG) -> Path:
    """Return a wheel with these files, version 1."""
    info = f"{name}-1.dist-info"
    files = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n".encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
    }
    record = "".join(f"{each},,\n" for each in (*files, f"{info}/RECORD")).encode()
    path = folder / f"{name}-1-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:  # not compressed: that takes seconds
        for place, content in (files | {f"{info}/RECORD": record}).items():
            archive.writestr(place, content)
    return path


def millrace_wheel(folder: Path, python: str = "cp311", module: bytes = b"") -> Path:
    """Return a wheel of Millrace that has nothing inside but what it is built for."""
    files = {
        "harness/built_for.json": json.dumps({"level": "x86-64-v2", "flags": ["popcnt"]}).encode(),
        "harness/module.so": module,
    }
    return made_wheel(folder, "millrace", files, f"{python}-{python}-linux_x86_64")


def checkout_wheel(folder: Path) -> Path:
    """Return a wheel of this checkout with the modules that are compiled in place."""
    files = {
        str(path.relative_to(CODE)): path.read_bytes()
        for package in ("harness", "topologies")
        for path in (CODE / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    files |= {
        f"harness/config/{path.relative_to(CONFIG)}": path.read_bytes()
        for path in CONFIG.rglob("*.*")
        if path.is_file()
    }
    files["harness/built_for.json"] = json.dumps(needed(["-march=native"])).encode()
    python = sys.implementation.cache_tag.replace("cpython-", "cp")
    return made_wheel(folder, "millrace", files, f"{python}-{python}-linux_x86_64")
