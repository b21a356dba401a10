"""Checks of a call before anything is built. A build may take minutes, and a mistake of the call
that is seen only after it costs them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.errors import UserError
from harness.gate.environment import clean_environment
from harness.gate.errors import NoBase, NothingMeasured
from harness.gate.git import asked
from harness.gate.suite import Suite
from harness.gate.tree import Role, find

OWN_CODE = "harness/measurement/child.py"
"""File of Millrace that the default suite runs in both trees."""


def precheck(
    words: Mapping[Role, str], suite: Suite, repository: Path, is_default: bool = False
) -> None:
    """Raise the error that a build or a sample would raise later, as far as it can be known.

    Raises NoBase, NothingMeasured or UserError for a side that is unknown, or has no directory of
    the call's name; UserError for a command that is not installed. `is_default`: the call names no
    suite, and both sides must be Millrace.
    """
    sides = {role: find(text, repository, role) for role, text in words.items()}
    prefix = asked(repository, "rev-parse", "--show-prefix") or ""
    for role, (directory, commit) in sides.items():
        if directory is None and prefix and not _has(repository, commit, prefix.rstrip("/")):
            error = NoBase if role == "base" else NothingMeasured
            raise error(f"{role} {words[role]!r}: has no directory {prefix}")
    if is_default:
        lacking = [
            role
            for role, (directory, commit) in sides.items()
            if not _has(directory or repository, commit, f"{'' if directory else prefix}{OWN_CODE}")
        ]
        if "head" in lacking:
            raise UserError(
                f"head {words['head']!r} is not Millrace, which the default suite measures: name "
                "what to measure, by -- COMMAND or --suite FILE (millrace init suite writes one)"
            )
        if lacking:
            raise NoBase(f"base {words['base']!r} has no {OWN_CODE}, which the default suite runs")
    path = clean_environment().get("PATH")
    for command, key in _commands(suite):
        if "/" in command or "{" in command:
            continue  # it may be a result of the build
        if key != "build" and any("install" in words for words in suite.build):
            continue  # the build may put it on PATH
        if shutil.which(command, path=path) is None:
            raise UserError(
                f"{key}: there is no command {command} on PATH (without that of an active virtual "
                "environment, which both sides would share)"
            )


def _commands(suite: Suite) -> Iterator[tuple[str, str]]:
    """Yield the commands that PATH must have, each with the key that names it."""
    for build in suite.build:
        yield build[0], "build"
    for program in suite.programs:
        is_python = program.argv[0] == "{python}"
        yield (suite.python, "python") if is_python else (program.argv[0], program.name)


def _has(directory: Path, commit: str | None, name: str) -> bool:
    """Return True if a commit of the repository around a directory, or else the directory, has a
    file or folder of this name."""
    if commit is None:
        return (directory / name).exists()
    return asked(directory, "cat-file", "-e", f"{commit}:{name}") is not None
