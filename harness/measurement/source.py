"""The source that was measured: the commit of the project's checkout."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from harness.files.places import CODE

CHECKOUT = CODE


@lru_cache
def commit(root: Path = CHECKOUT) -> str | None:
    """Return the checkout's commit, with `+dirty` if tracked files were changed; None outside a git
    checkout of its own.

    Asked once per process, in the process that starts the measuring ones: it costs two calls of
    git.
    """
    answer = _git(root, "rev-parse", "--show-toplevel", "HEAD")
    if answer is None or "\n" not in answer:
        return None
    top, head = answer.rsplit("\n", 1)
    if Path(top) != root:
        return None
    return head + ("+dirty" if _git(root, "status", "--porcelain", "--untracked-files=no") else "")


def _git(root: Path, *words: str) -> str | None:
    import subprocess

    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(root), *words],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout.strip()
