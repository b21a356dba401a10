"""A tree that was copied with its environment says so; a tree with its own does not."""

from __future__ import annotations

import pytest

from harness import cli
from harness.files.places import other_owner


@pytest.fixture
def tree(tmp_path):
    """A checkout with an environment that was made for it."""
    site = tmp_path / "tree/.venv/lib/python3.11/site-packages"
    site.mkdir(parents=True)
    (site / "millrace.pth").write_text(f"{tmp_path / 'tree'}\n")
    return tmp_path / "tree"


def test_an_environment_of_its_own_is_not_mentioned(tree):
    assert other_owner(tree / ".venv", tree) is None


def test_a_copied_environment_names_the_tree_that_it_belongs_to(tree, tmp_path):
    copy = tree.rename(tmp_path / "copy")
    assert other_owner(copy / ".venv", copy) == str(tmp_path / "tree")


def test_an_environment_outside_the_tree_is_the_users_choice(tree, tmp_path):
    (tmp_path / "other").mkdir()
    assert other_owner(tree / ".venv", tmp_path / "other") is None


def test_every_command_says_it_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(cli, "other_owner", lambda: "/elsewhere")
    assert cli.main(["models"]) == 0
    assert capsys.readouterr().err == (
        "millrace: the environment in .venv belongs to /elsewhere; rm -r .venv, then make build\n"
    )
