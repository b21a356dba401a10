"""Differences of interpreters, packages, compilers and flags between the two trees. Each may be the
reason for a verdict instead of the code.

Python tells its version and packages. Compiled files tell their compilers, in the section .comment
or in what Go and Rust add, and their flags, if they have debugging information (DW_AT_producer of
GCC).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.gate.environment import clean_environment
from harness.gate.session import run_session
from harness.gate.suite import Suite

TIMEOUT_S = 30.0
NAMED = 4  # differences in a note; the others are counted
LARGEST_BYTES = 1 << 28  # files above this are not searched

ELF = b"\x7fELF"
COMPILERS = (
    re.compile(rb"GCC: \([^)\0]*\) \d[\w.]*"),
    re.compile(rb"clang version \d[\w.]*"),
    re.compile(rb"rustc version \d[\w.]*"),
    re.compile(rb"\bgo1\.\d+(?:\.\d+)?(?=[\0-\x20])"),
)
FLAGS = re.compile(rb"GNU (?:C\+\+|C|Fortran)\d+ [\d.]+ (-[^\0]+)")

PYTHON = """
import json, platform
from importlib.metadata import distributions
packages = {str(each.metadata["Name"]): each.version for each in distributions()}
print(json.dumps([platform.python_implementation() + " " + platform.python_version(), packages]))
"""


@dataclass(frozen=True)
class Toolchain:
    """Tools that made and run the code of a side, as far as they are known."""

    interpreter: str = ""
    packages: Mapping[str, str] | None = None
    compilers: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()


def toolchain(directory: Path, python: str, suite: Suite, files: Iterable[Path]) -> Toolchain:
    """Return the toolchain of a tree whose programs load these files of it."""
    compilers, flags = _compiled(files)
    uses_python = any("{python}" in word for program in suite.programs for word in program.argv)
    interpreter, packages = _python(directory, python) if uses_python else ("", None)
    return Toolchain(interpreter, packages, compilers, flags)


def differences(base: Toolchain, head: Toolchain) -> Iterator[str]:
    """Yield a note for each kind of difference. A fact that only one side tells is none."""
    if base.interpreter and head.interpreter and base.interpreter != head.interpreter:
        yield f"interpreters differ: {base.interpreter} in base, {head.interpreter} in head"
    if base.packages is not None and head.packages is not None:
        before, after = base.packages, head.packages
        changed = [
            f"{name} {before.get(name, 'missing')} in base, {after.get(name, 'missing')} in head"
            for name in sorted({*before, *after})
            if before.get(name) != after.get(name)
        ]
        if changed:
            yield f"packages differ: {_named(changed)}"
    for kind, old, new in (
        ("compilers", base.compilers, head.compilers),
        ("compiler flags", base.flags, head.flags),
    ):
        if old and new and old != new:
            gone = sorted(old - new) or ["nothing else"]
            added = sorted(new - old) or ["nothing else"]
            yield f"{kind} differ: {_named(gone)} in base, {_named(added)} in head"


def _python(directory: Path, python: str) -> tuple[str, Mapping[str, str] | None]:
    try:
        argv = [python, "-c", PYTHON]
        ended = run_session(argv, directory, clean_environment(), TIMEOUT_S)
        interpreter, packages = json.loads(ended.output)
    except (OSError, ValueError):
        return "", None
    return interpreter, packages


def _compiled(files: Iterable[Path]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the compilers and flags in compiled files."""
    compilers: set[bytes] = set()
    flags: set[bytes] = set()
    for path in files:
        try:
            if not path.is_file() or path.stat().st_size > LARGEST_BYTES:
                continue
            data = path.read_bytes()
        except OSError:
            continue
        if data.startswith(ELF):
            compilers.update(*(pattern.findall(data) for pattern in COMPILERS))
            flags.update(word for match in FLAGS.findall(data) for word in match.split())
    return tuple(
        frozenset(each.decode(errors="replace") for each in of) for of in (compilers, flags)
    )


def _named(texts: list[str]) -> str:
    more = f" and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
    return ", ".join(texts[:NAMED]) + more
