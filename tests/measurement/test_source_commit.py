"""The commit of the checkout, or nothing."""

from __future__ import annotations

import subprocess

import pytest

from harness.measurement.source import commit


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A git checkout with one committed file."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "file").write_text("one\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "file")
    git(
        tmp_path,
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "commit.gpgsign=false",
        "commit",
        "--no-verify",
        "-q",
        "-m",
        "first",
    )
    commit.cache_clear()
    return tmp_path.resolve()


def git(where, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(where), *words], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_clean_checkout_is_its_commit(checkout):
    (checkout / "results").write_text("untracked files do not make a difference\n")
    assert commit(checkout) == git(checkout, "rev-parse", "HEAD")


def test_a_changed_file_makes_it_dirty(checkout):
    (checkout / "file").write_text("two\n")
    assert commit(checkout) == git(checkout, "rev-parse", "HEAD") + "+dirty"


def test_outside_a_checkout_of_its_own_there_is_no_commit(checkout, tmp_path_factory, monkeypatch):
    (checkout / "copied").mkdir()
    assert commit(checkout / "copied") is None, "the commit of a repository around us is not ours"
    assert commit(tmp_path_factory.mktemp("alone").resolve()) is None


def test_without_git_there_is_no_commit(checkout, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert commit(checkout) is None
