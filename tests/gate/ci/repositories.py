"""Repositories made for a test: a project whose program answers a number that its commit says, an
origin, and clones of it.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "ci"

COUNT = itertools.count()  # two commits of one second, parent and content would be one commit

# a call of the gate runs it a hundred times, so it is not Python
PROGRAM = """\
exec awk -v seed=$$ 'BEGIN {
    srand(seed); rand()
    noise = 0.003 * sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand())
    printf "{\\"ns_per_hop\\": %.9f, \\"correct\\": CORRECT}\\n", NUMBER * (1 + noise)
}'
"""

SUITE = """\
programs:
  - name: chain
    command: [sh, program.sh]
time_budget_s: 60
"""


def environment(**variables: str) -> dict[str, str]:
    """Return what a CI's job has, without what tests of ours run in."""
    mine = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GIT_", "GITHUB_", "GATE_", "MILLRACE"))
    }
    names = {
        f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    return {
        **mine,
        **names,
        "MILLRACE_CACHE": os.environ["MILLRACE_CACHE"],
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        **variables,
    }


def git(repository: Path, *words: str) -> str:
    """Return what git prints."""
    command = ["git", "-C", str(repository), *words]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment()
    ).stdout.strip()


def commit(repository: Path, number: float = 100, correct: bool = True) -> str:
    """A commit of a program that takes `number` nanoseconds a hop; the commit's name."""
    program = PROGRAM.replace("NUMBER", str(number)).replace("CORRECT", json.dumps(correct))
    (repository / "program.sh").write_text(program, encoding="utf-8")
    (repository / "suite.yaml").write_text(SUITE, encoding="utf-8")
    git(repository, "add", "--all")
    git(
        repository, "commit", "--quiet", "--allow-empty", "-m", f"commit {next(COUNT)}: {number} ns"
    )
    return git(repository, "rev-parse", "HEAD")


def origin_with(
    folder: Path, ahead: int = 0, number: float = 100, behind: int = 0, correct: bool = True
) -> tuple[Path, str]:
    """A repository where the branch `change` left `main`: the commit where, then `ahead` more on
    main, and on `change` `behind` that change nothing and a last one with `number`. `change` is
    checked out.
    """
    path = folder / "origin"
    path.mkdir()
    git(path, "init", "--quiet", "--initial-branch", "main")
    git(
        path, "config", "uploadpack.allowAnySHA1InWant", "true"
    )  # as the large hosts of repositories have it
    commit(path)
    fork = commit(path)
    git(path, "checkout", "--quiet", "-b", "change")
    for _ in range(behind):
        commit(path)
    commit(path, number, correct)
    git(path, "checkout", "--quiet", "main")
    for _ in range(ahead):
        commit(path)
    git(path, "checkout", "--quiet", "change")
    return path, fork


def clone(origin: Path, *options: str, branch: str = "change") -> Path:
    """A clone of one branch, as a CI makes it; through the protocol, so that it can be shallow."""
    path = origin.parent / "clone"
    words = (
        "clone",
        "--quiet",
        "--single-branch",
        "--no-tags",
        "--branch",
        branch,
        *options,
        f"file://{origin}",
        str(path),
    )
    git(origin, *words)
    return path
