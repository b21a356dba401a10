"""Sides: a directory in place, or a revision in a cached work tree; a side that does not build is
named by its role.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.gate import tree_cache
from harness.gate.cell import GateCell, Metric, Program
from harness.gate.errors import NoBase, NothingMeasured
from harness.gate.suite import Suite
from harness.gate.tree import Role, Tree, find, prepare, room_of
from tests.gate.repository import git

BUILD = (("sh", "-c", "echo building; cp number built"),)
PROGRAM = Program("one", ("{python}", "one.py"), (GateCell("one", Metric()),))


def commit(repository: Path, number: int, build_fails: bool = False) -> str:
    """A commit whose build copies `number`, or fails for the lack of it."""
    (repository / "number").write_text(str(number), encoding="utf-8")
    (repository / "sub").mkdir(exist_ok=True)
    (repository / "sub" / "number").write_text(f"sub {number}", encoding="utf-8")
    if build_fails:
        (repository / "number").unlink()
    git(repository, "add", "--all")
    git(repository, "commit", "-m", f"number {number}")
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two commits: tag `one`, and `main`."""
    path = tmp_path / "repository"
    path.mkdir()
    git(path, "init")
    commit(path, 1)
    git(path, "tag", "one")
    commit(path, 2)
    return path


def suite_of(build: tuple = BUILD, python: str = sys.executable) -> Suite:
    return Suite("mine", (PROGRAM,), "one", build, python)


def made(
    repository: Path,
    text: str,
    role: Role = "base",
    suite: Suite | None = None,
    told: list[str] | None = None,
) -> Tree:
    return prepare(
        {role: text}, suite or suite_of(), repository, (told if told is not None else []).append
    )[role]


def trees(repository: Path) -> Path:
    return room_of(repository) / "trees"


def test_revision_is_built_in_a_tree_of_its_own_and_leaves_the_repository_clean(
    repository: Path,
) -> None:
    told: list[str] = []
    tree = made(repository, "one", told=told)
    sha = git(repository, "rev-parse", "one")
    assert tree.directory == trees(repository) / sha
    assert (tree.directory / "built").read_text(encoding="utf-8") == "1"
    assert (tree.side.label, tree.side.commit, tree.side.dirty) == ("one", sha, False)
    assert tree.python == sys.executable
    assert len(told) == 1
    assert told[0].startswith(f"building base one ({sha[:12]}): sh -c")
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "rev-parse", "--abbrev-ref", "HEAD") == "main"
    assert (trees(repository) / f"{sha}.log").read_text(encoding="utf-8") == "building\n"


def test_tree_is_built_once_and_again_if_the_commands_are_others(repository: Path) -> None:
    told: list[str] = []
    tree = made(repository, "one", told=told)
    (tree.directory / "kept").touch()
    assert made(repository, tree.side.commit, told=told).directory == tree.directory
    assert (len(told), (tree.directory / "kept").exists()) == (1, True)
    made(repository, "one", suite=suite_of((("cp", "number", "other"),)), told=told)
    assert (len(told), (tree.directory / "kept").exists(), (tree.directory / "other").exists()) == (
        2,
        False,
        True,
    )


@pytest.mark.parametrize("locked", [True, False])
def test_half_built_tree_of_a_killed_call_is_made_anew(repository: Path, locked: bool) -> None:
    tree = made(repository, "one")
    (trees(repository) / f"{tree.side.commit}.built").unlink()
    (tree.directory / "built").unlink()
    (tree.directory / "rest").touch()
    if locked:  # as git leaves it if it is killed while it makes the tree
        git(repository, "worktree", "lock", str(tree.directory))
    again = made(repository, "one")
    assert (again.directory / "built").exists()
    assert not (again.directory / "rest").exists()


def test_tree_that_somebody_removed_is_made_anew(repository: Path) -> None:
    tree = made(repository, "one")
    subprocess.run(["rm", "-r", str(tree.directory)], check=True)
    assert (made(repository, "one").directory / "built").exists()


