"""Repositories of tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

SETTINGS = {
    "user.name": "a",
    "user.email": "a@b",
    "init.defaultBranch": "main",
    "core.hooksPath": "/dev/null",
}


def git(repository: Path, *words: str) -> str:
    """Run git there, by no settings of this user; return what it says."""
    settings = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
    command = ["git", "-C", str(repository), *settings, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
