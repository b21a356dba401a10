"""What the gate asks git."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from harness.errors import RunFailed
from harness.gate.environment import clean_environment

TIMEOUT_S = 600.0  # a checkout of a large repository on a slow disk


class GitRefused(RunFailed):
    """Git is missing, or said no. The message is its reason, in one line."""


def git(directory: Path, *words: str, settings: Mapping[str, str] | None = None) -> str:
    """What git prints, run in a directory, which its own variables (of a hook that called us) do not override; `settings` do.

    Raises GitRefused.
    """
    command = ["git", "--no-optional-locks", "-C", str(directory), *words]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            env=clean_environment(settings),
            check=False,
        )
    except FileNotFoundError as error:
        raise GitRefused("git is not installed") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitRefused(f"git {words[0]}: {error}") from error
    if done.returncode != 0:
        said = [line.strip() for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
        fatal = [line for line in said if line.startswith(("fatal:", "error:"))]
        raise GitRefused((fatal or said or [f"git {words[0]} ended with exit code {done.returncode}"])[0])
    return done.stdout.decode(errors="replace").strip()


def asked(directory: Path, *words: str) -> str | None:
    """The same; None if git refuses."""
    try:
        return git(directory, *words)
    except GitRefused:
        return None