def test_what_killed_calls_left_of_other_commits_is_removed(repository: Path) -> None:
    left = made(repository, "one")
    (trees(repository) / f"{left.side.commit}.built").unlink()
    git(repository, "worktree", "lock", str(left.directory))
    made(repository, "main")
    assert not left.directory.exists()
    assert git(repository, "worktree", "list").count("\n") == 1  # the repository itself, and main


def test_work_tree_of_the_user_whose_disk_is_not_there_is_not_forgotten(
    repository: Path, tmp_path: Path
) -> None:
    mine, away = tmp_path / "mine", tmp_path / "away"
    git(repository, "worktree", "add", "-b", "mine", str(mine))
    mine.rename(away)
    left = made(repository, "one")
    (trees(repository) / f"{left.side.commit}.built").unlink()
    made(repository, "main")  # removes what is left of the other
    away.rename(mine)
    assert git(mine, "rev-parse", "--abbrev-ref", "HEAD") == "mine"
    assert (
        git(repository, "worktree", "list").count("\n") == 2
    )  # the repository itself, mine, and main


def test_oldest_of_many_trees_are_removed_unless_they_are_in_use(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_cache, "MAX_TREES", 2)
    monkeypatch.setattr(tree_cache, "_HELD", {})
    made_of = [made(repository, commit(repository, number)) for number in range(3, 6)]
    assert all(tree.directory.exists() for tree in made_of)  # this process uses them all
    for handle in tree_cache._HELD.values():
        os.close(handle)
    tree_cache._HELD.clear()
    newest = made(repository, commit(repository, 6))
    assert [tree.directory.exists() for tree in made_of] == [False, False, True]
    assert newest.directory.exists()
    assert sorted(path.name for path in trees(repository).glob("*.lock")) == sorted(
        f"{tree.side.commit}.lock" for tree in (made_of[2], newest)
    )


def test_callers_who_come_together_build_one_after_the_other(repository: Path) -> None:
    build = (
        ("sh", "-c", "mkdir busy && sleep 0.2 && rmdir busy && cp number built"),
    )  # mkdir fails if another is at it
    results: list[object] = []

    def call() -> None:
        try:
            results.append(made(repository, "one", suite=suite_of(build)).directory)
        except Exception as error:
            results.append(error)

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert results == [trees(repository) / git(repository, "rev-parse", "one")] * 3


def test_directory_is_built_in_place_and_told_if_it_is_dirty(repository: Path) -> None:
    tree = made(repository, ".", "head")
    assert (tree.directory, tree.side.label, tree.side.dirty) == (repository, ".", False)
    assert tree.side.commit == git(repository, "rev-parse", "main")
    assert (repository / "built").read_text(encoding="utf-8") == "2"
    (repository / "number").write_text("3", encoding="utf-8")
    assert made(repository, ".", "head").side.dirty
    assert (repository / "built").read_text(encoding="utf-8") == "3"


def test_clean_head_is_checked_out_beside_base_outside_the_repository(repository: Path) -> None:
    """Files above a tree, such as a `Cargo.toml` with a workspace, would be head's for base too."""
    sides = prepare({"base": "one", "head": "."}, suite_of(), repository, print)
    base, head = sides["base"].directory, sides["head"].directory
    assert head.name == git(repository, "rev-parse", "main")
    assert (base.parent, len(str(base))) == (head.parent, len(str(head)))
    assert not base.is_relative_to(repository)
    assert repository.parent not in (*base.parents, *head.parents)
    assert (head / "built").read_text(encoding="utf-8") == "2"
    assert not (repository / "built").exists()
    assert (sides["head"].side.label, sides["head"].notes) == (".", ())


def test_clean_head_at_the_commit_of_base_has_the_tree_of_base(repository: Path) -> None:
    sides = prepare({"base": "main", "head": "."}, suite_of(), repository, print)
    assert sides["base"].directory == sides["head"].directory


def test_head_with_changes_is_measured_in_place_with_a_note(repository: Path) -> None:
    (repository / "new_module.py").touch()
    sides = prepare({"base": "one", "head": "."}, suite_of(), repository, print)
    assert sides["head"].directory == repository
    assert "head '.' is measured in place" in sides["head"].notes[0]


