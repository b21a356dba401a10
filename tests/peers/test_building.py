"""`make peers`: what is missing is one line and no error, what does not build is one, and what was
built is not built again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

import harness.peers.peer as peer
from harness.errors import UserError
from harness.peers import all_peers, build, find_peer
from harness.peers.peer import Peer, Tool


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A peer that is built by copying a file."""
    monkeypatch.setattr(peer, "BUILD_FOLDER", tmp_path / "built")
    folder = tmp_path / "copied"
    folder.mkdir()
    (folder / "lock").write_text("thing 1.2.3\n")
    step = (
        sys.executable,
        "-c",
        "import shutil, sys; shutil.copy(*sys.argv[1:])",
        "{here}/lock",
        "{out}/made",
    )
    return Peer("copied", "", folder, ("{out}/made",), ("lock", r"thing ([\d.]+)"), build=(step,))


def test_a_peer_is_built_once_and_again_when_its_files_have_changed(made, capsys):
    assert made.built_version is None
    with pytest.raises(UserError, match="peer copied is not built; `make peers` builds it"):
        _ = made.label
    assert build.build([made]) == 0
    assert capsys.readouterr().out == "copied: 1.2.3\n"
    assert made.label == "copied 1.2.3"
    (made.out / "made").unlink()
    assert build.build([made]) == 0
    assert not (made.out / "made").exists(), "it was built already"
    (made.folder / "lock").write_text("thing 1.2.4\n")
    later = replace(made)
    assert later.built_version is None
    assert build.build([later]) == 0
    assert later.label == "copied 1.2.4" and (made.out / "made").exists()


def test_a_missing_tool_is_one_line_and_no_error(made, capsys):
    lacking = replace(made, tools=(Tool("no-such-tool", "no-such-package"),))
    assert build.build([lacking]) == 0
    assert (
        capsys.readouterr().out == "copied: no-such-tool: not found; apt install no-such-package\n"
    )
    with pytest.raises(
        UserError, match="peer copied needs no-such-tool: apt install no-such-package"
    ):
        _ = lacking.label


def test_a_build_that_fails_is_told_in_one_line_and_the_others_go_on(made, capsys):
    said = "import sys; print('some lines'); print('at last', file=sys.stderr); sys.exit(4)"
    failing = replace(
        made, name="failing", folder=made.folder.parent, build=((sys.executable, "-c", said),)
    )
    assert build.build([failing, made]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0].startswith("failing: could not be built: python")
        and "exit code 4: some lines / at last" in lines[0]
    )
    assert lines[1] == "copied: 1.2.3"
    assert failing.built_version is None


def test_every_peer_pins_what_it_uses_and_needs_tools_that_are_named():
    assert {"asyncio", "go"} <= set(all_peers())
    for each in all_peers().values():
        assert each.title and each.command and all(tool.package for tool in each.tools)
    with pytest.raises(UserError, match="peer 'goo' is unknown; did you mean 'go'"):
        find_peer("goo")


@pytest.mark.parametrize("name", all_peers())
def test_a_peer_is_found_in_the_folder_that_its_name_begins_with(name):
    assert find_peer(name) is all_peers()[name]
    assert name.partition("-")[0] == find_peer(name).folder.name


@pytest.mark.heavy
def test_what_the_tbb_program_takes_from_our_runtime_is_still_there():
    """It is built by `make peers` only, but a change of these headers is to be seen by who makes
    it.
    """
    folder = find_peer("tbb").folder
    words = [
        "-std=c++20",
        "-fsyntax-only",
        f"-I{peer.SHARED_SOURCES['native']}",
        "-x",
        "c++",
        str(folder / "answers.hpp"),
    ]
    done = subprocess.run(
        [os.environ.get("CXX", "g++"), *words],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_an_unknown_name_is_told_in_one_line(capsys):
    assert build.main(["nope"]) == 2
    assert capsys.readouterr().err.startswith("millrace: peer 'nope' is unknown")
