"""The binary with injected work: a commit of its own on top of the present one, on no branch.

The commit is made of objects only (a private index, no work tree), so the user's checkout, index
and branches stay as they are. It has its parent's dates, so the same sources give the same commit,
and the tree that was built of it is found again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from harness.errors import RunFailed, UserError
from harness.gate.git import git

HERE = Path(__file__).parent
PATCH, HEADER = HERE / "injected.patch", HERE / "injected.hpp"
HEADER_IN_TREE = "harness/native/injected.hpp"

VARIABLES: Mapping[str, str] = MappingProxyType(
    {
        "flop": "MILLRACE_EXTRA_FLOP",
        "copy": "MILLRACE_EXTRA_COPY",
        "atomic": "MILLRACE_EXTRA_ATOMIC",
        "sleep": "MILLRACE_EXTRA_SLEEP",
    }
)
"""Variables that the amounts are read from, by kind: units in a billion tuples, as in
`injected.hpp`."""

ABOUT_NS: Mapping[str, float] = MappingProxyType(
    {"flop": 1.0, "copy": 4.0, "atomic": 8.0, "sleep": 100_000.0}
)
"""Rough duration of a unit [ns], by kind: guesses, which only decide where a search begins."""

MESSAGE = "Work injected by the gate's selftest"
NAME, ADDRESS = "python -m studies.gate_error_rates", "selftest@localhost"


def environment(kind: str | None = None, amount: int = 0) -> dict[str, str]:
    """Return the variables of a process. All kinds are set, so that nothing is inherited."""
    return {variable: str(amount if name == kind else 0) for name, variable in VARIABLES.items()}


def injected_commit(repository: Path) -> str:
    """Return the commit of HEAD of `repository` with the patch. It leaves out changes there that
    are not committed.

    Raises UserError if `repository` is no repository with a commit, RunFailed if the patch does not
    fit because the sources have changed.
    """
    try:
        parent = git(repository, "rev-parse", "--verify", "HEAD^{commit}")
        date = git(repository, "show", "--no-patch", "--format=%ad %cd", "--date=raw", parent)
    except RunFailed as error:
        raise UserError(
            f"the selftest builds the commit at hand, but {repository} has none: {error}"
        ) from error
    author_date, committer_date = _dates(date)
    with tempfile.TemporaryDirectory() as scratch:
        inside = {
            "GIT_INDEX_FILE": str(Path(scratch, "index")),
            "GIT_AUTHOR_NAME": NAME,
            "GIT_AUTHOR_EMAIL": ADDRESS,
            "GIT_AUTHOR_DATE": author_date,
            "GIT_COMMITTER_NAME": NAME,
            "GIT_COMMITTER_EMAIL": ADDRESS,
            "GIT_COMMITTER_DATE": committer_date,
        }
        git(repository, "read-tree", parent, settings=inside)
        try:
            git(repository, "apply", "--cached", str(PATCH), settings=inside)
        except RunFailed as error:
            raise RunFailed(
                f"{PATCH.name} does not fit the sources of {parent[:12]} any more: {error}"
            ) from error
        blob = git(repository, "hash-object", "-w", str(HEADER))
        git(
            repository,
            "update-index",
            "--add",
            "--cacheinfo",
            f"100644,{blob},{HEADER_IN_TREE}",
            settings=inside,
        )
        tree = git(repository, "write-tree", settings=inside)
        return git(repository, "commit-tree", tree, "-p", parent, "-m", MESSAGE, settings=inside)


def is_dirty(repository: Path) -> bool:
    """Return True if tracked files differ from HEAD, which the selftest does not measure."""
    return bool(git(repository, "status", "--porcelain", "--untracked-files=no"))


def _dates(text: str) -> tuple[str, str]:
    """Split `SECONDS ZONE SECONDS ZONE`, as git shows author's and committer's dates, into the two
    dates."""
    author_s, author_zone, committer_s, committer_zone = text.split()
    return f"{author_s} {author_zone}", f"{committer_s} {committer_zone}"