def test_two_directories_are_measured_in_place(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "--detach", str(tmp_path / "old"), "one")
    words: dict[Role, str] = {"base": str(tmp_path / "old"), "head": "."}
    sides = prepare(words, suite_of(), repository, print)
    assert [sides[role].directory for role in words] == [tmp_path / "old", repository]
    assert not sides["head"].notes


def test_clean_directory_that_is_another_part_of_the_tree_is_measured_in_place(
    repository: Path,
) -> None:
    sides = prepare({"base": "one", "head": "sub"}, suite_of(), repository, print)
    assert sides["head"].directory == repository / "sub"


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"MILLRACE_CACHE": "here"}, "here/gate"),
        ({"MILLRACE_CACHE": "", "XDG_CACHE_HOME": "/var/x"}, "/var/x/millrace/gate"),
        ({"MILLRACE_CACHE": "", "XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/millrace/gate"),
    ],
)
def test_trees_are_in_the_cache_of_the_user_unless_a_variable_names_another(
    repository: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], place: str
) -> None:
    monkeypatch.chdir(repository)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert room_of(repository).parent == Path(place).absolute()
    git(repository, "worktree", "add", "--detach", str(repository.parent / "other"), "one")
    assert room_of(repository) == room_of(repository.parent / "other")


def test_file_that_git_does_not_know_makes_a_directory_dirty(repository: Path) -> None:
    (repository / "new_module.py").touch()
    assert made(repository, ".", "head").side.dirty


def test_tree_is_built_again_under_other_compiler_flags(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    made(repository, "one", told=told)
    monkeypatch.setenv("CXXFLAGS", "-O0")
    made(repository, "one", told=told)
    assert len(told) == 2


def test_name_that_is_too_long_for_a_file_is_told_as_one_that_is_not_there(
    repository: Path,
) -> None:
    with pytest.raises(NoBase, match="--base must be a directory or a revision"):
        made(repository, "x" * 5000)


def test_directory_outside_of_any_repository_has_no_commit(tmp_path: Path) -> None:
    (tmp_path / "number").write_text("1", encoding="utf-8")
    tree = made(tmp_path, ".", "head")
    assert (tree.side.commit, tree.side.dirty, tree.directory) == (None, False, tmp_path)


def test_directory_that_the_repository_around_it_ignores_is_of_no_commit(repository: Path) -> None:
    """An old release, unpacked where the working tree has nothing of its own."""
    (repository / ".gitignore").write_text("old/\n", encoding="utf-8")
    git(repository, "add", ".gitignore")
    git(repository, "commit", "-m", "ignored")
    (repository / "old" / "1.4").mkdir(parents=True)
    (repository / "old" / "1.4" / "number").write_text("1", encoding="utf-8")
    side = made(repository, "old/1.4").side
    assert (side.commit, side.dirty) == (None, False)
    assert made(repository, "sub", "head").side.commit == git(repository, "rev-parse", "main")
    git(repository, "add", "--force", "old/1.4/number")  # ignored by its name only
    git(repository, "commit", "-m", "tracked")
    assert made(repository, "old/1.4").side.commit == git(repository, "rev-parse", "main")


def test_call_in_a_subdirectory_compares_that_subdirectory(repository: Path) -> None:
    base, head = made(repository / "sub", "one"), made(repository / "sub", ".", "head")
    assert base.directory == trees(repository) / git(repository, "rev-parse", "one") / "sub"
    assert (base.directory / "built").read_text(encoding="utf-8") == "sub 1"
    assert (head.directory / "built").read_text(encoding="utf-8") == "sub 2"


def test_git_variables_of_a_hook_do_not_mislead(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = git(repository, "rev-parse", "one")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "none"))
    assert made(repository, "one").side.commit == expected


def test_looking_at_a_word_builds_nothing(repository: Path) -> None:
    find("one", repository, "base")
    find(".", repository, "head")
    for role, error in (("base", NoBase), ("head", UserError)):
        with pytest.raises(
            error,
            match=f"--{role} must be a directory or a revision of this repository, not 'nonesuch'",
        ):
            find("nonesuch", repository, role)
    assert not room_of(repository).exists()


