"""Needs of wheels, and errors of pip in one line."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from harness.bundle import wheels
from harness.bundle.wheels import build_wheel, check_wheel, download, needs_of, tag_of
from harness.errors import RunFailed, UserError
from tests.bundle.made_wheels import made_wheel, millrace_wheel


@pytest.mark.parametrize(
    ("name", "glibc"),
    [
        ("numpy-2-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl", (2, 27)),
        ("pyyaml-6-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl", (2, 17)),
        ("websockets-17-cp311-cp311-manylinux1_x86_64.manylinux_2_28_x86_64.whl", (2, 5)),
        ("rich-15-py3-none-any.whl", (2, 5)),
    ],
)
def test_the_name_of_a_wheel_says_which_glibc_it_needs(name, glibc):
    assert wheels._glibc_of(name) == glibc


def test_needs_are_the_newest_of_all_wheels_and_of_the_symbols_of_our_modules(tmp_path):
    module = b"\0GLIBC_2.17\0GLIBC_2.34\0GLIBCXX_3.4.9\0GLIBCXX_3.4.30\0GLIBC_PRIVATE\0"
    ours = millrace_wheel(tmp_path, module=module)
    made_wheel(tmp_path, "other", {}, "cp311-cp311-manylinux_2_28_x86_64")
    needs = needs_of(tmp_path, ours)
    assert needs["python"] == "cpython-311"
    assert needs["cpu"]["level"] == "x86-64-v2"
    assert (needs["glibc"], needs["glibcxx"]) == ([2, 34], [3, 4, 30])
    made_wheel(tmp_path, "newer", {}, "cp311-cp311-manylinux_2_39_x86_64")
    assert needs_of(tmp_path, ours)["glibc"] == [2, 39]


def test_the_folder_of_a_build_differs_by_level_so_that_modules_of_two_levels_do_not_mix(
    tmp_path, monkeypatch
):
    seen = []

    def pip(command, env, **_):
        text = open(env["DIST_EXTRA_CONFIG"]).read()  # noqa: PTH123, SIM115
        seen.append((text, env["MILLRACE_CFLAGS"]))
        millrace_wheel(tmp_path)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(wheels, "CODE", tmp_path)
    monkeypatch.setattr(wheels.subprocess, "run", pip)
    for level in ("x86-64-v2", "x86-64-v4"):
        build_wheel(sys.executable, level, tmp_path)
    (older, older_flags), (newer, newer_flags) = seen
    assert older != newer
    assert "-march=x86-64-v2 " in older_flags and "-march=x86-64-v4 " in newer_flags


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\n"
            "ERROR: No matching distribution found for numpy",
            "no network",
        ),
        ("ERROR: No matching distribution found for numpy", "found for numpy"),
        ("x.cpp:3:9: error: expected ';'\nERROR: Failed building wheel", "expected ';'"),
        ("/usr/bin/python: No module named pip", "No module named pip"),
        ("", "pip says nothing"),
    ],
)
def test_an_error_of_pip_is_one_line(said, told, tmp_path, monkeypatch):
    failing = SimpleNamespace(returncode=1, stdout="", stderr=said)
    monkeypatch.setattr(wheels.subprocess, "run", lambda *_, **__: failing)
    with pytest.raises(RunFailed) as error:
        download(sys.executable, tmp_path / "a.whl", [], tmp_path)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_a_wheel_for_another_python_or_of_another_project_is_refused(tmp_path):
    with pytest.raises(UserError, match="is for cpython-399"):
        check_wheel(millrace_wheel(tmp_path, python="cp399"), sys.executable)
    with pytest.raises(UserError, match="no wheel of Millrace"):
        check_wheel(made_wheel(tmp_path, "other", {}), sys.executable)
    with pytest.raises(UserError, match="does not name the CPUs"):
        tag = tag_of(sys.executable).replace("cpython-", "cp")
        check_wheel(made_wheel(tmp_path, "millrace", {}, f"{tag}-{tag}-any"), sys.executable)


def test_a_python_is_asked_for_its_version(tmp_path):
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    assert tag_of(str(link)) == sys.implementation.cache_tag
    for word in ("/bin/true", str(tmp_path / "none")):
        with pytest.raises(UserError, match="--python"):
            tag_of(word)


def test_pip_downloads_for_the_python_that_is_asked_for(tmp_path, monkeypatch):
    seen = []

    def pip(command, **_):
        seen.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(wheels.subprocess, "run", pip)
    download("/opt/python3.12", tmp_path / "a.whl", ["numba"], tmp_path)
    (command,) = seen
    assert command[command.index("--python") + 1] == "/opt/python3.12"
    assert command[-3:] == [str(tmp_path / "a.whl"), "pip", "numba"]
