"""Compiles an example into build/examples with the system's C compiler, which finds millrace.h."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
BUILT = HERE.parent / "build" / "examples"
HEADERS = HERE.parent / "harness" / "native"


def shared_library(source: str | Path, *flags: str) -> Path:
    """The library made from a C file. It is put in its place at once: one that a process has loaded
    is never written to.
    """
    source = Path(source)
    BUILT.mkdir(parents=True, exist_ok=True)
    library = BUILT / f"{source.stem}{source.suffix.replace('.', '_')}.so"
    unfinished = library.with_suffix(f".{os.getpid()}")
    compiler = shlex.split(os.environ.get("CC", "cc"))
    command = [
        *compiler,
        "-O2",
        "-march=native",
        "-ffp-contract=off",
        "-shared",
        "-fPIC",
        f"-I{HEADERS}",
        *flags,
        "-o",
        unfinished,
        source,
    ]
    subprocess.run(command, check=True, timeout=300)
    unfinished.replace(library)
    return library