@pytest.mark.parametrize(("role", "error"), [("base", NoBase), ("head", NothingMeasured)])
def test_side_that_does_not_build_is_one_line_with_the_last_lines_of_its_log(
    repository: Path, role: str, error: type[Exception]
) -> None:
    sha = commit(repository, 3, build_fails=True)
    for text in (sha, "."):
        with pytest.raises(error) as raised:
            made(repository, text, role)
        message = str(raised.value)
        assert message.startswith(
            f"{role} '{text}': does not build: sh -c 'echo building; cp number built' ended with "
            "exit code 1"
        )
        assert "building | cp: cannot stat 'number'" in message
        assert "\n" not in message
        assert Path(message.rsplit("(log: ", 1)[1].rstrip(")")).exists()
    with pytest.raises(error):  # again: what was left is not taken for built
        made(repository, sha, role)


@pytest.mark.parametrize("text", ["none", "", "--help", "one\0", "main:number", "./none"])
@pytest.mark.parametrize(("role", "error"), [("base", NoBase), ("head", UserError)])
def test_word_that_means_nothing_is_told_by_its_role(
    repository: Path, role: str, error: type[Exception], text: str
) -> None:
    with pytest.raises(
        error, match=f"--{role} must be a directory or a revision of this repository, not "
    ):
        made(repository, text, role)


def test_revision_needs_a_repository(tmp_path: Path) -> None:
    with pytest.raises(
        NoBase, match="is in no git repository, so that only a directory can be meant"
    ):
        made(tmp_path, "main")


def test_word_that_is_both_directory_and_revision_must_be_clearer(repository: Path) -> None:
    git(repository, "branch", "sub")
    with pytest.raises(
        UserError, match=r"--base 'sub' is a directory and a revision: write \./sub, or the commit"
    ):
        made(repository, "sub")
    assert made(repository, "./sub").directory == repository / "sub"


def test_shallow_clone_is_told_to_fetch(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--depth", "1", f"file://{repository}", "shallow")
    with pytest.raises(
        NoBase, match="the clone is shallow, so it may have to be fetched first"
    ) as e:
        made(tmp_path / "shallow", "one")
    assert "git fetch --unshallow --tags" in str(e.value)
    assert "fetch-depth: 0" in str(e.value)


def test_unknown_revision_is_told_close_names_and_how_to_fetch_more(
    repository: Path, tmp_path: Path
) -> None:
    with pytest.raises(NoBase, match=r"not 'mian' \(did you mean 'main'\?\)$"):
        find("mian", repository, "base")
    with pytest.raises(NoBase, match=r"not 'nope'; it has (main, one|one, main)$"):
        find("nope", repository, "base")
    git(tmp_path, "clone", str(repository), "clone")
    with pytest.raises(NoBase, match=r"; git fetch --tags origin brings what the remote has$"):
        find("nope", tmp_path / "clone", "base")


def test_branch_that_only_a_remote_has_is_offered(repository: Path, tmp_path: Path) -> None:
    """The checkout of a CI makes no branch."""
    git(tmp_path, "clone", str(repository), "clone")
    git(tmp_path / "clone", "checkout", "--detach")
    git(tmp_path / "clone", "branch", "-D", "main")
    with pytest.raises(NoBase, match=r"not 'main'; there is origin/main: --base origin/main$"):
        find("main", tmp_path / "clone", "base")
    find("origin/main", tmp_path / "clone", "base")


def test_owner_that_git_does_not_trust_is_told_with_the_remedy(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkout by another user, as in many containers."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(
        NoBase,
        match=r"not 'one': fatal: detected dubious ownership in .*git config --global --add "
        r"safe\.dir",
    ):
        find("one", repository, "base")
    told: list[str] = []
    assert made(repository, ".", "head", told=told).side.commit is None
    assert told[0].startswith("no commit of head .: fatal: detected dubious ownership")


def test_missing_git_and_a_bare_repository_are_told_as_such(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "clone", "--bare", str(repository), "bare")
    with pytest.raises(
        NoBase, match=r"not 'one': fatal: this operation must be run in a work tree$"
    ):
        find("one", tmp_path / "bare", "base")
    monkeypatch.setenv("LANGUAGE", "de")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"not 'one': git is not installed$"):
        find("one", repository, "head")
    (tmp_path / "number").write_text("1", encoding="utf-8")
    assert made(tmp_path, ".", suite=suite_of(())).side.commit is None  # directories need no git


