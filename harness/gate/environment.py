"""The environment of builds and samples: that of the call, without variables that would make two
trees one.

A PYTHONPATH could make both sides import the same code. Git sets variables of its own for hooks,
and they would point every git command at one repository. No variable says which side a process
belongs to.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

BUILDING = (
    "CC",
    "CXX",
    "CPPFLAGS",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "MILLRACE_CFLAGS",
    "MILLRACE_SANITIZE",
)
"""Variables that decide how a tree is built, besides its sources: a tree built with other values is
another tree."""

HASH_SEED = "0"  # seed of Python's hashes in builds; `series` draws one for each pair of samples

NOT_INHERITED = (
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSAFEPATH",
    "PYTHONSTARTUP",
    "PYTHONPYCACHEPREFIX",
    "PYTHONDONTWRITEBYTECODE",
    "VIRTUAL_ENV",
    "PYTEST_ADDOPTS",
    "PYTEST_XDIST_WORKER",
    "MAKEFLAGS",
    "MFLAGS",
    "MAKELEVEL",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
)
"""Variables that are not inherited: search paths, an active environment, the pytest or make that
called us, the repository of a hook; and variables that container images set, which would make each
sample compile every module that it imports."""


def clean_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a copy of our environment for a process in a tree, with `more`. Its PATH lacks the
    commands of an active virtual environment, because both sides would import the packages
    installed there."""
    kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    if "VIRTUAL_ENV" in os.environ and "PATH" in kept:
        commands = Path(os.environ["VIRTUAL_ENV"], "bin")
        kept["PATH"] = os.pathsep.join(
            each for each in kept["PATH"].split(os.pathsep) if Path(each) != commands
        )
    return kept | {"PYTHONHASHSEED": HASH_SEED} | dict(more or {})
