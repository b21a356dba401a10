"""Description of a peer: the commands that build and start its program, and the guarantees of its
runtime.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from harness.errors import RunFailed, UserError
from harness.files.places import CODE, HARNESS, kept

BUILD_FOLDER = kept("build") / "peers"
SHARED_SOURCES = {"jvm": HARNESS / "peers" / "jvm", "native": HARNESS / "native"}
"""Folders that several programs share, by their names in commands: on the Java virtual machine;
with our own runtime."""

STAMP_FILE = "built.json"
LONGEST_BUILD_S = 1800.0  # a first build downloads what the lock files name
KEPT_WORDS = 3  # lines of a failed build in the error message


@dataclass(frozen=True)
class Tool:
    """A program that a build or a run needs, and the Debian package that has it."""

    command: str
    package: str

    @property
    def is_here(self) -> bool:
        """True if it is on the path."""
        return shutil.which(self.command) is not None


@dataclass(frozen=True)
class Peer:
    """One peer. In commands `{here}` is its folder, `{out}` the folder of its build, `{python}` our
    Python; others are `SHARED_SOURCES`.

    `version`: the file in its folder, or the command, whose text contains the version, and the
    pattern that finds it there.
    """

    name: str
    title: str  # the runtime, and the unit that executes an operator
    folder: Path
    command: Sequence[str]  # starts its program
    version: tuple[str | Sequence[str], str]
    tools: Sequence[Tool] = ()
    build: Sequence[Sequence[str]] = ()  # commands, one after the other, in its folder
    ordered: bool = True  # True if it guarantees that a path's tuples arrive in order
    # time for compilers at run time, before the test for a stationary state [s]
    warmup_s: float = 0.0

    @property
    def out(self) -> Path:
        """Folder of its build."""
        return BUILD_FOLDER / self.folder.name

    @property
    def missing(self) -> Tool | None:
        """The first tool that this machine lacks."""
        return next((tool for tool in self.tools if not tool.is_here), None)

    @property
    def sources(self) -> list[Path]:
        """All files that it is built from."""
        words = " ".join(word for step in self.build for word in step)
        shared = [
            path
            for name, folder in SHARED_SOURCES.items()
            if f"{{{name}}}" in words
            for path in sorted(folder.rglob("*.*"))
        ]
        files = [
            path
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        ]
        return [*files, *shared]

    @cached_property
    def digest(self) -> str:
        """A digest of `sources`."""
        said = b"".join(
            path.name.encode() + b"\0" + path.read_bytes() + b"\0" for path in self.sources
        )
        return sha256(said).hexdigest()[:16]

    @property
    def built_version(self) -> str | None:
        """The version that was built from the files as they are now; None if none was."""
        if not self.build:
            return self._find_version() if self.missing is None else None
        try:
            stamp = json.loads((self.out / STAMP_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return (
            str(stamp["version"])
            if stamp.get("digest") == self.digest and self.missing is None
            else None
        )

    @property
    def label(self) -> str:
        """`NAME VERSION`, as records have it. Raises UserError if it is not built."""
        version = self.built_version
        if version is None:
            tool = self.missing
            why = (
                "is not built; `make peers` builds it"
                if tool is None
                else f"needs {tool.command}: apt install {tool.package}"
            )
            raise UserError(f"peer {self.name} {why}")
        return f"{self.name} {version}"

    def make(self) -> str:
        """Build it, unless that is done; return its version. Raises RunFailed if a command of the
        recipe fails.
        """
        done = self.built_version
        if done is not None:
            return done
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / STAMP_FILE).unlink(missing_ok=True)
        for step in self.build:
            _run(self.filled(step), self.folder)
        version = self._find_version()
        (self.out / STAMP_FILE).write_text(
            json.dumps({"version": version, "digest": self.digest}) + "\n", encoding="utf-8"
        )
        return version

    def filled(self, words: Sequence[str]) -> list[str]:
        """Return a command with its folders filled in."""
        places = {"here": self.folder, "out": self.out, "python": sys.executable, **SHARED_SOURCES}
        return [word.format(**places) for word in words]

    def _find_version(self) -> str:
        where, pattern = self.version
        text = (
            (self.folder / where).read_text(encoding="utf-8")
            if isinstance(where, str)
            else _run(self.filled(where), CODE)
        )
        found = re.search(pattern, text)
        if found is None:
            raise RunFailed(f"peer {self.name}: no version in {text[:80]!r}")
        return found[1]


def _run(words: Sequence[str], folder: Path) -> str:
    """Return the output of a command. Raises RunFailed with its last words if it fails."""
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST_BUILD_S,
            check=False,
        )
    except OSError as error:
        raise RunFailed(f"{words[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise RunFailed(f"{words[0]}: not done after {LONGEST_BUILD_S:g} s") from error
    said = done.stdout + done.stderr
    if done.returncode != 0:
        last = " / ".join(line.strip() for line in said.strip().splitlines()[-KEPT_WORDS:])
        raise RunFailed(
            f"{Path(words[0]).name} ended with exit code {done.returncode}: {last[:400]}"
        )
    return said
