"""Millrace as a wheel, the wheels that it depends on, and what they need of a machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import RunFailed, UserError
from harness.files.instructions import LEVELS
from harness.files.places import CODE, IS_INSTALLED

CHOICES = (*LEVELS, "native")
"""Levels of x86-64 for which a wheel is built."""

FLAGS = "-O3 -march={level} -ffp-contract=off -g1"
"""Options of the compiler, as of `make dist`."""

BUILDS = Path("build") / "bundle"
"""Folder of the compiled modules, one for each Python and level: only what changed is compiled
again.
"""

MANYLINUX = {"1": (2, 5), "2010": (2, 12), "2014": (2, 17)}
"""Versions of glibc that a wheel needs, by the year or number in its name; later names have the
version itself.
"""

VERSION_OF_PYTHON = "import sys; print(sys.implementation.cache_tag)"

Version = tuple[int, ...]


def build_wheel(python: str, level: str, folder: Path) -> Path:
    """Return the wheel of this checkout for a Python and a level, made in a folder. Raises
    RunFailed with the compiler's last words if it cannot be built.
    """
    if IS_INSTALLED:
        raise UserError("an installed Millrace has no source to build: --wheel names a wheel of it")
    base = CODE / BUILDS / f"{tag_of(python)}-{level}"
    base.mkdir(parents=True, exist_ok=True)
    settings = base / "build.cfg"
    settings.write_text(f"[build]\nbuild_base={base}\n", encoding="utf-8")
    for stale in (base.glob("lib.*/**/*.py"), base.glob("bdist.*/**/*")):
        for file in stale:
            if file.is_file():
                file.unlink()
    variables = {"DIST_EXTRA_CONFIG": str(settings), "MILLRACE_CFLAGS": FLAGS.format(level=level)}
    words = ["wheel", "--no-deps", "--wheel-dir", str(folder), str(CODE)]
    _pip(python, words, "the wheel cannot be built", variables)
    return _only(folder.glob("millrace-*.whl"))


def download(python: str, wheel: Path, more: Sequence[str], folder: Path) -> None:
    """Put a wheel into a folder, with all wheels that it needs, pip, and further packages. Raises
    RunFailed if one cannot be downloaded.
    """
    words = ["download", "--only-binary", ":all:", "--dest", str(folder), str(wheel), "pip", *more]
    _pip(python, words, "packages cannot be downloaded")


def needs_of(folder: Path, wheel: Path) -> dict[str, Any]:
    """Return what the wheels in a folder need of a machine: tag of Python, level and flags of the
    CPU, versions of glibc and of the C++ library. `wheel`: that of Millrace.
    """
    glibc = max([_glibc_of(path.name) for path in folder.glob("*.whl")], default=(2, 5))
    symbols = _symbols(wheel)
    return {
        "python": wheel.name.split("-")[2].replace("cp", "cpython-"),
        "cpu": built_for(wheel),
        "glibc": list(max(glibc, *symbols["GLIBC"])),
        "glibcxx": list(max(symbols["GLIBCXX"])),
    }


def check_wheel(path: Path, python: str) -> None:
    """Raise UserError unless a file is a wheel of Millrace for a Python."""
    if not zipfile.is_zipfile(path) or not path.name.startswith("millrace-"):
        raise UserError(f"--wheel {str(path)!r} is no wheel of Millrace: make dist writes one")
    built, asked = path.name.split("-")[2].replace("cp", "cpython-"), tag_of(python)
    if built != asked:
        raise UserError(f"--wheel {path.name} is for {built}, not for {asked} (--python)")
    built_for(path)


def built_for(wheel: Path) -> Mapping[str, Any]:
    """Return the level and the flags of the CPU that a wheel needs."""
    try:
        with zipfile.ZipFile(wheel) as files:
            return json.loads(files.read("harness/built_for.json"))
    except (KeyError, ValueError) as error:
        raise UserError(f"--wheel {wheel.name} does not name the CPUs that it is for") from error


def tag_of(python: str) -> str:
    """Return the tag of a Python, as `cpython-311`. Raises UserError for a word that names none."""
    if python == sys.executable:
        return str(sys.implementation.cache_tag)
    try:
        done = subprocess.run(
            [python, "-c", VERSION_OF_PYTHON], capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"--python {python!r} cannot be started") from error
    if done.returncode or not re.fullmatch(r"cpython-\d+\n", done.stdout):
        raise UserError(f"--python {python!r} is no CPython")
    return done.stdout.strip()


def _pip(
    python: str, words: Sequence[str], problem: str, variables: Mapping[str, str] | None = None
) -> None:
    """Run the pip of this Python for a Python. Raises RunFailed, which begins with `problem`."""
    other = [] if python == sys.executable else ["--python", python]
    command = [sys.executable, "-m", "pip", *other, *words[:1], "--quiet", "--retries", "1"]
    done = subprocess.run(
        [*command, "--disable-pip-version-check", *words[1:]],
        env={**os.environ, **(variables or {})},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RunFailed(f"{problem}: {_why(done.stdout + done.stderr)}")


def _why(output: str) -> str:
    """Return the line of pip's output that says most."""
    if "NewConnectionError" in output or "Temporary failure in name resolution" in output:
        return "this machine has no network, which the first step needs; the second one does not"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for pattern in (r"fatal error|\berror: (?!subprocess|command)", "^ERROR|No module named", ""):
        if found := [line for line in lines if re.search(pattern, line)]:
            return found[0 if pattern else -1].removeprefix("ERROR: ")
    return "pip says nothing"


def _glibc_of(name: str) -> Version:
    """Return the least version of glibc for a wheel, by its name."""
    found: list[Version] = []
    for tag in name.removesuffix(".whl").split("-")[-1].split("."):
        if match := re.fullmatch(r"manylinux_(\d+)_(\d+)_\w+", tag):
            found.append((int(match[1]), int(match[2])))
        elif match := re.match(r"manylinux(1|2010|2014)_", tag):
            found.append(MANYLINUX[match[1]])
    return min(found, default=(2, 5))


def _symbols(wheel: Path) -> dict[str, list[Version]]:
    """Return the versions of symbols that the modules of a wheel take from glibc and from the C++
    library.
    """
    found: dict[str, set[Version]] = {"GLIBC": {(2, 5)}, "GLIBCXX": {(3, 4)}}
    with zipfile.ZipFile(wheel) as files:
        for name in files.namelist():
            if name.endswith(".so"):
                for kind, digits in re.findall(
                    rb"\0(GLIBC|GLIBCXX)_(\d+(?:\.\d+)+)(?=\0)", files.read(name)
                ):
                    found[kind.decode()].add(tuple(map(int, digits.split(b"."))))
    return {kind: sorted(versions) for kind, versions in found.items()}


def _only(paths: Iterable[Path]) -> Path:
    (path,) = paths
    return path
