"""Mistakes of a call are reported before anything is built."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import UserError
from harness.gate.cell import GateCell, Metric, Program
from harness.gate.errors import NoBase
from harness.gate.precheck import OWN_CODE, precheck
from harness.gate.suite import BUILD, Suite
from harness.gate.tree import room_of
from tests.gate.repository import git

ROOT = Path(__file__).resolve().parents[2]
SUITE = Suite("mine", (Program("one", ("sh",), (GateCell("one", Metric()),)),), "one", BUILD)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of another project: commit `one`, then the working tree with a new folder."""
    path = tmp_path / "repository"
    path.mkdir()
    git(path, "init")
    (path / "file").write_text("1", encoding="utf-8")
    git(path, "add", "--all")
    git(path, "commit", "-m", "one")
    git(path, "tag", "one")
    (path / "new").mkdir()
    return path


def program(*argv: str) -> Suite:
    return replace(SUITE, programs=(replace(SUITE.programs[0], argv=argv),))


def test_the_code_that_the_default_suite_runs_exists() -> None:
    assert (ROOT / OWN_CODE).is_file()


def test_default_suite_is_refused_in_another_project(repository: Path) -> None:
    words = {"base": "one", "head": "."}
    with pytest.raises(UserError, match=r"head '.' is not Millrace.*-- COMMAND or --suite FILE"):
        precheck(words, SUITE, repository, is_default=True)
    precheck(words, SUITE, repository)
    assert not room_of(repository).exists()


def test_base_before_the_code_of_the_default_suite_is_no_base(repository: Path) -> None:
    code = repository / OWN_CODE
    code.parent.mkdir(parents=True)
    code.touch()
    with pytest.raises(NoBase, match=f"base 'one' has no {OWN_CODE}"):
        precheck({"base": "one", "head": "."}, SUITE, repository, is_default=True)
    git(repository, "add", "--all")
    git(repository, "commit", "-m", "two")
    precheck({"base": "HEAD", "head": "."}, SUITE, repository, is_default=True)


def test_base_without_the_directory_of_the_call_is_no_base(repository: Path) -> None:
    with pytest.raises(NoBase, match="base 'one': has no directory new/"):
        precheck({"base": "one", "head": "."}, SUITE, repository / "new")


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        (program("no-such-program", "x"), "one: there is no command no-such-program on PATH"),
        (replace(SUITE, build=(("no-such-make",),)), "build: there is no command no-such-make"),
        (replace(program("{python}"), python="no-such-python"), "python: there is no command"),
    ],
)
def test_command_that_is_not_installed_is_refused(
    repository: Path, suite: Suite, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        precheck({"base": "one", "head": "."}, suite, repository)


@pytest.mark.parametrize("argv", [("./made-by-the-build",), ("{python}",), ("sh", "-c", "none")])
def test_command_that_the_build_may_make_is_not_refused(
    repository: Path, argv: tuple[str, ...]
) -> None:
    precheck({"base": "one", "head": "."}, program(*argv), repository)


def test_command_that_the_build_installs_is_not_refused(repository: Path) -> None:
    suite = replace(program("no-such-command"), build=(("sh", "-c", "true"), ("sh", "install")))
    precheck({"base": "one", "head": "."}, suite, repository)