def test_submodules_and_files_of_lfs_that_are_not_there_are_noted(
    repository: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", str(repository), "other")
    git(
        repository,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        str(tmp_path / "other"),
        "deep/other",
    )
    (repository / ".gitattributes").write_text("*.bin filter=lfs\n", encoding="utf-8")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    for name, text in (("a.bin", pointer), ("b.bin", "really"), ("c.txt", pointer)):
        (repository / name).write_text(text, encoding="utf-8")
    git(repository, "config", "filter.lfs.clean", "cat")
    sha = commit(repository, 3)
    lfs = "files of Git LFS are pointers, not what they point to: a.bin"
    assert made(repository, sha).notes == (
        f"base {sha!r}: submodules are not checked out: deep/other",
        f"base {sha!r}: {lfs}",
    )
    assert made(repository, ".", "head").notes == (f"head '.': {lfs}",)  # the submodule is there
    assert made(repository, "one").notes == ()


def test_tree_without_the_interpreter_that_programs_need_is_told(repository: Path) -> None:
    told = "there is no interpreter .venv/bin/python"
    with pytest.raises(NoBase, match=told):
        made(repository, "one", suite=suite_of(python=".venv/bin/python"))
    with pytest.raises(NothingMeasured, match=told):
        made(repository, ".", "head", suite_of(python=".venv/bin/python"))


def test_interpreter_that_only_an_active_environment_has_is_none(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "active" / "bin" / "python-of-mine"
    command.parent.mkdir(parents=True)
    command.symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    assert made(repository, "one", suite=suite_of(python=command.name)).python == command.name
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "active"))
    with pytest.raises(NoBase, match="there is no interpreter python-of-mine"):
        made(repository, "one", suite=suite_of(python=command.name))


def test_command_that_is_not_there_is_told(repository: Path) -> None:
    with pytest.raises(
        NoBase, match=r"base 'one': does not build: \./none: No such file or directory"
    ):
        made(repository, "one", suite=suite_of((("./none",),)))


def test_base_that_has_no_such_subdirectory_is_told(repository: Path) -> None:
    (repository / "new").mkdir()
    with pytest.raises(NoBase, match="has no directory new"):
        made(repository / "new", "one")


