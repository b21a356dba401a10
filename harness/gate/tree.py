"""The two trees that are compared: a directory as it is, or a revision in a work tree of its own;
both built by the suite.

A word that is a directory means that directory. Any other word is a revision of the repository in
which the call is made. It is checked out and built once, outside the repository (`tree_cache`).

A directory is measured in place, unless it is compared with a revision and holds just its own
commit: then it is checked out too. So both trees have the same depth, names of the same length and
the same folders above them, and a program that looks around finds the same on both sides.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from harness.errors import RunFailed, UserError
from harness.files.checked_yaml import did_you_mean
from harness.gate import checkout
from harness.gate.build import build
from harness.gate.environment import clean_environment
from harness.gate.errors import NoBase, NothingMeasured
from harness.gate.git import NO_REPOSITORY, GitRefused, asked, git
from harness.gate.suite import Suite
from harness.gate.tree_cache import TreeCache
from harness.gate.verdict import Side

Role = Literal["base", "head"]
NAMED = 4  # revisions named in a message
REFS = ("refs/heads", "refs/tags", "refs/remotes")  # that a user may mean

CACHE = "MILLRACE_CACHE"  # variable that names another folder for trees than the user's cache


@dataclass(frozen=True)
class Tree:
    """A built tree. Programs run in `directory`; `python` is the interpreter that `{python}` stands
    for in their argv; `notes` are for the reader of the verdict."""

    directory: Path
    python: str
    side: Side
    notes: tuple[str, ...] = ()


def prepare(
    words: Mapping[Role, str], suite: Suite, repository: Path, notify: Callable[[str], None]
) -> dict[Role, Tree]:
    """Return the built trees that words mean, by role. `repository`: the directory in which the
    call is made; a revision is measured in the same directory within its tree. `notify` receives
    messages: the builds, and the reasons for waiting.

    All trees of a call are made under one hold of the cache's lock; `tree_cache` says why.

    Raises UserError for an unknown head; NoBase for an unknown base or one that does not build,
    NothingMeasured for a head that does not. The tree of a revision stays until this process ends;
    another process does not remove it before.
    """
    found = {role: find(text, repository, role) for role, text in words.items()}
    beside = any(directory is None for directory, _ in found.values())
    cache = TreeCache(room_of(repository), notify)
    trees: dict[Role, Tree] = {}
    with ExitStack() as held:
        for role, text in words.items():
            try:
                if not trees:
                    held.enter_context(cache.locked())
                trees[role] = _built(text, *found[role], beside, suite, repository, cache, role)
            except RunFailed as error:
                problem = f"{role} {text!r}: {error}"
                raise (NoBase(problem) if role == "base" else NothingMeasured(problem)) from error
    return trees


def room_of(repository: Path) -> Path:
    """Return the folder for the trees and logs of a repository: in the user's cache, so that no
    file of the repository is above a tree."""
    given, home = os.environ.get(CACHE), os.environ.get("XDG_CACHE_HOME")
    cache = Path(given).resolve() if given else Path(home or Path.home() / ".cache", "millrace")
    shared = Path(_common(repository) or repository.resolve())
    name = (shared.parent if shared.name == ".git" else shared).name
    return cache / "gate" / f"{name}-{sha256(bytes(shared)).hexdigest()[:8]}"


def _common(directory: Path) -> str | None:
    """Return the folder of git that all work trees of a repository share; None outside one."""
    return asked(directory, "rev-parse", "--path-format=absolute", "--git-common-dir")


def _built(
    text: str,
    directory: Path | None,
    commit: str | None,
    beside: bool,
    suite: Suite,
    repository: Path,
    cache: TreeCache,
    role: Role,
) -> Tree:
    """Return the tree of a directory or of a commit, under the lock of the cache. `beside`: the
    other side is a revision. Raises RunFailed, including BuildFailed."""
    notes: list[str] = []
    side = Side(text, commit)
    if directory is not None:
        side = _side_in_place(text, directory, role, cache.notify)
        if beside and _is_just_its_commit(directory, side, repository):
            directory = None
        elif beside:
            notes.append(
                f"{role} {text!r} is measured in place, base and head have paths of other lengths, "
                "and other files around them"
            )
    if directory is not None:
        build(suite.build, directory, cache.room / f"{role}.log", cache.notify, f"{role} {text}")
    else:
        assert side.commit is not None
        prefix = git(repository, "rev-parse", "--show-prefix")
        name = f"{role} {text} ({side.commit[:12]})"
        directory = cache.tree(repository, side.commit, prefix, suite.build, name)
    if side.commit is not None:
        notes += (f"{role} {text!r}: {lack}" for lack in checkout.missing(directory))
    return Tree(directory, _python(suite, directory), side, tuple(notes))


def _is_just_its_commit(directory: Path, side: Side, repository: Path) -> bool:
    """Return True if a directory has no change, and is the place in a work tree of `repository` in
    which a revision would be measured."""

    def place(of: Path) -> tuple[str | None, str | None]:
        return _common(of), asked(of, "rev-parse", "--show-prefix")

    return side.commit is not None and not side.dirty and place(directory) == place(repository)


def find(text: str, repository: Path, role: Role) -> tuple[Path | None, str | None]:
    """Return the directory or the commit that a word means. Raises NoBase or UserError if it is
    neither, UserError if it is both."""
    error = NoBase if role == "base" else UserError
    directory = repository / text
    is_directory = bool(text) and _is_directory(directory)
    commit, reason = None, ""
    try:
        git(repository, "rev-parse", "--show-toplevel")
        commit = _commit(text, repository)
    except GitRefused as refusal:
        reason = "" if refusal.silent else str(refusal)
    if is_directory and commit is not None:
        raise UserError(
            f"--{role} {text!r} is a directory and a revision: write ./{text}, or the commit, "
            f"{commit[:12]}"
        )
    if is_directory:
        return directory.resolve(), None
    if commit is not None:
        return None, commit
    rule = f"--{role} must be a directory or a revision of this repository, not {text!r}"
    if NO_REPOSITORY in reason:
        raise error(
            f"{rule}: {repository} is in no git repository, so that only a directory can be meant"
        )
    if reason:
        raise error(f"{rule}: {reason}")
    raise error(f"{rule}{''.join(_advice(text, repository, role))}")


def _advice(text: str, repository: Path, role: Role) -> Iterator[str]:
    """Yield what may help if a word is no revision: a name that is close, and how to fetch more."""
    remote = _remote(text, repository)
    if remote is not None:
        yield f"; there is {remote}: --{role} {remote}"
        return
    form = ("--sort=-creatordate", "--format=%(refname:short)")
    refs = (asked(repository, "for-each-ref", *form, *REFS) or "").splitlines()
    yield did_you_mean(text, refs) or (f"; it has {', '.join(refs[:NAMED])}" if refs else "")
    if asked(repository, "rev-parse", "--is-shallow-repository") == "true":
        yield (
            "; the clone is shallow, so it may have to be fetched first: git fetch --unshallow "
            "--tags, or in CI a checkout of the whole history (GitHub: fetch-depth: 0, GitLab: "
            'GIT_DEPTH: "0")'
        )
    elif names := asked(repository, "remote"):
        yield f"; git fetch --tags {names.splitlines()[0]} brings what the remote has"


def _remote(text: str, repository: Path) -> str | None:
    """Return the remote branch with this name; None if there is none. A checkout in CI knows it,
    but makes no local branch."""
    branches = asked(repository, "for-each-ref", "--format=%(refname:short)", "refs/remotes") or ""
    return next(
        (branch for branch in branches.splitlines() if text and branch.partition("/")[2] == text),
        None,
    )


def _is_directory(path: Path) -> bool:
    """Return True if the path is a directory that we can see. A name may be too long, or in a place
    that we may not read."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _commit(text: str, repository: Path) -> str | None:
    """Return the commit of a revision; None for a text that cannot be one. Raises GitRefused, which
    is silent if there is no such revision."""
    if not text or text.startswith("-") or "\0" in text:
        return None
    return git(repository, "rev-parse", "--verify", "--quiet", f"{text}^{{commit}}")


