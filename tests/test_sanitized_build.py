"""How tests and `make test-tsan` find their compilers, and which tests the latter runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.files.places import CODE
from tests import compiler

PARTS = ("topologies", "config", "examples", "docs", "harness/runtime", "harness/operators")
PARTS += ("tests/native", "tests/simulator")


def test_a_compiler_may_have_several_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "ccache gcc")
    monkeypatch.setenv("CXX", "ccache g++")
    assert (compiler.of_c(), compiler.of_cxx()) == (["ccache", "gcc"], ["ccache", "g++"])
    monkeypatch.delenv("CC")
    monkeypatch.delenv("CXX")
    assert (compiler.of_c(), compiler.of_cxx()) == (["cc"], ["c++"])


@pytest.mark.skipif(shutil.which("setarch") is None, reason="the script needs setarch of Linux")
@pytest.mark.parametrize(
    ("words", "run"),
    [
        ([], "tests/runtime"),
        (["-k", "tests"], "tests/runtime"),
        (["tests/runtime/test_stop.py"], "tests/runtime/test_stop.py"),
    ],
)
def test_the_sanitized_tests_are_those_asked_for_or_all(
    words: list[str], run: str, tmp_path: Path
) -> None:
    """In a tree whose Python prints what it would run, with a compiler of two words."""
    for part in PARTS:
        (tmp_path / part).mkdir(parents=True)
    for file in ("setup.py", "pyproject.toml"):
        (tmp_path / file).touch()
    script = shutil.copy(CODE / "tests/native/tsan.sh", tmp_path / "tests/native")
    for name, does in (
        (".venv/bin/python", 'case $1 in -m) echo "$LD_PRELOAD" "$@" ;; esac'),
        ("compiler", "echo libtsan.so"),
    ):
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        program.chmod(0o755)
    done = subprocess.run(
        [script, *words],
        env=os.environ | {"CXX": f"env {tmp_path / 'compiler'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    preloaded, *call = done.stdout.split()
    assert preloaded == "libtsan.so"
    assert [word for word in call if word.startswith("tests/")] == [run]
