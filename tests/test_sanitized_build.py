"""Compilers that tests and `make test-tsan` find, and the tests that the latter runs."""

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


needs_setarch = pytest.mark.skipif(
    shutil.which("setarch") is None, reason="the script needs setarch of Linux"
)


def test_a_compiler_may_have_several_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "ccache gcc")
    monkeypatch.setenv("CXX", "ccache g++")
    assert (compiler.of_c(), compiler.of_cxx()) == (["ccache", "gcc"], ["ccache", "g++"])
    monkeypatch.delenv("CC")
    monkeypatch.delenv("CXX")
    assert (compiler.of_c(), compiler.of_cxx()) == (["cc"], ["c++"])


@needs_setarch
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
    done = sanitized(tmp_path, words, 'echo "$LD_PRELOAD" "$@"')
    assert done.returncode == 0, done.stderr
    preloaded, *call = done.stdout.split()
    assert preloaded == "libtsan.so"
    assert [word for word in call if word.startswith("tests/")] == [run]


@needs_setarch
@pytest.mark.parametrize("of_pytest", [66, 0], ids=["of its own", "of another process"])
def test_the_report_of_a_race_is_shown_and_fails(of_pytest: int, tmp_path: Path) -> None:
    """Also that of a process whose end a test took for right."""
    race = f'echo "data race" > "${{TSAN_OPTIONS##*log_path=}}.1"; exit {of_pytest}'
    done = sanitized(tmp_path, [], race)
    assert (done.returncode, done.stdout.strip()) == (66, "data race"), done.stderr


@needs_setarch
def test_a_failure_without_a_race_is_passed_on(tmp_path: Path) -> None:
    assert sanitized(tmp_path, [], "exit 5").returncode == 5


def sanitized(tree: Path, words: list[str], tests: str) -> subprocess.CompletedProcess[str]:
    """Call the script in a tree where the shell's `tests` take the place of pytest's, with a
    compiler of two words.
    """
    for part in PARTS:
        (tree / part).mkdir(parents=True)
    for file in ("setup.py", "pyproject.toml"):
        (tree / file).touch()
    script = shutil.copy(CODE / "tests/native/tsan.sh", tree / "tests/native")
    for name, does in (
        (".venv/bin/python", f"[ $1 = -m ] || exit 0\n{tests}"),
        ("compiler", "echo libtsan.so"),
    ):
        program = tree / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        program.chmod(0o755)
    return subprocess.run(
        [script, *words],
        env=os.environ | {"CXX": f"env {tree / 'compiler'}"},
        capture_output=True,
        text=True,
        check=False,
    )