def _side_in_place(text: str, directory: Path, role: Role, notify: Callable[[str], None]) -> Side:
    """Return the side of a directory: its commit, and whether files differ from it or are
    untracked. The commit is None if the repository ignores the directory, or if git refuses; then
    `notify` receives the reason."""
    try:
        git(directory, "rev-parse", "--show-toplevel")
    except GitRefused as refusal:
        if NO_REPOSITORY not in str(refusal):
            notify(f"no commit of {role} {text}: {refusal}")
        return Side(text, None)
    is_ignored = asked(directory, "check-ignore", "--quiet", ".") is not None
    commit = (
        None
        if is_ignored
        else asked(directory, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    )
    return Side(
        text,
        commit,
        dirty=bool(
            commit and asked(directory, "status", "--porcelain", "--untracked-files=normal")
        ),
    )


def _python(suite: Suite, directory: Path) -> str:
    """Return a tree's interpreter. Raises RunFailed if it is missing although a program needs
    it."""
    python = str(directory / suite.python) if "/" in suite.python else suite.python
    # the PATH that its samples get
    found = shutil.which(python, path=clean_environment().get("PATH"))
    if (
        any("{python}" in word for program in suite.programs for word in program.argv)
        and found is None
    ):
        raise RunFailed(
            f"there is no interpreter {suite.python} (key python of the suite {suite.name})"
        )
    return python
