"""Calls of git for the gate."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from harness.errors import RunFailed
from harness.gate.environment import clean_environment

TIMEOUT_S = 600.0  # a checkout of a large repository on a slow disk
NO_REPOSITORY = "not a git repository"  # part of git's message outside a repository
# part of git's message, some lines below "dubious ownership"
REMEDY = "git config --global --add safe.directory"


class GitRefused(RunFailed):
    """Git is missing or refused. The message is its reason, in one line; `silent` is True if it
    gave none."""

    silent = False


def git(directory: Path, *words: str, settings: Mapping[str, str] | None = None) -> str:
    """Run git in a directory and return its output. Variables of git that a hook set are ignored;
    `settings` are set.

    Raises GitRefused.
    """
    command = ["git", "--no-optional-locks", "-C", str(directory), *words]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            # English, because the reasons are matched
            env=clean_environment({"LC_ALL": "C", **(settings or {})}),
            check=False,
        )
    except FileNotFoundError as error:
        raise GitRefused("git is not installed") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitRefused(f"git {words[0]}: {error}") from error
    if done.returncode != 0:
        raise _refusal(words[0], done.returncode, done.stderr.decode(errors="replace"))
    return done.stdout.decode(errors="replace").strip()


def asked(directory: Path, *words: str) -> str | None:
    """Run git as `git` does, but return None if it refuses."""
    try:
        return git(directory, *words)
    except GitRefused:
        return None


def _refusal(word: str, code: int, stderr: str) -> GitRefused:
    said = [line.strip() for line in stderr.splitlines() if line.strip()]
    fatal = [line for line in said if line.startswith(("fatal:", "error:"))]
    reason = (fatal or said or [f"git {word} ended with exit code {code}"])[0]
    remedy = next((line for line in said if line.startswith(REMEDY)), None)
    refusal = GitRefused(reason if remedy is None else f"{reason}; if you trust it: {remedy}")
    refusal.silent = not said
    return refusal
