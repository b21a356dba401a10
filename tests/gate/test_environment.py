"""Tests of what processes of either side find in their environment."""

from __future__ import annotations

import os

import pytest

from harness.gate.environment import clean_environment


@pytest.mark.parametrize(
    "name", ["PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS", "GIT_DIR", "PYTHONDONTWRITEBYTECODE"]
)
def test_what_would_mix_the_sides_or_slow_both_is_left_behind(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "1")
    monkeypatch.setenv("MINE", "kept")
    found = clean_environment({"MORE": "given"})
    assert name not in found
    assert (found["MINE"], found["MORE"], found["PYTHONHASHSEED"]) == ("kept", "given", "0")


def test_commands_of_an_active_virtual_environment_are_not_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A suite's `python3` would be the environment's, which imports what is installed there
    whichever tree it runs in.
    """
    monkeypatch.setenv("VIRTUAL_ENV", "/home/me/active")
    monkeypatch.setenv(
        "PATH",
        os.pathsep.join(
            ["/home/me/active/bin", "/usr/bin", "/home/me/active/bin/", "/home/me/bin"]
        ),
    )
    assert clean_environment()["PATH"] == os.pathsep.join(["/usr/bin", "/home/me/bin"])
    monkeypatch.delenv("VIRTUAL_ENV")
    assert (
        "/home/me/active/bin" in clean_environment()["PATH"]
    )  # not active: a directory like any other
