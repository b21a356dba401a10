"""Description of a peer: the commands that build and start its program, and the guarantees of its
runtime.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from harness.errors import RunFailed, UserError
from harness.files.places import CODE, HARNESS, kept
from harness.graph import Graph
from harness.models import DEFAULT_QUEUE_CAPACITY
from harness.peers.plan import PeerPlan, batch_of, plan_of, queue_of

BUILD_FOLDER = kept("build") / "peers"
SHARED_SOURCES = {
    "jvm": HARNESS / "peers" / "jvm",
    "rust": HARNESS / "peers" / "rust",
    "native": HARNESS / "native",
}
"""Folders that several programs share, by their names in commands: on the Java virtual machine; in
Rust; with our own runtime."""

STAMP_FILE = "built.json"
LONGEST_BUILD_S = 1800.0  # a first build downloads what the lock files name
LONGEST_VERSION_S = 60.0  # to name a version: a virtual machine takes 0.1 s, on a busy machine 5 s
JIT_WARMUP_S = 1.0  # for the compiler of a Java virtual machine
KEPT_WORDS = 3  # lines of a failed build in the error message, if none names an error
ERROR = re.compile(
    r"\b(error|fatal)\b|^\S+\.go:\d+:\d+: ", re.IGNORECASE
)  # Go names the place only
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # of a terminal: colours


@dataclass(frozen=True)
class Tool:
    """A program that a build needs, and the Debian package that has it. `runs`: a run needs it,
    too. `version`: a command whose output has the version that records name, and the pattern that
    finds it there.
    """

    command: str
    package: str
    runs: bool = False
    version: tuple[Sequence[str], str] | None = None

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
    # folders of its build that a build begins with, as their tool finds out what is out of date
    kept: Sequence[str] = ()
    batch: int = 1  # tuples that it hands on at once, at most
    bounded_batch: bool = True  # False: as many also where they are large or an operator expensive
    batching: str = "one tuple at each hand-over"  # the same for readers, in about ten words
    queue_capacity: int = DEFAULT_QUEUE_CAPACITY  # tuples, unless the user gives a number
    queue_batches: int | None = None  # the same in batches, which counts instead
    # True if it runs nothing but chains of one length between one source and one sink
    chains_only: bool = False
    ordered: bool = True  # True if it guarantees that a path's tuples arrive in order
    interpreted: bool = False  # True if it multiplies in an interpreter: slower than compiled code
    # time for compilers at run time, before the test for a stationary state [s]
    warmup_s: float = 0.0

    @property
    def out(self) -> Path:
        """Folder of its build."""
        return BUILD_FOLDER / self.folder.name

    @property
    def missing(self) -> Tool | None:
        """The first tool that this machine lacks: of those for a build, or, once that is done, for
        a run.
        """
        needed = [tool for tool in self.tools if tool.runs or self._stamped is None]
        return next((tool for tool in needed if not tool.is_here), None)

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
    def _stamped(self) -> str | None:
        """The version that was built from the files as they are now."""
        stamp = self._stamp
        return str(stamp["version"]) if stamp.get("digest") == self.digest else None

    @property
    def _stamp(self) -> dict[str, Any]:
        """Contents of the stamp of the last build; empty if there is none."""
        try:
            stamp = json.loads((self.out / STAMP_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return stamp if isinstance(stamp, dict) and {"version", "digest"} <= set(stamp) else {}

    @property
    def built_version(self) -> str | None:
        """The version that a run would have now; None if it cannot run. A program that is part of
        the machine and not of the build, such as a Java virtual machine, is asked each time.
        """
        if self.missing is not None or (self.build and self._stamped is None):
            return None
        where, _ = self.version
        is_of_machine = not isinstance(where, str) and not where[0].startswith("{out}")
        return self._find_version() if is_of_machine or not self.build else self._stamped

    @property
    def label(self) -> str:
        """`NAME VERSION`, as records have it. Raises UserError if it is not built, or its tools do
        not work here.
        """
        try:
            version = self.built_version
            if version is not None:
                _ = self.tool_versions  # that they work
        except (RunFailed, OSError) as error:
            raise UserError(f"peer {self.name} cannot run: {error}") from error
        if version is None:
            tool = self.missing
            why = (
                "is not built; `make peers` builds it"
                if tool is None
                else f"needs {tool.command}: apt install {tool.package}"
            )
            raise UserError(f"peer {self.name} {why}")
        return f"{self.name} {version}"

    @property
    def tool_versions(self) -> dict[str, str]:
        """Versions of the tools that have built it, and of those that run it now, by name. Raises
        RunFailed if one that runs it gives none.
        """
        return {**self._stamp.get("tools", {}), **_versions(self.tools, runs=True)}

    def capacity(self, graph: Graph) -> int:
        """Return the tuples that a queue holds, unless the user gives a number."""
        if self.queue_batches is None:
            return self.queue_capacity
        return queue_of(graph, self.queue_batches, self.batch_for(graph))

    def batch_for(self, graph: Graph) -> int:
        """Return the tuples of this graph that it hands on at once, at most."""
        return batch_of(graph, self.batch) if self.bounded_batch else self.batch

    def plan(self, graph: Graph, capacity: int, tuples: int | None) -> PeerPlan:
        """Return the plan of a checked graph. Raises UserError for one that it does not run."""
        plan = plan_of(graph, capacity, tuples, self.batch, self.bounded_batch)
        if self.chains_only and not plan.chains:
            raise UserError(
                f"peer {self.name} runs chains of one length between one source and one sink, with "
                f"a split behind the source only; graph {graph.name!r} has another shape"
            )
        return plan

    def make(self) -> str:
        """Build it, unless that is done; return its version. What an earlier build has left goes
        first: a virtual machine loads every jar of a folder. Raises RunFailed if a command of the
        recipe fails, or OSError.
        """
        done = self.built_version
        if done is not None:
            return done
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / STAMP_FILE).unlink(missing_ok=True)  # first: what follows may be interrupted
        for path in self.out.iterdir():
            if path.name not in self.kept:
                _remove(path)
        for step in self.build:
            _run(self.filled(step), self.folder, LONGEST_BUILD_S)
        version, tools = self._find_version(), _versions(self.tools, runs=False)
        (self.out / STAMP_FILE).write_text(
            json.dumps({"version": version, "digest": self.digest, "tools": tools}) + "\n",
            encoding="utf-8",
        )
        return version

    def filled(self, words: Sequence[str]) -> list[str]:
        """Return a command with its folders filled in."""
        places = {"here": self.folder, "out": self.out, "python": sys.executable, **SHARED_SOURCES}
        return [word.format(**places) for word in words]

    def _find_version(self) -> str:
        where, pattern = self.version
        if isinstance(where, str):
            return _found(pattern, (self.folder / where).read_text(encoding="utf-8"), where)
        words = self.filled(where)
        return _found(pattern, _run(words, CODE, LONGEST_VERSION_S), words[0])


def _versions(tools: Sequence[Tool], *, runs: bool) -> dict[str, str]:
    """Return the versions of the tools that a run needs, or of the others, by name. Of these, one
    that gives none is left out: it has built the program. Raises RunFailed.
    """
    found: dict[str, str] = {}
    for tool in tools:
        if tool.version is None or tool.runs != runs:
            continue
        words, pattern = tool.version
        try:
            answer = answer_of(tuple(words))
            if isinstance(answer, RunFailed):
                raise answer
            found[Path(words[0]).name] = _found(pattern, answer, words[0])
        except RunFailed:
            if runs:
                raise
    return found


@cache
def answer_of(words: tuple[str, ...]) -> str | RunFailed:
    """Return the output of a tool that is asked for its version, or why it has none. Each is asked
    once in a process: several peers have it, and one that hangs takes a minute.
    """
    try:
        return _run(words, CODE, LONGEST_VERSION_S)
    except RunFailed as error:
        return error


def _found(pattern: str, text: str, where: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise RunFailed(f"{Path(where).name}: no version in {text[:80]!r}")
    return found[1]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _run(words: Sequence[str], folder: Path, longest_s: float) -> str:
    """Return the output of a command. Raises RunFailed with its first error if it fails, or takes
    longer. Whatever interrupts us ends the command and all that it has started.
    """
    try:
        process = subprocess.Popen(
            words,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise RunFailed(f"{words[0]}: {error.strerror}") from error
    try:
        said, _ = process.communicate(timeout=longest_s)
    except BaseException as error:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise RunFailed(f"{words[0]}: not done after {longest_s:g} s") from error
        raise
    if process.returncode != 0:
        raise RunFailed(
            f"{_called(words)} ended with exit code {process.returncode}: "
            f"{_first_error(said)[:400]}"
        )
    return said


def _called(words: Sequence[str]) -> str:
    """Return the name of the program in a command, which may begin with `env NAME=VALUE`."""
    program = next((word for word in words if word != "env" and "=" not in word), words[0])
    return Path(program).name


def _first_error(said: str) -> str:
    """Return the first line that names an error, without what colours it, and the cause that Cargo
    writes last; of output without such a line its end.
    """
    lines = [line.strip() for line in ESCAPES.sub("", said).splitlines() if line.strip()]
    first = next((line for line in lines if ERROR.search(line) and not line.endswith(":")), None)
    if first is None:
        return " / ".join(lines[-KEPT_WORDS:])
    first = first.removesuffix(" -> [Help 1]")
    return f"{first}: {lines[-1]}" if "Caused by:" in lines else first
