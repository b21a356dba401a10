"""Folders of this project: its code, its data, and where it keeps what it makes once.

A checkout and an installed package have the same code. Data (schemas, machines, software, suites,
experiments) lies in `config/` of a checkout, and in `harness/config/` of an installed package.
"""

from __future__ import annotations

import os
import sys
from importlib.resources import files
from pathlib import Path

HARNESS = Path(str(files("harness")))
"""The package's folder."""

CODE = HARNESS.parent
"""The folder with the packages `harness` and `topologies`: a checkout, or where packages are
installed."""

IS_INSTALLED = (HARNESS / "config").is_dir()

CONFIG = (HARNESS if IS_INSTALLED else CODE) / "config"
"""The folder with the project's data."""


def other_owner(prefix: Path = Path(sys.prefix), code: Path = CODE) -> str | None:
    """Return the checkout for which the environment inside this one was made, if it is another one:
    the tree was copied or moved with its environment.
    """
    if not prefix.is_relative_to(code):
        return None
    for file in prefix.glob("lib/python*/site-packages/millrace.pth"):
        owner = file.read_text(encoding="utf-8").strip()
        if Path(owner).resolve() != code.resolve():
            return owner
    return None


def kept(folder: str) -> Path:
    """Return a folder for files that are made once and may be deleted, such as `build/peers`: in
    the checkout, or in the user's cache folder (`XDG_CACHE_HOME`) if the package is installed.
    """
    return (_of_user("XDG_CACHE_HOME", ".cache") if IS_INSTALLED else CODE) / folder


def own_config() -> Path:
    """Return the folder with the user's own profiles, as `calibrate` writes them: that of the
    checkout, or one in the user's data folder (`XDG_DATA_HOME`) if the package is installed.
    """
    return _of_user("XDG_DATA_HOME", ".local/share") / "config" if IS_INSTALLED else CONFIG


def _of_user(variable: str, default: str) -> Path:
    named = Path(os.environ.get(variable, ""))
    return (named if named.is_absolute() else Path.home() / default) / "millrace"
