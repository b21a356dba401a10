"""What builds and samples find in their environment: that of the call, less what would make two trees one.

A PYTHONPATH would let both sides import the same code, and git's own variables, which it sets for hooks, would let every call
of git speak of one repository. Nothing tells a process which side it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

BUILDING = ("CC", "CXX", "CPPFLAGS", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MILLRACE_CFLAGS", "MILLRACE_SANITIZE")
"""What decides how a tree is built besides its sources: a tree that was built under other values is another one."""

HASH_SEED = "0"  # of Python's hashes, so that sets are walked in the same order in every process

FORGOTTEN = (
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
"""Not inherited: search paths, an active environment, the pytest or make that called us, the repository of a hook; and what
container images set, by which each sample would compile every module that it imports anew."""


def clean_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """A copy of ours for a process in a tree, and `more`. The commands of an active virtual environment are not on its PATH:
    what is installed there, both sides would import."""
    kept = {name: value for name, value in os.environ.items() if name not in FORGOTTEN}
    if "VIRTUAL_ENV" in os.environ and "PATH" in kept:
        commands = Path(os.environ["VIRTUAL_ENV"], "bin")
        kept["PATH"] = os.pathsep.join(each for each in kept["PATH"].split(os.pathsep) if Path(each) != commands)
    return kept | {"PYTHONHASHSEED": HASH_SEED} | dict(more or {})