def test_hooks_of_the_repository_do_not_run(repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {repository}/hooked\n", encoding="utf-8")
    hook.chmod(0o755)
    made(repository, "one")
    assert not (repository / "hooked").exists()


@pytest.mark.heavy
def test_build_of_a_killed_call_ends_with_it_and_does_no_harm(
    repository: Path, tmp_path: Path, wait_for: Callable[[Path], None]
) -> None:
    """A call is killed while its build makes files, which it may do for some moments more."""
    started, end = tmp_path / "started", tmp_path / "end"
    busy = (
        f"echo $$ > {started}~; mv {started}~ {started}; while [ ! -e {end} ]; do mkdir -p "
        "deep/er; echo > deep/er/a; done"
    )
    code = (
        "import sys; from pathlib import Path; from harness.gate.tree_cache import TreeCache\n"
        "cache = TreeCache(Path(sys.argv[1]), print)\n"
        "with cache.locked(): cache.tree(Path(sys.argv[2]), sys.argv[3], '', [['sh', '-c', "
        "sys.argv[4]]], 'it')\n"
    )
    words = [
        sys.executable,
        "-c",
        code,
        str(trees(repository).parent),
        str(repository),
        git(repository, "rev-parse", "one"),
        busy,
    ]
    try:
        with subprocess.Popen(words, cwd=Path(__file__).resolve().parents[2]) as call:
            wait_for(started)
            call.kill()
        tree = made(repository, "one")
        assert (tree.directory / "built").read_text(encoding="utf-8") == "1"
        assert not (tree.directory / "deep").exists()
        builder = Path("/proc", started.read_text(encoding="utf-8").strip())
        while builder.exists():
            threading.Event().wait(0.01)
    finally:
        end.touch()
    made(repository, "one")
    assert [path.name for path in trees(repository).iterdir() if path.is_dir()] == [
        tree.side.commit
    ]


@pytest.mark.heavy
def test_tree_in_use_by_another_process_is_not_removed(
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wait_for: Callable[[Path], None],
) -> None:
    """Another process holds the oldest tree while this one makes too many."""
    monkeypatch.setattr(tree_cache, "MAX_TREES", 1)
    code = (
        "import sys, time; from pathlib import Path; from harness.gate.tree_cache import "
        "TreeCache\n"
        "cache = TreeCache(Path(sys.argv[1]), print)\n"
        "with cache.locked(): cache.tree(Path(sys.argv[2]), sys.argv[3], '', [['true']], 'it')\n"
        "Path(sys.argv[4]).touch(); sys.stdin.read()\n"
    )
    sha, ready = git(repository, "rev-parse", "one"), tmp_path / "ready"
    words = [sys.executable, "-c", code, str(room_of(repository)), str(repository), sha, str(ready)]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, cwd=Path(__file__).resolve().parents[2]
    ) as other:
        try:
            wait_for(ready)
            made(repository, "main")
            made(repository, commit(repository, 3))
            assert (trees(repository) / sha).exists()
        finally:
            other.stdin.close()
    made(repository, commit(repository, 4))
    assert not (trees(repository) / sha).exists()


@pytest.mark.heavy
def test_two_calls_at_once_that_build_in_different_ways_both_end(
    repository: Path, tmp_path: Path, wait_for: Callable[[Path], None]
) -> None:
    """The second comes while the first builds base, wants that tree built otherwise, and waits
    until nobody uses it.
    """
    building, waiting = tmp_path / "building", tmp_path / "waiting"
    hold = f"cp number built; touch {building}; while [ ! -e {waiting} ]; do sleep 0.01; done"
    # differs from process to process, by less than the factor
    answer = "echo '{\"ns_per_hop\": 100.'$(date +%N)'}'"
    for name, build in (("first", hold), ("second", "cp number other")):
        suite = {
            "build": [["sh", "-c", build]],
            "programs": [{"name": "one", "command": ["sh", "-c", answer]}],
        }
        (tmp_path / f"{name}.yaml").write_text(json.dumps(suite), encoding="utf-8")

    def call(name: str) -> subprocess.Popen[bytes]:
        # each has a measuring lock of its own, so that only trees can make it wait
        words = [
            "gate",
            "--base",
            "one",
            "--head",
            "main",
            "--suite",
            str(tmp_path / f"{name}.yaml"),
            "--pairs",
            "16",
        ]
        environment = {
            **os.environ,
            "MILLRACE_LOCK": str(tmp_path / f"{name}.lock"),
            "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        }
        with (tmp_path / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "harness", *words],
                cwd=repository,
                env=environment,
                stdout=log,
                stderr=log,
            )

    calls = [call("first")]
    try:
        wait_for(building)
        calls.append(call("second"))
        while (
            b"waiting until another call has built its trees"
            not in (tmp_path / "second.log").read_bytes()
        ):
            threading.Event().wait(0.01)
        waiting.touch()
        assert [each.wait(300) for each in calls] == [0, 0]
    finally:
        waiting.touch()  # else the build goes on for ever
        for each in calls:
            each.kill()
            each.wait()


@pytest.fixture
def wait_for() -> Callable[[Path], None]:
    """Waits until a file is there; the test's time limit is the bound."""

    def wait(path: Path) -> None:
        pause = threading.Event()
        while not path.exists():
            pause.wait(0.01)

    return wait
